/*
 * The poller in a thread of its own, beside the stream.
 *
 * A thread and not slices between two reads of the stream: a request may take
 * its whole timeout, and the inbox must not wait for it.  The two share nothing
 * but the configuration, which is constant; the poller has a store connection,
 * a client and a log buffer of its own, and they meet in the store's
 * transactions as two processes would.
 */

#ifndef CS_POLLER_H
#define CS_POLLER_H

#include "config.h"


typedef struct cs_poller_s  cs_poller_t;


/* NULL: there is no [api].  cs_stop_init() was called before */
cs_poller_t *cs_poller_start(const cs_conf_t *conf);

/* ends it, after the transaction in hand, if the process was asked to stop */
void cs_poller_join(cs_poller_t *poller);


#endif /* CS_POLLER_H */

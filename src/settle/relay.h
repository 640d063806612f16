/*
 * The relay of operations in a thread of its own, beside the inbox: what it has
 * to wait for must not keep the inbox waiting.  The two share nothing but the
 * configuration, which is constant, and meet in the store as two processes
 * would; see poller.h.
 */

#ifndef CS_RELAY_H
#define CS_RELAY_H

#include "config.h"


typedef struct cs_relay_s  cs_relay_t;


/* NULL: nothing is to be relayed.  cs_stop_init() was called before */
cs_relay_t *cs_relay_start(const cs_conf_t *conf);

/* ends it, after the step in hand, if the process was asked to stop */
void cs_relay_join(cs_relay_t *relay);


#endif /* CS_RELAY_H */

/*
 * The relay: brings the operations of the outbox into the stream, each once and
 * in the order in which the money of its coupon moved.  README, "The wallet".
 *
 * It is driven step by step: a step sends one group, or numbers what has come,
 * and says when the next one is wanted.  It never sleeps, so it runs as well in
 * a thread beside the inbox as in a command.
 *
 * Nothing is remembered here or written down: where it has to go on says the
 * stream.  So it may be killed at any moment, run more than once, and on many
 * machines; and what Redis has lost it sends again.
 */

#ifndef CS_OUTBOX_H
#define CS_OUTBOX_H

#include "config.h"
#include "outbox_stream.h"
#include "retry.h"


typedef struct {
    /* set by cs_outbox_init() */
    const cs_conf_t     *conf;
    cs_store_t          *store;
    cs_redis_t           redis;
    cs_outbox_stream_t   stream;

    cs_retry_t           redis_retry;
    cs_retry_t           store_retry;
    cs_retry_t           stream_retry;
    int64_t              not_before;     /* monotonic */

    int64_t              seen;           /* the last number it was known to
                                            have; -1: it was not looked at */
    unsigned             found;          /* the last entry is in the outbox, */
    unsigned             differs;        /* as another operation */

    uint64_t             sent;           /* operations */
    unsigned             full;           /* waits for the consumers */
    unsigned             failed;         /* the last step has … */
    char                 error[512];     /* … and this is why */
} cs_outbox_t;


/* conf and store (open or not) outlive it */
void cs_outbox_init(cs_outbox_t *outbox, const cs_conf_t *conf,
    cs_store_t *store);
void cs_outbox_free(cs_outbox_t *outbox);

/*
 * One step.  Returns how many milliseconds nothing more is to be done; 0: there
 * is more.
 */
int64_t cs_outbox_step(cs_outbox_t *outbox);

/*
 * Looks only: outbox->stream is how the stream is, *lag how many operations are
 * not in it yet, numbered or not.  CS_NONE: the stream does not belong to this
 * ledger.  But for CS_OK outbox->error says why.
 */
CC_MUST_USE cs_status_e cs_outbox_look(cs_outbox_t *outbox, int64_t *lag);


#endif /* CS_OUTBOX_H */

/*
 * The worker joins the settlement rules and the store: one delivery becomes one
 * transaction, or one part of a transaction that several share.
 *
 * Whoever has something to settle (the stream, a retry out of the quarantine, a
 * person) comes here, so that there is one way in which money is moved.
 */

#ifndef CS_WORKER_H
#define CS_WORKER_H

#include "config.h"
#include "envelope.h"
#include "message.h"
#include "status.h"
#include "store.h"


typedef struct cs_worker_s  cs_worker_t;

typedef struct {
    cc_str_t       entry;         /* its id in the stream, for the log */
    cc_message_t   message;
    const char    *unreadable;    /* NULL, or why message is not complete */
    unsigned       held;          /* set by the worker: it has to wait */
} cs_delivery_t;


/* store and conf outlive the worker */
cs_worker_t *cs_worker_create(cs_store_t *store, const cs_conf_t *conf);
void cs_worker_destroy(cs_worker_t *worker);

/*
 * Settles n deliveries in one transaction, each in a savepoint.  What can never
 * be settled goes whole to `rejected`, with the reason, in the same commit.
 * Where it is the store that refuses, and only at the end, each gets a
 * transaction of its own instead.  CS_OK: all of them are done with, and may be
 * acknowledged, but those that are held: what somebody else has hung on the
 * operations does not let them through now.  CS_AGAIN: not all are.
 * cs_store_error() says why.  They may be given again: what was settled is
 * known by its batch id.
 */
CC_MUST_USE cs_status_e cs_worker_deliveries(cs_worker_t *worker,
    cs_delivery_t *deliveries, size_t n);

/*
 * Settles one batch inside the caller's transaction, in a savepoint.  A message
 * without id is one whose id and count are not known from elsewhere.  CS_OK:
 * settled, now or earlier.  CS_REFUSED: it can never be; nothing of it is left
 * in the transaction, and cs_worker_reason() says why.
 */
CC_MUST_USE cs_status_e cs_worker_batch(cs_worker_t *worker,
    const cc_message_t *message, const char *unreadable);

/*
 * Adopts what somebody who knows says about a coupon, in a transaction of its
 * own.  The operations carry `origin` in the place of a batch id.  CS_NONE:
 * there is no such coupon.
 */
CC_MUST_USE cs_status_e cs_worker_resolve(cs_worker_t *worker,
    const cc_coupon_t *coupon, const char *origin);

/* why the last CS_REFUSED; good until the next call of the worker */
const char *cs_worker_reason(const cs_worker_t *worker);


#endif /* CS_WORKER_H */

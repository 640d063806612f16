/*
 * Deliveries and their transactions; see worker.h.
 *
 * What is logged in a transaction is held back until it is committed.
 */

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "clock.h"
#include "counters.h"
#include "health.h"
#include "log.h"
#include "string_list.h"
#include "worker_internal.h"


#define CS_WORKER_TRIES  10        /* at once, in the way of other consumers */


static cs_status_e cs_worker_alone(cs_worker_t *w, cs_delivery_t *delivery);
static cs_status_e cs_worker_group(cs_worker_t *w,
    const cs_delivery_t *deliveries, size_t n, const char *refused);
static cs_status_e cs_worker_transaction(cs_worker_t *w,
    const cs_delivery_t *deliveries, size_t n, const char *refused);
static cs_status_e cs_worker_expect(cs_worker_t *w,
    const cs_delivery_t *deliveries, size_t n);
static int cs_worker_passed_over(void *ctx, const cc_event_t *event);
static int cs_worker_code(void *ctx, const cc_coupon_t *coupon);
static cs_status_e cs_worker_delivery(cs_worker_t *w,
    const cs_delivery_t *delivery, const char *refused);
static cs_status_e cs_worker_adopt(cs_worker_t *w, const cc_coupon_t *coupon,
    const char *origin);


cs_worker_t *
cs_worker_create(cs_store_t *store, const cs_conf_t *conf)
{
    uint64_t      seed;
    cs_worker_t  *w;

    w = cs_alloc(sizeof(cs_worker_t));

    if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed)) {
        seed = (uint64_t) cs_now();
    }

    w->store = store;
    w->settling.store = store;
    w->settling.conf = conf;
    w->json = cc_json_create(seed);
    w->rules.max_coupons = UINT_MAX;

    if (w->json == NULL) {
        cs_no_memory();
    }

    return w;
}


void
cs_worker_destroy(cs_worker_t *w)
{
    cs_bets_free(&w->settling.bets);
    cc_json_destroy(w->json);
    free(w);
}


cs_status_e
cs_worker_deliveries(cs_worker_t *w, cs_delivery_t *deliveries, size_t n)
{
    size_t       i;
    cs_status_e  status;

    status = cs_worker_group(w, deliveries, n, NULL);

    for (i = 0; i < n; i++) {
        deliveries[i].held = 0;
    }

    if (status == CS_OK || (status == CS_AGAIN && !cs_store_held(w->store))) {
        return status;
    }

    /* one of them the store will not take, and it does not say which */

    for (i = 0; i < n; i++) {

        if (cs_worker_alone(w, &deliveries[i]) != CS_OK) {
            return CS_AGAIN;
        }
    }

    return CS_OK;
}


static cs_status_e
cs_worker_alone(cs_worker_t *w, cs_delivery_t *delivery)
{
    char         reason[sizeof(w->reason)];
    cs_status_e  status;

    status = cs_worker_group(w, delivery, 1, NULL);

    if (status == CS_AGAIN && cs_store_held(w->store)) {
        delivery->held = 1;
        return CS_OK;
    }

    if (status == CS_REFUSED) {
        (void) snprintf(reason, sizeof(reason), "%s",
                        cs_store_error(w->store));

        status = cs_worker_group(w, delivery, 1, reason);
    }

    return status;
}


/* tries again at once where it was only in another consumer's way */

static cs_status_e
cs_worker_group(cs_worker_t *w, const cs_delivery_t *deliveries, size_t n,
    const char *refused)
{
    unsigned     tries;
    cs_status_e  status;

    for (tries = 1; ; tries++) {

        status = cs_worker_transaction(w, deliveries, n, refused);

        if (status != CS_AGAIN || !cs_store_collided(w->store)
            || tries == CS_WORKER_TRIES)
        {
            return status;
        }

        cs_count(CS_COUNT_RETRY + CS_CAUSE_COLLISION, 1);
    }
}


/* refused: NULL, or why the deliveries are put aside as they are */

static cs_status_e
cs_worker_transaction(cs_worker_t *w, const cs_delivery_t *deliveries,
    size_t n, const char *refused)
{
    size_t       i;
    cs_status_e  status;

    cs_health_beat();
    cs_log_hold();

    status = cs_store_begin(w->store, CS_WRITE);

    if (status == CS_OK && !refused) {
        status = cs_worker_expect(w, deliveries, n);
    }

    for (i = 0; i < n && status == CS_OK; i++) {
        status = cs_worker_delivery(w, &deliveries[i], refused);
    }

    if (status == CS_OK) {
        status = cs_store_commit(w->store);
    }

    if (status != CS_OK) {
        cs_store_rollback(w->store);
        cs_log_discard();
        return status == CS_REFUSED ? CS_REFUSED : CS_AGAIN;
    }

    cs_log_release();

    return CS_OK;
}


/* a body that cannot be read is not refused here, but where it is settled */

static cs_status_e
cs_worker_expect(cs_worker_t *w, const cs_delivery_t *deliveries, size_t n)
{
    size_t                i;
    cc_str_t              id;
    cs_status_e           status;
    cc_envelope_t         envelope;
    cs_expected_t         expected;
    cc_envelope_sink_t    sink;

    sink.event = cs_worker_passed_over;
    sink.coupon = cs_worker_code;
    sink.ctx = w;

    for (i = 0; i < n; i++) {

        if (deliveries[i].unreadable
            || cs_worker_envelope(w, &envelope, deliveries[i].message.body,
                                  &sink)
               != CS_OK)
        {
            continue;
        }

        id.data = envelope.id;
        id.len = envelope.id_len;

        cs_strings_add(&w->batches, id);
    }

    expected.batches = cs_strings_all(&w->batches, &expected.nbatches);
    expected.codes = cs_strings_all(&w->codes, &expected.ncodes);

    status = cs_store_expect(w->store, &expected);

    cs_strings_free(&w->batches);
    cs_strings_free(&w->codes);

    return status;
}


static int
cs_worker_passed_over(void *ctx, const cc_event_t *event)
{
    (void) ctx;
    (void) event;

    return 0;
}


static int
cs_worker_code(void *ctx, const cc_coupon_t *coupon)
{
    cs_worker_t  *w = ctx;

    cs_strings_add(&w->codes, coupon->coupon_code);

    return 0;
}


static cs_status_e
cs_worker_delivery(cs_worker_t *w, const cs_delivery_t *delivery,
    const char *refused)
{
    cs_status_e     status;
    cs_rejected_t   rejected;

    status = refused ? cs_worker_refuse(w, CS_REJECT_STORE, refused)
                     : cs_worker_batch(w, &delivery->message,
                                       delivery->unreadable);

    if (status != CS_REFUSED) {
        return status;
    }

    cs_count(CS_COUNT_REJECTED + w->reject, 1);

    cs_log(CS_LOG_ERROR, cs_msg("batch rejected"),
           cs_bytes("batch", delivery->message.id),
           cs_bytes("entry", delivery->entry),
           cs_text("reason", w->reason));

    memset(&rejected, 0, sizeof(cs_rejected_t));

    rejected.source = delivery->message.source;
    rejected.batch_id = delivery->message.id;
    rejected.reason = cs_str_of(w->reason);
    rejected.body = delivery->message.body;
    rejected.received_at = delivery->message.received;
    rejected.rejected_at = cs_now();

    return cs_store_rejected_add(w->store, &rejected);
}


cs_status_e
cs_worker_resolve(cs_worker_t *w, const cc_coupon_t *coupon, const char *origin)
{
    unsigned     tries;
    cs_status_e  status;

    for (tries = 1; ; tries++) {

        status = cs_worker_adopt(w, coupon, origin);

        if (status != CS_AGAIN || !cs_store_collided(w->store)
            || tries == CS_WORKER_TRIES)
        {
            return status;
        }

        cs_count(CS_COUNT_RETRY + CS_CAUSE_COLLISION, 1);
    }
}


static cs_status_e
cs_worker_adopt(cs_worker_t *w, const cc_coupon_t *coupon, const char *origin)
{
    cs_status_e  status;

    w->settling.origin = cs_str_of(origin);
    w->settling.authoritative = 1;
    w->settling.known_only = 1;

    cs_log_hold();

    status = cs_store_begin(w->store, CS_WRITE);

    if (status == CS_OK) {
        status = cs_settle_coupon(&w->settling, coupon);
    }

    if (status == CS_OK) {
        status = cs_store_commit(w->store);
    }

    if (status == CS_OK) {
        cs_log_release();
        return CS_OK;
    }

    cs_log_discard();
    cs_store_rollback(w->store);

    return status == CS_REFUSED
           ? cs_worker_refuse(w, CS_REJECT_STORE, cs_store_error(w->store))
           : status;
}


const char *
cs_worker_reason(const cs_worker_t *w)
{
    return w->reason;
}

/*
 * One delivery into the store, inside the transaction of worker.c.
 *
 * A body is read twice: first to see whether it is a batch, whole and with the
 * id and count that the module found in it, then, with the batch registered,
 * coupon by coupon into the store.  So nothing has to be undone for a body that
 * cannot be read, and nothing of it is kept in memory but the bets of one
 * coupon.
 */

#include <stdio.h>

#include "counters.h"
#include "log.h"
#include "refunds.h"
#include "worker_internal.h"


static cs_status_e cs_worker_read(cs_worker_t *w, const cc_message_t *message,
    const char *unreadable);
static cs_status_e cs_worker_refund(cs_worker_t *w,
    const cc_message_t *message);
static int cs_worker_matches(const cc_message_t *message,
    const cc_envelope_t *envelope);
static cs_status_e cs_worker_register(cs_worker_t *w,
    const cc_message_t *message, const cc_envelope_t *envelope);
static cs_status_e cs_worker_settle(cs_worker_t *w,
    const cc_message_t *message);
static int cs_worker_event(void *ctx, const cc_event_t *event);
static int cs_worker_coupon(void *ctx, const cc_coupon_t *coupon);


cs_status_e
cs_worker_batch(cs_worker_t *w, const cc_message_t *message,
    const char *unreadable)
{
    size_t       mark;
    cs_status_e  status;

    mark = cs_log_mark();

    status = cs_store_savepoint(w->store);
    if (status != CS_OK) {
        return status;
    }

    status = cs_worker_read(w, message, unreadable);

    if (status == CS_OK) {
        return cs_store_release(w->store);
    }

    if (status == CS_REFUSED) {
        cs_log_rewind(mark);

        if (cs_store_undo(w->store) != CS_OK) {
            return CS_AGAIN;
        }
    }

    return status;
}


static cs_status_e
cs_worker_read(cs_worker_t *w, const cc_message_t *message,
    const char *unreadable)
{
    cs_status_e     status;
    cc_envelope_t   envelope;

    if (unreadable) {
        return cs_worker_refuse(w, CS_REJECT_ENTRY, unreadable);
    }

    if (cs_refunds_source(message->source)) {
        return cs_worker_refund(w, message);
    }

    if (!cc_str_is(message->source, CC_SOURCE_SPORTAPI)) {
        return cs_worker_refuse(w, CS_REJECT_SOURCE,
                                "this version does not settle this source");
    }

    status = cs_worker_envelope(w, &envelope, message->body, NULL);
    if (status != CS_OK) {
        return status;
    }

    if (message->id.len && !cs_worker_matches(message, &envelope)) {
        return cs_worker_refuse(w, CS_REJECT_MISMATCH, "id or count of the "
                                "inbox entry are not those of the body");
    }

    w->settling.origin.data = envelope.id;
    w->settling.origin.len = envelope.id_len;

    status = cs_worker_register(w, message, &envelope);
    if (status == CS_NONE) {
        return CS_OK;
    }

    if (status == CS_OK) {
        status = cs_worker_settle(w, message);
    }

    if (status == CS_OK) {
        cs_count(CS_COUNT_BATCH_SETTLED, 1);

        cs_log(CS_LOG_INFO, cs_msg("batch settled"),
               cs_bytes("batch", w->settling.origin),
               cs_number("coupons", envelope.count),
               cs_number("operations", w->settling.operations),
               cs_number("doubts", w->settling.doubts));
    }

    return status;
}


static cs_status_e
cs_worker_refund(cs_worker_t *w, const cc_message_t *message)
{
    const char   *reason;
    cs_status_e   status;

    status = cs_refunds_settle(w->store, w->settling.conf, w->json, message,
                               &reason);

    if (status != CS_REFUSED) {
        return status;
    }

    return reason ? cs_worker_refuse(w, CS_REJECT_BODY, reason)
                  : cs_worker_refuse(w, CS_REJECT_STORE,
                                     cs_store_error(w->store));
}


static int
cs_worker_matches(const cc_message_t *message, const cc_envelope_t *envelope)
{
    return message->count == envelope->count
           && message->id.len == envelope->id_len
           && memcmp(message->id.data, envelope->id, envelope->id_len) == 0;
}


/* CS_NONE: it was settled before */

static cs_status_e
cs_worker_register(cs_worker_t *w, const cc_message_t *message,
    const cc_envelope_t *envelope)
{
    unsigned      same;
    cs_batch_t    batch;
    cs_status_e   status;

    batch.id = w->settling.origin;
    batch.received_at = message->received;
    batch.coupon_count = envelope->count;
    batch.digest = message->digest;

    status = cs_store_batch(w->store, &batch, &same);

    if (status == CS_REFUSED) {
        return cs_worker_refuse(w, CS_REJECT_STORE, cs_store_error(w->store));
    }

    if (status == CS_NONE && !same) {
        return cs_worker_refuse(w, CS_REJECT_CONFLICT, "conflict");
    }

    if (status == CS_NONE) {
        cs_count(CS_COUNT_BATCH_REPEATED, 1);

        cs_log(CS_LOG_INFO, cs_msg("batch was settled already"),
               cs_bytes("batch", w->settling.origin));
    }

    return status;
}


static cs_status_e
cs_worker_settle(cs_worker_t *w, const cc_message_t *message)
{
    cc_envelope_t        envelope;
    cc_envelope_sink_t   sink;

    sink.event = cs_worker_event;
    sink.coupon = cs_worker_coupon;
    sink.ctx = w;

    w->settling.authoritative = 0;
    w->settling.known_only = 0;
    w->settling.operations = 0;
    w->settling.doubts = 0;

    cs_bets_clear(&w->settling.bets);

    return cs_worker_envelope(w, &envelope, message->body, &sink);
}


cs_status_e
cs_worker_envelope(cs_worker_t *w, cc_envelope_t *envelope, cc_str_t body,
    const cc_envelope_sink_t *sink)
{
    switch (cc_envelope_read(envelope, w->json, body, &w->rules, sink)) {

    case CC_ENVELOPE_OK:
        return CS_OK;

    case CC_ENVELOPE_REFUSED:
        return cs_worker_refuse(w, CS_REJECT_BODY, envelope->reason);

    case CC_ENVELOPE_STOPPED:
        return w->stopped;

    case CC_ENVELOPE_NO_MEMORY:
        break;
    }

    cs_no_memory();
}


static int
cs_worker_event(void *ctx, const cc_event_t *event)
{
    cs_worker_t  *w = ctx;

    cs_bets_add(&w->settling.bets, event);

    return 0;
}


static int
cs_worker_coupon(void *ctx, const cc_coupon_t *coupon)
{
    cs_worker_t  *w = ctx;

    w->stopped = cs_settle_coupon(&w->settling, coupon);

    cs_bets_clear(&w->settling.bets);

    if (w->stopped == CS_REFUSED) {
        (void) cs_worker_refuse(w, CS_REJECT_STORE, cs_store_error(w->store));
    }

    return w->stopped != CS_OK;
}


cs_status_e
cs_worker_refuse(cs_worker_t *w, cs_reject_e reject, const char *reason)
{
    w->reject = reject;
    (void) snprintf(w->reason, sizeof(w->reason), "%s", reason);

    return CS_REFUSED;
}

/*
 * One coupon: load it, ask the rules, write what they say; see settling.h.
 */

#include <stdio.h>

#include "clock.h"
#include "counters.h"
#include "log.h"
#include "settling.h"


static void cs_settle_loaded(void *ctx, const cs_coupon_t *coupon);
static cs_trust_e cs_settle_rules(cs_settling_t *s, const cc_coupon_t *seen,
    cc_settlement_t *out);
static void cs_settle_hold(const cs_settling_t *s, const char *doubt,
    cc_settlement_t *out);
static cs_status_e cs_settle_save(cs_settling_t *s, const cc_coupon_t *seen,
    const cc_settlement_t *out);
static void cs_settle_log_operation(cs_settling_t *s,
    const cs_operation_t *operation);
static void cs_settle_log_doubt(cs_settling_t *s, const cc_coupon_t *seen,
    const cc_settled_t *next);


cs_status_e
cs_settle_coupon(cs_settling_t *s, const cc_coupon_t *seen)
{
    cs_status_e       status;
    cc_settlement_t   out;

    memset(&s->stored, 0, sizeof(cs_coupon_t));

    status = cs_store_coupon(s->store, seen->coupon_code, cs_settle_loaded, s);
    if (status != CS_OK && (status != CS_NONE || s->known_only)) {
        return status;
    }

    if (cs_settle_rules(s, seen, &out) == CS_TRUST_NONE) {
        return CS_OK;
    }

    status = cs_settle_save(s, seen, &out);

    if (status == CS_OK) {
        status = cs_bets_save(&s->bets, s->store, seen->coupon_code);
    }

    if (status == CS_OK) {
        cs_count(CS_COUNT_COUPON, 1);
        cs_settle_log_doubt(s, seen, &out.next);
    }

    return status;
}


/* what becomes of s->stored; for CS_TRUST_NONE there is no answer in *out */

static cs_trust_e
cs_settle_rules(cs_settling_t *s, const cc_coupon_t *seen, cc_settlement_t *out)
{
    cs_trust_e      trust;
    const char     *doubt;
    cc_snapshot_t   snapshot;

    doubt = NULL;
    trust = s->authoritative ? CS_TRUST_KNOWN : CS_TRUST_PUSHED;

    if (s->judge) {
        trust = s->judge(s->judge_ctx, &s->stored, seen, &doubt);
    }

    if (trust == CS_TRUST_HELD) {
        cs_settle_hold(s, doubt, out);
        return trust;
    }

    snapshot.seen = cs_settle_seen(s->conf, seen->status);
    snapshot.has_real_win = seen->has_real_win;
    snapshot.real_win = seen->real_win;
    snapshot.authoritative = trust == CS_TRUST_KNOWN;

    cc_settle(out, &s->stored.settled, &snapshot);

    if (s->hold && out->noperations) {
        s->held++;
        cs_settle_hold(s, s->hold, out);
        return CS_TRUST_HELD;
    }

    return trust;
}


/* as it is stored, but in doubt */

static void
cs_settle_hold(const cs_settling_t *s, const char *doubt, cc_settlement_t *out)
{
    memset(out, 0, sizeof(cc_settlement_t));

    out->next = s->stored.settled;
    out->next.doubt = doubt;
    out->adopt = out->next.state != CC_STATE_FINAL && !s->unread;

    if (out->next.state == CC_STATE_NONE) {
        out->next.state = CC_STATE_ACTIVE;
    }
}


static void
cs_settle_loaded(void *ctx, const cs_coupon_t *coupon)
{
    cs_settling_t  *s = ctx;

    s->stored = *coupon;

    /* the texts end with this call; code and raw are not asked for later */

    memset(&s->stored.code, 0, sizeof(cc_str_t));
    memset(&s->stored.raw, 0, sizeof(cc_str_t));

    if (coupon->settled.doubt) {
        (void) snprintf(s->doubt, sizeof(s->doubt), "%s",
                        coupon->settled.doubt);
        s->stored.settled.doubt = s->doubt;
    }
}


static cs_status_e
cs_settle_save(cs_settling_t *s, const cc_coupon_t *seen,
    const cc_settlement_t *out)
{
    unsigned         i;
    cs_coupon_t      next;
    cs_status_e      status;
    cs_operation_t   operation;

    next = s->stored;
    next.code = seen->coupon_code;
    next.raw = seen->raw;
    next.settled = out->next;

    if (out->adopt) {
        next.status = seen->status;
        next.has_real_win = seen->has_real_win;
        next.real_win = seen->real_win;
    }

    if (!next.settled.confirmed) {
        next.confirmed_at = 0;

    } else if (!s->stored.settled.confirmed || out->noperations) {
        next.confirmed_at = cs_now();
    }

    status = cs_store_coupon_save(s->store, &next);

    for (i = 0; i < out->noperations && status == CS_OK; i++) {

        operation.code = next.code;
        operation.operation = out->operations[i];
        operation.created_at = cs_now();
        operation.batch_id = s->origin;

        status = cs_store_operation_add(s->store, &operation);

        cs_settle_log_operation(s, &operation);
    }

    return status;
}


static void
cs_settle_log_operation(cs_settling_t *s, const cs_operation_t *operation)
{
    char  amount[CC_MONEY_TEXT];

    (void) cc_money_format(amount, operation->operation.amount);

    s->operations++;
    cs_count(CS_COUNT_OPERATION + operation->operation.kind, 1);

    cs_log(CS_LOG_INFO, cs_msg("money moved"),
           cs_bytes("batch", operation->batch_id),
           cs_bytes("coupon", operation->code),
           cs_number("generation", operation->operation.generation),
           cs_text("kind", cc_operation_name(operation->operation.kind)),
           cs_text("amount", amount));
}


static void
cs_settle_log_doubt(cs_settling_t *s, const cc_coupon_t *seen,
    const cc_settled_t *next)
{
    const char  *before;

    before = s->stored.settled.doubt;

    if (next->doubt && (before == NULL || strcmp(next->doubt, before) != 0)) {
        s->doubts++;
        cs_count(CS_COUNT_DOUBT_OPENED, before == NULL);

        cs_log(CS_LOG_WARN, cs_msg("money is held on a doubt"),
               cs_bytes("batch", s->origin),
               cs_bytes("coupon", seen->coupon_code),
               cs_text("doubt", next->doubt));

    } else if (before && next->doubt == NULL) {
        cs_count(CS_COUNT_DOUBT_CLEARED, 1);

        cs_log(CS_LOG_INFO, cs_msg("doubt cleared"),
               cs_bytes("batch", s->origin),
               cs_bytes("coupon", seen->coupon_code));
    }
}


cc_seen_e
cs_settle_seen(const cs_conf_t *conf, int64_t status)
{
    unsigned  i;

    if (status == conf->recalculation_status) {
        return CC_SEEN_RECALCULATION;
    }

    for (i = 0; i < conf->final_statuses.n; i++) {
        if (status == conf->final_statuses.codes[i]) {
            return CC_SEEN_FINAL;
        }
    }

    return CC_SEEN_ACTIVE;
}

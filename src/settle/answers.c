/*
 * Answers of the API into the ledger; see answers.h.
 *
 * Why a list may settle what it may: between the moment in which the API made
 * its list and this one a newer callback can have come in.  A coupon that is
 * unknown, active, or final in generation 0 with the very amount of the list
 * shows by that that no such callback has touched its money.  For all others
 * the list is only the reason to ask for them by their code.
 */

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "answers.h"
#include "clock.h"
#include "log.h"
#include "settling.h"
#include "string_list.h"


struct cs_answers_s {
    cs_store_t           *store;
    const cs_conf_t      *conf;
    cc_json_t            *json;
    cs_settling_t         settling;
    cs_answer_kind_e      kind;
    cs_asked_t           *asked;
    cs_status_e           stopped;       /* why a reading was, or CS_OK */
    cs_answers_count_t    count;
    cs_strings_t          codes;         /* of the answer in hand */
    cs_strings_t          waiting;       /* … that cs_answers_waiting() has */
};


static cs_status_e cs_answers_expect(cs_answers_t *a,
    const cs_reply_t *reply);
static int cs_answers_passed_over(void *ctx, const cc_event_t *event);
static int cs_answers_code(void *ctx, const cc_coupon_t *coupon);
static int cs_answers_event(void *ctx, const cc_event_t *event);
static int cs_answers_coupon(void *ctx, const cc_coupon_t *coupon);
static cs_trust_e cs_answers_judge(void *ctx, const cs_coupon_t *stored,
    const cc_coupon_t *seen, const char **doubt);
static cs_trust_e cs_answers_asked(cs_answers_t *a, const cs_coupon_t *stored,
    const cc_coupon_t *seen, const char **doubt);
static cs_trust_e cs_answers_listed(cs_answers_t *a, const cs_coupon_t *stored,
    const cc_coupon_t *seen, const char **doubt);
static cs_trust_e cs_answers_final(cs_answers_t *a, const cs_coupon_t *stored,
    const cc_coupon_t *seen, const char **doubt);
static cs_trust_e cs_answers_later(cs_answers_t *a, cc_str_t code);


static const char  cs_not_configured[] = "final for the API, but its status is "
                                         "not in final_statuses";

static const char  cs_otherwise[] = "the API lists it otherwise, to be read by "
                                    "its code";


cs_answers_t *
cs_answers_create(cs_store_t *store, const cs_conf_t *conf)
{
    uint64_t       seed;
    cs_answers_t  *a;

    a = cs_alloc(sizeof(cs_answers_t));

    if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed)) {
        seed = (uint64_t) cs_now();
    }

    a->store = store;
    a->conf = conf;
    a->settling.store = store;
    a->settling.conf = conf;
    a->settling.judge = cs_answers_judge;
    a->settling.judge_ctx = a;
    a->json = cc_json_create(seed);

    if (a->json == NULL) {
        cs_no_memory();
    }

    return a;
}


void
cs_answers_destroy(cs_answers_t *a)
{
    cs_bets_free(&a->settling.bets);
    cs_strings_free(&a->codes);
    cs_strings_free(&a->waiting);
    cc_json_destroy(a->json);
    free(a);
}


cs_status_e
cs_answers_settle(cs_answers_t *a, cs_answer_kind_e kind, const char *origin,
    const cs_reply_t *reply, cs_asked_t *asked)
{
    size_t               i;
    cc_answer_t          answer;
    cc_envelope_sink_t   sink;

    memset(&a->count, 0, sizeof(cs_answers_count_t));

    a->kind = kind;
    a->asked = asked;
    cs_strings_free(&a->waiting);

    for (i = 0; asked && i < asked->n; i++) {
        asked->items[i].answered = 0;
        asked->items[i].moved = 0;
    }

    a->settling.origin = cs_str_of(origin);
    a->settling.operations = 0;
    a->settling.doubts = 0;
    cs_bets_clear(&a->settling.bets);

    a->stopped = cs_answers_expect(a, reply);

    if (a->stopped != CS_OK) {
        return a->stopped;
    }

    sink.event = cs_answers_event;
    sink.coupon = cs_answers_coupon;
    sink.ctx = a;

    /* that it can be read has been seen when it came */

    if (cc_snapshot_read(&answer, a->json, reply->text, reply->one, &sink)
        == CC_SNAPSHOT_NO_MEMORY)
    {
        cs_no_memory();
    }

    a->count.coupons = answer.count;
    a->count.operations = a->settling.operations;
    a->count.doubts = a->settling.doubts;

    return a->stopped;
}


/* the coupons of an answer are in any order: the store locks them in one */

static cs_status_e
cs_answers_expect(cs_answers_t *a, const cs_reply_t *reply)
{
    cc_answer_t          answer;
    cs_expected_t        expected;
    cc_envelope_sink_t   sink;

    cs_strings_free(&a->codes);

    sink.event = cs_answers_passed_over;
    sink.coupon = cs_answers_code;
    sink.ctx = a;

    if (cc_snapshot_read(&answer, a->json, reply->text, reply->one, &sink)
        == CC_SNAPSHOT_NO_MEMORY)
    {
        cs_no_memory();
    }

    memset(&expected, 0, sizeof(cs_expected_t));
    expected.codes = cs_strings_all(&a->codes, &expected.ncodes);

    return cs_store_expect(a->store, &expected);
}


static int
cs_answers_passed_over(void *ctx, const cc_event_t *event)
{
    (void) ctx;
    (void) event;

    return 0;
}


static int
cs_answers_code(void *ctx, const cc_coupon_t *coupon)
{
    cs_answers_t  *a = ctx;

    cs_strings_add(&a->codes, coupon->coupon_code);

    return 0;
}


static int
cs_answers_event(void *ctx, const cc_event_t *event)
{
    cs_answers_t  *a = ctx;

    cs_bets_add(&a->settling.bets, event);

    return 0;
}


static int
cs_answers_coupon(void *ctx, const cc_coupon_t *coupon)
{
    cs_answers_t  *a = ctx;

    a->stopped = cs_settle_coupon(&a->settling, coupon);

    cs_bets_clear(&a->settling.bets);

    return a->stopped != CS_OK;
}


static cs_trust_e
cs_answers_judge(void *ctx, const cs_coupon_t *stored, const cc_coupon_t *seen,
    const char **doubt)
{
    cs_answers_t  *a = ctx;

    return a->kind == CS_ANSWER_ASKED
           ? cs_answers_asked(a, stored, seen, doubt)
           : cs_answers_listed(a, stored, seen, doubt);
}


static cs_trust_e
cs_answers_asked(cs_answers_t *a, const cs_coupon_t *stored,
    const cc_coupon_t *seen, const char **doubt)
{
    cs_asked_item_t  *item;

    item = cs_asked_find(a->asked, seen->coupon_code);

    if (item == NULL) {
        cs_log(CS_LOG_ERROR, cs_msg("the API answers with a coupon that was "
                                    "not asked for"),
               cs_bytes("coupon", seen->coupon_code));
        return CS_TRUST_NONE;
    }

    if (stored->version != item->version) {
        item->moved = 1;
        a->count.moved++;
        return CS_TRUST_NONE;
    }

    item->answered = 1;

    /* read by its code it looks active: only the list says that it is final */

    if (stored->settled.doubt
        && strcmp(stored->settled.doubt, cs_not_configured) == 0
        && stored->status == seen->status
        && cs_settle_seen(a->conf, seen->status) == CC_SEEN_ACTIVE)
    {
        *doubt = cs_not_configured;
        return CS_TRUST_HELD;
    }

    return CS_TRUST_KNOWN;
}


static cs_trust_e
cs_answers_listed(cs_answers_t *a, const cs_coupon_t *stored,
    const cc_coupon_t *seen, const char **doubt)
{
    if (a->kind == CS_ANSWER_CALCULATED
        && cs_settle_seen(a->conf, seen->status) == CC_SEEN_ACTIVE)
    {
        cs_log(CS_LOG_ERROR, cs_msg("the API calls a status final that is not "
                                    "in final_statuses: the configuration is "
                                    "wrong, money is held"),
               cs_bytes("coupon", seen->coupon_code),
               cs_number("status", seen->status));

        *doubt = cs_not_configured;
        return CS_TRUST_HELD;
    }

    if (stored->settled.doubt) {
        return cs_answers_later(a, seen->coupon_code);
    }

    switch (stored->settled.state) {

    case CC_STATE_NONE:
    case CC_STATE_ACTIVE:
        return CS_TRUST_KNOWN;

    case CC_STATE_RECALCULATING:
        return cs_answers_later(a, seen->coupon_code);

    case CC_STATE_FINAL:
        break;
    }

    return cs_answers_final(a, stored, seen, doubt);
}


static cs_trust_e
cs_answers_final(cs_answers_t *a, const cs_coupon_t *stored,
    const cc_coupon_t *seen, const char **doubt)
{
    const cc_settled_t  *settled = &stored->settled;

    if (cs_settle_seen(a->conf, seen->status) != CC_SEEN_FINAL
        || !seen->has_real_win
        || cc_money_compare(seen->real_win, settled->credit) != 0)
    {
        *doubt = cs_otherwise;
        return CS_TRUST_HELD;
    }

    if (settled->generation == 0) {
        return CS_TRUST_KNOWN;
    }

    return settled->confirmed ? CS_TRUST_NONE
                              : cs_answers_later(a, seen->coupon_code);
}


static cs_trust_e
cs_answers_later(cs_answers_t *a, cc_str_t code)
{
    cs_strings_add(&a->waiting, code);
    a->count.waiting++;

    return CS_TRUST_NONE;
}


const cs_answers_count_t *
cs_answers_count(const cs_answers_t *a)
{
    return &a->count;
}


void
cs_answers_waiting(cs_answers_t *a, void (*call)(void *ctx, cc_str_t code),
    void *ctx)
{
    size_t           i, n;
    const cc_str_t  *codes;

    codes = cs_strings_all(&a->waiting, &n);

    for (i = 0; i < n; i++) {
        call(ctx, codes[i]);
    }
}

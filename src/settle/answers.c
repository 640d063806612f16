/*
 * Answers of the API into the ledger, transaction by transaction; see
 * answers.h.
 *
 * All of an answer shares one transaction, and mostly that is the end of it.
 * Where the store refuses, or what hangs on the operations does, it does not
 * say because of which coupon: then the answer is halved until the coupon
 * stands alone.  A text is read anew for each part, which is cheap beside a
 * commit; what is settled already is only found to be so when a process that
 * died in between is given the answer again.
 */

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "answers_internal.h"
#include "clock.h"
#include "counters.h"
#include "log.h"


#define CS_ANSWERS_TRIES  5           /* of a transaction in collision */
#define CS_ANSWERS_HELD   64          /* one by one */


static cs_status_e cs_answers_split(cs_answers_t *a, unsigned from,
    unsigned to);
static void cs_answers_because(cs_answers_t *a);
static unsigned cs_answers_to_split(const cs_answers_t *a, cs_status_e status);
static cs_status_e cs_answers_part(cs_answers_t *a, cs_take_e take,
    unsigned from, unsigned to, cs_answers_also_pt also);
static cs_status_e cs_answers_transaction(cs_answers_t *a, cs_take_e take,
    cs_answers_also_pt also);
static cs_status_e cs_answers_expect(cs_answers_t *a);
static cs_status_e cs_answers_read(cs_answers_t *a, cs_take_e take);
static int cs_answers_event(void *ctx, const cc_event_t *event);
static int cs_answers_coupon(void *ctx, const cc_coupon_t *coupon);
static int cs_answers_unread(void *ctx, const cc_coupon_t *coupon,
    const char *reason);
static int cs_answers_each(cs_answers_t *a, const cc_coupon_t *coupon,
    const char *malformed);
static cs_status_e cs_answers_take(cs_answers_t *a, const cc_coupon_t *coupon,
    const char *malformed);


static const char  cs_not_let_through[] = "the wallet does not let its money "
                                          "through";


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
cs_answers_settle(cs_answers_t *a, const cs_answer_t *answer)
{
    size_t       i;
    unsigned     n;
    cs_status_e  status;

    memset(&a->count, 0, sizeof(cs_answers_count_t));
    cs_strings_free(&a->waiting);

    a->answer = answer;
    a->settling.origin = cs_str_of(answer->origin);
    a->reason[0] = '\0';

    for (i = 0; answer->asked && i < answer->asked->n; i++) {
        answer->asked->items[i].answered = 0;
        answer->asked->items[i].moved = 0;
    }

    n = answer->reply->count;
    status = cs_answers_part(a, CS_TAKE_SETTLE, 0, n, answer->also);

    if (n && cs_answers_to_split(a, status)) {
        status = cs_answers_split(a, 0, n);

        if (status == CS_OK && answer->also) {
            status = cs_answers_part(a, CS_TAKE_SETTLE, n, n, answer->also);
        }
    }

    a->count.coupons = n;

    return status;
}


/*
 * A part that has just failed.  A wallet that has held many coupons of it is
 * taken for closed: what it does not let through then is held together.
 */

static cs_status_e
cs_answers_split(cs_answers_t *a, unsigned from, unsigned to)
{
    unsigned     middle;
    cs_status_e  status;

    if ((to - from == 1 || a->count.held >= CS_ANSWERS_HELD)
        && cs_store_held(a->store))
    {
        cs_answers_because(a);
        status = cs_answers_part(a, CS_TAKE_HOLD, from, to, NULL);

        if (!cs_answers_to_split(a, status)) {
            return status;
        }
    }

    if (to - from == 1) {
        cs_answers_because(a);
        return cs_answers_part(a, CS_TAKE_REJECT, from, to, NULL);
    }

    middle = from + (to - from) / 2;

    for ( /* void */ ; from < to; from = middle, middle = to) {

        status = cs_answers_part(a, CS_TAKE_SETTLE, from, middle, NULL);

        if (cs_answers_to_split(a, status)) {
            status = cs_answers_split(a, from, middle);
        }

        if (status != CS_OK) {
            return status;
        }
    }

    return CS_OK;
}


static void
cs_answers_because(cs_answers_t *a)
{
    (void) snprintf(a->reason, sizeof(a->reason), "%s",
                    cs_store_error(a->store));
}


/* 1 if it is one coupon that fails, not the store */

static unsigned
cs_answers_to_split(const cs_answers_t *a, cs_status_e status)
{
    return status == CS_REFUSED
           || (status == CS_AGAIN && cs_store_held(a->store));
}


/* coupons `from` to before `to`; tries again where it was only in the way */

static cs_status_e
cs_answers_part(cs_answers_t *a, cs_take_e take, unsigned from, unsigned to,
    cs_answers_also_pt also)
{
    unsigned             tries;
    cs_status_e          status;
    cs_answers_count_t   before;

    a->from = from;
    a->to = to;
    before = a->count;

    for (tries = 1; ; tries++) {

        status = cs_answers_transaction(a, take, also);

        if (status == CS_OK) {
            return CS_OK;
        }

        a->count = before;

        if (status != CS_AGAIN || !cs_store_collided(a->store)
            || tries == CS_ANSWERS_TRIES)
        {
            return status;
        }

        cs_count(CS_COUNT_RETRY + CS_CAUSE_COLLISION, 1);
    }
}


static cs_status_e
cs_answers_transaction(cs_answers_t *a, cs_take_e take,
    cs_answers_also_pt also)
{
    cs_status_e  status;

    a->settling.operations = 0;
    a->settling.doubts = 0;

    cs_log_hold();

    status = cs_store_begin(a->store, CS_WRITE);

    if (status == CS_OK && take != CS_TAKE_REJECT) {
        status = cs_answers_expect(a);
    }

    if (status == CS_OK) {
        status = cs_answers_read(a, take);
    }

    if (status == CS_OK && also) {
        status = also(a->answer->ctx);
    }

    if (status == CS_OK) {
        status = cs_store_commit(a->store);
    }

    if (status != CS_OK) {
        cs_store_rollback(a->store);
        cs_log_discard();
        return status;
    }

    cs_log_release();

    a->count.operations += a->settling.operations;
    a->count.doubts += a->settling.doubts;

    return CS_OK;
}


/* the coupons of an answer are in any order: the store locks them in one */

static cs_status_e
cs_answers_expect(cs_answers_t *a)
{
    cs_status_e    status;
    cs_expected_t  expected;

    cs_strings_free(&a->codes);

    status = cs_answers_read(a, CS_TAKE_EXPECT);

    if (status != CS_OK) {
        return status;
    }

    memset(&expected, 0, sizeof(cs_expected_t));
    expected.codes = cs_strings_all(&a->codes, &expected.ncodes);

    return cs_store_expect(a->store, &expected);
}


/* that it can be read has been seen when it came */

static cs_status_e
cs_answers_read(cs_answers_t *a, cs_take_e take)
{
    cc_answer_t          answer;
    const cs_reply_t    *reply;
    cc_envelope_sink_t   sink;

    a->take = take;
    a->at = 0;
    a->stopped = CS_OK;
    cs_bets_clear(&a->settling.bets);

    if (a->from == a->to) {
        return CS_OK;
    }

    sink.event = cs_answers_event;
    sink.coupon = cs_answers_coupon;
    sink.ctx = a;
    sink.malformed = cs_answers_unread;

    reply = a->answer->reply;

    if (cc_snapshot_read(&answer, a->json, reply->text, reply->one, &sink)
        == CC_SNAPSHOT_NO_MEMORY)
    {
        cs_no_memory();
    }

    return a->stopped;
}


static int
cs_answers_event(void *ctx, const cc_event_t *event)
{
    cs_answers_t  *a = ctx;

    if (a->at >= a->from && a->take == CS_TAKE_SETTLE) {
        cs_bets_add(&a->settling.bets, event);
    }

    return 0;
}


static int
cs_answers_coupon(void *ctx, const cc_coupon_t *coupon)
{
    return cs_answers_each(ctx, coupon, NULL);
}


static int
cs_answers_unread(void *ctx, const cc_coupon_t *coupon, const char *reason)
{
    return cs_answers_each(ctx, coupon, reason);
}


static int
cs_answers_each(cs_answers_t *a, const cc_coupon_t *coupon,
    const char *malformed)
{
    if (a->at++ >= a->from) {
        a->stopped = cs_answers_take(a, coupon, malformed);
        cs_bets_clear(&a->settling.bets);
    }

    return a->stopped != CS_OK || a->at == a->to;
}


static cs_status_e
cs_answers_take(cs_answers_t *a, const cc_coupon_t *coupon,
    const char *malformed)
{
    cs_status_e  status;

    if (a->take == CS_TAKE_EXPECT) {
        cs_strings_add(&a->codes, coupon->coupon_code);
        return CS_OK;
    }

    a->settling.unread = malformed != NULL;

    if (malformed) {
        cs_bets_clear(&a->settling.bets);
        a->count.malformed++;
        cs_count(CS_COUNT_API_MALFORMED, 1);

        cs_log(CS_LOG_ERROR, cs_msg("what the API says of a coupon cannot be "
                                    "used"),
               cs_bytes("coupon", coupon->coupon_code),
               cs_text("reason", malformed));

        if (coupon->coupon_code.len == 0) {
            return cs_answers_reject(a, coupon, malformed);
        }
    }

    if (a->take == CS_TAKE_REJECT) {
        return cs_answers_reject(a, coupon, a->reason);
    }

    a->settling.hold = a->take == CS_TAKE_HOLD ? cs_not_let_through : NULL;
    a->settling.held = 0;

    status = cs_settle_coupon(&a->settling, coupon);

    if (status == CS_OK && a->settling.held) {
        a->count.held++;
        cs_count(CS_COUNT_RETRY + CS_CAUSE_WALLET, 1);

        cs_log(CS_LOG_ERROR, cs_msg("the wallet does not let a coupon through, "
                                    "it waits"),
               cs_bytes("coupon", coupon->coupon_code),
               cs_text("reason", a->reason));
    }

    return status;
}


const cs_answers_count_t *
cs_answers_count(const cs_answers_t *a)
{
    return &a->count;
}


const char *
cs_answers_reason(const cs_answers_t *a)
{
    return a->reason;
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

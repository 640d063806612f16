/*
 * coupon-settle resolve: the API, or a person, says what is true of a coupon.
 *
 * Both are an authoritative snapshot.  What the API says only counts if nothing
 * has touched the coupon while it was asked; else it is asked again.  The
 * operations carry "resolve:MS" (the time, Unix ms) where others carry the id
 * of their batch.
 */

#include <stdio.h>

#include "answers.h"
#include "buffer.h"
#include "clock.h"
#include "command.h"
#include "log.h"
#include "settling.h"
#include "worker.h"


#define CS_RESOLVE_TRIES  5


static int cs_resolve_by_hand(const cs_args_t *args, cs_store_t *store,
    const cc_coupon_t *coupon, const char *origin);
static int cs_resolve_by_api(const cs_args_t *args, cs_store_t *store,
    const char *origin);
static cs_status_e cs_resolve_version(cs_store_t *store, cs_asked_t *asked,
    cc_str_t code);
static void cs_resolve_versioned(void *ctx, const cs_coupon_t *coupon);
static int cs_resolve_read(const cs_args_t *args, cc_coupon_t *coupon);
static int cs_resolve_report(cs_store_t *store, const cs_args_t *args);
static void cs_resolve_coupon(void *ctx, const cs_coupon_t *coupon);


int
cs_cmd_resolve(const cs_args_t *args)
{
    int            failed;
    char           origin[48];
    cs_store_t    *store;
    cc_coupon_t    coupon;

    if (args->status || args->real_win || args->conf.api.base_url == NULL) {
        if (cs_resolve_read(args, &coupon) != 0) {
            return CS_USAGE;
        }
    }

    store = cs_open_store(args);
    if (store == NULL) {
        return 1;
    }

    (void) snprintf(origin, sizeof(origin), "resolve:%lld",
                    (long long) cs_now());

    failed = args->status
             ? cs_resolve_by_hand(args, store, &coupon, origin)
             : cs_resolve_by_api(args, store, origin);

    if (!failed) {
        failed = cs_resolve_report(store, args);
    }

    cs_store_destroy(store);

    return failed;
}


static int
cs_resolve_by_hand(const cs_args_t *args, cs_store_t *store,
    const cc_coupon_t *coupon, const char *origin)
{
    int           failed;
    cs_worker_t  *worker;

    failed = 1;
    worker = cs_worker_create(store, &args->conf);

    switch (cs_worker_resolve(worker, coupon, origin)) {

    case CS_OK:
        failed = 0;
        break;

    case CS_NONE:
        (void) cs_fail("there is no coupon \"%s\"", args->argv[0]);
        break;

    case CS_REFUSED:
        (void) cs_fail("the ledger refuses it: %s", cs_worker_reason(worker));
        break;

    case CS_AGAIN:
        (void) cs_fail(cs_store_held(store)
                       ? "the wallet does not let it through: %s"
                       : "the store cannot be written: %s",
                       cs_store_error(store));
        break;
    }

    cs_worker_destroy(worker);

    return failed;
}


static int
cs_resolve_by_api(const cs_args_t *args, cs_store_t *store, const char *origin)
{
    int              i, failed;
    cc_str_t         code;
    cs_api_t        *api;
    cs_asked_t       asked;
    cs_answer_t      answer;
    cs_status_e      status;
    cs_answers_t    *answers;

    code = cs_str_of(args->argv[0]);
    api = cs_api_create(&args->conf.api);
    answers = cs_answers_create(store, &args->conf);
    failed = -1;

    memset(&answer, 0, sizeof(cs_answer_t));
    answer.kind = CS_ANSWER_ASKED;
    answer.origin = origin;
    answer.asked = &asked;

    for (i = 0; i < CS_RESOLVE_TRIES && failed < 0; i++) {

        status = cs_resolve_version(store, &asked, code);

        if (status == CS_OK && cs_api_get(api, code) != CS_API_OK) {
            failed = cs_fail("%s", cs_api_error(api));
            break;
        }

        if (status == CS_OK) {
            answer.reply = cs_api_reply(api);
            status = cs_answers_settle(answers, &answer);
        }

        if (status != CS_OK) {
            failed = cs_fail("the store: %s", cs_store_error(store));

        } else if (cs_answers_count(answers)->rejected) {
            failed = cs_fail("the ledger refuses it: %s",
                             cs_answers_reason(answers));

        } else if (asked.items[0].answered) {
            failed = 0;

        } else if (!asked.items[0].moved) {
            failed = cs_fail("the API answers with another coupon");
        }
    }

    if (failed < 0) {
        failed = cs_fail("the coupon changes faster than the API can be asked: "
                         "try again");
    }

    cs_answers_destroy(answers);
    cs_api_destroy(api);

    return failed;
}


static cs_status_e
cs_resolve_version(cs_store_t *store, cs_asked_t *asked, cc_str_t code)
{
    cs_status_e  status;

    asked->n = 0;
    cs_asked_add(asked, code, 0);

    if (asked->n == 0) {
        return CS_NONE;
    }

    status = cs_store_coupon(store, code, cs_resolve_versioned, asked);

    return status == CS_NONE ? CS_OK : status;
}


static void
cs_resolve_versioned(void *ctx, const cs_coupon_t *coupon)
{
    cs_asked_t  *asked = ctx;

    asked->items[0].version = coupon->version;
}


static int
cs_resolve_read(const cs_args_t *args, cc_coupon_t *coupon)
{
    memset(coupon, 0, sizeof(cc_coupon_t));

    coupon->coupon_code = cs_str_of(args->argv[0]);

    if (args->status == NULL) {
        return cs_usage("--status is missing: without [api] only a person can "
                        "say it");
    }

    if (cc_money_whole(&coupon->status, cs_str_of(args->status)) != 0) {
        return cs_usage("--status %s is not a whole number", args->status);
    }

    if (args->real_win) {

        if (cc_money_parse(&coupon->real_win, cs_str_of(args->real_win),
                           CC_MONEY_STRING_DIGITS)
            != 0
            || coupon->real_win.coefficient < 0)
        {
            return cs_usage("--real-win %s is not a decimal from 0 on, of at "
                           "most %d digits, %d of them after the point",
                           args->real_win, CC_MONEY_STRING_DIGITS,
                           CC_MONEY_SCALE_MAX);
        }

        coupon->has_real_win = 1;
    }

    if (cs_settle_seen(&args->conf, coupon->status) == CC_SEEN_FINAL
        && !coupon->has_real_win)
    {
        return cs_usage("--real-win is missing: status %s is final",
                       args->status);
    }

    return 0;
}


static int
cs_resolve_report(cs_store_t *store, const cs_args_t *args)
{
    unsigned  doubt;

    doubt = 0;

    if (cs_store_coupon(store, cs_str_of(args->argv[0]), cs_resolve_coupon,
                        &doubt)
        != CS_OK)
    {
        return cs_fail("it is stored, but cannot be read back: %s",
                       cs_store_error(store));
    }

    return doubt ? 1 : 0;
}


static void
cs_resolve_coupon(void *ctx, const cs_coupon_t *coupon)
{
    unsigned  *doubt = ctx;

    cs_print(coupon->code);

    (void) printf(" is %s, generation %u\n",
                  cc_state_name(coupon->settled.state),
                  coupon->settled.generation);

    if (coupon->settled.doubt) {
        *doubt = 1;
        (void) cs_fail("it is still in doubt: %s", coupon->settled.doubt);
    }
}

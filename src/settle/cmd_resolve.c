/*
 * coupon-settle resolve: a person says what is true of a coupon.
 *
 * It is the same as an authoritative snapshot from the provider, settled by the
 * same worker.  The operations it writes carry "resolve:MS" (the time, Unix ms)
 * where others carry the id of their batch.
 */

#include <stdio.h>

#include "buffer.h"
#include "clock.h"
#include "command.h"
#include "settling.h"
#include "worker.h"


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
    cs_worker_t   *worker;

    if (cs_resolve_read(args, &coupon) != 0) {
        return CS_USAGE;
    }

    store = cs_open_store(args);
    if (store == NULL) {
        return 1;
    }

    (void) snprintf(origin, sizeof(origin), "resolve:%lld",
                    (long long) cs_now());

    failed = 1;
    worker = cs_worker_create(store, &args->conf);

    switch (cs_worker_resolve(worker, &coupon, origin)) {

    case CS_OK:
        failed = cs_resolve_report(store, args);
        break;

    case CS_NONE:
        (void) cs_fail("there is no coupon \"%s\"", args->argv[0]);
        break;

    case CS_REFUSED:
        (void) cs_fail("the ledger refuses it: %s", cs_worker_reason(worker));
        break;

    case CS_AGAIN:
        (void) cs_fail("the store cannot be written: %s",
                       cs_store_error(store));
        break;
    }

    cs_worker_destroy(worker);
    cs_store_destroy(store);

    return failed;
}


static int
cs_resolve_read(const cs_args_t *args, cc_coupon_t *coupon)
{
    memset(coupon, 0, sizeof(cc_coupon_t));

    coupon->coupon_code = cs_str_of(args->argv[0]);

    if (args->status == NULL) {
        return cs_usage("--status is missing: this version cannot ask the "
                       "provider's API");
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

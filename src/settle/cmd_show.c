/*
 * coupon-settle show, doubts: what the ledger says, for people.
 *
 * Codes, ids and bodies come from outside and are shown escaped.
 */

#include <stdio.h>

#include "buffer.h"
#include "clock.h"
#include "command.h"
#include "store.h"


typedef struct {
    cc_money_t   sum;
    unsigned     overflow;
} cs_sum_t;


static cs_status_e cs_show_all(cs_store_t *store, cc_str_t code);
static void cs_show_coupon(void *ctx, const cs_coupon_t *coupon);
static void cs_show_event(void *ctx, const cc_event_t *event);
static void cs_show_operation(void *ctx, const cs_operation_t *operation);
static void cs_show_doubt(void *ctx, const cs_coupon_t *coupon);
static void cs_show_label(const char *label, cc_str_t value);
static const char *cs_show_amount(char *buf, unsigned present, cc_money_t m);


int
cs_cmd_show(const cs_args_t *args)
{
    cs_store_t   *store;
    cs_status_e   status;

    store = cs_open_store(args);
    if (store == NULL) {
        return 1;
    }

    status = cs_show_all(store, cs_str_of(args->argv[0]));

    if (status == CS_NONE) {
        (void) cs_fail("there is no coupon \"%s\"", args->argv[0]);

    } else if (status != CS_OK) {
        (void) cs_fail("the store cannot be read: %s", cs_store_error(store));
    }

    cs_store_destroy(store);

    return status == CS_OK ? 0 : 1;
}


/* in one transaction, so that the parts fit each other */

static cs_status_e
cs_show_all(cs_store_t *store, cc_str_t code)
{
    cs_sum_t     sum;
    cs_status_e  status;

    status = cs_store_begin(store, CS_READ);

    if (status == CS_OK) {
        status = cs_store_coupon(store, code, cs_show_coupon, NULL);
    }

    if (status != CS_OK) {
        return status;
    }

    (void) printf("\nbets\n");

    status = cs_store_events(store, code, cs_show_event, NULL);

    if (status == CS_NONE) {
        (void) printf("  none\n");

    } else if (status != CS_OK) {
        return status;
    }

    (void) printf("\noperations\n");

    memset(&sum, 0, sizeof(cs_sum_t));

    status = cs_store_operations(store, code, cs_show_operation, &sum);

    if (status == CS_NONE) {
        (void) printf("  none\n");
        return CS_OK;
    }

    return status;
}


static void
cs_show_coupon(void *ctx, const cs_coupon_t *coupon)
{
    char  amount[CC_MONEY_TEXT], time[CS_TIME_TEXT];

    (void) ctx;

    cs_show_label("coupon", coupon->code);

    (void) printf("%-12s%s\n", "state", cc_state_name(coupon->settled.state));
    (void) printf("%-12s%u\n", "generation", coupon->settled.generation);
    (void) printf("%-12s%lld\n", "status", (long long) coupon->status);
    (void) printf("%-12s%s\n", "real_win",
                  cs_show_amount(amount, coupon->has_real_win,
                                 coupon->real_win));

    cs_show_label("doubt", cs_str_of(coupon->settled.doubt
                                     ? coupon->settled.doubt : "-"));

    if (coupon->confirmed_at) {
        cs_time_format(time, coupon->confirmed_at);
    }

    (void) printf("%-12s%s\n", "confirmed", coupon->confirmed_at ? time : "-");
    (void) printf("%-12s%lld\n", "version", (long long) coupon->version);

    cs_show_label("received", coupon->raw);
}


static void
cs_show_event(void *ctx, const cc_event_t *event)
{
    (void) ctx;

    (void) printf("  ");
    cs_print(event->uuid);

    if (event->has_status) {
        (void) printf("  status %lld\n", (long long) event->status);

    } else {
        (void) printf("  status -\n");
    }
}


static void
cs_show_operation(void *ctx, const cs_operation_t *operation)
{
    char                   amount[CC_MONEY_TEXT], sum[CC_MONEY_TEXT];
    char                   time[CS_TIME_TEXT];
    cs_sum_t              *running = ctx;
    const cc_operation_t  *o = &operation->operation;

    running->overflow |= cc_money_add(&running->sum, running->sum, o->amount)
                         != 0;

    cs_time_format(time, operation->created_at);
    (void) cc_money_format(amount, o->amount);

    (void) printf("  %s  generation %u  %-19s %20s  sum %20s  ", time,
                  o->generation, cc_operation_name(o->kind), amount,
                  running->overflow
                      ? "too large"
                      : cs_show_amount(sum, 1, running->sum));

    cs_print(operation->batch_id);
    (void) printf("\n");
}


int
cs_cmd_doubts(const cs_args_t *args)
{
    cs_store_t   *store;
    cs_status_e   status;

    store = cs_open_store(args);
    if (store == NULL) {
        return 1;
    }

    status = cs_store_doubts(store, cs_show_doubt, NULL);

    if (status != CS_OK && status != CS_NONE) {
        (void) cs_fail("the store cannot be read: %s", cs_store_error(store));
    }

    cs_store_destroy(store);

    return status == CS_OK || status == CS_NONE ? 0 : 1;
}


static void
cs_show_doubt(void *ctx, const cs_coupon_t *coupon)
{
    char  amount[CC_MONEY_TEXT];

    (void) ctx;

    cs_print(coupon->code);

    (void) printf("  %s  generation %u  status %lld  real_win %s  ",
                  cc_state_name(coupon->settled.state),
                  coupon->settled.generation, (long long) coupon->status,
                  cs_show_amount(amount, coupon->has_real_win,
                                 coupon->real_win));

    cs_print(cs_str_of(coupon->settled.doubt));
    (void) printf("\n");
}


static void
cs_show_label(const char *label, cc_str_t value)
{
    (void) printf("%-12s", label);
    cs_print(value);
    (void) printf("\n");
}


static const char *
cs_show_amount(char *buf, unsigned present, cc_money_t m)
{
    if (!present) {
        return "-";
    }

    (void) cc_money_format(buf, m);

    return buf;
}

/*
 * What the test of the API's answers and its fuzz target share: an answer read
 * with a sink that writes down what it is given, one coupon after the other:
 *
 *     000272:2:125.50[98123=2,7]
 *
 * What has not the shape of a coupon is its code, if it has one, and "!".
 */

#ifndef CC_SNAPSHOT_UNIT_H
#define CC_SNAPSHOT_UNIT_H

#include "snapshot.h"
#include "unit.h"


typedef struct {
    char      text[4096];       /* what came, as far as there is room */
    size_t    len;
    char      bets[1024];
    size_t    nbets;
    unsigned  coupons;
    unsigned  malformed;
    char      reason[128];      /* of the last malformed one, */
    char      raw[1024];        /* and as it was written */
    unsigned  stop_at;          /* stops at this coupon; 0: never */
} seen_t;


static void TAP_UNUSED __attribute__((format(printf, 4, 5)))
seen_add(char *buf, size_t size, size_t *len, const char *format, ...)
{
    int      n;
    va_list  args;

    va_start(args, format);
    n = vsnprintf(buf + *len, size - *len, format, args);
    va_end(args);

    *len = n < 0 || (size_t) n >= size - *len ? size - 1 : *len + (size_t) n;
}


static int TAP_UNUSED
seen_event(void *ctx, const cc_event_t *event)
{
    seen_t  *seen = ctx;

    seen_add(seen->bets, sizeof(seen->bets), &seen->nbets, "%s%.*s",
             seen->nbets ? "," : "", (int) event->uuid.len,
             (const char *) event->uuid.data);

    if (event->has_status) {
        seen_add(seen->bets, sizeof(seen->bets), &seen->nbets, "=%lld",
                 (long long) event->status);
    }

    return 0;
}


static int TAP_UNUSED
seen_coupon(void *ctx, const cc_coupon_t *coupon)
{
    char     amount[CC_MONEY_TEXT] = "-";
    seen_t  *seen = ctx;

    if (++seen->coupons == seen->stop_at) {
        return 1;
    }

    if (coupon->has_real_win) {
        (void) cc_money_format(amount, coupon->real_win);
    }

    seen_add(seen->text, sizeof(seen->text), &seen->len, "%s%.*s:%lld:%s[%.*s]",
             seen->len ? " " : "", (int) coupon->coupon_code.len,
             (const char *) coupon->coupon_code.data,
             (long long) coupon->status, amount, (int) seen->nbets,
             seen->bets);
    seen->nbets = 0;

    return 0;
}


static int TAP_UNUSED
seen_malformed(void *ctx, const cc_coupon_t *coupon, const char *reason)
{
    seen_t  *seen = ctx;

    if (seen->coupons + ++seen->malformed == seen->stop_at) {
        return 1;
    }

    seen_add(seen->text, sizeof(seen->text), &seen->len, "%s%.*s!",
             seen->len ? " " : "", (int) coupon->coupon_code.len,
             (const char *) coupon->coupon_code.data);
    (void) snprintf(seen->reason, sizeof(seen->reason), "%s", reason);
    (void) snprintf(seen->raw, sizeof(seen->raw), "%.*s",
                    (int) coupon->raw.len, (const char *) coupon->raw.data);
    seen->nbets = 0;

    return 0;
}


static cc_snapshot_status_e TAP_UNUSED
seen_read(seen_t *seen, cc_json_t *json, cc_answer_t *answer, cc_str_t text,
    unsigned one)
{
    cc_envelope_sink_t  sink = { seen_event, seen_coupon, seen,
                                 seen_malformed };

    return cc_snapshot_read(answer, json, text, one, &sink);
}


#endif /* CC_SNAPSHOT_UNIT_H */

/*
 * What the tests of the coupon callback share: rules, bodies made of literals,
 * and "this text is taken" and "this text is refused for this reason".
 *
 * The rules are the module's default shapes without a regular expression
 * engine: ^[\x21-\x7e]{1,64}$ and ^[0-9A-Za-z_-]{1,64}$.
 */

#ifndef CC_ENVELOPE_UNIT_H
#define CC_ENVELOPE_UNIT_H

#include "envelope.h"
#include "unit.h"


static char  shape_batch_id[] = "!\"#$%&'()*+,-./0123456789:;<=>?@"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`"
                                "abcdefghijklmnopqrstuvwxyz{|}~";

static char  shape_coupon_code[] = "0123456789_-ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "abcdefghijklmnopqrstuvwxyz";


/* the pattern is the set of characters that may stand in the text */
static int TAP_UNUSED
shape(void *pattern, cc_str_t text)
{
    size_t  i;

    for (i = 0; i < text.len; i++) {
        if (text.data[i] == '\0' || strchr(pattern, text.data[i]) == NULL) {
            return 0;
        }
    }

    return text.len >= 1 && text.len <= 64;
}


static const cc_envelope_rules_t TAP_UNUSED  shape_rules = {
    shape, shape_batch_id, shape_coupon_code, 100
};


static cc_json_t TAP_UNUSED     *json;     /* made and destroyed by main() */
static cc_envelope_t TAP_UNUSED  envelope; /* of the text read last */


/* a body with one coupon; what is put in stands behind coupon_code, status */
#define COUPON(members)                                                       \
    "{\"coupon_code\":\"000272\",\"status\":2" members "}"
#define BODY(members)                                                         \
    "{\"batchId\":\"b-1\",\"couponCount\":1,\"coupons\":["                    \
    COUPON(members) "]}"
#define WIN(value)     BODY(",\"real_win\":" value)
#define STATUS(value)                                                         \
    "{\"batchId\":\"b-1\",\"couponCount\":1,\"coupons\":["                    \
    "{\"coupon_code\":\"000272\",\"status\":" value "}]}"
#define CODE(value)                                                           \
    "{\"batchId\":\"b-1\",\"couponCount\":1,\"coupons\":["                    \
    "{\"coupon_code\":" value ",\"status\":2}]}"
#define COUNT(value)                                                          \
    "{\"batchId\":\"b-1\",\"couponCount\":" value ",\"coupons\":["            \
    COUPON("") "]}"
#define ID(value)                                                             \
    "{\"batchId\":" value ",\"couponCount\":1,\"coupons\":[" COUPON("") "]}"
#define EVENTS(value)  BODY(",\"events_data\":" value)

#define TEN(text)      text text text text text text text text text text
#define SIXTY(text)    TEN(text text text text text text)

#define takes(literal)                                                        \
    is_taken(unit_text(literal), &shape_rules, __LINE__)
#define refuses(word, literal)                                                \
    is_refused(unit_text(literal), word, &shape_rules, __LINE__)


static cc_envelope_status_e TAP_UNUSED
read_envelope(cc_str_t text, const cc_envelope_rules_t *rules)
{
    cc_str_t              exact = unit_exact(text);
    cc_envelope_status_e  status;

    memset(&envelope, 0x5a, sizeof(envelope));
    status = cc_envelope_read(&envelope, json, exact, rules, NULL);
    unit_free(exact);

    return status;
}


static void TAP_UNUSED
is_taken(cc_str_t text, const cc_envelope_rules_t *rules, int line)
{
    int  status = read_envelope(text, rules);

    tap_ok(status == CC_ENVELOPE_OK, line, "takes %.*s", (int) text.len,
           (const char *) text.data);

    if (status != CC_ENVELOPE_OK) {
        diag("status %d, %s", status, envelope.reason);
    }
}


static void TAP_UNUSED
is_refused(cc_str_t text, const char *word, const cc_envelope_rules_t *rules,
    int line)
{
    int  status = read_envelope(text, rules);

    if (status != CC_ENVELOPE_REFUSED) {
        tap_ok(0, line, "refuses (%s) %.*s", word, (int) text.len,
               (const char *) text.data);
        diag("status %d", status);
        return;
    }

    tap_ok(envelope.reason && strstr(envelope.reason, word) != NULL
           && envelope.offset <= text.len,
           line, "refuses (%s) %.*s", word, (int) text.len,
           (const char *) text.data);

    if (strstr(envelope.reason, word) == NULL) {
        diag("reason: %s", envelope.reason);
    }
}


#endif /* CC_ENVELOPE_UNIT_H */

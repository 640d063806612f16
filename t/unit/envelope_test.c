/*
 * Is a body a coupon callback?  "Body shape" of the README, rule by rule: what
 * is taken and, next to it, what is refused for this one reason.
 *
 * Here the envelope: names, batchId, couponCount.  Coupons and bets are in
 * envelope_coupon_test.c, what the reader hands out in envelope_sink_test.c,
 * mutated bodies against cJSON in envelope_diff_test.c.
 */

#include "envelope_unit.h"


static void
is_id(const char *want)
{
    is_str(unit_str(envelope.id, envelope.id_len), want, "the id is %s", want);
}


static void
test_object(void)
{
    takes(BODY(""));
    is_id("b-1");
    is_int(envelope.count, 1, "of one coupon");

    takes(" \r\n\t" BODY("") "\n");
    takes("{\"coupons\":[" COUPON("") "],\"couponCount\":1,"
          "\"batchId\":\"last\"}");
    is_id("last");
    takes("{\"couponCount\":1,\"batchId\":\"mid\",\"coupons\":[" COUPON("")
          "]}");
    takes("{\"b\\u0061tchId\":\"b-1\",\"coupon\\u0043ount\":1,"
          "\"\\u0063oupons\":[{\"coupon\\u005fcode\":\"1\","
          "\"stat\\u0075s\":2}]}");

    refuses("object", "[]");
    refuses("object", "[" BODY("") "]");
    refuses("object", "\"b\"");
    refuses("object", "1");
    refuses("object", "null");
    refuses("JSON", "");
    refuses("JSON", "\xef\xbb\xbf" BODY(""));
    refuses("JSON", BODY("") "x");
    refuses("JSON", BODY("") BODY(""));
    refuses("JSON", BODY("") "\0");
    refuses("JSON", BODY(",\"x\":\"\\u0000\""));
    refuses("JSON", BODY(",\"x\":\"\xff\""));
    refuses("JSON", BODY(",\"x\":\"\\ud800\""));
    refuses("JSON", BODY(",\"x\":01"));
    refuses("JSON", BODY(",\"x\":[1,]"));
    refuses("JSON", BODY(",\"x\":"));
    refuses("nested", BODY(",\"x\":[[" TEN("[[[[[[") "1" TEN("]]]]]]") "]]"));
    refuses("JSON", "{\"batchId\":\"b-1\"");
    refuses("JSON", "{\"batchId\":");
    refuses("JSON", "{\"batchId\":\"b-1\",\"couponCount\":1,\"coupons\":["
            COUPON(""));
    refuses("JSON", "{\"batchId\":\"b-1\",\"couponCount\":1,\"coupons\":["
            COUPON("") ",]}");

    refuses("batchId is missing", "{}");
    refuses("batchId is missing",
            "{\"couponCount\":1,\"coupons\":[" COUPON("") "]}");
    refuses("couponCount is missing",
            "{\"batchId\":\"b\",\"coupons\":[" COUPON("") "]}");
    refuses("coupons is missing", "{\"batchId\":\"b\",\"couponCount\":1}");
    refuses("coupons is missing", "{\"batchId\":\"b\",\"couponCount\":0}");
}


static void
test_names(void)
{
    refuses("batchId", "{\"BatchId\":\"b\",\"couponCount\":1,\"coupons\":["
            COUPON("") "]}");
    refuses("batchId", "{\"batchid\":\"b\",\"couponCount\":1,\"coupons\":["
            COUPON("") "]}");
    refuses("batchId", "{\"batch_id\":\"b\",\"couponCount\":1,\"coupons\":["
            COUPON("") "]}");
    refuses("couponCount", "{\"batchId\":\"b\",\"couponcount\":1,\"coupons\":["
            COUPON("") "]}");
    refuses("coupons", "{\"batchId\":\"b\",\"couponCount\":1,\"Coupons\":["
            COUPON("") "]}");
    refuses("coupon_code", "{\"batchId\":\"b\",\"couponCount\":1,"
            "\"coupons\":[{\"couponCode\":\"1\",\"status\":2}]}");
    refuses("status", "{\"batchId\":\"b\",\"couponCount\":1,"
            "\"coupons\":[{\"coupon_code\":\"1\",\"Status\":2}]}");

    /* another case is another, unknown name */

    takes("{\"batchId\":\"b\",\"batchid\":7,\"couponCount\":1,\"COUPONS\":1,"
          "\"coupons\":[" COUPON(",\"STATUS\":null,\"Real_win\":\"x\"") "]}");

    refuses("twice", "{\"batchId\":\"b\",\"batchId\":\"b\",\"couponCount\":1,"
            "\"coupons\":[" COUPON("") "]}");
    refuses("twice", "{\"batchId\":\"b\",\"couponCount\":1,\"coupons\":["
            COUPON("") "],\"b\\u0061tchId\":\"c\"}");
    refuses("twice", BODY(",\"status\":2"));
    refuses("twice", BODY(",\"coupon_code\":\"000272\""));
    refuses("twice", BODY(",\"real_win\":1,\"real_win\":1"));
    refuses("twice", BODY(",\"x\":{\"y\":1,\"y\":1}"));
    refuses("twice", EVENTS("[{\"uuid\":\"1\",\"uuid\":\"1\"}]"));
    refuses("twice", EVENTS("[{\"uuid\":\"1\",\"x\":1,\"x\":1}]"));
}


static void
test_unknown(void)
{
    takes("{\"x\":1,\"batchId\":\"b\",\"y\":{\"batchId\":7,\"coupons\":null},"
          "\"couponCount\":1,\"coupons\":[" COUPON("") "],\"z\":[{},[]]}");
    takes(BODY(",\"potential_win\":300.123456789012345678,\"x\":null"));
    takes(BODY(",\"x\":{\"status\":\"2\",\"coupon_code\":5}"));
    takes(BODY(",\"potential_win\":1e400"));
    takes(EVENTS("[{\"uuid\":\"1\",\"odds\":1.5,\"x\":{\"uuid\":null}}]"));
    takes(BODY(",\"x\":[" TEN("[[[[[[") "1" TEN("]]]]]]") "]"));
}


static void
test_batch_id(void)
{
    takes(ID("\"a\""));
    takes(ID("\"0f0c7a52-9a0e-4b53-9d20-2f1a7c6f0d11\""));
    takes(ID("\"!~\""));
    takes(ID("\"a\\u0062\\/c\""));
    is_id("ab/c");
    takes(ID("\"" SIXTY("x") "1234\""));
    is_int(envelope.id_len, 64, "an id of 64 characters");
    takes(ID("\"" SIXTY("\\u0078") "1234\""));
    is_int(envelope.id_len, 64, "or of 64 after its escapes are undone");

    refuses("batchId", ID("\"\""));
    refuses("batchId", ID("\"" SIXTY("x") "12345\""));
    refuses("batchId", ID("\"" SIXTY("\\u0078") "12345\""));
    refuses("batchId", ID("\"a b\""));
    refuses("batchId", ID("\" a\""));
    refuses("batchId", ID("\"a\\n\""));
    refuses("batchId", ID("\"a\\u0001\""));
    refuses("batchId", ID("\"\xc3\xa9\""));
    refuses("batchId", ID("\"\\u00e9\""));
    refuses("batchId", ID("\"\x7f\""));
    refuses("batchId", ID("1"));
    refuses("batchId", ID("null"));
    refuses("batchId", ID("true"));
    refuses("batchId", ID("[\"a\"]"));
    refuses("batchId", ID("{}"));
}


/* without a shape any text up to CC_ID_MAX bytes is an id and a code */
static void
test_any_shape(void)
{
    cc_envelope_rules_t  rules = shape_rules;

    rules.shape = NULL;

    is_taken(unit_text(ID("\"a b \xc3\xa9\"")), &rules, __LINE__);
    is_id("a b \xc3\xa9");
    is_taken(unit_text(CODE("\"a b\"")), &rules, __LINE__);
    is_taken(unit_text(ID("\"" SIXTY("x") SIXTY("x") SIXTY("x") SIXTY("x")
                          "1234567890123456\"")), &rules, __LINE__);
    is_int(envelope.id_len, CC_ID_MAX, "the longest id");
    is_taken(unit_text(CODE("\"" SIXTY("x") SIXTY("x") SIXTY("x") SIXTY("x")
                            "1234567890123456\"")), &rules, __LINE__);

    is_refused(unit_text(ID("\"" SIXTY("x") SIXTY("x") SIXTY("x") SIXTY("x")
                            "12345678901234567\"")), "batchId", &rules,
               __LINE__);
    is_refused(unit_text(CODE("\"" SIXTY("x") SIXTY("x") SIXTY("x")
                              SIXTY("x") "12345678901234567\"")),
               "coupon_code", &rules, __LINE__);
    is_refused(unit_text(ID("\"\"")), "batchId", &rules, __LINE__);
    is_refused(unit_text(CODE("\"\"")), "coupon_code", &rules, __LINE__);
}


/* a body of n coupons that says it has `count` */
static cc_str_t
body_of(unsigned n, unsigned count)
{
    char      *text = malloc(64 * (size_t) n + 128), *p = text;
    unsigned   i;

    if (text == NULL) {
        abort();
    }

    p += sprintf(p, "{\"batchId\":\"b-1\",\"couponCount\":%u,\"coupons\":[",
                 count);

    for (i = 0; i < n; i++) {
        p += sprintf(p, "%s{\"coupon_code\":\"%012u\",\"status\":2}",
                     i ? "," : "", i);
    }

    p += sprintf(p, "]}");

    return unit_str(text, (size_t) (p - text));
}


static void
is_count(unsigned n, unsigned count, unsigned max, const char *word)
{
    cc_str_t             body = body_of(n, count);
    cc_envelope_rules_t  rules = shape_rules;

    rules.max_coupons = max;

    if (word == NULL) {
        ok(read_envelope(body, &rules) == CC_ENVELOPE_OK
           && envelope.count == n, "%u coupons of %u allowed", n, max);

    } else {
        ok(read_envelope(body, &rules) == CC_ENVELOPE_REFUSED
           && strstr(envelope.reason, word) != NULL,
           "%u coupons that say %u, at most %u: refused", n, count, max);
    }

    free((void *) (uintptr_t) body.data);
}


static void
test_count(void)
{
    is_count(1, 1, 100, NULL);
    is_count(2, 2, 100, NULL);
    is_count(100, 100, 100, NULL);
    is_count(1, 1, 1, NULL);
    is_count(1000, 1000, 1000, NULL);
    is_count(1000, 1000, UINT32_MAX, NULL);

    is_count(0, 0, 100, "coupons");
    is_count(101, 101, 100, "coupons");
    is_count(101, 100, 100, "coupons");
    is_count(2, 2, 1, "coupons");
    is_count(1, 2, 100, "couponCount");
    is_count(2, 1, 100, "couponCount");
    is_count(1, 0, 100, "couponCount");

    takes(COUNT("1.0"));
    takes(COUNT("10e-1"));

    refuses("couponCount", COUNT("\"1\""));
    refuses("couponCount", COUNT("1.5"));
    refuses("couponCount", COUNT("-1"));
    refuses("couponCount", COUNT("0"));
    refuses("couponCount", COUNT("4294967297"));
    refuses("couponCount", COUNT("18446744073709551617"));
    refuses("couponCount", COUNT("1e999"));
    refuses("couponCount", COUNT("null"));
    refuses("couponCount", COUNT("true"));
    refuses("couponCount", COUNT("[1]"));
}


/* what is known of a body that is refused, so that it can be kept aside */
static void
test_refused(void)
{
    refuses("JSON", BODY("") "x");
    is_id("b-1");

    refuses("status", STATUS("\"2\""));
    is_id("b-1");

    refuses("status", "{\"couponCount\":1,\"coupons\":["
            "{\"coupon_code\":\"1\",\"status\":\"2\"}],\"batchId\":\"b-1\"}");
    is_id("");

    refuses("batchId", ID("\"a b\""));
    is_id("");

    refuses("couponCount", COUNT("2"));
    is_id("b-1");

    takes(BODY(""));
    is_int(envelope.count, 1, "and the same reader takes the next");
}


int
main(void)
{
    json = cc_json_create(unit_seed());

    if (!ok(json != NULL, "a reader is made")) {
        return done_testing();
    }

    test_object();
    test_names();
    test_unknown();
    test_batch_id();
    test_any_shape();
    test_count();
    test_refused();

    cc_json_destroy(json);

    return done_testing();
}

/*
 * Is a coupon a coupon, and a bet a bet?  "Body shape" of the README, rule by
 * rule, below the envelope: coupon_code, status, real_win, events_data.
 */

#include "envelope_unit.h"


static void
test_coupons(void)
{
    refuses("coupons", "{\"batchId\":\"b\",\"couponCount\":1,"
            "\"coupons\":null}");
    refuses("coupons", "{\"batchId\":\"b\",\"couponCount\":1,"
            "\"coupons\":" COUPON("") "}");
    refuses("coupons", "{\"batchId\":\"b\",\"couponCount\":1,"
            "\"coupons\":\"" "x" "\"}");
    refuses("coupon", "{\"batchId\":\"b\",\"couponCount\":1,"
            "\"coupons\":[null]}");
    refuses("coupon", "{\"batchId\":\"b\",\"couponCount\":1,"
            "\"coupons\":[\"000272\"]}");
    refuses("coupon", "{\"batchId\":\"b\",\"couponCount\":1,"
            "\"coupons\":[[" COUPON("") "]]}");
    refuses("coupon", "{\"batchId\":\"b\",\"couponCount\":2,"
            "\"coupons\":[" COUPON("") ",null]}");
    refuses("coupon_code", "{\"batchId\":\"b\",\"couponCount\":1,"
            "\"coupons\":[{}]}");
    refuses("coupon_code", "{\"batchId\":\"b\",\"couponCount\":1,"
            "\"coupons\":[{\"status\":2}]}");
    refuses("status", "{\"batchId\":\"b\",\"couponCount\":1,"
            "\"coupons\":[{\"coupon_code\":\"1\"}]}");

    takes(CODE("\"0\""));
    takes(CODE("\"A-z_09\""));
    takes(CODE("\"\\u0030\\u0030\""));
    takes(CODE("\"" SIXTY("0") "1234\""));

    refuses("coupon_code", CODE("272"));
    refuses("coupon_code", CODE("null"));
    refuses("coupon_code", CODE("true"));
    refuses("coupon_code", CODE("[]"));
    refuses("coupon_code", CODE("{}"));
    refuses("coupon_code", CODE("\"\""));
    refuses("coupon_code", CODE("\"0 1\""));
    refuses("coupon_code", CODE("\"0:1\""));
    refuses("coupon_code", CODE("\"\\u0430\""));
    refuses("coupon_code", CODE("\"0\\n\""));
    refuses("coupon_code", CODE("\"" SIXTY("0") "12345\""));

    takes(STATUS("0"));
    takes(STATUS("15"));
    takes(STATUS("15.0"));
    takes(STATUS("1.5e1"));
    takes(STATUS("-1"));
    takes(STATUS("999999999999999999"));

    refuses("status", STATUS("\"2\""));
    refuses("status", STATUS("1.5"));
    refuses("status", STATUS("1e18"));
    refuses("status", STATUS("null"));
    refuses("status", STATUS("true"));
    refuses("status", STATUS("[2]"));
    refuses("status", STATUS("{\"status\":2}"));
}


static void
test_real_win(void)
{
    takes(WIN("0"));
    takes(WIN("-0"));
    takes(WIN("125.50"));
    takes(WIN("1e2"));
    takes(WIN("\"12.34\""));
    takes(WIN("\"1e2\""));
    takes(WIN("\"12\\u002e34\""));
    takes(WIN("null"));
    takes(WIN("123456789012345"));
    takes(WIN("1234567.12345678"));
    takes(WIN("\"123456789012345678\""));
    takes(WIN("\"1234567890.12345678\""));
    takes(WIN("1.500000000000000000"));
    takes(BODY(",\"realWin\":125.50"));

    refuses("real_win", WIN("-0.01"));
    refuses("real_win", WIN("\"-1\""));
    refuses("real_win", WIN("1234567890123456"));
    refuses("real_win", WIN("12345678.12345678"));
    refuses("real_win", WIN("\"1234567890123456789\""));
    refuses("real_win", WIN("0.123456789"));
    refuses("real_win", WIN("\"0.123456789\""));
    refuses("real_win", WIN("1e18"));
    refuses("real_win", WIN("1e-9"));
    refuses("real_win", WIN("\"\""));
    refuses("real_win", WIN("\" 1\""));
    refuses("real_win", WIN("\"1 \""));
    refuses("real_win", WIN("\"1,5\""));
    refuses("real_win", WIN("\"+1\""));
    refuses("real_win", WIN("\".5\""));
    refuses("real_win", WIN("\"01\""));
    refuses("real_win", WIN("\"null\""));
    refuses("real_win", WIN("true"));
    refuses("real_win", WIN("[1]"));
    refuses("real_win", WIN("{}"));
    refuses("real_win", BODY(",\"realWin\":-1"));

    takes(BODY(",\"real_win\":1.5,\"realWin\":\"1.50\""));
    takes(BODY(",\"realWin\":150e-2,\"real_win\":1.5"));
    takes(BODY(",\"real_win\":null,\"realWin\":null"));
    takes(BODY(",\"real_win\":0,\"realWin\":-0.00"));

    refuses("agree", BODY(",\"real_win\":1.5,\"realWin\":1.51"));
    refuses("agree", BODY(",\"realWin\":\"1.5\",\"real_win\":15"));
    refuses("agree", BODY(",\"real_win\":1.5,\"realWin\":null"));
    refuses("agree", BODY(",\"real_win\":null,\"realWin\":0"));
}


static void
test_events(void)
{
    takes(EVENTS("[]"));
    takes(EVENTS("[{\"uuid\":\"98123\",\"status\":2}]"));
    takes(EVENTS("[{\"uuid\":98123}]"));
    takes(EVENTS("[{\"uuid\":0}]"));
    takes(EVENTS("[{\"uuid\":\" \"}]"));
    takes(EVENTS("[{\"status\":null,\"uuid\":\"a\"},{\"uuid\":\"b\"}]"));
    takes(EVENTS("[{\"uuid\":\"a\",\"status\":\"lost\"}]"));
    takes(EVENTS("[{\"uuid\":\"" SIXTY("x") SIXTY("x") SIXTY("x") SIXTY("x")
                 SIXTY("x") "\"}]"));

    refuses("events_data", EVENTS("null"));
    refuses("events_data", EVENTS("{}"));
    refuses("events_data", EVENTS("{\"uuid\":\"a\"}"));
    refuses("events_data", EVENTS("\"a\""));
    refuses("events_data", EVENTS("1"));
    refuses("events_data", EVENTS("[\"a\"]"));
    refuses("events_data", EVENTS("[null]"));
    refuses("events_data", EVENTS("[[{\"uuid\":\"a\"}]]"));
    refuses("uuid", EVENTS("[{}]"));
    refuses("uuid", EVENTS("[{\"id\":\"a\"}]"));
    refuses("uuid", EVENTS("[{\"UUID\":\"a\"}]"));
    refuses("uuid", EVENTS("[{\"uuid\":\"\"}]"));
    refuses("uuid", EVENTS("[{\"uuid\":null}]"));
    refuses("uuid", EVENTS("[{\"uuid\":true}]"));
    refuses("uuid", EVENTS("[{\"uuid\":[\"a\"]}]"));
    refuses("uuid", EVENTS("[{\"uuid\":{\"uuid\":\"a\"}}]"));
    refuses("uuid", EVENTS("[{\"uuid\":-5}]"));
    refuses("uuid", EVENTS("[{\"uuid\":1.5}]"));
    refuses("uuid", EVENTS("[{\"uuid\":1.0}]"));
    refuses("uuid", EVENTS("[{\"uuid\":1e3}]"));
    refuses("uuid", EVENTS("[{\"uuid\":\"a\"},{\"uuid\":\"\"}]"));
}


int
main(void)
{
    json = cc_json_create(unit_seed());

    if (!ok(json != NULL, "a reader is made")) {
        return done_testing();
    }

    test_coupons();
    test_real_win();
    test_events();

    cc_json_destroy(json);

    return done_testing();
}

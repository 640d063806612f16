/*
 * What does the reader of a callback hand out, in which order, and when does it
 * stop?  Raw slices must be the exact bytes of the object; strings must be
 * decoded; and a sink that says stop is obeyed at once.
 */

#include "envelope_unit.h"


/* everything a sink is told, one line per call */
typedef struct {
    char      text[4096];
    size_t    len;
    unsigned  calls;
    unsigned  stop_at;          /* the call that answers 1; 0: none */
} record_t;


static int
add(record_t *record, const char *format, ...)
    __attribute__((format(printf, 2, 3)));


static int
add(record_t *record, const char *format, ...)
{
    int      n;
    va_list  args;

    va_start(args, format);
    n = vsnprintf(record->text + record->len,
                  sizeof(record->text) - record->len, format, args);
    va_end(args);

    record->len += (size_t) n;

    if (record->len >= sizeof(record->text)) {
        abort();
    }

    return ++record->calls == record->stop_at;
}


static int
on_event(void *ctx, const cc_event_t *event)
{
    char  status[24] = "-";

    if (event->has_status) {
        (void) snprintf(status, sizeof(status), "%lld",
                        (long long) event->status);
    }

    return add(ctx, "bet %.*s status %s raw %.*s\n", (int) event->uuid.len,
               (const char *) event->uuid.data, status, (int) event->raw.len,
               (const char *) event->raw.data);
}


static int
on_coupon(void *ctx, const cc_coupon_t *coupon)
{
    char  win[CC_MONEY_TEXT] = "-";

    if (coupon->has_real_win) {
        (void) cc_money_format(win, coupon->real_win);
    }

    return add(ctx, "coupon %.*s status %lld win %s raw %.*s\n",
               (int) coupon->coupon_code.len,
               (const char *) coupon->coupon_code.data,
               (long long) coupon->status, win, (int) coupon->raw.len,
               (const char *) coupon->raw.data);
}


static cc_envelope_status_e
record_body(record_t *record, cc_str_t body, unsigned stop_at)
{
    cc_str_t              exact = unit_exact(body);
    cc_envelope_sink_t    sink = { on_event, on_coupon, NULL, NULL };
    cc_envelope_status_e  status;

    memset(record, 0, sizeof(*record));
    record->stop_at = stop_at;
    sink.ctx = record;

    status = cc_envelope_read(&envelope, json, exact, &shape_rules, &sink);
    unit_free(exact);

    return status;
}


static void
is_record(const char *body, const char *want)
{
    record_t  record;

    ok(record_body(&record, unit_cstr(body), 0) == CC_ENVELOPE_OK, "takes %s",
       body);
    is_str(unit_cstr(record.text), want, "and tells what is in it");
}


static void
test_order(void)
{
    is_record(BODY(""),
              "coupon 000272 status 2 win - raw "
              "{\"coupon_code\":\"000272\",\"status\":2}\n");

    is_record(" { \"coupons\" : [\n"
              "{ \"events_data\":[ {\"uuid\":\"e1\",\"status\":3} ,\n"
              "{\"x\":[{}],\"uuid\":7 }],\"status\" : 2e0,\n"
              "\"coupon_code\":\"0a\", \"real_win\":1.50 } ,"
              "{\"status\":15,\"coupon_code\":\"b\",\"realWin\":null}\t]"
              ",\"couponCount\":2,\"batchId\":\"b\"}",

              "bet e1 status 3 raw {\"uuid\":\"e1\",\"status\":3}\n"
              "bet 7 status - raw {\"x\":[{}],\"uuid\":7 }\n"
              "coupon 0a status 2 win 1.50 raw "
              "{ \"events_data\":[ {\"uuid\":\"e1\",\"status\":3} ,\n"
              "{\"x\":[{}],\"uuid\":7 }],\"status\" : 2e0,\n"
              "\"coupon_code\":\"0a\", \"real_win\":1.50 }\n"
              "coupon b status 15 win - raw "
              "{\"status\":15,\"coupon_code\":\"b\",\"realWin\":null}\n");
}


static void
test_values(void)
{
    /* escapes undone in what is read, kept in what is raw */

    is_record(CODE("\"\\u0030\\u0030x\""),
              "coupon 00x status 2 win - raw "
              "{\"coupon_code\":\"\\u0030\\u0030x\",\"status\":2}\n");

    is_record(EVENTS("[{\"uuid\":\"a\\u00e9\\n\\\"\",\"status\":-4.0}]"),
              "bet a\xc3\xa9\n\" status -4 raw "
              "{\"uuid\":\"a\\u00e9\\n\\\"\",\"status\":-4.0}\n"
              "coupon 000272 status 2 win - raw "
              COUPON(",\"events_data\":"
                     "[{\"uuid\":\"a\\u00e9\\n\\\"\",\"status\":-4.0}]")
              "\n");

    /* a bet's status is nobody's business unless it is a whole number */

    is_record(EVENTS("[{\"uuid\":\"a\",\"status\":1.5},"
                     "{\"status\":\"2\",\"uuid\":\"b\"},"
                     "{\"uuid\":\"c\",\"status\":null},"
                     "{\"uuid\":\"d\",\"status\":1e99}]"),
              "bet a status - raw {\"uuid\":\"a\",\"status\":1.5}\n"
              "bet b status - raw {\"status\":\"2\",\"uuid\":\"b\"}\n"
              "bet c status - raw {\"uuid\":\"c\",\"status\":null}\n"
              "bet d status - raw {\"uuid\":\"d\",\"status\":1e99}\n"
              "coupon 000272 status 2 win - raw "
              COUPON(",\"events_data\":"
                     "[{\"uuid\":\"a\",\"status\":1.5},"
                     "{\"status\":\"2\",\"uuid\":\"b\"},"
                     "{\"uuid\":\"c\",\"status\":null},"
                     "{\"uuid\":\"d\",\"status\":1e99}]") "\n");

    is_record(WIN("\"123456789012345678\""),
              "coupon 000272 status 2 win 123456789012345678 raw "
              COUPON(",\"real_win\":\"123456789012345678\"") "\n");

    is_record(WIN("1e2"), "coupon 000272 status 2 win 100 raw "
              COUPON(",\"real_win\":1e2") "\n");

    is_record(WIN("-0.00"), "coupon 000272 status 2 win 0.00 raw "
              COUPON(",\"real_win\":-0.00") "\n");
}


static void
test_stop(void)
{
    unsigned  at;
    record_t  record;
    cc_str_t  body = unit_text(
        "{\"batchId\":\"b\",\"couponCount\":2,\"coupons\":["
        "{\"coupon_code\":\"1\",\"status\":2,\"events_data\":[{\"uuid\":1},"
        "{\"uuid\":\"\\u0032\"}]},{\"coupon_code\":\"2\",\"status\":2}]}");

    for (at = 1; at <= 4; at++) {
        ok(record_body(&record, body, at) == CC_ENVELOPE_STOPPED,
           "a sink that stops at call %u", at);
        is_int(record.calls, at, "is not called again");
    }

    ok(record_body(&record, body, 5) == CC_ENVELOPE_OK, "or never");
    is_int(record.calls, 4, "two bets and two coupons");
    is_int(envelope.count, 2, "and the count is set");
}


/* what was handed out before an error does not make the text valid */
static void
test_refused(void)
{
    record_t  record;

    ok(record_body(&record, unit_text(COUNT("2")), 0) == CC_ENVELOPE_REFUSED,
       "a wrong count is refused behind its coupon");
    is_int(record.calls, 1, "which the sink has seen");

    ok(record_body(&record, unit_text(BODY("") "{"), 0)
       == CC_ENVELOPE_REFUSED, "as is a tail");

    ok(record_body(&record, unit_text(STATUS("\"2\"")), 0)
       == CC_ENVELOPE_REFUSED, "a coupon that is none is refused");
    is_int(record.calls, 0, "and not handed out");

    ok(record_body(&record, unit_text(EVENTS("[{\"uuid\":\"\"}]")), 0)
       == CC_ENVELOPE_REFUSED, "a bet that is none is refused");
    is_int(record.calls, 0, "and not handed out");
}


int
main(void)
{
    json = cc_json_create(unit_seed());

    if (!ok(json != NULL, "a reader is made")) {
        return done_testing();
    }

    test_order();
    test_values();
    test_stop();
    test_refused();

    cc_json_destroy(json);

    return done_testing();
}

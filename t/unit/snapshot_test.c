/*
 * The answers of the provider's API, rule by rule: what counts as an answer,
 * where its coupons stand, and how a bet is named.  The shape of a coupon is
 * that of a callback and is tested there; here is only what differs.
 */

#include "snapshot_unit.h"


#define ANSWER(body)                                                          \
    "{\"code\":1,\"body\":" body ",\"error_code\":null,\"error_message\":"    \
    "null,\"date\":1784970000000,\"time_ms\":8,\"path\":\"/x\"}"
#define LIST(coupons)                                                         \
    ANSWER("{\"query_type\":\"ids\",\"coupons\":[" coupons "]}")
#define COUPON(members)  "{\"coupon_code\":\"000272\",\"status\":2" members "}"
#define BETS(bets)       LIST(COUPON(",\"events_data\":[" bets "]"))


static cc_json_t    *json;
static cc_answer_t   answer;
static seen_t        seen;


static cc_snapshot_status_e
read_text(cc_str_t text, unsigned one)
{
    cc_snapshot_status_e  status, twice;

    /* as it is done in earnest: first without a sink, then with one */

    cc_str_t  exact = unit_exact(text);

    memset(&seen, 0, sizeof(seen));
    twice = cc_snapshot_read(&answer, json, exact, one, NULL);
    status = seen_read(&seen, json, &answer, exact, one);

    if (twice != status) {
        diag("%d without a sink, %d with one", twice, status);
        status = (cc_snapshot_status_e) -1;
    }

    unit_free(exact);

    return status;
}


static void
is_taken(const char *text, unsigned one, const char *want, int line)
{
    cc_snapshot_status_e  status = read_text(unit_cstr(text), one);

    tap_ok(status == CC_SNAPSHOT_OK && strcmp(seen.text, want) == 0
           && answer.count == seen.coupons,
           line, "takes %s", text);

    if (status != CC_SNAPSHOT_OK || strcmp(seen.text, want) != 0) {
        diag("status %d, %s, count %u, got %s", status,
             answer.reason ? answer.reason : "-", answer.count, seen.text);
    }
}


static void
is_refused(const char *word, const char *text, unsigned one, int line)
{
    cc_snapshot_status_e  status = read_text(unit_cstr(text), one);

    tap_ok(status == CC_SNAPSHOT_REFUSED && strstr(answer.reason, word)
           && answer.offset <= strlen(text),
           line, "refuses (%s) %s", word, text);

    if (status != CC_SNAPSHOT_REFUSED || !strstr(answer.reason, word)) {
        diag("status %d, %s", status, answer.reason ? answer.reason : "-");
    }
}

#define takes(want, text)     is_taken(text, 0, want, __LINE__)
#define takes_one(want, text) is_taken(text, 1, want, __LINE__)
#define refuses(word, text)   is_refused(word, text, 0, __LINE__)


static void
test_places(void)
{
    takes("000272:2:-[]", LIST(COUPON("")));
    takes("", LIST(""));
    takes("000272:2:-[]", ANSWER("[" COUPON("") "]"));
    takes("", ANSWER("[]"));
    takes("000272:2:1[] 000272:2:2[]",
          LIST(COUPON(",\"real_win\":1") "," COUPON(",\"realWin\":\"2\"")));

    takes_one("000272:2:125.50[98123=2]",
              ANSWER(COUPON(",\"real_win\":125.50,\"events_data\":"
                            "[{\"id\":98123,\"status\":2}]")));
    takes_one("000272:2:-[]", LIST(COUPON("")));
    takes_one("000272:2:-[]", ANSWER("[" COUPON("") "]"));
    takes_one("", ANSWER("[]"));

    refuses("one coupon", ANSWER(COUPON("")));
    refuses("has coupons, too",
            ANSWER("{\"coupons\":[],\"coupon_code\":\"1\",\"status\":2}"));
    refuses("no coupons", ANSWER("{}"));
    refuses("no coupons", ANSWER("{\"Coupons\":[]}"));
    is_refused("no coupons", ANSWER("{\"status\":2}"), 1, __LINE__);
    is_refused("has no status", ANSWER("{\"coupon_code\":\"1\"}"), 1, __LINE__);
    refuses("coupons is not an array", ANSWER("{\"coupons\":null}"));
    refuses("coupons is not an array", ANSWER("{\"coupons\":{}}"));
    refuses("body", ANSWER("null"));
    refuses("body", ANSWER("\"\""));
    refuses("body", "{\"code\":1}");
    refuses("not an object", ANSWER("[[]]"));
    refuses("not an object", ANSWER("[null]"));
}


static void
test_order(void)
{
    takes("000272:2:-[]", "{\"body\":{\"coupons\":[" COUPON("") "],\"x\":{}},"
          "\"error_code\":0,\"code\":1.0}");
    takes("000272:2:-[]", " {\"x\":[{\"code\":5}],\"code\":1,\"body\":["
          COUPON("") "]} ");

    refuses("code is missing", "{\"body\":[" COUPON("") "]}");
    refuses("code is missing", "{\"body\":[],\"Code\":1}");
    refuses("twice", "{\"code\":1,\"body\":[],\"code\":1}");
    refuses("code is not", "{\"code\":\"1\",\"body\":[]}");
    refuses("code is not", "{\"code\":1.5,\"body\":[]}");
    refuses("code is not", "{\"code\":null,\"body\":[]}");
    refuses("code is not", "{\"code\":true,\"body\":[]}");
    refuses("and yet", "{\"code\":1,\"body\":[],\"error_code\":1002}");

    refuses("not one JSON object", "[]");
    refuses("not one JSON object", "1");
    refuses("JSON", "");
    refuses("JSON", "<html>502 Bad Gateway</html>");
    refuses("JSON", "{\"code\":1,\"body\":[" COUPON("") "]");
    refuses("JSON", "{\"code\":1,\"body\":[" COUPON("") "]}}");
    refuses("JSON", "{\"code\":1,\"body\":[" COUPON("") ",]}");

    /* the JSON behind the coupons is read before the first of them is given */

    ok(seen.coupons == 0, "nothing is handed out of an answer cut off");
}


static void
test_failed(void)
{
    ok(read_text(unit_text("{\"code\":0,\"error_code\":471,\"error_message\":"
                           "\"Coupon not found\"}"), 1)
       == CC_SNAPSHOT_FAILED, "code 0 is a failure");
    is_int(answer.error_code, 471, "with its error_code");
    is_int(answer.code, 0, "and its code");
    is_int(seen.coupons, 0, "and without coupons");

    ok(read_text(unit_text("{\"body\":[" COUPON("") "],\"code\":2,"
                           "\"error_code\":\"1002\",\"error_message\":null}"),
                 0)
       == CC_SNAPSHOT_FAILED && seen.coupons == 0,
       "coupons of a failure are none, wherever they stand");
    is_int(answer.error_code, 1002, "an error_code as a string");

    ok(read_text(unit_text("{\"code\":-1}"), 0) == CC_SNAPSHOT_FAILED,
       "a failure without reason");
    is_int(answer.error_code, 0, "has no error_code");

    refuses("error_code is not", "{\"code\":0,\"error_code\":\"E1\"}");
    refuses("error_code is not", "{\"code\":0,\"error_code\":1.5}");
    refuses("error_code is not", "{\"code\":0,\"error_code\":[]}");

    takes("", "{\"code\":1,\"body\":[],\"error_message\":{\"x\":1}}");
}


static void
test_message(void)
{
    static const char  text[] =
        "{\"code\":0,\"error_message\":\"a \\\"b\\\"\"}";

    ok(cc_snapshot_read(&answer, json, unit_cstr(text), 0, NULL)
       == CC_SNAPSHOT_FAILED, "a failure with a message");
    is_str(answer.error_message, "a \\\"b\\\"", "a message is kept as written");

    ok(cc_snapshot_read(&answer, json, unit_text("{\"code\":0}"), 0, NULL)
       == CC_SNAPSHOT_FAILED, "and one without");
    is_int(answer.error_message.len, 0, "or is none");
}


static void
test_bets(void)
{
    takes("000272:2:-[98123=2]", BETS("{\"id\":98123,\"status\":2}"));
    takes("000272:2:-[098123]", BETS("{\"id\":\"098123\"}"));
    takes("000272:2:-[7]", BETS("{\"uuid\":\"7\"}"));
    takes("000272:2:-[1]", BETS("{\"id\":1,\"uuid\":\"2\"}"));
    takes("000272:2:-[1]", BETS("{\"uuid\":\"2\",\"id\":1}"));
    takes("000272:2:-[1,2]", BETS("{\"id\":1},{\"uuid\":2}"));

    refuses("no id", BETS("{}"));
    refuses("no id", BETS("{\"id\":null}"));
    refuses("no id", BETS("{\"id\":null,\"uuid\":\"1\"}"));
    refuses("no id", BETS("{\"id\":1.5}"));
    refuses("no id", BETS("{\"id\":-1}"));
    refuses("id is empty", BETS("{\"id\":\"\"}"));
}


static void
test_coupons(void)
{
    refuses("coupon_code", LIST("{\"status\":2}"));
    refuses("coupon_code is not a string",
            LIST("{\"coupon_code\":272,\"status\":2}"));
    refuses("status", LIST("{\"coupon_code\":\"272\"}"));
    refuses("exact decimal", LIST(COUPON(",\"real_win\":1.123456789")));
    refuses("exact decimal", LIST(COUPON(",\"real_win\":1234567890.123456")));
    refuses("negative", LIST(COUPON(",\"real_win\":-1")));
    refuses("do not agree", LIST(COUPON(",\"real_win\":1,\"realWin\":2")));

    /* the second of two is wrong: who reads first without a sink sees it */

    refuses("status", LIST(COUPON("") ",{\"coupon_code\":\"272\"}"));
}


static void
test_stop(void)
{
    memset(&seen, 0, sizeof(seen));
    seen.stop_at = 2;

    ok(seen_read(&seen, json, &answer,
                 unit_text(LIST(COUPON("") "," COUPON("") "," COUPON(""))), 0)
       == CC_SNAPSHOT_STOPPED && seen.coupons == 2,
       "the sink stops the reading");
}


int
main(void)
{
    json = cc_json_create(unit_seed());

    if (!ok(json != NULL, "a reader is made")) {
        return done_testing();
    }

    test_places();
    test_order();
    test_failed();
    test_message();
    test_bets();
    test_coupons();
    test_stop();

    cc_json_destroy(json);

    return done_testing();
}

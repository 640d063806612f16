/*
 * The answers of the provider's API, rule by rule: what counts as an answer,
 * where its coupons stand, how a bet is named, and that a malformed coupon does
 * not keep its neighbours from being read.  The shape of a coupon is
 * that of a callback and is tested there; here is only what differs.
 */

#include "snapshot_unit.h"


#define ANSWER(body)                                                          \
    "{\"code\":1,\"body\":" body ",\"error_code\":null,\"error_message\":"    \
    "null,\"date\":1784970000000,\"time_ms\":8,\"path\":\"/x\"}"
#define LIST(coupons)                                                         \
    ANSWER("{\"query_type\":\"ids\",\"coupons\":[" coupons "]}")
#define COUPON(members)  "{\"coupon_code\":\"000272\",\"status\":2" members "}"
#define BET(bets)        COUPON(",\"events_data\":[" bets "]")
#define BETS(bets)       LIST(BET(bets))


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
           && answer.count == seen.coupons + seen.malformed,
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

/* what follows in the same list is read; alone it would be no answer */

static void
is_passed_over(const char *word, const char *want, const char *coupon, int line)
{
    char  text[1024];

    (void) snprintf(text, sizeof(text), LIST("%s,%s"), coupon, COUPON(""));

    tap_ok(read_text(unit_cstr(text), 0) == CC_SNAPSHOT_OK
           && strcmp(seen.text, want) == 0 && strstr(seen.reason, word)
           && strcmp(seen.raw, coupon) == 0 && answer.count == 2
           && answer.malformed == 1 && seen.malformed == 1,
           line, "passes over (%s) %s", word, coupon);

    if (strcmp(seen.text, want) != 0) {
        diag("got %s, %s, raw %s", seen.text, seen.reason, seen.raw);
    }

    (void) snprintf(text, sizeof(text), LIST("%s"), coupon);
    is_refused(word, text, 1, line);
}

#define passes(word, want, coupon)                                            \
    is_passed_over(word, want " 000272:2:-[]", coupon, __LINE__)
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
    is_refused("not an object", ANSWER("[[]]"), 1, __LINE__);
    takes("!", ANSWER("[{}]"));
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

    passes("no id", "000272!", BET("{}"));
    passes("no id", "000272!", BET("{\"id\":null}"));
    passes("no id", "000272!", BET("{\"id\":null,\"uuid\":\"1\"}"));
    passes("no id", "000272!", BET("{\"id\":1.5}"));
    passes("no id", "000272!", BET("{\"id\":-1}"));
    passes("id is empty", "000272!", BET("{\"id\":\"\"}"));
    passes("not an object", "000272!", BET("{\"id\":1},[[{\"id\":2}]]"));
    passes("not an array", "000272!", COUPON(",\"events_data\":{\"a\":[]}"));
}


static void
test_coupons(void)
{
    passes("coupon_code", "!", "{\"status\":2}");
    passes("coupon_code is not a string", "!",
           "{\"coupon_code\":272,\"status\":2}");
    passes("configured shape", "!", "{\"coupon_code\":\"\",\"status\":2}");
    passes("status", "272!", "{\"coupon_code\":\"272\"}");
    passes("exact decimal", "000272!", COUPON(",\"real_win\":1.123456789"));
    passes("exact decimal", "000272!",
           COUPON(",\"real_win\":1234567890.123456"));
    passes("negative", "000272!", COUPON(",\"real_win\":-1"));
    passes("do not agree", "000272!",
           COUPON(",\"real_win\":1,\"realWin\":2"));

    /* its code may stand behind what is wrong */

    passes("status", "27/2!",
           "{\"status\":[{\"coupon_code\":\"1\"}],\"x\":[{}],"
           "\"coupon_code\":\"27\\/2\",\"y\":{\"z\":[]}}");
    passes("status", "!", "{\"status\":\"2\",\"coupon_code\":[\"1\"]}");

    passes("not an object", "!", "null");
    passes("not an object", "!", "7");
    passes("not an object", "!", "\"27\"");
    passes("not an object", "!", "[{\"coupon_code\":\"1\",\"status\":2}]");

    takes("000272:2:-[] 272! 000272:2:-[]",
          LIST(COUPON("") ",{\"coupon_code\":\"272\"}," COUPON("")));
    takes("000272! 000272:2:-[3]",
          ANSWER("[" BET("{\"id\":1},{}") "," BET("{\"id\":3}") "]"));

    /* but what is no JSON, or no answer, is none for all of them */

    refuses("twice", LIST("{\"coupon_code\":\"1\",\"coupon_code\":\"1\"}"));
    refuses("JSON", LIST("{\"coupon_code\":\"272\"}") "}");
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

    memset(&seen, 0, sizeof(seen));
    seen.stop_at = 1;

    ok(seen_read(&seen, json, &answer, unit_text(LIST("{}," COUPON(""))), 0)
       == CC_SNAPSHOT_STOPPED && seen.coupons == 0,
       "and so it does at a malformed coupon");
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

/*
 * Every vector of Google gets its verdict: tokens at their own time, bodies
 * under a good token, those of an unwrapped push with its lines of the head.
 * Where implementations differ ("either"), the table says
 * which way the contract went.
 */

#include "google.h"
#include "store_unit.h"


static const struct {
    const char    *id;
    cc_verdict_e   verdict;
} decided[] = {
    { "tok-iss-bare", CC_VERDICT_ACCEPTED },
    { "tok-aud-array-ours", CC_VERDICT_UNSIGNED },
    { "tok-aud-array-mixed", CC_VERDICT_UNSIGNED },
    { "tok-exp-1s", CC_VERDICT_ACCEPTED },
    { "tok-exp-299s", CC_VERDICT_ACCEPTED },
    { "tok-exp-string", CC_VERDICT_UNSIGNED },
    { "tok-exp-before-iat", CC_VERDICT_ACCEPTED },
    { "tok-iat-299s", CC_VERDICT_ACCEPTED },
    { "tok-sub-missing", CC_VERDICT_ACCEPTED },
    { "tok-typ-other", CC_VERDICT_UNSIGNED },
    { "tok-fmt-trailing-bits", CC_VERDICT_UNSIGNED },
    { "tok-fmt-payload-dup-aud", CC_VERDICT_UNSIGNED },

    /* such keys are passed over: whose token it is cannot be judged */
    { "tok-jwks-e-three", CC_VERDICT_FAILED },
    { "tok-jwks-n-std-base64", CC_VERDICT_FAILED },
    { "tok-jwks-n-leading-zero", CC_VERDICT_FAILED },
    { "tok-jwks-dup-kid", CC_VERDICT_FAILED },
    { "tok-jwks-weak-1024", CC_VERDICT_FAILED },
    { "tok-jwks-e-one", CC_VERDICT_FAILED },

    /* no kid at all, or none that could be one, is no rotated key */
    { "tok-kid-missing", CC_VERDICT_UNSIGNED },
    { "tok-kid-number", CC_VERDICT_UNSIGNED },
    { "tok-kid-empty", CC_VERDICT_UNSIGNED },
    { "tok-kid-nul", CC_VERDICT_UNSIGNED },
    { "tok-kid-long", CC_VERDICT_UNSIGNED },

    /* a symmetric key, and HS256: the algorithm is looked at first */
    { "tok-jwks-oct-same-kid", CC_VERDICT_UNSIGNED }
};


static cc_json_t    *json;
static const cJSON  *vectors, *config;


static cc_verdict_e
wanted(const cJSON *test)
{
    unsigned      i;
    cc_str_t      verdict, action, reason;
    const cJSON  *want = cc_claim_object(test, "want");

    for (i = 0; i < sizeof(decided) / sizeof(decided[0]); i++) {
        if (cc_str_is(store_text(test, "id"), decided[i].id)) {
            return decided[i].verdict;
        }
    }

    verdict = store_text(want, "verdict");
    action = store_text(want, "action");
    reason = store_text(want, "reason");

    if (cc_str_is(verdict, "accept") || cc_str_is(action, "enqueue")
        || cc_str_is(action, "duplicate"))
    {
        return CC_VERDICT_ACCEPTED;
    }

    if (cc_str_is(action, "quarantine")) {
        return CC_VERDICT_UNUSABLE;
    }

    if (cc_str_is(action, "reject")) {
        return cc_str_is(reason, "SUBSCRIPTION") ? CC_VERDICT_FOREIGN
                                                 : CC_VERDICT_MALFORMED;
    }

    if (!cc_str_is(verdict, "reject")) {
        diag("nobody has decided about %s", unit_member(test, "id"));
        exit(1);
    }

    return cc_str_is(reason, "KID") ? CC_VERDICT_FAILED : CC_VERDICT_UNSIGNED;
}


/* the key set of the case, else of the file; NULL if it is none */
static cc_jwks_t *
keys_of(const cJSON *test)
{
    char         *text;
    cc_jwks_t    *jwks;
    const char   *reason;
    const cJSON  *set = cJSON_GetObjectItemCaseSensitive(test, "jwks");

    text = cJSON_PrintUnformatted(set ? set
                    : cJSON_GetObjectItemCaseSensitive(vectors, "jwks"));
    jwks = cc_jwks_create(json, unit_cstr(text), &reason);
    cJSON_free(text);

    return jwks;
}


/* as nginx would hand it over: the only line, or none */
static const char *
authorization(const cJSON *test)
{
    const cJSON  *lines = cJSON_GetObjectItemCaseSensitive(test, "headers");

    return cJSON_GetArraySize(lines) == 1
           ? cJSON_GetArrayItem(cJSON_GetArrayItem(lines, 0), 1)->valuestring
           : "";
}


static void
fill(cc_google_t *conf, cc_jwks_t *keys)
{
    memset(conf, 0, sizeof(cc_google_t));

    conf->json = json;
    conf->keys = keys;
    conf->audience = store_text(config, "audience");
    conf->email = store_text(config, "email");
    conf->subscription = store_text(config, "subscription");
    conf->package = store_text(config, "package_name");
}


/* a line of the head of the case, or an empty one */
static cc_str_t
head_line(const cJSON *test, const char *name)
{
    const cJSON  *line;

    cJSON_ArrayForEach(line, cJSON_GetObjectItemCaseSensitive(test,
                                                            "extra_headers"))
    {
        if (strcmp(cJSON_GetArrayItem(line, 0)->valuestring, name) == 0) {
            return unit_cstr(cJSON_GetArrayItem(line, 1)->valuestring);
        }
    }

    return unit_cstr("");
}


static cc_verdict_e
judge(cc_google_t *conf, const cJSON *test, const char *line, cc_str_t body,
    int64_t now, cc_delivery_t *delivery)
{
    cc_verdict_e   verdict;
    cc_callback_t  callback;

    memset(&callback, 0, sizeof(callback));
    callback.signature = unit_exact(unit_cstr(line));
    callback.body = unit_exact(body);
    callback.message_id = head_line(test, "x-goog-pubsub-message-id");
    callback.subscription = head_line(test,
                                      "x-goog-pubsub-subscription-name");
    callback.publish_time = head_line(test, "x-goog-pubsub-publish-time");
    callback.now_ms = 1000 * now;

    verdict = cc_google.verify(conf, &callback, delivery);

    unit_free(callback.signature);
    unit_free(callback.body);

    return verdict;
}


static void
says(const char *id, cc_verdict_e verdict, cc_verdict_e want,
    const cc_delivery_t *delivery)
{
    ok(verdict == want && (delivery->reason == NULL)
                          == (want == CC_VERDICT_ACCEPTED),
       "%s is %s", id, store_verdict(want));

    if (verdict != want) {
        diag("it is %s: %s", store_verdict(verdict),
             delivery->reason ? delivery->reason : "-");
    }
}


static void
check_token(const cJSON *test)
{
    int64_t         now;
    cc_jwks_t      *keys = keys_of(test);
    cc_google_t     conf;
    cc_verdict_e    verdict;
    cc_delivery_t   delivery;
    const char     *id = unit_member(test, "id");

    static const char  body[] = "{\"subscription\":\"projects/refund-demo/"
        "subscriptions/play-rtdn-push\",\"message\":{\"messageId\":\"1\","
        "\"data\":\"eyJwYWNrYWdlTmFtZSI6ImNvbS5leGFtcGxlLnJlZnVuZHMiLCJldmVu"
        "dFRpbWVNaWxsaXMiOiIxIiwidGVzdE5vdGlmaWNhdGlvbiI6e319\"}}";

    if (keys == NULL) {
        is_str(store_text(test, "id"), "tok-jwks-not-a-set",
               "%s: a file that is no key set is none", id);
        return;
    }

    (void) cc_claim_whole(test, "now", &now);
    fill(&conf, keys);
    verdict = judge(&conf, test, authorization(test), unit_text(body), now,
                    &delivery);
    says(id, verdict, wanted(test), &delivery);
    cc_jwks_destroy(keys);
}


/* unwrapped, the id holds the subscription as well */
static void
check_names(const cJSON *test, const cc_google_t *conf,
    const cc_delivery_t *delivery)
{
    char         both[600];
    cc_str_t     id = unit_str(delivery->id, delivery->id_len);
    cc_str_t     scope = unit_str(delivery->scope, delivery->scope_len);
    const char  *name = unit_member(test, "id");
    const char  *message = unit_member(cc_claim_object(test, "meta"),
                                       "messageId");

    (void) snprintf(both, sizeof(both), "%s:%s",
                    unit_member(config, "subscription"), message);

    ok(cc_str_is(id, conf->unwrapped ? both : message)
       && delivery->count == 1, "%s: which it is", name);
    ok(cc_str_is(scope, conf->unwrapped ? ""
                                        : unit_member(config, "subscription")),
       "%s: in its subscription", name);
}


static void
check_body(const cJSON *test)
{
    char            line[2048];
    int64_t         now;
    cc_str_t        body;
    cc_jwks_t      *keys = keys_of(test);
    cc_google_t     conf;
    cc_verdict_e    verdict, want = wanted(test);
    cc_delivery_t   delivery;
    const char     *id = unit_member(test, "id");

    (void) snprintf(line, sizeof(line), "Bearer %s",
                    unit_member(vectors, "good_token"));
    (void) cc_claim_whole(vectors, "now", &now);

    fill(&conf, keys);
    conf.unwrapped = cc_claim_is(cc_claim_object(test, "config"), "mode",
                                 unit_text("unwrapped"));
    body = unit_base64(unit_member(test, "body_b64"));
    verdict = judge(&conf, test, line, body, now, &delivery);
    says(id, verdict, want, &delivery);

    if (want == CC_VERDICT_ACCEPTED || want == CC_VERDICT_UNUSABLE) {
        check_names(test, &conf, &delivery);
    }

    unit_free(body);
    cc_jwks_destroy(keys);
}


int
main(void)
{
    cJSON        *tree = store_vectors("google.json");
    const cJSON  *test;

    json = cc_json_create(1);
    vectors = tree;
    config = cc_claim_object(tree, "config");

    cJSON_ArrayForEach(test, cJSON_GetObjectItemCaseSensitive(tree, "cases")) {
        if (strcmp(unit_member(test, "kind"), "token") == 0) {
            check_token(test);

        } else {
            check_body(test);
        }
    }

    cc_json_destroy(json);
    cJSON_Delete(tree);

    return done_testing();
}

/*
 * Every vector of Apple gets its verdict.  Where implementations differ
 * ("either"), the table below says which way the contract went; where the
 * verdict is "reject", the reason of the vector says how it is refused.
 */

#include "apple.h"
#include "store_unit.h"


/* the choices of the contract's "Decisions" */
static const struct {
    const char    *id;
    cc_verdict_e   verdict;
} decided[] = {
    /* the chain is judged at signedDate, without skew, SHA-1 or leniency */
    { "time-leaf-expired-after-signing", CC_VERDICT_ACCEPTED },
    { "nested-old-leaf", CC_VERDICT_ACCEPTED },
    { "chain-skew-59s", CC_VERDICT_UNSIGNED },
    { "chain-leaf-sha1", CC_VERDICT_UNSIGNED },
    { "chain-leaf-oid-critical", CC_VERDICT_UNSIGNED },

    /* one text for one value */
    { "body-dup-key-bad-first", CC_VERDICT_UNREADABLE },
    { "body-bom", CC_VERDICT_UNREADABLE },
    { "jws-trailing-bits", CC_VERDICT_UNSIGNED },
    { "jws-payload-bad-utf8", CC_VERDICT_UNSIGNED },
    { "x5c-base64url", CC_VERDICT_UNSIGNED },
    { "x5c-trailing-der", CC_VERDICT_UNSIGNED },
    { "claim-dup-type", CC_VERDICT_UNSIGNED },
    { "claim-data-null", CC_VERDICT_UNSIGNED },

    /* the third element is not looked at */
    { "x5c-third-attacker", CC_VERDICT_ACCEPTED },
    { "x5c-third-garbage", CC_VERDICT_ACCEPTED },

    /* a signedDate there must be; old is good, ahead is not */
    { "claim-signed-date-missing", CC_VERDICT_UNSIGNED },
    { "claim-signed-date-30d-old", CC_VERDICT_ACCEPTED },
    { "claim-signed-date-1d-ahead", CC_VERDICT_UNSIGNED },

    /* what Apple does not send has no meaning */
    { "claim-version-1", CC_VERDICT_ACCEPTED },
    { "claim-version-missing", CC_VERDICT_ACCEPTED },
    { "claim-exp-past", CC_VERDICT_ACCEPTED },
    { "claim-nbf-future", CC_VERDICT_ACCEPTED },

    /* authentic; the settler decides */
    { "nested-refund-no-revocation-date", CC_VERDICT_ACCEPTED },
    { "nested-percentage-range", CC_VERDICT_ACCEPTED },
    { "nested-percentage-negative", CC_VERDICT_ACCEPTED },
    { "nested-renewal-bad", CC_VERDICT_ACCEPTED },

    /* "reject", but not for the reason's usual verdict */
    { "body-nul-tail", CC_VERDICT_UNREADABLE },
    { "claim-bundle-nul", CC_VERDICT_UNSIGNED },
    { "claim-bundle-number", CC_VERDICT_FOREIGN },
    { "claim-app-id-string", CC_VERDICT_FOREIGN },
    { "claim-no-container", CC_VERDICT_UNSIGNED },
    { "claim-two-containers", CC_VERDICT_UNSIGNED },
    { "confuse-transaction", CC_VERDICT_UNSIGNED },
    { "confuse-renewal", CC_VERDICT_UNSIGNED },
    { "confuse-app-transaction", CC_VERDICT_UNSIGNED },
    { "confuse-realtime", CC_VERDICT_UNSIGNED }
};


static cc_json_t    *json;
static const cJSON  *vectors;


static cc_verdict_e
wanted(const cJSON *test)
{
    unsigned      i;
    const char   *reason;
    const cJSON  *want = cc_claim_object(test, "want");

    for (i = 0; i < sizeof(decided) / sizeof(decided[0]); i++) {
        if (cc_str_is(store_text(test, "id"), decided[i].id)) {
            return decided[i].verdict;
        }
    }

    if (cc_str_is(store_text(want, "verdict"), "accept")) {
        return CC_VERDICT_ACCEPTED;
    }

    if (!cc_str_is(store_text(want, "verdict"), "reject")) {
        diag("nobody has decided about %s", unit_member(test, "id"));
        exit(1);
    }

    reason = unit_member(want, "reason");

    if (strncmp(reason, "BODY", 4) == 0) {
        return CC_VERDICT_UNREADABLE;
    }

    if (strcmp(reason, "BUNDLE") == 0 || strcmp(reason, "APP_ID") == 0
        || strcmp(reason, "ENV") == 0)
    {
        return CC_VERDICT_FOREIGN;
    }

    return strcmp(reason, "NESTED") == 0 ? CC_VERDICT_UNUSABLE
                                         : CC_VERDICT_UNSIGNED;
}


/* the PEM texts of the roots that a case pins, one behind the other */
static cc_x5c_t *
pinned(const cJSON *names)
{
    char         *text = calloc(1, 65536);
    cc_x5c_t     *x5c;
    const char   *reason;
    const cJSON  *name, *root, *roots;

    roots = cJSON_GetObjectItemCaseSensitive(vectors, "roots");

    cJSON_ArrayForEach(name, names) {
        cJSON_ArrayForEach(root, roots) {
            if (strcmp(unit_member(root, "id"), name->valuestring) == 0) {
                strcat(text, unit_member(root, "pem"));
            }
        }
    }

    x5c = cc_x5c_create(unit_cstr(text), &reason);
    free(text);

    if (x5c == NULL) {
        diag("roots: %s", reason);
        exit(1);
    }

    return x5c;
}


/* of the case, else of the file */
static const cJSON *
setting(const cJSON *test, const char *name)
{
    const cJSON  *own;

    own = cJSON_GetObjectItemCaseSensitive(
              cJSON_GetObjectItemCaseSensitive(test, "config"), name);

    return own ? own : cJSON_GetObjectItemCaseSensitive(
                           cc_claim_object(vectors, "config"), name);
}


/* a repetition that was signed anew comes at the time it was signed */
static int64_t
now_of(const cJSON *test)
{
    int64_t  now, date;

    (void) cc_claim_whole(vectors, "now", &now);
    (void) cc_claim_whole(cc_claim_object(test, "meta"), "signedDate", &date);

    return cc_claim_exists(test, "same_event_as") && date > now ? date : now;
}


static cc_verdict_e
judge(const cJSON *test, cc_x5c_t *roots, cc_delivery_t *delivery)
{
    cc_str_t       body;
    cc_apple_t     conf;
    cc_verdict_e   verdict;
    cc_callback_t  callback;

    body = unit_base64(unit_member(test, "body_b64"));

    memset(&callback, 0, sizeof(callback));
    callback.body = body;
    callback.now_ms = now_of(test);

    memset(&conf, 0, sizeof(conf));
    conf.json = json;
    conf.roots = roots;
    conf.bundle_id = unit_cstr(setting(test, "bundle_id")->valuestring);
    conf.app_apple_id = (int64_t) setting(test, "app_apple_id")->valuedouble;
    conf.environment = strcmp(setting(test, "environment")->valuestring,
                              "Sandbox") == 0 ? CC_APPLE_SANDBOX
                                              : CC_APPLE_PRODUCTION;

    verdict = cc_apple.verify(&conf, &callback, delivery);
    unit_free(body);

    return verdict;
}


/* the id of an accepted one is the UUID, folded, whatever its bytes were */
static int
identified(const cJSON *test, const cc_delivery_t *delivery)
{
    char         id[CC_DELIVERY_ID_MAX + 1];
    cc_str_t     uuid;

    (void) cc_claim_string(cc_claim_object(test, "meta"), "notificationUUID",
                           &uuid);
    memcpy(id, delivery->id, delivery->id_len);
    id[delivery->id_len] = '\0';

    return (uuid.len == 0
            ? delivery->id_len == 36
            : strcasecmp(id, (const char *) uuid.data) == 0)
           && delivery->count == 1
           && (cc_str_is(unit_str(delivery->scope, delivery->scope_len),
                         "Production")
               || cc_str_is(unit_str(delivery->scope, delivery->scope_len),
                            "Sandbox"));
}


static void
check(const cJSON *test)
{
    cc_x5c_t       *roots = pinned(setting(test, "roots"));
    const char     *id = unit_member(test, "id");
    cc_verdict_e    verdict, want = wanted(test);
    cc_delivery_t   delivery;

    verdict = judge(test, roots, &delivery);

    ok(verdict == want, "%s is %s", id, store_verdict(want));

    if (verdict != want) {
        diag("it is %s: %s", store_verdict(verdict),
             delivery.reason ? delivery.reason : "-");
    }

    if (verdict == CC_VERDICT_ACCEPTED) {
        ok(delivery.reason == NULL && identified(test, &delivery),
           "%s: who it is", id);
    } else {
        ok(delivery.reason != NULL, "%s: why", id);
    }

    /* the same again, now out of the memory of chains */

    ok(judge(test, roots, &delivery) == want, "%s: and again", id);

    cc_x5c_destroy(roots);
}


int
main(void)
{
    cJSON        *tree = store_vectors("apple.json");
    const cJSON  *test;

    json = cc_json_create(1);
    vectors = tree;

    cJSON_ArrayForEach(test, cJSON_GetObjectItemCaseSensitive(tree, "cases")) {
        check(test);
    }

    cc_json_destroy(json);
    cJSON_Delete(tree);

    return done_testing();
}

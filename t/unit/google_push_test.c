/*
 * Unwrapped pushes: the head names the message, the body is the notification,
 * and what the module makes of the two is all that the daemon gets to read.
 * Wrapped ones, where the head means nothing, stand beside them.
 */

#include <openssl/rsa.h>

#include "google.h"
#include "jws_unit.h"
#include "store_event.h"
#include "tap.h"


#define NOW  1796068800LL

#define CLAIMS                                                                \
    "{\"iss\":\"accounts.google.com\",\"aud\":\"us\",\"email\":\"e\","        \
    "\"email_verified\":true,\"iat\":1796068800,\"exp\":1796072400}"

#define VOIDED(package)                                                       \
    "{\"packageName\":\"" package "\",\"eventTimeMillis\":\"5\","             \
    "\"voidedPurchaseNotification\":{\"purchaseToken\":\"t\","                \
    "\"orderId\":\"GPA.1\",\"productType\":2,\"refundType\":1}}"

#define SUB   "projects/p/subscriptions/s"
#define LONG  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID256 LONG LONG LONG LONG


/* every line stands once, unless a case leaves it out */
typedef struct {
    const char    *what;
    const char    *id;
    const char    *subscription;
    const char    *published;
    const char    *body;
    cc_verdict_e   verdict;
    const char    *known;           /* the delivery's id */
} push_t;


static cc_google_t  google;
static char         bearer[4096];


static const push_t  unwrapped[] = {
    { "a voided purchase", "1", SUB, "then", VOIDED("com.a"),
      CC_VERDICT_ACCEPTED, SUB ":1" },
    { "the longest names", ID256, ID256, "then", VOIDED("com.a"),
      CC_VERDICT_ACCEPTED, ID256 ":" ID256 },

    { "without metadata", "", "", "", VOIDED("com.a"),
      CC_VERDICT_MALFORMED, "" },
    { "without an id", "", SUB, "then", VOIDED("com.a"),
      CC_VERDICT_MALFORMED, "" },
    { "without its time", "1", SUB, "", VOIDED("com.a"),
      CC_VERDICT_MALFORMED, "" },
    { "an id that is too long", ID256 "0", SUB, "then", VOIDED("com.a"),
      CC_VERDICT_MALFORMED, "" },
    { "an id with a colon", "a:1", SUB, "then", VOIDED("com.a"),
      CC_VERDICT_MALFORMED, "" },
    { "an id with a space", "1 2", SUB, "then", VOIDED("com.a"),
      CC_VERDICT_MALFORMED, "" },

    { "no subscription", "1", "", "then", VOIDED("com.a"),
      CC_VERDICT_FOREIGN, "" },
    { "one that is too long", "1", ID256 "0", "then", VOIDED("com.a"),
      CC_VERDICT_FOREIGN, "" },
    { "one with a colon", "1", "a:b", "then", VOIDED("com.a"),
      CC_VERDICT_FOREIGN, "" },

    { "no data", "1", SUB, "then", "", CC_VERDICT_UNUSABLE, SUB ":1" },
    { "no JSON", "1", SUB, "then", "hello", CC_VERDICT_UNUSABLE, SUB ":1" },
    { "no notification", "1", SUB, "then", "{\"packageName\":\"com.a\"}",
      CC_VERDICT_UNUSABLE, SUB ":1" },
    { "another app", "1", SUB, "then", VOIDED("com.b"),
      CC_VERDICT_UNUSABLE, SUB ":1" },
    { "an envelope", "1", SUB, "then", "{\"message\":{\"data\":\"e30=\","
      "\"messageId\":\"2\"},\"subscription\":\"" SUB "\"}",
      CC_VERDICT_UNUSABLE, SUB ":1" }
};

static const push_t  wrapped[] = {
    { "an envelope, and a head", "9", "other", "then", "{\"message\":{"
      "\"data\":\"eyJwYWNrYWdlTmFtZSI6ImNvbS5hIiwiZXZlbnRUaW1lTWlsbGlzIjoiMSIs"
      "InRlc3ROb3RpZmljYXRpb24iOnt9fQ==\",\"messageId\":\"2\"},"
      "\"subscription\":\"" SUB "\"}", CC_VERDICT_ACCEPTED, "2" },
    { "an unwrapped push", "1", SUB, "then", VOIDED("com.a"),
      CC_VERDICT_MALFORMED, "" }
};


static void
prepare(void)
{
    char           text[1024], n[512], *token;
    BIGNUM        *modulus = NULL;
    EVP_PKEY      *key = EVP_RSA_gen(2048);
    const char    *reason;
    unsigned char  bytes[256];

    (void) EVP_PKEY_get_bn_param(key, "n", &modulus);
    (void) BN_bn2binpad(modulus, bytes, sizeof(bytes));
    (void) jws_encode(n, bytes, sizeof(bytes));
    (void) snprintf(text, sizeof(text), "{\"keys\":[{\"kty\":\"RSA\","
                    "\"kid\":\"a\",\"e\":\"AQAB\",\"n\":\"%s\"}]}", n);

    google.json = cc_json_create(1);
    google.keys = cc_jwks_create(google.json, unit_cstr(text), &reason);
    google.audience = unit_text("us");
    google.email = unit_text("e");
    google.package = unit_text("com.a");

    token = make_jws("{\"alg\":\"RS256\",\"kid\":\"a\"}", CLAIMS,
                     sizeof(CLAIMS) - 1, key);
    (void) snprintf(bearer, sizeof(bearer), "Bearer %s", token);
    free(token);
    BN_free(modulus);
    EVP_PKEY_free(key);
}


static cc_verdict_e
judge(const push_t *push, const char *authorization, cc_delivery_t *delivery)
{
    cc_verdict_e   verdict;
    cc_callback_t  callback;

    memset(&callback, 0, sizeof(callback));
    callback.signature = unit_cstr(authorization);
    callback.message_id = unit_exact(unit_cstr(push->id));
    callback.subscription = unit_exact(unit_cstr(push->subscription));
    callback.publish_time = unit_cstr(push->published);
    callback.body = unit_exact(unit_cstr(push->body));
    callback.now_ms = NOW * 1000;

    verdict = cc_google.verify(&google, &callback, delivery);

    unit_free(callback.message_id);
    unit_free(callback.subscription);
    unit_free(callback.body);

    return verdict;
}


static void
check(const push_t *push)
{
    cc_verdict_e   verdict;
    cc_delivery_t  delivery;

    verdict = judge(push, bearer, &delivery);

    ok(verdict == push->verdict, "%s: the verdict", push->what);
    is_str(unit_str(delivery.id, delivery.id_len), push->known,
           "%s: its id", push->what);
    is_str(unit_str(delivery.scope, delivery.scope_len),
           delivery.id_len && !google.unwrapped ? SUB : "",
           "%s: its scope", push->what);

    if (verdict != push->verdict) {
        diag("it is %d: %s", verdict,
             delivery.reason ? delivery.reason : "-");
    }
}


static void
check_narrowed(void)
{
    cc_delivery_t  delivery;

    google.subscription = unit_text(SUB);
    ok(judge(&unwrapped[0], bearer, &delivery) == CC_VERDICT_ACCEPTED,
       "the subscription that is ours");

    google.subscription = unit_text(SUB "2");
    ok(judge(&unwrapped[0], bearer, &delivery) == CC_VERDICT_FOREIGN
       && delivery.id_len == 0, "another one than ours");

    google.subscription = unit_text("");
    ok(judge(&unwrapped[0], "Bearer a.b.c", &delivery) == CC_VERDICT_UNSIGNED
       && delivery.id_len == 0, "the token is looked at first");
}


/* what the daemon makes of the body and of the id that it got */
static void
check_event(void)
{
    cc_str_t          body = unit_text(VOIDED("com.a"));
    cc_store_event_t  event;

    ok(cc_google_event(&event, google.json, unit_text(SUB ":1"), body) == NULL,
       "the daemon reads it");
    is_str(unit_cstr(event.id), "1", "... which message");
    is_str(unit_cstr(event.scope), SUB, "... of which subscription");
    is_str(unit_cstr(event.transaction_key), "GPA.1", "... about what");
    ok(event.event.fraction == CC_REFUND_ALL, "... and how much");

    ok(cc_google_event(&event, google.json, unit_text("1"), body) != NULL,
       "without a subscription it is no envelope");
    ok(cc_google_event(&event, google.json, unit_text(""), body) != NULL,
       "... nor without any id");
    ok(cc_google_event(&event, google.json, unit_text(SUB ":2"),
                       unit_cstr(wrapped[0].body)) != NULL,
       "an envelope is no notification");
    ok(cc_google_event(&event, google.json, unit_text("2"),
                       unit_cstr(wrapped[0].body)) == NULL
       && strcmp(event.scope, SUB) == 0 && strcmp(event.id, "2") == 0,
       "... but names itself");

    ok(cc_google_unwrapped_scope(unit_text("s:1")) == 1, "a scope");
    ok(cc_google_unwrapped_scope(unit_text(":1")) == 0, "an empty one");
    ok(cc_google_unwrapped_scope(unit_text("1")) == 0, "none");
}


int
main(void)
{
    unsigned  i;

    prepare();

    google.unwrapped = 1;

    for (i = 0; i < sizeof(unwrapped) / sizeof(unwrapped[0]); i++) {
        check(&unwrapped[i]);
    }

    check_narrowed();

    google.unwrapped = 0;

    for (i = 0; i < sizeof(wrapped) / sizeof(wrapped[0]); i++) {
        check(&wrapped[i]);
    }

    check_event();

    cc_jwks_destroy(google.keys);
    cc_json_destroy(google.json);

    return done_testing();
}

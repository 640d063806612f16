/*
 * Fuzzing what the stores send.  The first byte chooses: the input is the whole
 * body for Apple, a payload that is then signed, as payload or as transaction,
 * by an App Store made here, or a body for Google under a good token, wrapped
 * or not.  Of an unwrapped push the first two lines name it.
 *
 * Nothing unsigned is ever accepted; what is accepted has an id that may stand
 * in a key, and is read by the daemon, which never takes more than all.
 */

#include <openssl/rsa.h>

#include "apple.h"
#include "claims.h"
#include "fuzz.h"
#include "google.h"
#include "json_walk.h"
#include "jws_unit.h"
#include "pki.h"
#include "store_event.h"


#define NOW  1796068800

#define JWK  "{\"keys\":[{\"kty\":\"RSA\",\"kid\":\"a\",\"e\":\"AQAB\","      \
             "\"n\":\"%s\"}]}"
#define CLAIMS                                                                \
    "{\"iss\":\"accounts.google.com\",\"aud\":\"us\",\"email\":\"e\","        \
    "\"email_verified\":true,\"iat\":1796068800,\"exp\":1796072400}"
#define OUTER                                                                 \
    "{\"notificationUUID\":\"a-1\",\"notificationType\":\"REFUND\","          \
    "\"signedDate\":1796068800000,\"data\":{\"bundleId\":\"com.a\","          \
    "\"environment\":\"Sandbox\",\"signedTransactionInfo\":\"%s\"}}"


static cc_apple_t   apple;
static cc_google_t  google;
static pki_t        leaf;
static char         header[8192], bearer[4096];


static void
prepare_apple(void)
{
    pki_t        root, inter;
    cc_str_t     pem, l, i;
    const char  *reason;

    root = pki_make("root", 1, NULL, NULL, PKI_FROM, PKI_TO);
    inter = pki_make("inter", 1, PKI_INTER_OID, &root, PKI_FROM, PKI_TO);
    leaf = pki_make("leaf", 0, PKI_LEAF_OID, &inter, PKI_FROM, PKI_TO);
    pem = pki_pem(&root);
    l = pki_x5c(&leaf);
    i = pki_x5c(&inter);

    (void) snprintf(header, sizeof(header), "{\"alg\":\"ES256\",\"x5c\":["
                    "\"%.*s\",\"%.*s\",\"\"]}", (int) l.len, l.data,
                    (int) i.len, i.data);

    apple.json = cc_json_create(1);
    apple.roots = cc_x5c_create(pem, &reason);
    apple.bundle_id = unit_text("com.a");
    apple.app_apple_id = 7;
    apple.environment = CC_APPLE_ANY;
    must(apple.json != NULL && apple.roots != NULL);

    unit_free(pem);
    unit_free(l);
    unit_free(i);
    pki_free(&root);
    pki_free(&inter);
}


static void
prepare_google(void)
{
    char           text[1024], n[512], *token;
    BIGNUM        *modulus = NULL;
    EVP_PKEY      *key = EVP_RSA_gen(2048);
    const char    *reason;
    unsigned char  bytes[256];

    must(EVP_PKEY_get_bn_param(key, "n", &modulus) == 1);
    (void) BN_bn2binpad(modulus, bytes, sizeof(bytes));
    (void) jws_encode(n, bytes, sizeof(bytes));
    (void) snprintf(text, sizeof(text), JWK, n);

    google.json = apple.json;
    google.keys = cc_jwks_create(google.json, unit_cstr(text), &reason);
    google.audience = unit_text("us");
    google.email = unit_text("e");
    must(google.keys != NULL);

    token = make_jws("{\"alg\":\"RS256\",\"kid\":\"a\"}", CLAIMS,
                     sizeof(CLAIMS) - 1, key);
    (void) snprintf(bearer, sizeof(bearer), "Bearer %s", token);
    free(token);
    BN_free(modulus);
    EVP_PKEY_free(key);
}


/* Apple's may say too little to act on; Google's was looked through */
static void
settle(const cc_provider_t *provider, cc_str_t id, cc_str_t body)
{
    const char        *error;
    cc_store_event_t   event;

    error = provider == &cc_apple
            ? cc_apple_event(&event, apple.json, body)
            : cc_google_event(&event, google.json, id, body);

    must(error == NULL || provider == &cc_apple);
    must(error != cc_json_no_memory);

    if (error == NULL) {
        must(event.event.fraction <= CC_REFUND_ALL);
        must(!event.event.has_fraction || event.transaction_key[0] != '\0');
        must(event.event.access == CC_ACCESS_UNKNOWN
             || event.purchase_key[0] != '\0');
        must(event.id[0] != '\0');
    }
}


/* what stands before the next line feed, taken off the text */
static cc_str_t
cut_line(cc_str_t *text)
{
    size_t     n;
    cc_str_t   line;

    for (n = 0; n < text->len && text->data[n] != '\n'; n++) { /* void */ }

    line = unit_str(text->data, n);
    n += n < text->len;
    text->data += n;
    text->len -= n;

    return line;
}


static cc_verdict_e
deliver(const cc_provider_t *provider, void *conf, cc_str_t body,
    cc_delivery_t *delivery)
{
    cc_str_t       copy = unit_exact(body), exact = copy, id;
    cc_verdict_e   verdict;
    cc_callback_t  callback;

    memset(&callback, 0, sizeof(callback));

    if (google.unwrapped) {
        callback.message_id = cut_line(&exact);
        callback.subscription = cut_line(&exact);
        callback.publish_time = unit_text("then");
    }

    callback.body = exact;
    callback.signature = unit_cstr(bearer);
    callback.now_ms = NOW * 1000LL;

    verdict = provider->verify(conf, &callback, delivery);
    id = unit_str(delivery->id, delivery->id_len);

    if (verdict == CC_VERDICT_ACCEPTED) {
        settle(provider, id, exact);
    }

    unit_free(copy);

    must((delivery->reason == NULL) == (verdict == CC_VERDICT_ACCEPTED));
    must(verdict != CC_VERDICT_FAILED);

    if (verdict == CC_VERDICT_ACCEPTED) {
        must(delivery->count == 1);
        must(google.unwrapped
             ? cc_google_unwrapped_scope(id) > 0
               && cc_claim_shaped(id, "-_.~+%/:", 2 * CC_DELIVERY_ID_MAX + 1)
             : cc_google_unwrapped_scope(id) == 0
               && cc_claim_shaped(id, "._~+-", CC_DELIVERY_ID_MAX));
        must((delivery->scope_len == 0) == google.unwrapped);
    }

    return verdict;
}


/* {"signedPayload": JWS} of the payload; the inner one around a transaction */
static void
deliver_signed(const uint8_t *data, size_t size, int inner)
{
    char           *jws, *payload, *body;
    cc_delivery_t   delivery;

    jws = make_jws(header, data, size, leaf.key);

    if (inner) {
        payload = malloc(strlen(jws) + sizeof(OUTER));
        (void) sprintf(payload, OUTER, jws);
        free(jws);
        jws = make_jws(header, payload, strlen(payload), leaf.key);
        free(payload);
    }

    body = malloc(strlen(jws) + 64);
    (void) sprintf(body, "{\"signedPayload\":\"%s\"}", jws);
    (void) deliver(&cc_apple, &apple, unit_cstr(body), &delivery);
    free(body);
    free(jws);
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cc_delivery_t  delivery;

    if (apple.json == NULL) {
        prepare_apple();
        prepare_google();
    }

    if (size == 0) {
        return 0;
    }

    google.unwrapped = data[0] % 8 == 7;

    switch (data[0] % 4) {

    case 0:
        must(deliver(&cc_apple, &apple, unit_str(data + 1, size - 1),
                     &delivery) != CC_VERDICT_ACCEPTED);
        break;

    case 1:
    case 2:
        deliver_signed(data + 1, size - 1, data[0] % 4 == 2);
        break;

    case 3:
        (void) deliver(&cc_google, &google, unit_str(data + 1, size - 1),
                       &delivery);
        break;
    }

    return 0;
}

/*
 * What does an Apple notification cost, beside the signature checks that it
 * cannot do without?  Verifies one with a transaction in it, whose chains are
 * remembered, and then only its two signatures, by OpenSSL alone.
 *
 * Exits with 1 if the whole costs more than twice the signatures.
 */

#include <time.h>

#include "apple.h"
#include "claims.h"
#include "jws.h"
#include "store_unit.h"


#define ROUNDS  7                   /* of which the best counts */
#define TIMES   400


static cc_apple_t     apple;
static cc_callback_t  callback;
static cc_jws_t       jws;
static EVP_PKEY      *key;


static double
seconds(void)
{
    struct timespec  ts;

    (void) clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);

    return (double) ts.tv_sec + (double) ts.tv_nsec / 1e9;
}


static int
whole(void)
{
    cc_delivery_t  delivery;

    return cc_apple.verify(&apple, &callback, &delivery)
           == CC_VERDICT_ACCEPTED;
}


/* the notification's, and the transaction's, which is of the same kind */
static int
signatures(void)
{
    return cc_jws_verify(&jws, CC_JWS_ES256, key) == NULL
           && cc_jws_verify(&jws, CC_JWS_ES256, key) == NULL;
}


/* microseconds of one call, in the best round */
static double
measure(int (*call)(void))
{
    int     i, round;
    double  begin, took, best = 0;

    for (round = 0; round < ROUNDS; round++) {
        begin = seconds();

        for (i = 0; i < TIMES; i++) {
            if (!call()) {
                abort();
            }
        }

        took = (seconds() - begin) / TIMES * 1e6;

        if (round == 0 || took < best) {
            best = took;
        }
    }

    return best;
}


static void
prepare(const cJSON *tree)
{
    cJSON           *body;
    const char      *reason;
    const cJSON     *test;
    cc_x5c_leaf_t    leaf;

    apple.json = cc_json_create(1);
    apple.roots = cc_x5c_create(store_text(cJSON_GetArrayItem(
                      cJSON_GetObjectItemCaseSensitive(tree, "roots"), 0),
                                           "pem"), &reason);
    apple.bundle_id = unit_text("com.example.refunds");
    apple.app_apple_id = 1234567890;
    apple.environment = CC_APPLE_PRODUCTION;
    (void) cc_claim_whole(tree, "now", &callback.now_ms);

    cJSON_ArrayForEach(test, cJSON_GetObjectItemCaseSensitive(tree, "cases")) {
        if (strcmp(unit_member(test, "id"), "ok-refund-full") == 0) {
            callback.body = unit_base64(unit_member(test, "body_b64"));
        }
    }

    body = cc_claims_parse(apple.json, callback.body, &reason);

    if (cc_jws_open(&jws, apple.json, CC_JWS_ES256,
                    store_text(body, "signedPayload")) != NULL
        || cc_x5c_verify(apple.roots, jws.x5c[0], jws.x5c[1], &leaf) != NULL)
    {
        abort();
    }

    key = leaf.key;
}


int
main(void)
{
    double  all, bare;

    prepare(store_vectors("apple.json"));

    all = measure(whole);
    bare = measure(signatures);

    (void) printf("Apple notification, %zu bytes: %.0f us, its signatures "
                  "alone %.0f us, %.2f times as much\n", callback.body.len, all,
                  bare, all / bare);

    return all <= 2 * bare ? 0 : 1;
}

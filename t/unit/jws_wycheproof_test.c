/*
 * Signatures with edge cases, from C2SP/wycheproof, where the files are at
 * hand:  CC_WYCHEPROOF_ECDSA  ecdsa_secp256r1_sha256_p1363_test.json
 *        CC_WYCHEPROOF_RSA    rsa_signature_2048_sha256_test.json
 */

#include <openssl/x509.h>

#include "jws.h"
#include "signature.h"
#include "unit.h"


static cc_str_t
unhex(const char *text)
{
    int             n;
    cc_str_t        exact;
    unsigned char  *bytes = malloc(strlen(text) + 1);

    n = cc_decode(CC_ENCODING_HEX, unit_cstr(text), bytes, strlen(text) + 1);

    if (n < 0) {
        abort();
    }

    exact = unit_exact(unit_str(bytes, (size_t) n));
    free(bytes);

    return exact;
}


static void
check(const cJSON *test, cc_jws_alg_e alg, EVP_PKEY *key)
{
    int           good;
    cc_jws_t      jws;
    const char   *want = unit_member(test, "result");

    memset(&jws, 0, sizeof(jws));
    jws.signed_text = unhex(unit_member(test, "msg"));
    jws.signature = unhex(unit_member(test, "sig"));

    good = cc_jws_verify(&jws, alg, key) == NULL;

    /* "acceptable" is a PKCS#1 of old that libcrypto refuses, and so do we */

    ok(good == (strcmp(want, "valid") == 0), "%d is %s: %s",
       cJSON_GetObjectItemCaseSensitive(test, "tcId")->valueint, want,
       unit_member(test, "comment"));

    unit_free(jws.signed_text);
    unit_free(jws.signature);
}


static void
check_file(const char *variable, cc_jws_alg_e alg)
{
    cJSON                *tree = unit_vectors(variable);
    cc_str_t              der;
    EVP_PKEY             *key;
    const cJSON          *group, *test;
    const unsigned char  *p;

    if (tree == NULL) {
        skip(variable);
        return;
    }

    cJSON_ArrayForEach(group, cJSON_GetObjectItemCaseSensitive(tree,
                                                               "testGroups"))
    {
        der = unhex(unit_member(group, "publicKeyDer"));
        p = der.data;
        key = d2i_PUBKEY(NULL, &p, (long) der.len);
        ok(key != NULL, "a key");

        cJSON_ArrayForEach(test, cJSON_GetObjectItemCaseSensitive(group,
                                                                  "tests"))
        {
            check(test, alg, key);
        }

        EVP_PKEY_free(key);
        unit_free(der);
    }

    cJSON_Delete(tree);
}


int
main(void)
{
    check_file("CC_WYCHEPROOF_ECDSA", CC_JWS_ES256);
    check_file("CC_WYCHEPROOF_RSA", CC_JWS_RS256);

    return done_testing();
}

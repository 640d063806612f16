/*
 * Key sets: what is taken, what is passed over, and what makes a file no key
 * set at all.  Single odd keys are tested with the vectors too.
 */

#include <openssl/core_names.h>
#include <openssl/rsa.h>

#include "jwks.h"
#include "unit.h"


static cc_json_t  *json;
static char       *modulus;         /* of a key of 2048 bits, base64url */
static EVP_PKEY   *rsa;


static char *
make_modulus(void)
{
    int             i, n;
    char           *text = malloc(512);
    BIGNUM         *number = NULL;
    unsigned char   bytes[256];

    if (EVP_PKEY_get_bn_param(rsa, OSSL_PKEY_PARAM_RSA_N, &number) != 1) {
        abort();
    }

    (void) BN_bn2binpad(number, bytes, sizeof(bytes));
    n = EVP_EncodeBlock((unsigned char *) text, bytes, sizeof(bytes));

    for (i = 0; i < n; i++) {
        text[i] = text[i] == '+' ? '-' : text[i] == '/' ? '_' : text[i];
    }

    text[n - 2] = '\0';             /* 256 bytes end in "==" */
    BN_free(number);

    return text;
}


/* the set of this text, in which @ stands for the modulus */
static cc_jwks_t *
read_set(const char *text, const char **reason)
{
    char        *p, *whole = malloc(strlen(text) * 400);
    cc_str_t     exact;
    cc_jwks_t   *jwks;

    for (p = whole; *text; text++) {
        if (*text == '@') {
            p += sprintf(p, "%s", modulus);

        } else {
            *p++ = *text;
        }
    }

    exact = unit_exact(unit_str(whole, (size_t) (p - whole)));
    jwks = cc_jwks_create(json, exact, reason);
    unit_free(exact);
    free(whole);

    return jwks;
}


static void
holds(unsigned n, const char *keys)
{
    char         text[2048];
    const char  *reason;
    cc_jwks_t   *jwks;

    (void) snprintf(text, sizeof(text), "{\"keys\":[%s]}", keys);
    jwks = read_set(text, &reason);

    if (ok(jwks != NULL, "a set: %s", keys)) {
        is_int(cc_jwks_count(jwks), n, "... with %u usable", n);
    }

    cc_jwks_destroy(jwks);
}


#define KEY(more)  "{\"kty\":\"RSA\",\"n\":\"@\",\"e\":\"AQAB\"," more "}"


static void
test_keys(void)
{
    holds(0, "");
    holds(1, KEY("\"kid\":\"a\""));
    holds(2, KEY("\"kid\":\"a\"") "," KEY("\"kid\":\"b\""));
    holds(1, KEY("\"kid\":\"a\",\"use\":\"sig\",\"alg\":\"RS256\","
                 "\"x\":[{}]"));
    holds(1, "null,7,{}," KEY("\"kid\":\"a\""));
    holds(0, KEY("\"kid\":\"a\"") "," KEY("\"kid\":\"a\""));
    holds(1, KEY("\"kid\":\"a\"") "," KEY("\"kid\":\"b\"") ","
             KEY("\"kid\":\"a\"") "," KEY("\"kid\":\"a\""));
    holds(0, KEY("\"kid\":\"\""));
    holds(0, KEY("\"kid\":1"));
    holds(0, KEY("\"use\":\"sig\""));
    holds(0, KEY("\"kid\":\"a\",\"use\":\"enc\""));
    holds(0, KEY("\"kid\":\"a\",\"use\":null"));
    holds(0, KEY("\"kid\":\"a\",\"alg\":\"RS512\""));
    holds(0, "{\"kty\":\"rsa\",\"n\":\"@\",\"e\":\"AQAB\",\"kid\":\"a\"}");
    holds(0, "{\"kty\":\"RSA\",\"n\":\"@\",\"e\":\"AQ\",\"kid\":\"a\"}");
    holds(0, "{\"kty\":\"RSA\",\"n\":\"@\",\"e\":\"Aw\",\"kid\":\"a\"}");
    holds(0, "{\"kty\":\"RSA\",\"n\":\"@\",\"e\":\"AQAA\",\"kid\":\"a\"}");
    holds(0, "{\"kty\":\"RSA\",\"n\":\"@\",\"e\":\"\",\"kid\":\"a\"}");
    holds(0, "{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\",\"kid\":\"a\"}");
    holds(0, "{\"kty\":\"RSA\",\"n\":\"@==\",\"e\":\"AQAB\",\"kid\":\"a\"}");
    holds(0, "{\"kty\":\"RSA\",\"e\":\"AQAB\",\"kid\":\"a\"}");
}


static void
test_sets(void)
{
    unsigned     i;
    cc_jwks_t   *jwks;
    const char  *reason;

    static const char *const  bad[] = {
        "", "[]", "{}", "{\"keys\":{}}", "{\"keys\":null}", "{\"Keys\":[]}",
        "{\"keys\":[]} x", "{\"keys\":[],\"keys\":[]}", "\xef\xbb\xbf{}",
        "{\"keys\":[],\"expires\":\"1\"}", "{\"keys\":[],\"expires\":1.5}",
        "{\"keys\":[],\"expires\":0}", "{\"keys\":[],\"expires\":-1}",
        "<html>"
    };

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        reason = NULL;
        ok(read_set(bad[i], &reason) == NULL && reason != NULL,
           "no key set: %s", bad[i]);
    }

    jwks = read_set("{\"keys\":[" KEY("\"kid\":\"a\\u002fb\"") "]}", &reason);
    ok(cc_jwks_find(jwks, unit_text("a/b")) != NULL, "the key of a kid");
    ok(EVP_PKEY_eq(cc_jwks_find(jwks, unit_text("a/b")), rsa) == 1,
       "... is the key");
    ok(cc_jwks_find(jwks, unit_text("a/")) == NULL, "a part of the kid");
    ok(cc_jwks_find(jwks, unit_text("A/B")) == NULL, "the kid in upper case");
    ok(cc_jwks_find(jwks, unit_text("")) == NULL, "no kid");
    is_int(cc_jwks_expires(jwks), 0, "it does not say when it expires");
    cc_jwks_destroy(jwks);

    jwks = read_set("{\"expires\":1796068800,\"keys\":[]}", &reason);
    is_int(cc_jwks_expires(jwks), 1796068800, "it does say");
    cc_jwks_destroy(jwks);
}


int
main(void)
{
    json = cc_json_create(1);
    rsa = EVP_RSA_gen(2048);
    modulus = make_modulus();

    test_keys();
    test_sets();

    free(modulus);
    EVP_PKEY_free(rsa);
    cc_json_destroy(json);

    return done_testing();
}

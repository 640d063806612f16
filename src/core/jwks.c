/*
 * A key set out of JSON: strict scan, cJSON's tree, one EVP_PKEY for every key
 * that may be used.
 */

#include <stdlib.h>

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include "base64.h"
#include "claims.h"
#include "jwks.h"


#define CC_JWKS_KID_MAX   256       /* bytes of a kid */
#define CC_JWKS_BITS_MIN  2048
#define CC_JWKS_BITS_MAX  8192
#define CC_JWKS_E_MIN     65537


typedef struct {
    unsigned char  kid[CC_JWKS_KID_MAX];
    size_t         kid_len;
    EVP_PKEY      *key;             /* NULL: its kid stands twice */
} cc_jwk_t;

struct cc_jwks_s {
    int64_t        expires;
    unsigned       n;
    cc_jwk_t       keys[CC_JWKS_MAX];
};


static int cc_jwks_add(cc_jwks_t *jwks, const cJSON *jwk);
static cc_jwk_t *cc_jwks_slot(const cc_jwks_t *jwks, cc_str_t kid);
static int cc_jwks_usable(const cJSON *jwk);
static int cc_jwks_number(const cJSON *jwk, const char *name, BIGNUM **number);
static EVP_PKEY *cc_jwks_rsa(BIGNUM *n, BIGNUM *e);


cc_jwks_t *
cc_jwks_create(cc_json_t *json, cc_str_t text, const char **reason)
{
    cJSON        *tree;
    cc_jwks_t    *jwks;
    const cJSON  *keys, *jwk;

    tree = cc_claims_parse(json, text, reason);

    if (tree == NULL) {
        return NULL;
    }

    jwks = NULL;
    keys = cJSON_GetObjectItemCaseSensitive(tree, "keys");

    if (!cJSON_IsArray(keys)) {
        *reason = "it has no array of keys";
        goto done;
    }

    *reason = cc_json_no_memory;
    jwks = calloc(1, sizeof(cc_jwks_t));

    if (jwks == NULL) {
        goto done;
    }

    if (cc_claim_exists(tree, "expires")
        && (!cc_claim_whole(tree, "expires", &jwks->expires)
            || jwks->expires <= 0))
    {
        *reason = "its member expires is no Unix time";
        cc_jwks_destroy(jwks);
        jwks = NULL;
        goto done;
    }

    cJSON_ArrayForEach(jwk, keys) {

        if (cc_jwks_add(jwks, jwk) != 0) {
            cc_jwks_destroy(jwks);
            jwks = NULL;
            break;
        }
    }

done:

    cJSON_Delete(tree);
    ERR_clear_error();

    return jwks;
}


void
cc_jwks_destroy(cc_jwks_t *jwks)
{
    unsigned  i;

    if (jwks == NULL) {
        return;
    }

    for (i = 0; i < jwks->n; i++) {
        EVP_PKEY_free(jwks->keys[i].key);
    }

    free(jwks);
}


unsigned
cc_jwks_count(const cc_jwks_t *jwks)
{
    unsigned  i, n;

    for (n = 0, i = 0; i < jwks->n; i++) {
        n += (jwks->keys[i].key != NULL);
    }

    return n;
}


int64_t
cc_jwks_expires(const cc_jwks_t *jwks)
{
    return jwks->expires;
}


EVP_PKEY *
cc_jwks_find(const cc_jwks_t *jwks, cc_str_t kid)
{
    cc_jwk_t  *slot;

    slot = cc_jwks_slot(jwks, kid);

    return slot ? slot->key : NULL;
}


static cc_jwk_t *
cc_jwks_slot(const cc_jwks_t *jwks, cc_str_t kid)
{
    unsigned         i;
    const cc_jwk_t  *slot;

    for (i = 0; i < jwks->n; i++) {
        slot = &jwks->keys[i];

        if (slot->kid_len == kid.len
            && memcmp(slot->kid, kid.data, kid.len) == 0)
        {
            return (cc_jwk_t *) slot;
        }
    }

    return NULL;
}


/* 0, whether it is taken or passed over; -1 without memory */
static int
cc_jwks_add(cc_jwks_t *jwks, const cJSON *jwk)
{
    int        rc;
    BIGNUM    *n, *e;
    cc_str_t   kid;
    EVP_PKEY  *key;
    cc_jwk_t  *slot;

    if (jwks->n == CC_JWKS_MAX || !cc_claim_string(jwk, "kid", &kid)
        || kid.len == 0 || kid.len > CC_JWKS_KID_MAX)
    {
        return 0;
    }

    /* nobody can say which of two was meant: neither */

    slot = cc_jwks_slot(jwks, kid);

    if (slot != NULL) {
        EVP_PKEY_free(slot->key);
        slot->key = NULL;
        return 0;
    }

    if (!cc_jwks_usable(jwk)) {
        return 0;
    }

    n = NULL;
    e = NULL;
    key = NULL;
    rc = 0;

    if (cc_jwks_number(jwk, "n", &n) == 0 && cc_jwks_number(jwk, "e", &e) == 0
        && BN_num_bits(n) >= CC_JWKS_BITS_MIN
        && BN_num_bits(n) <= CC_JWKS_BITS_MAX
        && BN_num_bits(e) <= 32 && BN_get_word(e) >= CC_JWKS_E_MIN
        && BN_is_odd(e) && BN_is_odd(n))
    {
        key = cc_jwks_rsa(n, e);
        rc = (key != NULL) ? 0 : -1;
    }

    BN_free(n);
    BN_free(e);

    if (key != NULL) {
        slot = &jwks->keys[jwks->n++];
        memcpy(slot->kid, kid.data, kid.len);
        slot->kid_len = kid.len;
        slot->key = key;
    }

    return rc;
}


static int
cc_jwks_usable(const cJSON *jwk)
{
    cc_str_t  rsa = cc_str("RSA"), sig = cc_str("sig"), rs256 = cc_str("RS256");

    return cc_claim_is(jwk, "kty", rsa)
           && (!cc_claim_exists(jwk, "use") || cc_claim_is(jwk, "use", sig))
           && (!cc_claim_exists(jwk, "alg") || cc_claim_is(jwk, "alg", rs256));
}


/* base64url without a leading zero byte */
static int
cc_jwks_number(const cJSON *jwk, const char *name, BIGNUM **number)
{
    cc_str_t       text, bytes;
    unsigned char  buf[CC_JWKS_BITS_MAX / 8];

    if (!cc_claim_string(jwk, name, &text)
        || cc_base64_decode(CC_BASE64_URL, text, buf, sizeof(buf), &bytes) != 0
        || bytes.len == 0 || bytes.data[0] == 0)
    {
        return -1;
    }

    *number = BN_bin2bn(bytes.data, (int) bytes.len, NULL);

    return *number ? 0 : -1;
}


static EVP_PKEY *
cc_jwks_rsa(BIGNUM *n, BIGNUM *e)
{
    EVP_PKEY        *key;
    OSSL_PARAM      *params;
    EVP_PKEY_CTX    *ctx;
    OSSL_PARAM_BLD  *build;

    key = NULL;
    params = NULL;
    build = OSSL_PARAM_BLD_new();
    ctx = EVP_PKEY_CTX_new_from_name(NULL, "RSA", NULL);

    if (build != NULL && ctx != NULL
        && OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, n) == 1
        && OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, e) == 1)
    {
        params = OSSL_PARAM_BLD_to_param(build);
    }

    if (params != NULL && EVP_PKEY_fromdata_init(ctx) == 1) {
        (void) EVP_PKEY_fromdata(ctx, &key, EVP_PKEY_PUBLIC_KEY, params);
    }

    OSSL_PARAM_free(params);
    OSSL_PARAM_BLD_free(build);
    EVP_PKEY_CTX_free(ctx);

    return key;
}

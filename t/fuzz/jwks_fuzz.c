/*
 * Fuzzing key sets: whatever is taken is an RSA key of a decent size.
 */

#include "fuzz.h"
#include "json_walk.h"
#include "jwks.h"
#include "unit.h"


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    EVP_PKEY          *key;
    cc_str_t           exact = unit_exact(unit_str(data, size));
    cc_jwks_t         *jwks;
    const char        *reason;

    static cc_json_t  *json;

    if (json == NULL) {
        json = cc_json_create(1);
        must(json != NULL);
    }

    jwks = cc_jwks_create(json, exact, &reason);

    if (jwks == NULL) {
        must(reason != NULL);

    } else {
        must(cc_jwks_count(jwks) <= CC_JWKS_MAX);
        must(cc_jwks_expires(jwks) >= 0);

        key = cc_jwks_find(jwks, unit_text("a"));
        must(key == NULL || (EVP_PKEY_get_bits(key) >= 2048
                             && EVP_PKEY_get_bits(key) <= 8192));
        must(cc_jwks_find(jwks, unit_text("")) == NULL);
    }

    cc_jwks_destroy(jwks);
    unit_free(exact);

    return 0;
}

/*
 * Fuzzing compact JWS: what opens has one text only, so that encoding what was
 * decoded gives the text back; and nobody signs for a key by chance.
 */

#include "fuzz.h"
#include "json_walk.h"
#include "jws.h"
#include "jws_unit.h"


static void
check_segment(cc_str_t text, cc_str_t decoded)
{
    char    *again = malloc(decoded.len * 2 + 8);
    size_t   n = jws_encode(again, decoded.data, decoded.len);

    must(n == text.len && memcmp(again, text.data, n) == 0);
    free(again);
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cc_jws_t              jws;
    cc_str_t              exact = unit_exact(unit_str(data, size)), part;
    unsigned              i;
    cc_jws_alg_e          alg = size % 2 ? CC_JWS_ES256 : CC_JWS_RS256;
    const unsigned char  *dot;

    static EVP_PKEY      *key;
    static cc_json_t     *json;

    if (json == NULL) {
        json = cc_json_create(1);
        key = EVP_EC_gen("P-256");
        must(json != NULL && key != NULL);
    }

    if (cc_jws_open(&jws, json, alg, exact) == NULL) {
        part = jws.signed_text;
        dot = memchr(part.data, '.', part.len);
        must(dot != NULL);

        check_segment(unit_str(dot + 1, (size_t) (part.data + part.len
                                                  - dot - 1)), jws.payload);
        check_segment(unit_str(part.data + part.len + 1,
                               exact.len - part.len - 1), jws.signature);
        must(jws.nx5c == 0 || jws.nx5c == CC_JWS_X5C);

        for (i = 0; i < jws.nx5c; i++) {
            must(jws.x5c[i].len <= CC_JWS_CERT_MAX);
        }

        must(cc_jws_verify(&jws, CC_JWS_ES256, key) != NULL);
        must(cc_jws_verify(&jws, CC_JWS_RS256, key) != NULL);
    }

    cc_jws_close(&jws);
    unit_free(exact);

    return 0;
}

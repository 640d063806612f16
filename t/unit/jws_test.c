/*
 * Compact JWS: base64 with one text for one value, three segments, the header,
 * and the two algorithms, each with a key made here.
 */

#include <openssl/rsa.h>

#include "base64.h"
#include "jws.h"
#include "jws_unit.h"


static cc_json_t  *json;
static EVP_PKEY   *p256, *p384, *rsa;


static void
base64_is(cc_base64_e form, const char *text, const char *want)
{
    int            rc;
    cc_str_t       out, exact = unit_exact(unit_cstr(text));
    unsigned char  buf[64];

    out.len = 0;
    out.data = buf;
    rc = cc_base64_decode(form, exact, buf, sizeof(buf), &out);
    unit_free(exact);

    if (want == NULL) {
        is_int(rc, -1, "refuses \"%s\"", text);

    } else {
        ok(rc == 0 && cc_str_is(out, want), "\"%s\" is \"%s\"", text, want);
    }
}


static void
test_base64(void)
{
    unsigned        i;
    cc_str_t        out, text;
    unsigned char   buf[3];

    static const char *const  bad[] = {
        "A", "AAAAA", "AA=A", "A===", "====", "Zm9v\n", " Zm9v", "Zm9v ",
        "Zm\n9v", "Zm9v.", "Zm9vYg=", "Zm9\xc3\xa9"
    };

    base64_is(CC_BASE64_STANDARD, "", "");
    base64_is(CC_BASE64_STANDARD, "Zg==", "f");
    base64_is(CC_BASE64_STANDARD, "Zm8=", "fo");
    base64_is(CC_BASE64_STANDARD, "Zm9v", "foo");
    base64_is(CC_BASE64_STANDARD, "Pz8/Pj4+", "?" "?" "?>>>");
    base64_is(CC_BASE64_STANDARD, "Zg", NULL);
    base64_is(CC_BASE64_STANDARD, "Zm8", NULL);
    base64_is(CC_BASE64_STANDARD, "Zh==", NULL);
    base64_is(CC_BASE64_STANDARD, "Zm9=", NULL);
    base64_is(CC_BASE64_STANDARD, "Pz8_Pj4-", NULL);

    base64_is(CC_BASE64_URL, "", "");
    base64_is(CC_BASE64_URL, "Zg", "f");
    base64_is(CC_BASE64_URL, "Zm8", "fo");
    base64_is(CC_BASE64_URL, "Zm9v", "foo");
    base64_is(CC_BASE64_URL, "Pz8_Pj4-", "?" "?" "?>>>");
    base64_is(CC_BASE64_URL, "Zg==", NULL);
    base64_is(CC_BASE64_URL, "Zm8=", NULL);
    base64_is(CC_BASE64_URL, "Zh", NULL);
    base64_is(CC_BASE64_URL, "Zm9", NULL);
    base64_is(CC_BASE64_URL, "Pz8/Pj4+", NULL);

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        base64_is(CC_BASE64_STANDARD, bad[i], NULL);
        base64_is(CC_BASE64_URL, bad[i], NULL);
    }

    text = unit_text("Zm9v");
    is_int(cc_base64_decode(CC_BASE64_URL, text, buf, 3, &out), 0,
           "it fits exactly");
    is_int(cc_base64_decode(CC_BASE64_URL, text, buf, 2, &out), -1,
           "it does not fit");
}


/* every value of one to four bytes that libcrypto encodes comes back */
static void
test_base64_round(void)
{
    size_t          n;
    unsigned        i, bad;
    uint64_t        seed = unit_seed();
    cc_str_t        out;
    unsigned char   bytes[4], back[4], text[16];

    for (bad = 0, i = 0; i < 20000; i++) {
        uint64_t  r = unit_random(&seed);

        n = 1 + i % 4;
        memcpy(bytes, &r, sizeof(bytes));
        r = (uint64_t) EVP_EncodeBlock(text, bytes, (int) n);

        if (cc_base64_decode(CC_BASE64_STANDARD, unit_str(text, (size_t) r),
                             back, sizeof(back), &out) != 0
            || out.len != n || memcmp(back, bytes, n) != 0)
        {
            bad++;
        }
    }

    is_int(bad, 0, "what libcrypto encodes comes back");
}


/* opened and verified: NULL, or what is wrong */
static const char *
judge(const char *text, cc_jws_alg_e alg, EVP_PKEY *key)
{
    cc_jws_t     jws;
    cc_str_t     exact = unit_exact(unit_cstr(text));
    const char  *error;

    error = cc_jws_open(&jws, json, alg, exact);

    if (error == NULL) {
        error = cc_jws_verify(&jws, alg, key);
    }

    cc_jws_close(&jws);
    unit_free(exact);

    return error;
}


static void
refuses(const char *header, cc_jws_alg_e alg, EVP_PKEY *key, const char *word)
{
    char        *text = make_jws(header, "{}", 2, key);
    const char  *error = judge(text, alg, key);

    ok(error != NULL && strstr(error, word) != NULL, "refuses (%s) %s", word,
       header);

    if (error == NULL || strstr(error, word) == NULL) {
        diag("%s", error ? error : "accepted");
    }

    free(text);
}


static void
test_algorithms(void)
{
    char  *es, *rs, *es384;

    es = make_jws("{\"alg\":\"ES256\"}", "{\"a\":1}", 7, p256);
    rs = make_jws("{\"alg\":\"RS256\"}", "{\"a\":1}", 7, rsa);
    es384 = make_jws("{\"alg\":\"ES256\"}", "{\"a\":1}", 7, p384);

    ok(judge(es, CC_JWS_ES256, p256) == NULL, "ES256");
    ok(judge(rs, CC_JWS_RS256, rsa) == NULL, "RS256");
    ok(judge(es, CC_JWS_RS256, rsa) != NULL, "ES256 where RS256 is wanted");
    ok(judge(rs, CC_JWS_ES256, p256) != NULL, "RS256 where ES256 is wanted");
    ok(judge(es, CC_JWS_ES256, rsa) != NULL, "ES256 and an RSA key");
    ok(judge(rs, CC_JWS_RS256, p256) != NULL, "RS256 and an EC key");
    ok(judge(es384, CC_JWS_ES256, p384) != NULL, "ES256 on another curve");

    es[strlen(es) - 4] = es[strlen(es) - 4] == 'A' ? 'B' : 'A';
    ok(judge(es, CC_JWS_ES256, p256) != NULL, "another signature");
    rs[strlen(rs) - 4] = rs[strlen(rs) - 4] == 'A' ? 'B' : 'A';
    ok(judge(rs, CC_JWS_RS256, rsa) != NULL, "another signature, RSA");

    free(es);
    free(rs);
    free(es384);
}


static void
test_headers(void)
{
    refuses("{}", CC_JWS_ES256, p256, "names no alg");
    refuses("[]", CC_JWS_ES256, p256, "not a JSON object");
    refuses("{", CC_JWS_ES256, p256, "no JSON");
    refuses("{\"alg\":\"none\"}", CC_JWS_ES256, p256, "another alg");
    refuses("{\"alg\":\"es256\"}", CC_JWS_ES256, p256, "another alg");
    refuses("{\"alg\":256}", CC_JWS_ES256, p256, "another alg");
    refuses("{\"alg\":\"ES256\",\"alg\":\"none\"}", CC_JWS_ES256, p256,
            "twice");
    refuses("{\"alg\":\"ES256\",\"crit\":[\"b64\"]}", CC_JWS_ES256, p256,
            "crit");
    refuses("{\"alg\":\"ES256\"} x", CC_JWS_ES256, p256, "behind");
    refuses("{\"alg\":\"ES256\",\"x5c\":[\"a\",\"b\"]}", CC_JWS_ES256, p256,
            "three certificates");
    refuses("{\"alg\":\"ES256\",\"x5c\":[\"a\",\"b\",\"c\",\"d\"]}",
            CC_JWS_ES256, p256, "three certificates");
    refuses("{\"alg\":\"ES256\",\"x5c\":[\"a\",\"b\",3]}", CC_JWS_ES256, p256,
            "three certificates");
    refuses("{\"alg\":\"ES256\",\"x5c\":\"abc\"}", CC_JWS_ES256, p256,
            "three certificates");
}


static void
test_fields(void)
{
    char      *text;
    cc_jws_t   jws;

    text = make_jws("{\"\\u0061lg\":\"RS25\\u0036\",\"kid\":\"a\\/b\\u00e9\","
                    "\"x5c\":[\"Q\\/Q=\",\"b\",\"c\"],\"typ\":\"JWT\","
                    "\"jwk\":{\"x\":[1]}}", "{\"a\":1}", 7, rsa);

    ok(cc_jws_open(&jws, json, CC_JWS_RS256, unit_cstr(text)) == NULL,
       "a header with escapes and things to pass over");
    is_str(jws.kid, "a/b\xc3\xa9", "its kid");
    is_int(jws.nx5c, 3, "its certificates");
    is_str(jws.x5c[0], "Q/Q=", "the first");
    is_str(jws.x5c[2], "c", "the third");
    is_int(jws.typ_other, 0, "its typ");
    is_str(jws.payload, "{\"a\":1}", "its payload");
    ok(jws.signed_text.len + 1 < strlen(text)
       && text[jws.signed_text.len] == '.', "what is signed");
    cc_jws_close(&jws);
    free(text);

    text = make_jws("{\"alg\":\"RS256\",\"typ\":\"at+jwt\",\"kid\":7}", "x",
                    1, rsa);
    ok(cc_jws_open(&jws, json, CC_JWS_RS256, unit_cstr(text)) == NULL,
       "a header without much");
    is_int(jws.typ_other, 1, "another typ");
    is_int(jws.kid.len, 0, "a kid that is no string is none");
    is_int(jws.nx5c, 0, "no certificates");
    cc_jws_close(&jws);
    free(text);
}


static void
test_segments(void)
{
    unsigned  i;

    static const char *const  bad[] = {
        "", ".", "..", "a.b", "a..c", ".b.c", "a.b.", "a.b.c.d", "a.b.c.",
        "e30.e30.e30=", "e30.e30 .e30", "e30.e3+.e30"
    };

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ok(judge(bad[i], CC_JWS_ES256, p256) != NULL, "refuses %s", bad[i]);
    }
}


int
main(void)
{
    json = cc_json_create(1);
    p256 = EVP_EC_gen("P-256");
    p384 = EVP_EC_gen("P-384");
    rsa = EVP_RSA_gen(2048);

    test_base64();
    test_base64_round();
    test_algorithms();
    test_headers();
    test_fields();
    test_segments();

    EVP_PKEY_free(p256);
    EVP_PKEY_free(p384);
    EVP_PKEY_free(rsa);
    cc_json_destroy(json);

    return done_testing();
}

/*
 * Are the signatures of real senders, and Wycheproof's edge cases, judged as
 * they should be?
 *
 * The files are not part of this repository.  CC_HMAC_VECTORS may name one of
 * signature headers {"profiles": {...}, "vectors": [...]}, of which those are
 * run that sign the body alone; CC_WYCHEPROOF_HMAC may name Wycheproof's
 * hmac_sha256_test.json.
 */

#include "signature.h"
#include "unit.h"


static const cc_str_t  nothing = cc_str("");


static cJSON *
get(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}


/* hex to bytes, by libcrypto: vectors must not lean on what they test */
static cc_str_t
from_hex(const char *text)
{
    long            n = 0;
    cc_str_t        bytes;
    unsigned char  *buf = OPENSSL_hexstr2buf(text, &n);

    bytes = unit_exact(unit_str(n ? buf : (unsigned char *) "", (size_t) n));
    OPENSSL_free(buf);

    return bytes;
}


/* 1 if the value of a vector's header is a signature of its body */
static int
is_signed(const cJSON *profile, const cJSON *vector)
{
    int             matched = 0;
    size_t          len;
    cc_str_t        body, secret, list, prefix = nothing;
    cc_hmac_t      *hmac;
    const cJSON    *header = get(vector, "headers")->child;
    const char     *hash = unit_member(profile, "algorithm");
    unsigned char   mac[CC_MAC_MAX];

    body = unit_base64(unit_member(vector, "body_b64"));
    list = unit_exact(header ? unit_cstr(header->valuestring) : nothing);
    secret = strcmp(unit_member(vector, "secret_form"), "hex") == 0
             ? from_hex(unit_member(vector, "secret"))
             : unit_exact(unit_cstr(unit_member(vector, "secret")));

    if (unit_member(profile, "prefix")) {
        prefix = unit_cstr(unit_member(profile, "prefix"));
    }

    hmac = cc_hmac_create(hash && strcmp(hash, "sha1") == 0 ? CC_HASH_SHA1
                                                            : CC_HASH_SHA256,
                          secret);

    if (hmac) {
        len = cc_hmac_compute(hmac, nothing, body, mac);
        matched = cc_signature_match(list, prefix,
                          strcmp(unit_member(profile, "encoding"), "hex") == 0
                          ? CC_ENCODING_HEX : CC_ENCODING_BASE64, mac, len);
    }

    cc_hmac_destroy(hmac);
    unit_free(body);
    unit_free(list);
    unit_free(secret);

    return matched;
}


static void
test_senders(void)
{
    cJSON       *file = unit_vectors("CC_HMAC_VECTORS"), *vector, *profile;
    unsigned     run = 0;
    const char  *want, *name;

    if (file == NULL) {
        skip("CC_HMAC_VECTORS names no file of signature headers");
        return;
    }

    cJSON_ArrayForEach(vector, get(file, "vectors")) {

        name = unit_member(vector, "profile");
        want = unit_member(vector, "want");
        profile = get(get(file, "profiles"), name);

        if (strcmp(unit_member(profile, "signed"), "{body}") != 0
            || get(profile, "list") != NULL)
        {
            continue;
        }

        run++;

        /* "either" is policy: hex in either case and no padding are taken */

        ok(is_signed(profile, vector)
           == (strcmp(want, "accept") == 0
               || strcmp(unit_member(vector, "id"), "github-upper-hex") == 0
               || strcmp(unit_member(vector, "id"), "shopify-no-padding") == 0),
           "%s: %s", unit_member(vector, "id"), want);
    }

    ok(run > 20, "%u vectors sign the body alone", run);
    cJSON_Delete(file);
}


static void
is_tag(const cJSON *test, size_t tag_len)
{
    int             valid = strcmp(unit_member(test, "result"), "valid") == 0;
    size_t          len;
    cc_str_t        key, body, tag, list;
    cc_hmac_t      *hmac;
    unsigned char   mac[CC_MAC_MAX];

    key = from_hex(unit_member(test, "key"));
    body = from_hex(unit_member(test, "msg"));
    tag = from_hex(unit_member(test, "tag"));
    list = unit_exact(unit_cstr(unit_member(test, "tag")));
    hmac = cc_hmac_create(CC_HASH_SHA256, key);
    len = hmac ? cc_hmac_compute(hmac, nothing, body, mac) : 0;

    /* a tag that was cut short is right as far as it goes, and no signature */

    ok(len == 32
       && (tag.len == tag_len && memcmp(mac, tag.data, tag_len) == 0) == valid
       && cc_signature_match(list, nothing, CC_ENCODING_HEX, mac, len)
          == (valid && tag_len == 32),
       "Wycheproof %d, %zu bytes, %s: %s", get(test, "tcId")->valueint,
       tag_len, valid ? "valid" : "invalid", unit_member(test, "comment"));

    cc_hmac_destroy(hmac);
    unit_free(key);
    unit_free(body);
    unit_free(tag);
    unit_free(list);
}


static void
test_wycheproof(void)
{
    cJSON  *file = unit_vectors("CC_WYCHEPROOF_HMAC"), *group, *test;

    if (file == NULL) {
        skip("CC_WYCHEPROOF_HMAC names no file of Wycheproof");
        return;
    }

    cJSON_ArrayForEach(group, get(file, "testGroups")) {
        cJSON_ArrayForEach(test, get(group, "tests")) {
            is_tag(test, (size_t) get(group, "tagSize")->valueint / 8);
        }
    }

    cJSON_Delete(file);
}


int
main(void)
{
    test_senders();
    test_wycheproof();

    return done_testing();
}

/*
 * HMAC signatures over OpenSSL's EVP_MAC.
 *
 * A signature of the wrong form is no secret and may be left at once; once it
 * decodes to the right length, the comparison is libcrypto's constant-time one.
 */

#include <stdlib.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include "signature.h"


struct cc_hmac_s {
    EVP_MAC_CTX  *ctx;               /* keyed; made ready again by each use */
};


static inline int cc_hex_digit(unsigned char c);
static int cc_hex(const unsigned char *p, size_t len, unsigned char *out,
    size_t size);
static int cc_base64(const unsigned char *p, size_t len, unsigned char *out,
    size_t size);
static int cc_is_separator(unsigned char c);


cc_hmac_t *
cc_hmac_create(cc_hash_e hash, cc_str_t key)
{
    EVP_MAC     *mac;
    cc_hmac_t   *hmac;
    OSSL_PARAM   params[2];

    static char *const  names[] = { "SHA256", "SHA512", "SHA1" };

    hmac = calloc(1, sizeof(cc_hmac_t));
    mac = EVP_MAC_fetch(NULL, "HMAC", NULL);

    if (hmac != NULL && mac != NULL) {
        hmac->ctx = EVP_MAC_CTX_new(mac);
    }

    /* the context has its own reference */
    EVP_MAC_free(mac);

    params[0] = OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST,
                                                 names[hash], 0);
    params[1] = OSSL_PARAM_construct_end();

    if (hmac == NULL || hmac->ctx == NULL
        || EVP_MAC_init(hmac->ctx, key.data, key.len, params) != 1)
    {
        cc_hmac_destroy(hmac);
        return NULL;
    }

    return hmac;
}


void
cc_hmac_destroy(cc_hmac_t *hmac)
{
    if (hmac != NULL) {
        EVP_MAC_CTX_free(hmac->ctx);
        free(hmac);
    }
}


size_t
cc_hmac_compute(cc_hmac_t *hmac, cc_str_t prefix, cc_str_t body,
    unsigned char *mac)
{
    size_t  len;

    /* without a key: the same key again, at half the cost of setting it */

    if (EVP_MAC_init(hmac->ctx, NULL, 0, NULL) != 1
        || (prefix.len != 0
            && EVP_MAC_update(hmac->ctx, prefix.data, prefix.len) != 1)
        || (body.len != 0
            && EVP_MAC_update(hmac->ctx, body.data, body.len) != 1)
        || EVP_MAC_final(hmac->ctx, mac, &len, CC_MAC_MAX) != 1)
    {
        return 0;
    }

    return len;
}


int
cc_signature_match(cc_str_t list, cc_str_t prefix, cc_encoding_e encoding,
    const unsigned char *mac, size_t len)
{
    int                   n, matched;
    cc_str_t              text;
    unsigned              looked;
    unsigned char         bytes[CC_MAC_MAX];
    const unsigned char  *p, *end, *start;

    if (list.len == 0) {
        return 0;
    }

    p = list.data;
    end = p + list.len;
    matched = 0;

    for (looked = 0; p < end && looked < CC_SIGNATURES_MAX; /* void */ ) {

        if (cc_is_separator(*p)) {
            p++;
            continue;
        }

        start = NULL;

        if ((size_t) (end - p) >= prefix.len
            && (prefix.len == 0
                || memcmp(p, prefix.data, prefix.len) == 0))
        {
            p += prefix.len;
            start = p;
        }

        while (p < end && !cc_is_separator(*p)) {
            p++;
        }

        if (start == NULL) {
            continue;
        }

        looked++;
        text.data = start;
        text.len = (size_t) (p - start);

        n = cc_decode(encoding, text, bytes, sizeof(bytes));

        if (n > 0 && (size_t) n == len && len != 0) {
            matched |= (CRYPTO_memcmp(bytes, mac, len) == 0);
        }
    }

    return matched;
}


static int
cc_is_separator(unsigned char c)
{
    return c == ' ' || c == ',' || c == '\t';
}


int
cc_decode(cc_encoding_e encoding, cc_str_t text, unsigned char *out,
    size_t size)
{
    switch (encoding) {

    case CC_ENCODING_HEX:
        return cc_hex(text.data, text.len, out, size);

    case CC_ENCODING_BASE64:
        break;
    }

    return cc_base64(text.data, text.len, out, size);
}


static int
cc_hex(const unsigned char *p, size_t len, unsigned char *out, size_t size)
{
    size_t  i;
    int     high, low;

    if (len % 2 != 0 || len / 2 > size) {
        return -1;
    }

    for (i = 0; i < len; i += 2) {
        high = cc_hex_digit(p[i]);
        low = cc_hex_digit(p[i + 1]);

        if (high < 0 || low < 0) {
            return -1;
        }

        out[i / 2] = (unsigned char) (high << 4 | low);
    }

    return (int) (len / 2);
}


static inline int
cc_hex_digit(unsigned char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }

    c |= 0x20;

    return (c >= 'a' && c <= 'f') ? c - 'a' + 10 : -1;
}


/*
 * libcrypto's decoder takes white space and spare bits, so that many texts are
 * one signature; here one signature has one text, but for its padding
 */
static int
cc_base64(const unsigned char *p, size_t len, unsigned char *out, size_t size)
{
    size_t       i, n;
    unsigned     bits, c;
    const char  *at;

    static const char  alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                    "abcdefghijklmnopqrstuvwxyz0123456789+/";

    if (len % 4 == 0 && len != 0 && p[len - 1] == '=') {
        len -= (p[len - 2] == '=') ? 2 : 1;
    }

    if (len % 4 == 1) {
        return -1;
    }

    for (bits = 0, n = 0, i = 0; i < len; i++) {
        at = (p[i] != '\0') ? strchr(alphabet, p[i]) : NULL;

        if (at == NULL) {
            return -1;
        }

        c = (unsigned) (at - alphabet);
        bits = (bits << 6 | c) & 0xffffff;

        if (i % 4 != 0) {
            if (n == size) {
                return -1;
            }

            out[n++] = (unsigned char) (bits >> (6 - i % 4 * 2));
        }
    }

    if ((len % 4 == 2 && (bits & 0xf) != 0)
        || (len % 4 == 3 && (bits & 0x3) != 0))
    {
        return -1;
    }

    return (int) n;
}


int
cc_timestamp_fresh(cc_str_t text, int64_t now_ms, int64_t tolerance_ms)
{
    size_t   i;
    int64_t  ms, age;

    if (text.len == 0 || text.len > 15) {
        return 0;
    }

    for (ms = 0, i = 0; i < text.len; i++) {

        if (text.data[i] < '0' || text.data[i] > '9') {
            return 0;
        }

        ms = ms * 10 + (text.data[i] - '0');
    }

    if (ms < 100000000000) {
        ms *= 1000;
    }

    age = now_ms - ms;

    return age <= tolerance_ms && age >= -tolerance_ms;
}

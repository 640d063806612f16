/*
 * Signs a JWS the way a sender does: base64url by libcrypto's base64, ES256 in
 * its r and s, RS256.
 */

#ifndef CC_JWS_UNIT_H
#define CC_JWS_UNIT_H

#include <openssl/ec.h>
#include <openssl/evp.h>

#include "unit.h"


/* appends base64url without padding; returns the characters written */
static TAP_UNUSED size_t
jws_encode(char *to, const void *data, size_t len)
{
    size_t  i, n;

    n = (size_t) EVP_EncodeBlock((unsigned char *) to, data, (int) len);

    while (n > 0 && to[n - 1] == '=') {
        n--;
    }

    for (i = 0; i < n; i++) {
        to[i] = to[i] == '+' ? '-' : to[i] == '/' ? '_' : to[i];
    }

    to[n] = '\0';

    return n;
}


/* the signature's bytes; for an EC key r and s, each of the curve's size */
static TAP_UNUSED size_t
jws_sign(unsigned char *mac, size_t size, const char *text, EVP_PKEY *key)
{
    size_t                n = size;
    ECDSA_SIG            *sig;
    EVP_MD_CTX           *ctx = EVP_MD_CTX_new();
    const unsigned char  *p = mac;

    if (EVP_DigestSignInit_ex(ctx, NULL, "SHA256", NULL, NULL, key, NULL) != 1
        || EVP_DigestSign(ctx, mac, &n, (const unsigned char *) text,
                          strlen(text)) != 1)
    {
        abort();
    }

    EVP_MD_CTX_free(ctx);

    if (EVP_PKEY_is_a(key, "EC")) {
        sig = d2i_ECDSA_SIG(NULL, &p, (long) n);
        n = (size_t) (EVP_PKEY_get_bits(key) + 7) / 8;
        (void) BN_bn2binpad(ECDSA_SIG_get0_r(sig), mac, (int) n);
        (void) BN_bn2binpad(ECDSA_SIG_get0_s(sig), mac + n, (int) n);
        n *= 2;
        ECDSA_SIG_free(sig);
    }

    return n;
}


/* HEADER.PAYLOAD.SIGNATURE; to be freed */
static TAP_UNUSED char *
make_jws(const char *header, const void *payload, size_t payload_len,
    EVP_PKEY *key)
{
    char           *text;
    size_t          len, n;
    unsigned char   mac[600];

    text = malloc(2 * (strlen(header) + payload_len) + 1200);
    len = jws_encode(text, header, strlen(header));
    text[len++] = '.';
    len += jws_encode(text + len, payload, payload_len);
    n = jws_sign(mac, sizeof(mac), text, key);
    text[len++] = '.';
    (void) jws_encode(text + len, mac, n);

    return text;
}


#endif /* CC_JWS_UNIT_H */

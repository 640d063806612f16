/*
 * Compact JWS: three segments, a header in strict JSON, one pinned algorithm.
 *
 * The header is walked, not made a tree: what is in it and means nothing is
 * skipped, what means something must have its type.  All that is decoded lies
 * in one block that the jws owns.
 */

#include <stdlib.h>

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#include "base64.h"
#include "jws.h"


#define CC_ES256_HALF  32           /* bytes of r, and of s */
#define CC_ES256_DER   80           /* more than the two of them in DER */


typedef struct {
    cc_jws_t       *jws;
    cc_json_t      *json;
    cc_jws_alg_e    alg;
    unsigned        alg_seen;
    unsigned char  *free;           /* of jws->memory, for unescaped texts */
    size_t          size;
} cc_jws_header_t;


static const char *cc_jws_split(cc_str_t text, cc_str_t *segments);
static const char *cc_jws_header(cc_jws_header_t *h, cc_str_t text);
static const char *cc_jws_member(cc_jws_header_t *h,
    const cc_json_token_t *name);
static const char *cc_jws_x5c(cc_jws_header_t *h, const cc_json_token_t *open);
static int cc_jws_text(cc_jws_header_t *h, const cc_json_token_t *token,
    cc_str_t *out);
static int cc_jws_es256(cc_str_t raw, unsigned char *der);
static int cc_jws_p256(EVP_PKEY *key);


static const char  cc_jws_unsigned[] = "the signature does not match";

static const char *const  cc_jws_algs[] = { "ES256", "RS256" };


const char *
cc_jws_open(cc_jws_t *jws, cc_json_t *json, cc_jws_alg_e alg, cc_str_t text)
{
    size_t            size;
    cc_str_t          segments[3], header;
    const char       *error;
    cc_jws_header_t   h;
    unsigned char    *p, *end;

    memset(jws, 0, sizeof(cc_jws_t));

    error = cc_jws_split(text, segments);

    if (error != NULL) {
        return error;
    }

    /* the decoded segments, and once more the header for its texts */

    size = cc_base64_size(text.len) + cc_base64_size(segments[0].len) + 9;
    jws->memory = malloc(size);

    if (jws->memory == NULL) {
        return cc_json_no_memory;
    }

    p = jws->memory;
    end = p + size;

    if (cc_base64_decode(CC_BASE64_URL, segments[0], p, (size_t) (end - p),
                         &header) != 0)
    {
        return "the header is not base64url";
    }

    p += header.len;

    if (cc_base64_decode(CC_BASE64_URL, segments[1], p, (size_t) (end - p),
                         &jws->payload) != 0)
    {
        return "the payload is not base64url";
    }

    p += jws->payload.len;

    if (cc_base64_decode(CC_BASE64_URL, segments[2], p, (size_t) (end - p),
                         &jws->signature) != 0)
    {
        return "the signature is not base64url";
    }

    p += jws->signature.len;

    jws->signed_text.data = text.data;
    jws->signed_text.len = segments[0].len + 1 + segments[1].len;

    h.jws = jws;
    h.json = json;
    h.alg = alg;
    h.alg_seen = 0;
    h.free = p;
    h.size = (size_t) (end - p);

    return cc_jws_header(&h, header);
}


void
cc_jws_close(cc_jws_t *jws)
{
    free(jws->memory);
    jws->memory = NULL;
}


/* exactly three, none of them empty */
static const char *
cc_jws_split(cc_str_t text, cc_str_t *segments)
{
    unsigned              n;
    const unsigned char  *p, *end, *dot;

    p = text.data;
    end = p + text.len;

    for (n = 0; n < 3; n++) {
        dot = (p != end) ? memchr(p, '.', (size_t) (end - p)) : NULL;

        if ((dot == NULL) != (n == 2)) {
            return "it has not three segments";
        }

        segments[n].data = p;
        segments[n].len = (size_t) ((dot ? dot : end) - p);

        if (segments[n].len == 0) {
            return "a segment is empty";
        }

        p = dot ? dot + 1 : end;
    }

    return NULL;
}


static const char *
cc_jws_header(cc_jws_header_t *h, cc_str_t text)
{
    const char       *error;
    cc_json_type_e    type;
    cc_json_token_t   token;

    cc_json_open(h->json, text);

    type = cc_json_next(h->json, &token);

    if (type != CC_JSON_OBJECT && type != CC_JSON_ERROR) {
        return "the header is not a JSON object";
    }

    while (cc_json_next(h->json, &token) == CC_JSON_NAME) {
        error = cc_jws_member(h, &token);

        if (error != NULL) {
            return error;
        }
    }

    if (token.type == CC_JSON_ERROR
        || cc_json_next(h->json, &token) != CC_JSON_END)
    {
        return cc_json_error(h->json);
    }

    return h->alg_seen ? NULL : "the header names no alg";
}


static const char *
cc_jws_member(cc_jws_header_t *h, const cc_json_token_t *name)
{
    cc_json_token_t  value;

    if (cc_json_next(h->json, &value) == CC_JSON_ERROR) {
        return cc_json_error(h->json);
    }

    if (cc_json_is(name, "alg")) {

        if (value.type != CC_JSON_STRING
            || !cc_json_is(&value, cc_jws_algs[h->alg]))
        {
            return "the header names another alg";
        }

        h->alg_seen = 1;
        return NULL;
    }

    if (cc_json_is(name, "crit")) {
        return "the header has crit, of which nothing is known here";
    }

    if (cc_json_is(name, "x5c")) {
        return cc_jws_x5c(h, &value);
    }

    if (cc_json_is(name, "typ")) {
        h->jws->typ_other = (value.type != CC_JSON_STRING
                             || !cc_json_is(&value, "JWT"));
    }

    if (cc_json_is(name, "kid") && value.type == CC_JSON_STRING
        && cc_jws_text(h, &value, &h->jws->kid) != 0)
    {
        return cc_json_no_memory;
    }

    if (cc_json_skip(h->json, &value, NULL) != 0) {
        return cc_json_error(h->json);
    }

    return NULL;
}


/* as many strings as there must be; what they hold is looked at elsewhere */
static const char *
cc_jws_x5c(cc_jws_header_t *h, const cc_json_token_t *open)
{
    unsigned          n;
    cc_json_token_t   token;

    static const char  wrong[] = "x5c is not an array of three certificates";

    if (open->type != CC_JSON_ARRAY) {
        return wrong;
    }

    for (n = 0; cc_json_next(h->json, &token) == CC_JSON_STRING; n++) {

        if (n == CC_JWS_X5C || token.raw.len > CC_JWS_CERT_MAX) {
            return wrong;
        }

        if (cc_jws_text(h, &token, &h->jws->x5c[n]) != 0) {
            return cc_json_no_memory;
        }
    }

    if (token.type == CC_JSON_ERROR) {
        return cc_json_error(h->json);
    }

    if (token.type != CC_JSON_ARRAY_END || n != CC_JWS_X5C) {
        return wrong;
    }

    h->jws->nx5c = n;

    return NULL;
}


static int
cc_jws_text(cc_jws_header_t *h, const cc_json_token_t *token, cc_str_t *out)
{
    if (!token->escaped) {
        *out = token->raw;
        return 0;
    }

    if (cc_json_decode(token, out, h->free, h->size) != 0) {
        return -1;
    }

    h->free += out->len;
    h->size -= out->len;

    return 0;
}


const char *
cc_jws_verify(const cc_jws_t *jws, cc_jws_alg_e alg, EVP_PKEY *key)
{
    int             rc, len;
    EVP_MD_CTX     *ctx;
    unsigned char   der[CC_ES256_DER];
    cc_str_t        signature;

    signature = jws->signature;

    switch (alg) {

    case CC_JWS_ES256:

        if (!cc_jws_p256(key)) {
            return "the key is not one on the curve P-256";
        }

        if (signature.len != 2 * CC_ES256_HALF) {
            return cc_jws_unsigned;
        }

        len = cc_jws_es256(signature, der);

        if (len <= 0) {
            return cc_json_no_memory;
        }

        signature.data = der;
        signature.len = (size_t) len;
        break;

    case CC_JWS_RS256:

        if (!EVP_PKEY_is_a(key, "RSA")
            || (size_t) EVP_PKEY_get_size(key) != signature.len)
        {
            return cc_jws_unsigned;
        }

        break;
    }

    ctx = EVP_MD_CTX_new();

    if (ctx == NULL
        || EVP_DigestVerifyInit_ex(ctx, NULL, "SHA256", NULL, NULL, key, NULL)
           != 1)
    {
        EVP_MD_CTX_free(ctx);
        ERR_clear_error();
        return cc_json_no_memory;
    }

    rc = EVP_DigestVerify(ctx, signature.data, signature.len,
                          jws->signed_text.data, jws->signed_text.len);

    EVP_MD_CTX_free(ctx);
    ERR_clear_error();

    return rc == 1 ? NULL : cc_jws_unsigned;
}


/* r and s one behind the other, as JWS has them, to the DER of OpenSSL */
static int
cc_jws_es256(cc_str_t raw, unsigned char *der)
{
    int             len;
    BIGNUM         *r, *s;
    ECDSA_SIG      *sig;
    unsigned char  *p;

    sig = ECDSA_SIG_new();
    r = BN_bin2bn(raw.data, CC_ES256_HALF, NULL);
    s = BN_bin2bn(raw.data + CC_ES256_HALF, CC_ES256_HALF, NULL);

    if (sig == NULL || ECDSA_SIG_set0(sig, r, s) != 1) {
        BN_free(r);
        BN_free(s);
        ECDSA_SIG_free(sig);
        return -1;
    }

    p = der;
    len = i2d_ECDSA_SIG(sig, &p);
    ECDSA_SIG_free(sig);

    return len;
}


static int
cc_jws_p256(EVP_PKEY *key)
{
    char  name[32];

    return EVP_PKEY_is_a(key, "EC")
           && EVP_PKEY_get_group_name(key, name, sizeof(name), NULL) == 1
           && strcmp(name, "prime256v1") == 0;
}

/*
 * Apple's chain over OpenSSL's X509, with nothing left to its defaults: a store
 * that holds the pinned roots alone, strict RFC 5280 checks, no SHA-1, no
 * partial chains, and no dates.
 *
 * A chain that was good is remembered by its text and is found again by the
 * same text, byte for byte; so nobody but Apple can put something into that
 * memory.  The oldest of CC_X5C_CACHED gives way.
 */

#include <stdlib.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "base64.h"
#include "json.h"
#include "jws.h"
#include "x5c.h"


#define CC_X5C_LEVEL      2         /* 112 bits: refuses SHA-1 */
#define CC_X5C_LENGTH     3

/* marks of the App Store: receipt signing, and WWDR intermediate */
#define CC_X5C_LEAF_OID   "1.2.840.113635.100.6.11.1"
#define CC_X5C_INTER_OID  "1.2.840.113635.100.6.2.1"


typedef struct {
    unsigned char  *text;           /* leaf and intermediate; NULL: free */
    size_t          leaf_len;
    size_t          len;
    unsigned long   used;           /* when it was used last */
    cc_x5c_leaf_t   leaf;
} cc_x5c_chain_t;

struct cc_x5c_s {
    X509_STORE      *store;
    ASN1_OBJECT     *leaf_oid;
    ASN1_OBJECT     *inter_oid;
    unsigned long    uses;
    unsigned long    verified;
    cc_x5c_chain_t   chains[CC_X5C_CACHED];
};


static int cc_x5c_roots(cc_x5c_t *x5c, cc_str_t text);
static int cc_x5c_root(cc_x5c_t *x5c, X509 *root);
static cc_x5c_chain_t *cc_x5c_find(cc_x5c_t *x5c, cc_str_t leaf,
    cc_str_t intermediate);
static cc_x5c_chain_t *cc_x5c_place(cc_x5c_t *x5c);
static const char *cc_x5c_remember(cc_x5c_t *x5c, cc_str_t leaf,
    cc_str_t intermediate, const cc_x5c_leaf_t *out);
static const char *cc_x5c_certificate(cc_str_t text, X509 **cert);
static const char *cc_x5c_chain(cc_x5c_t *x5c, X509 *leaf, X509 *intermediate,
    cc_x5c_leaf_t *out);
static const char *cc_x5c_marks(cc_x5c_t *x5c, STACK_OF(X509) *chain);
static int cc_x5c_window(STACK_OF(X509) *chain, cc_x5c_leaf_t *out);
static int cc_x5c_seconds(const ASN1_TIME *time, int64_t *seconds);


cc_x5c_t *
cc_x5c_create(cc_str_t text, const char **reason)
{
    cc_x5c_t  *x5c;

    *reason = cc_json_no_memory;

    x5c = calloc(1, sizeof(cc_x5c_t));

    if (x5c == NULL) {
        return NULL;
    }

    x5c->store = X509_STORE_new();
    x5c->leaf_oid = OBJ_txt2obj(CC_X5C_LEAF_OID, 1);
    x5c->inter_oid = OBJ_txt2obj(CC_X5C_INTER_OID, 1);

    if (x5c->store == NULL || x5c->leaf_oid == NULL || x5c->inter_oid == NULL) {
        cc_x5c_destroy(x5c);
        return NULL;
    }

    if (cc_x5c_roots(x5c, text) <= 0) {
        *reason = "it holds no CA certificate, or something else as well";
        cc_x5c_destroy(x5c);
        x5c = NULL;
    }

    ERR_clear_error();

    return x5c;
}


void
cc_x5c_destroy(cc_x5c_t *x5c)
{
    unsigned  i;

    if (x5c == NULL) {
        return;
    }

    for (i = 0; i < CC_X5C_CACHED; i++) {
        free(x5c->chains[i].text);
        EVP_PKEY_free(x5c->chains[i].leaf.key);
    }

    ASN1_OBJECT_free(x5c->leaf_oid);
    ASN1_OBJECT_free(x5c->inter_oid);
    X509_STORE_free(x5c->store);
    free(x5c);
}


/* how many were pinned, or -1 */
static int
cc_x5c_roots(cc_x5c_t *x5c, cc_str_t text)
{
    int                   n;
    BIO                  *bio;
    X509                 *root;
    const unsigned char  *p;

    if (text.len > INT32_MAX) {
        return -1;
    }

    p = text.data;
    root = d2i_X509(NULL, &p, (long) text.len);

    if (root != NULL) {
        n = (p == text.data + text.len) ? cc_x5c_root(x5c, root) : -1;
        X509_free(root);
        return n;
    }

    bio = BIO_new_mem_buf(text.data, (int) text.len);

    for (n = 0; bio != NULL && n >= 0; /* void */ ) {
        root = PEM_read_bio_X509(bio, NULL, NULL, NULL);

        if (root == NULL) {
            break;
        }

        n = (cc_x5c_root(x5c, root) == 1) ? n + 1 : -1;
        X509_free(root);
    }

    BIO_free(bio);

    /* what stopped it is the end, and not a certificate cut in the middle */

    return ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE
           ? n : -1;
}


static int
cc_x5c_root(cc_x5c_t *x5c, X509 *root)
{
    return X509_check_ca(root) == 1
           && X509_STORE_add_cert(x5c->store, root) == 1 ? 1 : -1;
}


const char *
cc_x5c_verify(cc_x5c_t *x5c, cc_str_t leaf, cc_str_t intermediate,
    cc_x5c_leaf_t *out)
{
    X509            *certs[2];
    const char      *error;
    cc_x5c_chain_t  *chain;

    chain = cc_x5c_find(x5c, leaf, intermediate);

    if (chain != NULL) {
        chain->used = ++x5c->uses;
        *out = chain->leaf;
        return NULL;
    }

    certs[0] = NULL;
    certs[1] = NULL;

    error = cc_x5c_certificate(leaf, &certs[0]);

    if (error == NULL) {
        error = cc_x5c_certificate(intermediate, &certs[1]);
    }

    if (error == NULL) {
        error = cc_x5c_chain(x5c, certs[0], certs[1], out);
    }

    if (error == NULL) {
        error = cc_x5c_remember(x5c, leaf, intermediate, out);
    }

    X509_free(certs[0]);
    X509_free(certs[1]);
    ERR_clear_error();

    return error;
}


unsigned long
cc_x5c_verified(const cc_x5c_t *x5c)
{
    return x5c->verified;
}


static cc_x5c_chain_t *
cc_x5c_find(cc_x5c_t *x5c, cc_str_t leaf, cc_str_t intermediate)
{
    unsigned         i;
    cc_x5c_chain_t  *chain;

    for (i = 0; i < CC_X5C_CACHED; i++) {
        chain = &x5c->chains[i];

        if (chain->text != NULL
            && chain->leaf_len == leaf.len
            && chain->len == leaf.len + intermediate.len
            && memcmp(chain->text, leaf.data, leaf.len) == 0
            && memcmp(chain->text + leaf.len, intermediate.data,
                      intermediate.len) == 0)
        {
            return chain;
        }
    }

    return NULL;
}


/* a free one, else the one that was not used for the longest time */
static cc_x5c_chain_t *
cc_x5c_place(cc_x5c_t *x5c)
{
    unsigned         i;
    cc_x5c_chain_t  *oldest;

    oldest = &x5c->chains[0];

    for (i = 0; i < CC_X5C_CACHED && oldest->text != NULL; i++) {

        if (x5c->chains[i].text == NULL
            || x5c->chains[i].used < oldest->used)
        {
            oldest = &x5c->chains[i];
        }
    }

    return oldest;
}


/* from here on the key is the memory's */
static const char *
cc_x5c_remember(cc_x5c_t *x5c, cc_str_t leaf, cc_str_t intermediate,
    const cc_x5c_leaf_t *out)
{
    unsigned char   *text;
    cc_x5c_chain_t  *chain;

    text = malloc(leaf.len + intermediate.len);

    if (text == NULL) {
        EVP_PKEY_free(out->key);
        return cc_json_no_memory;
    }

    memcpy(text, leaf.data, leaf.len);
    memcpy(text + leaf.len, intermediate.data, intermediate.len);

    chain = cc_x5c_place(x5c);
    free(chain->text);
    EVP_PKEY_free(chain->leaf.key);

    chain->text = text;
    chain->leaf_len = leaf.len;
    chain->len = leaf.len + intermediate.len;
    chain->used = ++x5c->uses;
    chain->leaf = *out;

    return NULL;
}


/* strict base64 of one certificate, and nothing behind it */
static const char *
cc_x5c_certificate(cc_str_t text, X509 **cert)
{
    cc_str_t              der;
    unsigned char         buf[cc_base64_size(CC_JWS_CERT_MAX)];
    const unsigned char  *p;

    if (cc_base64_decode(CC_BASE64_STANDARD, text, buf, sizeof(buf), &der)
        != 0)
    {
        return "a certificate in x5c is not base64";
    }

    p = der.data;
    *cert = d2i_X509(NULL, &p, (long) der.len);

    if (*cert == NULL || p != der.data + der.len) {
        return "a certificate in x5c is none, or more than one";
    }

    return NULL;
}


static const char *
cc_x5c_chain(cc_x5c_t *x5c, X509 *leaf, X509 *intermediate, cc_x5c_leaf_t *out)
{
    const char         *error;
    X509_STORE_CTX     *ctx;
    STACK_OF(X509)     *untrusted;
    X509_VERIFY_PARAM  *param;

    error = cc_json_no_memory;
    ctx = X509_STORE_CTX_new();
    untrusted = sk_X509_new_null();

    if (ctx == NULL || untrusted == NULL
        || sk_X509_push(untrusted, intermediate) == 0
        || X509_STORE_CTX_init(ctx, x5c->store, leaf, untrusted) != 1)
    {
        goto done;
    }

    param = X509_STORE_CTX_get0_param(ctx);
    X509_VERIFY_PARAM_set_auth_level(param, CC_X5C_LEVEL);
    X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_X509_STRICT
                                       | X509_V_FLAG_NO_CHECK_TIME);

    x5c->verified++;

    if (X509_verify_cert(ctx) != 1) {

        if (X509_STORE_CTX_get_error(ctx) != X509_V_ERR_OUT_OF_MEM) {
            error = "the certificates do not lead to a pinned root";
        }

        goto done;
    }

    error = cc_x5c_marks(x5c, X509_STORE_CTX_get0_chain(ctx));

    if (error != NULL) {
        goto done;
    }

    if (cc_x5c_window(X509_STORE_CTX_get0_chain(ctx), out) != 0) {
        error = "a certificate has no readable dates";
        goto done;
    }

    out->key = X509_get_pubkey(leaf);

    if (out->key == NULL) {
        error = "the leaf certificate has no usable key";
    }

done:

    sk_X509_free(untrusted);
    X509_STORE_CTX_free(ctx);

    return error;
}


/* OpenSSL calls any chain to a root good: also one whose leaf is that root */
static const char *
cc_x5c_marks(cc_x5c_t *x5c, STACK_OF(X509) *chain)
{
    X509  *leaf, *intermediate;

    if (sk_X509_num(chain) != CC_X5C_LENGTH) {
        return "the chain is not leaf, intermediate and root";
    }

    leaf = sk_X509_value(chain, 0);
    intermediate = sk_X509_value(chain, 1);

    if (X509_check_ca(leaf) != 0) {
        return "the leaf is a CA certificate";
    }

    if (X509_check_ca(intermediate) != 1
        || (X509_get_extension_flags(intermediate) & EXFLAG_KUSAGE) == 0
        || (X509_get_key_usage(intermediate) & KU_KEY_CERT_SIGN) == 0)
    {
        return "the intermediate may not sign certificates";
    }

    if (X509_get_ext_by_OBJ(leaf, x5c->leaf_oid, -1) < 0
        || X509_get_ext_by_OBJ(intermediate, x5c->inter_oid, -1) < 0)
    {
        return "the certificates are not those of the App Store";
    }

    return NULL;
}


static int
cc_x5c_window(STACK_OF(X509) *chain, cc_x5c_leaf_t *out)
{
    int      i;
    X509    *cert;
    int64_t  from, to;

    out->not_before = INT64_MIN;
    out->not_after = INT64_MAX;

    for (i = 0; i < sk_X509_num(chain); i++) {
        cert = sk_X509_value(chain, i);

        if (cc_x5c_seconds(X509_get0_notBefore(cert), &from) != 0
            || cc_x5c_seconds(X509_get0_notAfter(cert), &to) != 0)
        {
            return -1;
        }

        if (from > out->not_before) {
            out->not_before = from;
        }

        if (to < out->not_after) {
            out->not_after = to;
        }
    }

    return 0;
}


static int
cc_x5c_seconds(const ASN1_TIME *time, int64_t *seconds)
{
    int         rc, days, rest;
    ASN1_TIME  *epoch;

    epoch = ASN1_TIME_set(NULL, 0);
    rc = epoch ? ASN1_TIME_diff(&days, &rest, epoch, time) : 0;
    ASN1_TIME_free(epoch);

    if (rc != 1) {
        return -1;
    }

    *seconds = (int64_t) days * 86400 + rest;

    return 0;
}

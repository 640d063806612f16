/*
 * A throw-away PKI in the shape of Apple's: certificates on P-256, with key
 * identifiers, and Apple's extensions where asked for.
 */

#ifndef CC_PKI_H
#define CC_PKI_H

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "unit.h"


#define PKI_LEAF_OID   "1.2.840.113635.100.6.11.1"
#define PKI_INTER_OID  "1.2.840.113635.100.6.2.1"
#define PKI_FROM       1700000000
#define PKI_TO         1900000000


typedef struct {
    X509      *cert;
    EVP_PKEY  *key;
} pki_t;


static TAP_UNUSED void
pki_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX       ctx;
    X509_EXTENSION  *extension;

    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);

    if (extension == NULL || X509_add_ext(cert, extension, -1) != 1) {
        abort();
    }

    X509_EXTENSION_free(extension);
}


/* an extension of nothing but its name */
static TAP_UNUSED void
pki_mark(X509 *cert, const char *oid)
{
    ASN1_OBJECT        *object = OBJ_txt2obj(oid, 1);
    X509_EXTENSION     *extension;
    ASN1_OCTET_STRING  *data = ASN1_OCTET_STRING_new();

    (void) ASN1_OCTET_STRING_set(data, (const unsigned char *) "\x05", 2);
    extension = X509_EXTENSION_create_by_OBJ(NULL, object, 0, data);

    if (extension == NULL || X509_add_ext(cert, extension, -1) != 1) {
        abort();
    }

    X509_EXTENSION_free(extension);
    ASN1_OCTET_STRING_free(data);
    ASN1_OBJECT_free(object);
}


/* signed by `by`, or by itself; oid may be NULL */
static TAP_UNUSED pki_t
pki_make(const char *name, int ca, const char *oid, const pki_t *by,
    long from, long to)
{
    pki_t         made;
    X509_NAME    *subject;
    static long   serial;

    made.cert = X509_new();
    made.key = EVP_EC_gen("P-256");
    subject = X509_get_subject_name(made.cert);

    (void) X509_set_version(made.cert, 2);
    (void) ASN1_INTEGER_set(X509_get_serialNumber(made.cert), ++serial);
    (void) X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                                      (const unsigned char *) name, -1, -1, 0);
    (void) X509_set_issuer_name(made.cert, by ? X509_get_subject_name(by->cert)
                                              : subject);
    (void) ASN1_TIME_set(X509_getm_notBefore(made.cert), from);
    (void) ASN1_TIME_set(X509_getm_notAfter(made.cert), to);
    (void) X509_set_pubkey(made.cert, made.key);

    pki_extension(made.cert, by ? by->cert : made.cert, NID_basic_constraints,
                  ca ? "critical,CA:TRUE" : "critical,CA:FALSE");
    pki_extension(made.cert, by ? by->cert : made.cert, NID_key_usage,
                  ca ? "critical,keyCertSign,cRLSign"
                     : "critical,digitalSignature");
    pki_extension(made.cert, by ? by->cert : made.cert,
                  NID_subject_key_identifier, "hash");
    pki_extension(made.cert, by ? by->cert : made.cert,
                  NID_authority_key_identifier, "keyid:always");

    if (oid != NULL) {
        pki_mark(made.cert, oid);
    }

    if (X509_sign(made.cert, by ? by->key : made.key, EVP_sha256()) == 0) {
        abort();
    }

    return made;
}


static TAP_UNUSED void
pki_free(pki_t *made)
{
    X509_free(made->cert);
    EVP_PKEY_free(made->key);
}


/* DER, or base64 of it; to be freed with unit_free() */
static TAP_UNUSED cc_str_t
pki_der(const pki_t *made)
{
    int             n;
    cc_str_t        exact;
    unsigned char  *der = NULL;

    n = i2d_X509(made->cert, &der);
    exact = unit_exact(unit_str(der, (size_t) n));
    OPENSSL_free(der);

    return exact;
}


static TAP_UNUSED cc_str_t
pki_x5c(const pki_t *made)
{
    int             n;
    char           *text;
    cc_str_t        der = pki_der(made), exact;

    text = malloc(der.len * 2 + 8);
    n = EVP_EncodeBlock((unsigned char *) text, der.data, (int) der.len);
    exact = unit_exact(unit_str(text, (size_t) n));
    free(text);
    unit_free(der);

    return exact;
}


static TAP_UNUSED cc_str_t
pki_pem(const pki_t *made)
{
    long       n;
    BIO       *bio = BIO_new(BIO_s_mem());
    char      *text;
    cc_str_t   exact;

    if (PEM_write_bio_X509(bio, made->cert) != 1) {
        abort();
    }

    n = BIO_get_mem_data(bio, &text);
    exact = unit_exact(unit_str(text, (size_t) n));
    BIO_free(bio);

    return exact;
}


#endif /* CC_PKI_H */

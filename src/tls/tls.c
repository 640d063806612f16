/*
 * TLS to Redis by OpenSSL and hiredis_ssl; see tls.h.
 *
 * hiredis' own reading and writing are called by ones of ours, which see to
 * what it does not: that an error is OpenSSL's present one and not one that
 * somebody else left behind, in a process where others use OpenSSL, too; that
 * none is left behind to them; and that the reason is told.
 */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509err.h>
#include <openssl/x509v3.h>

#include "tls.h"

/* this header needs that of hiredis in front of it */
#include <hiredis/hiredis_ssl.h>


struct cc_tls_s {
    SSL_CTX  *ctx;
    char     *sni;          /* NULL: an address has none */
};


static const char *cc_tls_set(cc_tls_t *tls, const cc_tls_conf_t *conf,
    const char **what);
static const char *cc_tls_name(cc_tls_t *tls, const char *name);
static int cc_tls_no_password(char *buf, int size, int writing, void *data);
static const char *cc_tls_reason(const char *otherwise);
static void cc_tls_wrap(redisContext *c, SSL *ssl);
static ssize_t cc_tls_read(redisContext *c, char *buf, size_t size);
static ssize_t cc_tls_write(redisContext *c);
static void cc_tls_failed(redisContext *c, const SSL *ssl);


/* hiredis' own, the same for every connection, and ours in front of them */
static const redisContextFuncs  *cc_tls_hiredis;
static redisContextFuncs         cc_tls_funcs;
static pthread_mutex_t           cc_tls_lock = PTHREAD_MUTEX_INITIALIZER;


cc_tls_t *
cc_tls_create(const cc_tls_conf_t *conf, char *error, size_t size)
{
    cc_tls_t    *tls;
    const char  *what, *why;

    what = "TLS";
    why = "no memory";

    tls = calloc(1, sizeof(cc_tls_t));

    if (tls) {
        tls->ctx = SSL_CTX_new(TLS_client_method());
    }

    if (tls && tls->ctx) {
        why = cc_tls_set(tls, conf, &what);
    }

    if (why) {
        (void) snprintf(error, size, "%s: %s", what, why);
        cc_tls_destroy(tls);
        tls = NULL;
    }

    ERR_clear_error();

    return tls;
}


static const char *
cc_tls_set(cc_tls_t *tls, const cc_tls_conf_t *conf, const char **what)
{
    SSL_CTX  *ctx;

    ctx = tls->ctx;

    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_default_passwd_cb(ctx, cc_tls_no_password);
    (void) SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);

    /* replies have a length: a connection that just ends cuts none short */

    (void) SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION
                                    | SSL_OP_IGNORE_UNEXPECTED_EOF);

    if (SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1) {
        return cc_tls_reason("OpenSSL has no TLS 1.2");
    }

    *what = conf->ca ? conf->ca : "the system's authorities";

    if (conf->ca ? SSL_CTX_load_verify_file(ctx, conf->ca) != 1
                 : SSL_CTX_set_default_verify_paths(ctx) != 1)
    {
        return cc_tls_reason("no certificate in it, in PEM");
    }

    if (conf->cert) {
        *what = conf->cert;

        if (SSL_CTX_use_certificate_chain_file(ctx, conf->cert) != 1) {
            return cc_tls_reason("no certificate in it, in PEM");
        }

        *what = conf->key;

        if (SSL_CTX_use_PrivateKey_file(ctx, conf->key, SSL_FILETYPE_PEM) != 1
            || SSL_CTX_check_private_key(ctx) != 1)
        {
            return cc_tls_reason("no private key in it, in PEM and without a "
                                 "password");
        }
    }

    *what = "the server's name";

    return cc_tls_name(tls, conf->name);
}


/* connections take over what the parameters of the context say */

static const char *
cc_tls_name(cc_tls_t *tls, const char *name)
{
    X509_VERIFY_PARAM  *param;

    /* to OpenSSL, a dot in front stands for every name that ends so */

    if (name[0] == '\0' || name[0] == '.') {
        return "no host has it";
    }

    param = SSL_CTX_get0_param(tls->ctx);

    if (X509_VERIFY_PARAM_set1_ip_asc(param, name) == 1) {
        return NULL;
    }

    X509_VERIFY_PARAM_set_hostflags(param,
                                    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);

    tls->sni = strdup(name);

    if (tls->sni == NULL
        || X509_VERIFY_PARAM_set1_host(param, name, 0) != 1)
    {
        return "no memory";
    }

    return NULL;
}


/* else OpenSSL asks for it at the terminal */

static int
cc_tls_no_password(char *buf, int size, int writing, void *data)
{
    (void) size;
    (void) writing;
    (void) data;

    buf[0] = '\0';

    return -1;
}


/* the first error, from which the others followed; a parser's is no sentence */

static const char *
cc_tls_reason(const char *otherwise)
{
    unsigned long  e;

    e = ERR_get_error();

    if (ERR_SYSTEM_ERROR(e)) {
        return strerror(ERR_GET_REASON(e));
    }

    if (ERR_GET_LIB(e) == ERR_LIB_SSL
        || (ERR_GET_LIB(e) == ERR_LIB_X509
            && (ERR_GET_REASON(e) == X509_R_KEY_VALUES_MISMATCH
                || ERR_GET_REASON(e) == X509_R_KEY_TYPE_MISMATCH)))
    {
        return ERR_reason_error_string(e);
    }

    return otherwise;
}


void
cc_tls_destroy(cc_tls_t *tls)
{
    if (tls) {
        SSL_CTX_free(tls->ctx);
        free(tls->sni);
        free(tls);
    }
}


int
cc_tls_start(cc_tls_t *tls, redisContext *c)
{
    int   rc, failed;
    SSL  *ssl;

    ssl = SSL_new(tls->ctx);
    rc = REDIS_ERR;
    failed = ENOMEM;

    if (ssl && (!tls->sni || SSL_set_tlsext_host_name(ssl, tls->sni) == 1)) {
        errno = 0;
        rc = redisInitiateSSL(c, ssl);
        failed = errno;
    }

    if (rc == REDIS_OK) {
        cc_tls_wrap(c, ssl);
        return 0;
    }

    c->err = REDIS_ERR_IO;
    (void) snprintf(c->errstr, sizeof(c->errstr), "TLS: %s",
                    failed ? strerror(failed) : "closed in the handshake");

    cc_tls_failed(c, ssl);
    SSL_free(ssl);

    errno = failed;

    return -1;
}


static void
cc_tls_wrap(redisContext *c, SSL *ssl)
{
    (void) pthread_mutex_lock(&cc_tls_lock);

    if (cc_tls_hiredis == NULL) {
        cc_tls_hiredis = c->funcs;

        cc_tls_funcs = *c->funcs;
        cc_tls_funcs.read = cc_tls_read;
        cc_tls_funcs.write = cc_tls_write;
    }

    (void) pthread_mutex_unlock(&cc_tls_lock);

    c->funcs = &cc_tls_funcs;
    c->privdata = ssl;
}


static ssize_t
cc_tls_read(redisContext *c, char *buf, size_t size)
{
    ssize_t  n;

    /* a read that blocks goes on for ever where this is EINTR, of any time */

    errno = 0;
    ERR_clear_error();

    n = cc_tls_hiredis->read(c, buf, size);

    if (n < 0) {
        cc_tls_failed(c, c->privdata);
    }

    return n;
}


static ssize_t
cc_tls_write(redisContext *c)
{
    ssize_t  n;

    errno = 0;
    ERR_clear_error();

    n = cc_tls_hiredis->write(c);

    if (n < 0) {
        cc_tls_failed(c, c->privdata);
    }

    return n;
}


/* what is no error of TLS (reset, closed, timed out), errno has said */

static void
cc_tls_failed(redisContext *c, const SSL *ssl)
{
    long         verified;
    const char  *reason;

    verified = ssl ? SSL_get_verify_result(ssl) : X509_V_OK;
    reason = ERR_reason_error_string(ERR_peek_last_error());

    if (verified != X509_V_OK) {
        c->err = REDIS_ERR_OTHER;
        (void) snprintf(c->errstr, sizeof(c->errstr),
                        "TLS: certificate verify failed: %s",
                        X509_verify_cert_error_string(verified));

    } else if (reason) {
        c->err = REDIS_ERR_OTHER;
        (void) snprintf(c->errstr, sizeof(c->errstr), "TLS: %s", reason);
    }

    ERR_clear_error();
}

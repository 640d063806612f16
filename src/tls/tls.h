/*
 * TLS to Redis, for the module and for the daemon: hiredis speaks it, and here
 * stands whom it believes.
 *
 * The server's certificate is always verified: its chain, and that it names the
 * server.  (hiredis looks at no names.)  Files are read once, when the
 * configuration is; who makes connections later need not be able to.
 *
 * tls.c is for a hiredis that has TLS (from 1.0 on, if it was built with it),
 * none.c for one that has not: there cc_tls_create() says so.
 */

#ifndef CC_TLS_H
#define CC_TLS_H

#include <hiredis/hiredis.h>

#include "core.h"


typedef struct cc_tls_s  cc_tls_t;

typedef struct {
    const char  *ca;        /* file; NULL: the system's authorities */
    const char  *cert;      /* file, with its chain; NULL: none is shown */
    const char  *key;       /* file; there is one if there is a cert */
    const char  *name;      /* the server's: a host name or an IP address */
} cc_tls_conf_t;


/* all files are PEM.  Returns NULL after it has put into error[size] why */
cc_tls_t *cc_tls_create(const cc_tls_conf_t *conf, char *error, size_t size);
void cc_tls_destroy(cc_tls_t *tls);

/*
 * Begins TLS on a connection that has just been made, or, if it does not block,
 * is being made: then the handshake goes on by itself, and nothing is sent in
 * clear.  The connection may outlive tls.  Returns -1 and the reason in c->err
 * and c->errstr; then nothing may be done with c but to free it.
 */
CC_MUST_USE int cc_tls_start(cc_tls_t *tls, redisContext *c);


#endif /* CC_TLS_H */

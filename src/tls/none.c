/*
 * No TLS to Redis: this hiredis has none; see tls.h.
 */

#include <stdio.h>

#include "tls.h"


cc_tls_t *
cc_tls_create(const cc_tls_conf_t *conf, char *error, size_t size)
{
    (void) conf;

    (void) snprintf(error, size, "the hiredis of this build has no TLS");

    return NULL;
}


void
cc_tls_destroy(cc_tls_t *tls)
{
    (void) tls;
}


int
cc_tls_start(cc_tls_t *tls, redisContext *c)
{
    (void) tls;
    (void) c;

    return -1;
}

/*
 * What comes to the address of Redis from files: the password, and TLS.
 */

#include <errno.h>
#include <stdio.h>

#include "buffer.h"
#include "redis.h"


const char *
cs_redis_password(cs_redis_conf_t *conf, const char *path)
{
    char    buf[1024];
    FILE   *file;
    size_t  n;

    if (path == NULL) {
        return NULL;
    }

    if (conf->password) {
        return "the url has a password already";
    }

    file = fopen(path, "r");
    if (file == NULL) {
        return strerror(errno);
    }

    n = fread(buf, 1, sizeof(buf), file);
    (void) fclose(file);

    while (n && (buf[n - 1] == '\n' || buf[n - 1] == '\r')) {
        n--;
    }

    if (n == 0 || n == sizeof(buf) || memchr(buf, '\0', n)) {
        return "the file is empty, too long or no text";
    }

    buf[n] = '\0';
    conf->password = cs_copy(buf);

    explicit_bzero(buf, sizeof(buf));

    return NULL;
}


int
cs_redis_tls(cs_redis_conf_t *conf, const cs_redis_tls_t *tls, char *error,
    size_t size)
{
    cc_tls_conf_t  files;

    if (!conf->secure) {

        if (tls->ca || tls->cert || tls->key || tls->name) {
            (void) snprintf(error, size, "ca, cert, key and name are for TLS: "
                            "a url of rediss://");
            return -1;
        }

        return 0;
    }

    if ((tls->cert == NULL) != (tls->key == NULL)) {
        (void) snprintf(error, size, "cert and key go together");
        return -1;
    }

    files.ca = tls->ca;
    files.cert = tls->cert;
    files.key = tls->key;
    files.name = tls->name ? tls->name : conf->host;

    conf->tls = cc_tls_create(&files, error, size);

    return conf->tls ? 0 : -1;
}

/*
 * The address of Redis, read from a URL.
 *
 * User and password may hold %XX; all else stands as it is written.  What is
 * shown to people (conf->name) is put together again without the secrets.
 */

#include <stdlib.h>

#include "buffer.h"
#include "redis.h"


static const char *cs_url_login(cs_redis_conf_t *conf, char *text);
static const char *cs_url_tcp(cs_redis_conf_t *conf, char *text);
static const char *cs_url_unix(cs_redis_conf_t *conf, char *text);
static const char *cs_url_number(int *n, const char *text, int max);
static char *cs_url_decode(const char *text);
static int cs_url_hex(char ch);


const char *
cs_redis_url(cs_redis_conf_t *conf, const char *url)
{
    char        *rest, *at;
    unsigned     tcp;
    const char  *error;

    memset(conf, 0, sizeof(cs_redis_conf_t));

    conf->secure = strncmp(url, "rediss://", 9) == 0;
    tcp = conf->secure || strncmp(url, "redis://", 8) == 0;

    if (!tcp && strncmp(url, "unix://", 7) != 0) {
        return "must begin with redis://, rediss:// or unix://";
    }

    rest = cs_copy(strstr(url, "://") + 3);
    conf->text = rest;

    /* a path may hold an @; a login in front of it holds no slash */

    at = tcp ? strrchr(rest, '@') : strchr(rest, '@');

    if (at && (tcp || strchr(rest, '/') > at)) {
        *at++ = '\0';

        error = cs_url_login(conf, rest);
        explicit_bzero(rest, (size_t) (at - rest));

        if (error) {
            return error;
        }

        rest = at;
    }

    return tcp ? cs_url_tcp(conf, rest) : cs_url_unix(conf, rest);
}


static const char *
cs_url_login(cs_redis_conf_t *conf, char *text)
{
    char  *password;

    password = strchr(text, ':');

    if (password) {
        *password++ = '\0';

        conf->password = cs_url_decode(password);
        if (conf->password == NULL || conf->password[0] == '\0') {
            return "the password is empty or has a bad %XX";
        }
    }

    if (text[0] != '\0') {
        conf->user = cs_url_decode(text);
        if (conf->user == NULL) {
            return "the user has a bad %XX";
        }
    }

    return NULL;
}


static const char *
cs_url_tcp(cs_redis_conf_t *conf, char *text)
{
    char         *db, *port, *end;
    const char   *error;
    cs_buffer_t   name;

    conf->port = 6379;

    db = strchr(text, '/');
    if (db) {
        *db++ = '\0';
    }

    /* [::1]:6379, or host:6379 */

    port = strrchr(text, ':');

    if (text[0] == '[') {
        end = strchr(text, ']');
        if (end == NULL || (end[1] != ':' && end[1] != '\0')) {
            return "the IPv6 address is not closed by ]";
        }

        port = end[1] == ':' ? end + 1 : NULL;
        *end = '\0';
        text++;
    }

    if (port) {
        *port++ = '\0';

        error = cs_url_number(&conf->port, port, 65535);
        if (error || conf->port == 0) {
            return "the port is not a number from 1 to 65535";
        }
    }

    if (text[0] == '\0') {
        return "the host is missing";
    }

    if (db && db[0] != '\0') {
        error = cs_url_number(&conf->db, db, 1 << 20);
        if (error) {
            return error;
        }
    }

    conf->host = text;

    memset(&name, 0, sizeof(cs_buffer_t));
    cs_buffer_format(&name, strchr(text, ':') ? "[%s]:%d/%d" : "%s:%d/%d",
                     text, conf->port, conf->db);
    cs_buffer_add(&name, (cc_str_t) { (const unsigned char *) "", 1 });
    conf->name = (char *) name.data;

    return NULL;
}


static const char *
cs_url_unix(cs_redis_conf_t *conf, char *text)
{
    char         *query;
    const char   *error;

    query = strchr(text, '?');

    if (query) {
        *query++ = '\0';

        if (strncmp(query, "db=", 3) != 0) {
            return "behind the ? only db=N is known";
        }

        error = cs_url_number(&conf->db, query + 3, 1 << 20);
        if (error) {
            return error;
        }
    }

    if (text[0] != '/') {
        return "the path of the socket is not absolute (unix:///path)";
    }

    conf->path = text;
    conf->name = cs_copy(text);

    return NULL;
}


void
cs_redis_conf_free(cs_redis_conf_t *conf)
{
    if (conf->password) {
        explicit_bzero(conf->password, strlen(conf->password));
    }

    free(conf->password);
    cc_tls_destroy(conf->tls);
    free(conf->user);
    free(conf->name);
    free(conf->text);
}


static const char *
cs_url_number(int *n, const char *text, int max)
{
    long   value;
    char  *end;

    if (text[0] < '0' || text[0] > '9') {
        return "the database is not a number";
    }

    value = strtol(text, &end, 10);

    if (*end != '\0' || value > max) {
        return "the database is not a number";
    }

    *n = (int) value;

    return NULL;
}


static char *
cs_url_decode(const char *text)
{
    int   high, low;
    char  *out, *p;

    out = cs_alloc(strlen(text) + 1);

    for (p = out; *text; text++) {

        if (*text != '%') {
            *p++ = *text;
            continue;
        }

        high = cs_url_hex(text[1]);
        low = high < 0 ? -1 : cs_url_hex(text[2]);

        if (low < 0 || high + low == 0) {
            free(out);
            return NULL;
        }

        *p++ = (char) (high * 16 + low);
        text += 2;
    }

    return out;
}


static int
cs_url_hex(char ch)
{
    if (ch >= '0' && ch <= '9') {
        return ch - '0';
    }

    ch |= 0x20;

    return ch >= 'a' && ch <= 'f' ? ch - 'a' + 10 : -1;
}

/*
 * One connection to Redis, with hiredis, blocking, every wait bounded.
 *
 * All commands are lists of words (never a format string that could split or
 * interpolate).  A function that returns NULL has put into redis->error why,
 * without secrets.  After an I/O error the connection is closed; after an error
 * that Redis answered it stays open.
 */

#ifndef CS_REDIS_H
#define CS_REDIS_H

#include <hiredis/hiredis.h>

#include "core.h"
#include "status.h"
#include "tls.h"


#define CS_REDIS_IO_MS       5000     /* longest wait for one answer */
#define CS_REDIS_CONNECT_MS  2000

typedef struct {
    char      *user;                  /* NULL: the default user */
    char      *password;              /* NULL: no AUTH */
    char      *host;                  /* in text; NULL: a unix socket */
    char      *path;                  /* in text */
    int        port;
    int        db;
    unsigned   secure;                /* rediss:// */
    cc_tls_t  *tls;                   /* if secure, from cs_redis_tls() on */
    char      *name;                  /* for people: the URL without secrets */
    char      *text;
} cs_redis_conf_t;

/* what rediss:// may want, each NULL if it is not given */
typedef struct {
    char      *ca;                    /* files */
    char      *cert;
    char      *key;
    char      *name;                  /* whom the certificate must name */
} cs_redis_tls_t;

typedef struct {
    const cs_redis_conf_t  *conf;
    int                     limit_ms; /* longest wait; 0: the two above */
    redisContext           *context;  /* NULL while not connected */
    char                    error[256];
} cs_redis_t;


/*
 * Reads redis[s]://[user[:password]@]host[:port][/db] or
 * unix://[user[:password]@]/path[?db=N].  Returns NULL or a constant sentence
 * that says what is wrong.  cs_redis_conf_free() frees what is in conf, and has
 * to be called after a failure too.
 */
const char *cs_redis_url(cs_redis_conf_t *conf, const char *url);
void cs_redis_conf_free(cs_redis_conf_t *conf);

/* the password in a file, if one is given; NULL or what is wrong */
const char *cs_redis_password(cs_redis_conf_t *conf, const char *path);

/* -1 after it has put one sentence into error[size] */
CC_MUST_USE int cs_redis_tls(cs_redis_conf_t *conf, const cs_redis_tls_t *tls,
    char *error, size_t size);

/* connects, authenticates and selects, if that has not been done */
CC_MUST_USE cs_status_e cs_redis_open(cs_redis_t *redis);
void cs_redis_close(cs_redis_t *redis);

/*
 * One command.  The reply is never an error; the caller frees it with
 * freeReplyObject().
 */
#define cs_redis_call(redis, ...)                                             \
    cs_redis_words(redis,                                                     \
                   sizeof((const char *[]) { __VA_ARGS__ }) / sizeof(char *), \
                   (const char *[]) { __VA_ARGS__ })

redisReply *cs_redis_words(cs_redis_t *redis, size_t n, const char **words);

/* 1 if the last error that Redis answered begins with this word */
int cs_redis_said(const cs_redis_t *redis, const char *word);

/* the bytes of a string reply; empty for NULL and everything else */
cc_str_t cs_redis_str(const redisReply *reply);

/* the i-th element of an array reply, or NULL */
redisReply *cs_redis_at(const redisReply *reply, size_t i);


#endif /* CS_REDIS_H */

/*
 * The configuration file (INI), read once and then constant.
 *
 * Every option stands in one table in config.c and is described in the README
 * and in conf/settle.ini.  What is unknown, said twice, missing or
 * contradictory is an error that names file and line: a mistyped option of a
 * program that pays money out must not be passed over.
 */

#ifndef CS_CONFIG_H
#define CS_CONFIG_H

#include <sys/socket.h>

#include "redis.h"
#include "store.h"


#define CS_STATUSES_MAX  64

typedef struct {
    int64_t    codes[CS_STATUSES_MAX];
    unsigned   n;
} cs_statuses_t;

/* an address of this machine */
typedef struct {
    struct sockaddr_storage   address;
    socklen_t                 len;           /* 0: none was given */
    char                     *name;
} cs_listen_t;

typedef struct {
    char     *base_url;                      /* NULL: there is no [api] */
    char     *token_file;
    char     *ca_file;                       /* NULL: the system's */
    int64_t   timeout;                       /* ms, as all of these */
    int64_t   interval;
    int64_t   window;
    int64_t   confirm_after;
    int64_t   recheck;
} cs_api_conf_t;

typedef struct {
    cs_redis_conf_t   redis;
    cs_redis_tls_t    redis_tls;
    char             *password_file;
    char             *prefix;
    char             *group;
    char             *consumer;
    int64_t           claim_after;           /* ms */

    cs_store_conf_t   store;
    unsigned          migrate;               /* `run` may make tables */

    cs_statuses_t     final_statuses;
    int64_t           recalculation_status;

    char             *keys_url;              /* of Google's keys */
    char             *package;               /* names parted by spaces, or
                                                NULL: which apps are ours */
    unsigned          effects;               /* of a refund: 1 << cc_effect_e */

    cs_api_conf_t     api;

    cs_listen_t       metrics;               /* where they are served */

    unsigned          relays;                /* operations into a stream, */
    int64_t           max_length;            /* up to that many */

    char             *inbox;                 /* keys, made of the prefix */
    char             *rejected;
    char             *operations;
} cs_conf_t;


/*
 * Reads the file.  Returns -1 after it has put one sentence into error[size].
 * cs_conf_free() frees the strings, and has to be called after a failure too.
 */
CC_MUST_USE int cs_conf_read(cs_conf_t *conf, const char *path, char *error,
    size_t size);
void cs_conf_free(cs_conf_t *conf);


#endif /* CS_CONFIG_H */

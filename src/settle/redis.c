/*
 * The connection to Redis; see redis.h.
 */

#include <errno.h>
#include <stdio.h>

#include "redis.h"


static cs_status_e cs_redis_login(cs_redis_t *redis);
static void cs_redis_lost(cs_redis_t *redis);
static struct timeval cs_redis_time(int ms);


cs_status_e
cs_redis_open(cs_redis_t *redis)
{
    struct timeval          timeout;
    const cs_redis_conf_t  *conf;

    if (redis->context) {
        return CS_OK;
    }

    conf = redis->conf;
    timeout = cs_redis_time(redis->limit_ms ? redis->limit_ms
                                            : CS_REDIS_CONNECT_MS);

    redis->context = conf->host
        ? redisConnectWithTimeout(conf->host, conf->port, timeout)
        : redisConnectUnixWithTimeout(conf->path, timeout);

    if (redis->context == NULL || redis->context->err) {
        cs_redis_lost(redis);
        return CS_AGAIN;
    }

    timeout = cs_redis_time(redis->limit_ms ? redis->limit_ms
                                            : CS_REDIS_IO_MS);

    if (redisSetTimeout(redis->context, timeout) != REDIS_OK
        || (conf->tls && cc_tls_start(conf->tls, redis->context) != 0))
    {
        cs_redis_lost(redis);
        return CS_AGAIN;
    }

    if (cs_redis_login(redis) != CS_OK) {
        cs_redis_close(redis);
        return CS_AGAIN;
    }

    return CS_OK;
}


static cs_status_e
cs_redis_login(cs_redis_t *redis)
{
    char                    db[16];
    redisReply             *reply;
    const cs_redis_conf_t  *conf;

    conf = redis->conf;

    if (conf->password) {
        reply = conf->user
            ? cs_redis_call(redis, "AUTH", conf->user, conf->password)
            : cs_redis_call(redis, "AUTH", conf->password);

        if (reply == NULL) {
            return CS_AGAIN;
        }

        freeReplyObject(reply);
    }

    if (conf->db) {
        (void) snprintf(db, sizeof(db), "%d", conf->db);

        reply = cs_redis_call(redis, "SELECT", db);
        if (reply == NULL) {
            return CS_AGAIN;
        }

        freeReplyObject(reply);
    }

    return CS_OK;
}


void
cs_redis_close(cs_redis_t *redis)
{
    if (redis->context) {
        redisFree(redis->context);
        redis->context = NULL;
    }
}


redisReply *
cs_redis_words(cs_redis_t *redis, size_t n, const char **words)
{
    redisReply  *reply;

    reply = NULL;

    if (redis->context) {
        reply = redisCommandArgv(redis->context, (int) n, words, NULL);
    }

    if (reply == NULL) {
        cs_redis_lost(redis);
        return NULL;
    }

    if (reply->type == REDIS_REPLY_ERROR) {
        (void) snprintf(redis->error, sizeof(redis->error), "%s", reply->str);
        freeReplyObject(reply);
        return NULL;
    }

    return reply;
}


static void
cs_redis_lost(cs_redis_t *redis)
{
    const char  *why;

    if (redis->context == NULL) {
        why = "not connected";

    } else if (redis->context->err == REDIS_ERR_IO
               && (errno == EAGAIN || errno == EWOULDBLOCK))
    {
        why = "no answer in time";

    } else {
        why = redis->context->errstr;
    }

    (void) snprintf(redis->error, sizeof(redis->error), "%s", why);

    cs_redis_close(redis);
}


int
cs_redis_said(const cs_redis_t *redis, const char *word)
{
    return strncmp(redis->error, word, strlen(word)) == 0;
}


cc_str_t
cs_redis_str(const redisReply *reply)
{
    cc_str_t  s = cc_str("");

    if (reply && (reply->type == REDIS_REPLY_STRING
                  || reply->type == REDIS_REPLY_STATUS))
    {
        s.data = (const unsigned char *) reply->str;
        s.len = reply->len;
    }

    return s;
}


redisReply *
cs_redis_at(const redisReply *reply, size_t i)
{
    if (reply == NULL || reply->type != REDIS_REPLY_ARRAY
        || i >= reply->elements)
    {
        return NULL;
    }

    return reply->element[i];
}


static struct timeval
cs_redis_time(int ms)
{
    struct timeval  tv;

    tv.tv_sec = ms / 1000;
    tv.tv_usec = ms % 1000 * 1000;

    return tv;
}

/*
 * Is what this server has acknowledged on its disk?
 *
 * With appendonly yes and appendfsync always Redis replies to a write only
 * after the fdatasync of its log (README, "Guarantees").  So the settings are
 * read, at connect and every few seconds, and what cannot be read is not
 * believed.  A policy that may evict any key could evict the inbox, too.
 */

#include "redis.h"


static const char  *ngx_http_coupon_settings[] = {
    "appendonly",
    "appendfsync",
    "maxmemory-policy"
};

#define NGX_HTTP_COUPON_SETTINGS                                             \
    (sizeof(ngx_http_coupon_settings) / sizeof(ngx_http_coupon_settings[0]))


static void ngx_http_coupon_durability_reply(redisAsyncContext *ac,
    void *data, void *privdata);
static ngx_uint_t ngx_http_coupon_durability_read(
    ngx_http_coupon_settings_t *settings, redisReply *reply);
static const char *ngx_http_coupon_durability_judge(
    ngx_http_coupon_settings_t *settings);


ngx_int_t
ngx_http_coupon_durability_ask(ngx_http_coupon_redis_conn_t *conn)
{
    ngx_uint_t  i;

    ngx_memzero(&conn->asked, sizeof(ngx_http_coupon_settings_t));

    if (!conn->pool->prove) {
        conn->asked.answers = 1;
        return redisAsyncCommand(conn->ac, ngx_http_coupon_durability_reply,
                                 conn, "PING") == REDIS_OK
               ? NGX_OK : NGX_ERROR;
    }

    conn->asked.answers = NGX_HTTP_COUPON_SETTINGS;

    for (i = 0; i < NGX_HTTP_COUPON_SETTINGS; i++) {
        if (redisAsyncCommand(conn->ac, ngx_http_coupon_durability_reply, conn,
                              "CONFIG GET %s", ngx_http_coupon_settings[i])
            != REDIS_OK)
        {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


static void
ngx_http_coupon_durability_reply(redisAsyncContext *ac, void *data,
    void *privdata)
{
    redisReply                    *reply = data;
    ngx_http_coupon_redis_conn_t  *conn = privdata;

    if (reply == NULL) {
        return;
    }

    if (reply->type == REDIS_REPLY_ERROR) {
        ngx_http_coupon_redis_error(conn->pool, "asking for its settings",
                                    reply->str, reply->len);
    }

    if (conn->pool->prove
        && !ngx_http_coupon_durability_read(&conn->asked, reply))
    {
        conn->asked.unreadable = 1;
    }

    if (--conn->asked.answers != 0) {
        return;
    }

    conn->unproven = conn->pool->prove
                     ? ngx_http_coupon_durability_judge(&conn->asked) : NULL;

    ngx_http_coupon_redis_proven(conn);
}


/* one reply of CONFIG GET: the name and the value */
static ngx_uint_t
ngx_http_coupon_durability_read(ngx_http_coupon_settings_t *settings,
    redisReply *reply)
{
    const char  *name, *value;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2
        || reply->element[0]->type != REDIS_REPLY_STRING
        || reply->element[1]->type != REDIS_REPLY_STRING)
    {
        return 0;
    }

    name = reply->element[0]->str;
    value = reply->element[1]->str;

    if (ngx_strcmp(name, "appendonly") == 0) {
        settings->appendonly = (ngx_strcmp(value, "yes") == 0);
        return 1;
    }

    if (ngx_strcmp(name, "appendfsync") == 0) {
        settings->always = (ngx_strcmp(value, "always") == 0);
        return 1;
    }

    if (ngx_strcmp(name, "maxmemory-policy") == 0) {
        settings->evicts = (ngx_strncmp(value, "allkeys-", 8) == 0);
        return 1;
    }

    return 0;
}


static const char *
ngx_http_coupon_durability_judge(ngx_http_coupon_settings_t *settings)
{
    if (settings->unreadable) {
        return "its settings cannot be read; allow this user CONFIG GET, or "
               "set \"coupon_callback_ack enqueued\"";
    }

    if (!settings->appendonly) {
        return "appendonly is not yes; set \"appendonly yes\" and "
               "\"appendfsync always\" in redis.conf, or "
               "\"coupon_callback_ack enqueued\"";
    }

    if (!settings->always) {
        return "appendfsync is not always; set \"appendfsync always\" in "
               "redis.conf, or \"coupon_callback_ack enqueued\"";
    }

    if (settings->evicts) {
        return "its maxmemory-policy may evict the inbox; set "
               "\"maxmemory-policy noeviction\" in redis.conf, or "
               "\"coupon_callback_ack enqueued\"";
    }

    return NULL;
}

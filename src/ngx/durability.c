/*
 * Is what this server has acknowledged on its disk?
 *
 * With appendonly yes and appendfsync always Redis replies to a write only
 * after the fdatasync of its log.  With everysec it does not, and a WAITAOF has
 * to be asked, where it is known to be honest: Redis from 8.0 on.  Valkey 8.0
 * and 8.1 were seen to answer before the fdatasync; Redis 7.0 has none (README,
 * "Guarantees").
 *
 * Switched on at run time the log is of no use before the first rewrite has
 * ended, although Redis fsyncs what it writes meanwhile: a crash loses it with
 * the file that nothing names yet.  Redis does not tell this rewrite from any
 * later one.  So a rewrite is no matter where this run of the server was seen
 * with its log on and none under way; else a fence has to decide, as WAITAOF
 * knows, and without one there is no 200 before the rewrite has ended.
 *
 * So the settings are read, at connect and every few seconds, and what cannot
 * be read is not believed.  A policy that may evict any key could evict the
 * inbox, too.  With no-appendfsync-on-rewrite Redis replies without fdatasync
 * as long as a child of it is saving, whatever appendfsync says; a WAITAOF just
 * waits that long.
 */

#include "redis.h"


static const char  *ngx_http_coupon_settings[] = {
    "appendonly",
    "appendfsync",
    "no-appendfsync-on-rewrite",
    "maxmemory-policy"
};

#define NGX_HTTP_COUPON_SETTINGS                                             \
    (sizeof(ngx_http_coupon_settings) / sizeof(ngx_http_coupon_settings[0]))


static void ngx_http_coupon_durability_reply(redisAsyncContext *ac,
    void *data, void *privdata);
static void ngx_http_coupon_durability_setting(
    ngx_http_coupon_settings_t *settings, redisReply *reply);
static void ngx_http_coupon_durability_answered(
    ngx_http_coupon_redis_conn_t *conn);
static void ngx_http_coupon_durability_server(redisAsyncContext *ac,
    void *data, void *privdata);
static void ngx_http_coupon_durability_identify(
    ngx_http_coupon_redis_conn_t *conn, const char *info);
static void ngx_http_coupon_durability_log(redisAsyncContext *ac, void *data,
    void *privdata);
static ngx_int_t ngx_http_coupon_durability_in_use(
    ngx_http_coupon_redis_conn_t *conn, const char *info);
static ngx_int_t ngx_http_coupon_durability_flag(const char *info,
    const char *name);
static const char *ngx_http_coupon_durability_field(const char *info,
    const char *name);
static ngx_http_coupon_way_e ngx_http_coupon_durability_judge(
    ngx_http_coupon_settings_t *settings, const char **unproven);


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

    conn->asked.answers = NGX_HTTP_COUPON_SETTINGS + 2;

    if (redisAsyncCommand(conn->ac, ngx_http_coupon_durability_server, conn,
                          "INFO server")
           != REDIS_OK
        || redisAsyncCommand(conn->ac, ngx_http_coupon_durability_log, conn,
                             "INFO persistence") != REDIS_OK)
    {
        return NGX_ERROR;
    }

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
        conn->asked.unreadable = 1;

    } else if (conn->pool->prove) {
        ngx_http_coupon_durability_setting(&conn->asked, reply);
    }

    ngx_http_coupon_durability_answered(conn);
}


/* the last answer decides */
static void
ngx_http_coupon_durability_answered(ngx_http_coupon_redis_conn_t *conn)
{
    const char             *unproven;
    ngx_http_coupon_way_e   way;

    if (--conn->asked.answers != 0) {
        return;
    }

    way = NGX_HTTP_COUPON_WAY_NONE;
    unproven = NULL;

    if (conn->pool->prove) {
        way = ngx_http_coupon_durability_judge(&conn->asked, &unproven);
        conn->waitaof = conn->asked.honest && conn->asked.appendonly;
    }

    ngx_http_coupon_redis_proven(conn, way, unproven);
}


/* one reply of CONFIG GET: the name and the value */
static void
ngx_http_coupon_durability_setting(ngx_http_coupon_settings_t *settings,
    redisReply *reply)
{
    const char  *name, *value;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2
        || reply->element[0]->type != REDIS_REPLY_STRING
        || reply->element[1]->type != REDIS_REPLY_STRING)
    {
        settings->unreadable = 1;
        return;
    }

    name = reply->element[0]->str;
    value = reply->element[1]->str;

    if (ngx_strcmp(name, "appendonly") == 0) {
        settings->appendonly = (ngx_strcmp(value, "yes") == 0);

    } else if (ngx_strcmp(name, "appendfsync") == 0) {
        settings->always = (ngx_strcmp(value, "always") == 0);
        settings->everysec = (ngx_strcmp(value, "everysec") == 0);

    } else if (ngx_strcmp(name, "no-appendfsync-on-rewrite") == 0) {
        settings->skips = (ngx_strcmp(value, "no") != 0);

    } else if (ngx_strcmp(name, "maxmemory-policy") == 0) {
        settings->evicts = (ngx_strncmp(value, "allkeys-", 8) == 0);

    } else {
        settings->unreadable = 1;
    }
}


/*
 * INFO server: which run of which server this is.  Only a fence has to know.
 */
static void
ngx_http_coupon_durability_server(redisAsyncContext *ac, void *data,
    void *privdata)
{
    redisReply                    *reply = data;
    ngx_http_coupon_redis_conn_t  *conn = privdata;

    if (reply == NULL) {
        return;
    }

    conn->run_id[0] = '\0';

    if (reply->type == REDIS_REPLY_ERROR) {
        ngx_http_coupon_redis_error(conn->pool, "asking who it is",
                                    reply->str, reply->len);

    } else if (reply->type == REDIS_REPLY_STRING) {
        ngx_http_coupon_durability_identify(conn, reply->str);
    }

    ngx_http_coupon_durability_answered(conn);
}


static void
ngx_http_coupon_durability_identify(ngx_http_coupon_redis_conn_t *conn,
    const char *info)
{
    size_t       len;
    const char  *version, *run_id;

    version = ngx_http_coupon_durability_field(info, "redis_version:");
    run_id = ngx_http_coupon_durability_field(info, "run_id:");

    /* a Valkey calls itself Redis 7, and names its own version besides */

    conn->asked.honest = version != NULL && atoi(version) >= 8
                         && ngx_http_coupon_durability_field(info,
                                                             "valkey_version:")
                            == NULL;

    if (run_id == NULL) {
        return;
    }

    len = strcspn(run_id, "\r\n");

    if (len <= NGX_HTTP_COUPON_RUN_ID_LEN) {
        ngx_memcpy(conn->run_id, run_id, len);
        conn->run_id[len] = '\0';
    }
}


/* INFO persistence: what has become of the log that appendonly asks for */
static void
ngx_http_coupon_durability_log(redisAsyncContext *ac, void *data,
    void *privdata)
{
    redisReply                    *reply = data;
    ngx_http_coupon_redis_conn_t  *conn = privdata;

    if (reply == NULL) {
        return;
    }

    if (reply->type == REDIS_REPLY_ERROR) {
        ngx_http_coupon_redis_error(conn->pool, "asking for its log",
                                    reply->str, reply->len);
        conn->asked.unreadable = 1;

    } else if (reply->type != REDIS_REPLY_STRING
               || ngx_http_coupon_durability_in_use(conn, reply->str)
                  != NGX_OK)
    {
        conn->asked.unreadable = 1;
    }

    ngx_http_coupon_durability_answered(conn);
}


/*
 * All of it out of one reply: of two, the log may be switched in between.  A
 * rewrite that is only scheduled may be the first one, too.  A server that is
 * still loading has its log off, for that long, and takes no write at all.
 */
static ngx_int_t
ngx_http_coupon_durability_in_use(ngx_http_coupon_redis_conn_t *conn,
    const char *info)
{
    char       *logging;
    ngx_int_t   enabled, loading, rewriting, scheduled;

    logging = conn->pool->logging;

    enabled = ngx_http_coupon_durability_flag(info, "aof_enabled:");
    loading = ngx_http_coupon_durability_flag(info, "loading:");
    rewriting = ngx_http_coupon_durability_flag(info,
                                                "aof_rewrite_in_progress:");
    scheduled = ngx_http_coupon_durability_flag(info,
                                                "aof_rewrite_scheduled:");

    if (enabled == NGX_ERROR || loading == NGX_ERROR
        || rewriting == NGX_ERROR || scheduled == NGX_ERROR)
    {
        return NGX_ERROR;
    }

    if (loading) {
        conn->asked.in_use = 1;

    } else if (!enabled) {
        logging[0] = '\0';

    } else if (!rewriting && !scheduled) {
        ngx_memcpy(logging, conn->run_id, NGX_HTTP_COUPON_RUN_ID_LEN + 1);
        conn->asked.in_use = 1;

    } else {
        conn->asked.in_use = conn->run_id[0] != '\0'
                             && ngx_strcmp(conn->run_id, logging) == 0;
    }

    return NGX_OK;
}


/* 1 or 0; NGX_ERROR if it does not say */
static ngx_int_t
ngx_http_coupon_durability_flag(const char *info, const char *name)
{
    const char  *value;

    value = ngx_http_coupon_durability_field(info, name);

    if (value == NULL || (*value != '0' && *value != '1')) {
        return NGX_ERROR;
    }

    return *value - '0';
}


/* what stands behind the name, at the beginning of a line; or NULL */
static const char *
ngx_http_coupon_durability_field(const char *info, const char *name)
{
    size_t  len;

    len = ngx_strlen(name);

    while (info != NULL && ngx_strncmp(info, name, len) != 0) {
        info = strchr(info, '\n');

        if (info != NULL) {
            info++;
        }
    }

    return info ? info + len : NULL;
}


static ngx_http_coupon_way_e
ngx_http_coupon_durability_judge(ngx_http_coupon_settings_t *settings,
    const char **unproven)
{
    if (settings->unreadable) {
        *unproven = "its settings cannot be read; allow this user CONFIG GET "
                    "and INFO, or set \"coupon_callback_ack enqueued\"";

    } else if (!settings->appendonly) {
        *unproven = "appendonly is not yes; set \"appendonly yes\" and "
                    "\"appendfsync always\" in redis.conf, or "
                    "\"coupon_callback_ack enqueued\"";

    } else if (!settings->always && !settings->everysec) {
        *unproven = "appendfsync is neither always nor everysec; set "
                    "\"appendfsync always\" in redis.conf, or "
                    "\"coupon_callback_ack enqueued\"";

    } else if (!settings->always && !settings->honest) {
        *unproven = "appendfsync is not always, and this server has no "
                    "WAITAOF, or one that answers before the disk does; set "
                    "\"appendfsync always\" in redis.conf, use Redis 8, or "
                    "set \"coupon_callback_ack enqueued\"";

    } else if (settings->always && settings->skips) {
        *unproven = "no-appendfsync-on-rewrite leaves the fsync out at times; "
                    "set \"no-appendfsync-on-rewrite no\" in redis.conf, or "
                    "\"coupon_callback_ack enqueued\"";

    } else if (settings->always && !settings->in_use && !settings->honest) {
        *unproven = "its append-only file was switched on and is not in use "
                    "yet, or is being rewritten; wait until that has ended, "
                    "or set \"coupon_callback_ack enqueued\"";

    } else if (settings->evicts) {
        *unproven = "its maxmemory-policy may evict the inbox; set "
                    "\"maxmemory-policy noeviction\" in redis.conf, or "
                    "\"coupon_callback_ack enqueued\"";
    }

    if (*unproven != NULL) {
        return NGX_HTTP_COUPON_WAY_NONE;
    }

    return settings->always && settings->in_use ? NGX_HTTP_COUPON_WAY_ALWAYS
                                                : NGX_HTTP_COUPON_WAY_FENCE;
}

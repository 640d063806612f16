/*
 * Sending fences one after the other, and telling who is covered; see fence.h.
 */

#include "redis.h"


#define NGX_HTTP_COUPON_FENCE_GRACE  3000    /* ms beyond its timeout */


static void ngx_http_coupon_fence_send_handler(ngx_event_t *ev);
static ngx_int_t ngx_http_coupon_fence_send(ngx_http_coupon_redis_t *pool);
static void ngx_http_coupon_fence_written(redisAsyncContext *ac, void *data,
    void *privdata);
static void ngx_http_coupon_fence_reached(redisAsyncContext *ac, void *data,
    void *privdata);
static ngx_int_t ngx_http_coupon_fence_reply(redisReply *reply,
    ngx_int_t *local, ngx_int_t *replicas);
static void ngx_http_coupon_fence_finish(ngx_queue_t *queue, ngx_int_t local,
    ngx_int_t replicas);


void
ngx_http_coupon_fence_init(ngx_http_coupon_redis_t *pool, ngx_log_t *log)
{
    ngx_http_coupon_fence_t  *fence;

    fence = &pool->fence;

    fence->conn = &pool->conns[pool->connections];
    fence->send.data = fence->conn;
    fence->send.log = log;
    fence->send.handler = ngx_http_coupon_fence_send_handler;

    ngx_queue_init(&fence->waiting);
    ngx_queue_init(&fence->covered);
}


void
ngx_http_coupon_fence_start(ngx_http_coupon_redis_t *pool)
{
    ngx_http_coupon_redis_conn_t  *conn;

    conn = pool->fence.conn;

    if (conn->state == NGX_HTTP_COUPON_REDIS_DOWN && !conn->timer.timer_set
        && !conn->lost.posted)
    {
        ngx_http_coupon_redis_connect(conn);
    }
}


ngx_int_t
ngx_http_coupon_fence_ready(ngx_http_coupon_redis_conn_t *conn)
{
    ngx_http_coupon_redis_conn_t  *fence;

    fence = conn->pool->fence.conn;

    if (fence->lost.posted || fence->ac == NULL) {
        return NGX_DECLINED;
    }

    if (fence->state == NGX_HTTP_COUPON_REDIS_UP) {
        return fence->run_id[0] != '\0'
               && ngx_strcmp(fence->run_id, conn->run_id) == 0
               ? NGX_OK : NGX_DECLINED;
    }

    return fence->failures == 0 ? NGX_AGAIN : NGX_DECLINED;
}


/*
 * Where a name has several addresses, the fence may have met another server
 * than all the others: then it goes on to the next.
 */
void
ngx_http_coupon_fence_follow(ngx_http_coupon_redis_t *pool)
{
    ngx_uint_t                     i;
    ngx_http_coupon_redis_conn_t  *conn, *fence;

    fence = pool->fence.conn;

    if (pool->conns == NULL || fence->state != NGX_HTTP_COUPON_REDIS_UP
        || fence->lost.posted || fence->run_id[0] == '\0')
    {
        return;
    }

    for (i = 0; i < pool->connections; i++) {
        conn = &pool->conns[i];

        if (conn->state == NGX_HTTP_COUPON_REDIS_UP && !conn->lost.posted
            && conn->run_id[0] != '\0'
            && ngx_strcmp(fence->run_id, conn->run_id) != 0)
        {
            ngx_http_coupon_redis_avoid(fence);
            return;
        }
    }
}


void
ngx_http_coupon_fence_join(ngx_http_coupon_redis_t *pool,
    ngx_http_coupon_fenced_t *fenced)
{
    ngx_http_coupon_fence_t  *fence;

    fence = &pool->fence;

    if (fenced->epoch != fence->epoch || fence->conn->ac == NULL
        || fence->conn->lost.posted)
    {
        fenced->done(fenced->data, 0);
        return;
    }

    ngx_queue_insert_tail(&fence->waiting, &fenced->queue);

    if (!fence->out && !fence->send.posted) {
        ngx_post_event(&fence->send, &ngx_posted_events);
    }
}


static void
ngx_http_coupon_fence_send_handler(ngx_event_t *ev)
{
    ngx_http_coupon_redis_t       *pool;
    ngx_http_coupon_redis_conn_t  *conn;

    conn = ev->data;
    pool = conn->pool;

    if (pool->fence.out || ngx_queue_empty(&pool->fence.waiting)
        || conn->ac == NULL || conn->lost.posted)
    {
        return;
    }

    if (ngx_http_coupon_fence_send(pool) != NGX_OK) {
        ngx_http_coupon_redis_drop(conn);
    }
}


static ngx_int_t
ngx_http_coupon_fence_send(ngx_http_coupon_redis_t *pool)
{
    int                       rc;
    redisAsyncContext        *ac;
    ngx_http_coupon_fence_t  *fence;

    fence = &pool->fence;
    ac = fence->conn->ac;

    fence->out = 1;
    fence->refused = 0;
    fence->sent = ngx_current_msec;

    ngx_queue_add(&fence->covered, &fence->waiting);
    ngx_queue_init(&fence->waiting);

    if (redisAsyncCommand(ac, ngx_http_coupon_fence_written, pool, "SET %b 1",
                          fence->key.data, fence->key.len)
        != REDIS_OK)
    {
        return NGX_ERROR;
    }

    /* WAIT asks the replicas alone: the server's log is not for it to judge */

    if (fence->conn->waitaof) {
        rc = redisAsyncCommand(ac, ngx_http_coupon_fence_reached, pool,
                               "WAITAOF 1 %d %d", (int) fence->replicas,
                               (int) fence->timeout);
    } else {
        rc = redisAsyncCommand(ac, ngx_http_coupon_fence_reached, pool,
                               "WAIT %d %d", (int) fence->replicas,
                               (int) fence->timeout);
    }

    return rc == REDIS_OK ? NGX_OK : NGX_ERROR;
}


static void
ngx_http_coupon_fence_written(redisAsyncContext *ac, void *data,
    void *privdata)
{
    redisReply               *reply = data;
    ngx_http_coupon_redis_t  *pool = privdata;

    if (reply != NULL && reply->type == REDIS_REPLY_ERROR) {
        pool->fence.refused = 1;
        ngx_http_coupon_redis_error(pool, "the fence was refused", reply->str,
                                    reply->len);

        /* the same as for any other write: this is not the master any more */

        if (ngx_strncmp(reply->str, "READONLY", 8) == 0) {
            ngx_http_coupon_redis_avoid(pool->fence.conn);
        }
    }
}


static void
ngx_http_coupon_fence_reached(redisAsyncContext *ac, void *data,
    void *privdata)
{
    redisReply               *reply = data;
    ngx_http_coupon_redis_t  *pool = privdata;

    ngx_int_t                 local, replicas;
    ngx_queue_t               reached;
    ngx_http_coupon_fence_t  *fence;

    /* the connection is lost: all that waits ends where it is closed */

    if (reply == NULL) {
        return;
    }

    fence = &pool->fence;

    if (ngx_http_coupon_fence_reply(reply, &local, &replicas) != NGX_OK) {
        local = 0;
        replicas = 0;

        if (reply->type == REDIS_REPLY_ERROR) {
            ngx_http_coupon_redis_error(pool, "the fence failed", reply->str,
                                        reply->len);
        } else {
            ngx_http_coupon_redis_error(pool, "the fence failed",
                                        "an unexpected reply", 19);
            ngx_http_coupon_redis_drop(fence->conn);
        }
    }

    if (fence->refused) {
        local = 0;
        replicas = 0;
    }

    fence->out = 0;

    if (!ngx_queue_empty(&fence->waiting) && !fence->send.posted) {
        ngx_post_event(&fence->send, &ngx_posted_events);
    }

    ngx_queue_init(&reached);

    if (!ngx_queue_empty(&fence->covered)) {
        ngx_queue_add(&reached, &fence->covered);
        ngx_queue_init(&fence->covered);
    }

    ngx_http_coupon_fence_finish(&reached, local, replicas);
}


/* WAITAOF: [local, replicas]; WAIT: replicas */
static ngx_int_t
ngx_http_coupon_fence_reply(redisReply *reply, ngx_int_t *local,
    ngx_int_t *replicas)
{
    if (reply->type == REDIS_REPLY_INTEGER) {
        *local = 0;
        *replicas = (ngx_int_t) reply->integer;
        return NGX_OK;
    }

    if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 2
        && reply->element[0]->type == REDIS_REPLY_INTEGER
        && reply->element[1]->type == REDIS_REPLY_INTEGER)
    {
        *local = (ngx_int_t) reply->element[0]->integer;
        *replicas = (ngx_int_t) reply->element[1]->integer;
        return NGX_OK;
    }

    return NGX_ERROR;
}


static void
ngx_http_coupon_fence_finish(ngx_queue_t *queue, ngx_int_t local,
    ngx_int_t replicas)
{
    ngx_queue_t               *q;
    ngx_http_coupon_fenced_t  *fenced;

    while (!ngx_queue_empty(queue)) {
        q = ngx_queue_head(queue);
        ngx_queue_remove(q);

        fenced = ngx_queue_data(q, ngx_http_coupon_fenced_t, queue);
        fenced->done(fenced->data, local >= (ngx_int_t) fenced->local
                                   && replicas >= (ngx_int_t) fenced->replicas);
    }
}


void
ngx_http_coupon_fence_lost(ngx_http_coupon_redis_t *pool)
{
    ngx_queue_t               unproven;
    ngx_http_coupon_fence_t  *fence;

    fence = &pool->fence;

    fence->epoch++;
    fence->out = 0;

    ngx_queue_init(&unproven);

    if (!ngx_queue_empty(&fence->covered)) {
        ngx_queue_add(&unproven, &fence->covered);
        ngx_queue_init(&fence->covered);
    }

    if (!ngx_queue_empty(&fence->waiting)) {
        ngx_queue_add(&unproven, &fence->waiting);
        ngx_queue_init(&fence->waiting);
    }

    ngx_http_coupon_fence_finish(&unproven, -1, -1);
}


ngx_uint_t
ngx_http_coupon_fence_busy(ngx_http_coupon_redis_t *pool)
{
    return pool->fence.out
           && ngx_current_msec - pool->fence.sent
              < pool->fence.timeout + NGX_HTTP_COUPON_FENCE_GRACE;
}

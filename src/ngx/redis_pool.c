/*
 * The pool: starting and stopping a worker's connections, choosing one for a
 * transaction, waking who waits for the first, and saying what goes wrong.
 */

#include "redis.h"


static void ngx_http_coupon_redis_cleanup(void *data);
static void ngx_http_coupon_redis_wake_handler(ngx_event_t *ev);


ngx_int_t
ngx_http_coupon_redis_start(ngx_http_coupon_redis_t *pool, ngx_cycle_t *cycle,
    ngx_http_coupon_gauges_t *gauges, ngx_http_coupon_errors_t *errors)
{
    ngx_uint_t                     i;
    ngx_pool_cleanup_t            *cln;
    ngx_http_coupon_redis_conn_t  *conn;

    conn = ngx_pcalloc(cycle->pool, (pool->connections + 1)
                                    * sizeof(ngx_http_coupon_redis_conn_t));
    cln = ngx_pool_cleanup_add(cycle->pool, 0);

    if (conn == NULL || cln == NULL) {
        return NGX_ERROR;
    }

    cln->handler = ngx_http_coupon_redis_cleanup;
    cln->data = pool;

    pool->conns = conn;
    pool->gauges = gauges;
    pool->errors = errors;
    ngx_queue_init(&pool->waiters);

    pool->wake.data = conn;
    pool->wake.log = cycle->log;
    pool->wake.handler = ngx_http_coupon_redis_wake_handler;

    (void) ngx_atomic_fetch_add(&gauges->connections, pool->connections);

    ngx_http_coupon_fence_init(pool, cycle->log);

    for (i = 0; i <= pool->connections; i++, conn++) {
        conn->pool = pool;
        conn->number = i;
        conn->fd = (ngx_socket_t) -1;

        conn->lost.data = conn;
        conn->lost.log = cycle->log;
        conn->lost.handler = ngx_http_coupon_redis_lost_handler;

        conn->timer.data = conn;
        conn->timer.log = cycle->log;
        conn->timer.handler = ngx_http_coupon_redis_timer_handler;
        conn->timer.cancelable = 1;

        /* the last one is the fence's, which not everybody needs */

        if (i < pool->connections || pool->fence.replicas) {
            ngx_http_coupon_redis_connect(conn);
        }
    }

    return NGX_OK;
}


void
ngx_http_coupon_redis_stop(ngx_http_coupon_redis_t *pool)
{
    ngx_uint_t                     i;
    ngx_http_coupon_redis_conn_t  *conn;

    if (pool->conns == NULL) {
        return;
    }

    pool->stopping = 1;

    for (i = 0; i <= pool->connections; i++) {
        conn = &pool->conns[i];

        ngx_http_coupon_redis_close(conn);

        if (conn->lost.posted) {
            ngx_delete_posted_event(&conn->lost);
        }
    }

    if (pool->wake.posted) {
        ngx_delete_posted_event(&pool->wake);
    }

    if (pool->fence.send.posted) {
        ngx_delete_posted_event(&pool->fence.send);
    }

    pool->conns = NULL;
}


static void
ngx_http_coupon_redis_cleanup(void *data)
{
    ngx_http_coupon_redis_stop(data);
}


ngx_http_coupon_redis_conn_t *
ngx_http_coupon_redis_get(ngx_http_coupon_redis_t *pool,
    const ngx_http_coupon_ack_t *ack, ngx_int_t *rc, const char **why)
{
    ngx_int_t                      ready;
    ngx_uint_t                     i;
    ngx_http_coupon_redis_conn_t  *conn, *best;

    best = NULL;
    *rc = NGX_DECLINED;
    *why = "the inbox cannot be reached";

    for (i = 0; pool->conns != NULL && i < pool->connections; i++) {
        conn = &pool->conns[i];

        if (conn->ac == NULL || conn->lost.posted
            || conn->state == NGX_HTTP_COUPON_REDIS_DOWN)
        {
            continue;
        }

        if (conn->state != NGX_HTTP_COUPON_REDIS_UP) {

            if (conn->failures == 0) {
                *rc = NGX_AGAIN;
            }

            continue;
        }

        if (ack->what == NGX_HTTP_COUPON_ACK_FSYNC
            && conn->way == NGX_HTTP_COUPON_WAY_NONE)
        {
            *why = "the inbox is not proven to be durable";
            continue;
        }

        ready = ngx_http_coupon_redis_fenced(conn, ack)
                ? ngx_http_coupon_fence_ready(conn) : NGX_OK;

        if (ready != NGX_OK) {
            *why = "the inbox cannot be proven to be durable now";

            if (ready == NGX_AGAIN) {
                *rc = NGX_AGAIN;
            }

            continue;
        }

        if (best == NULL || conn->waiting < best->waiting) {
            best = conn;
        }
    }

    if (best == NULL) {
        ngx_http_coupon_fence_follow(pool);
    }

    return best;
}


ngx_uint_t
ngx_http_coupon_redis_fenced(ngx_http_coupon_redis_conn_t *conn,
    const ngx_http_coupon_ack_t *ack)
{
    return ack->what == NGX_HTTP_COUPON_ACK_REPLICAS
           || (ack->what == NGX_HTTP_COUPON_ACK_FSYNC
               && conn->way == NGX_HTTP_COUPON_WAY_FENCE);
}


void
ngx_http_coupon_redis_wait(ngx_http_coupon_redis_t *pool,
    ngx_http_coupon_waiter_t *waiter)
{
    pool->waiting++;
    ngx_queue_insert_tail(&pool->waiters, &waiter->queue);
    waiter->waiting = 1;
}


void
ngx_http_coupon_redis_unwait(ngx_http_coupon_redis_t *pool,
    ngx_http_coupon_waiter_t *waiter)
{
    if (waiter->waiting) {
        pool->waiting--;
        ngx_queue_remove(&waiter->queue);
        waiter->waiting = 0;
    }
}


static void
ngx_http_coupon_redis_wake_handler(ngx_event_t *ev)
{
    ngx_queue_t                   *q, woken;
    ngx_http_coupon_redis_t       *pool;
    ngx_http_coupon_waiter_t      *waiter;
    ngx_http_coupon_redis_conn_t  *conn;

    conn = ev->data;
    pool = conn->pool;

    if (ngx_queue_empty(&pool->waiters)) {
        return;
    }

    /* who has to wait on joins the queue anew, so it is emptied first */

    ngx_queue_init(&woken);
    ngx_queue_add(&woken, &pool->waiters);
    ngx_queue_init(&pool->waiters);

    while (!ngx_queue_empty(&woken)) {
        q = ngx_queue_head(&woken);
        waiter = ngx_queue_data(q, ngx_http_coupon_waiter_t, queue);

        ngx_http_coupon_redis_unwait(pool, waiter);
        waiter->wake(waiter->data);
    }
}


void
ngx_http_coupon_redis_error(ngx_http_coupon_redis_t *pool, const char *what,
    const char *text, size_t len)
{
    ngx_uint_t  i, kind;

    static const struct {
        const char               *word;
        ngx_http_coupon_error_e   kind;
    } words[] = {
        { "LOADING",     NGX_HTTP_COUPON_ERROR_LOADING },
        { "READONLY",    NGX_HTTP_COUPON_ERROR_READONLY },
        { "OOM",         NGX_HTTP_COUPON_ERROR_OOM },
        { "MISCONF",     NGX_HTTP_COUPON_ERROR_MISCONF },
        { "NOREPLICAS",  NGX_HTTP_COUPON_ERROR_NOREPLICAS },
        { "BUSY",        NGX_HTTP_COUPON_ERROR_BUSY },
        { "WRONGTYPE",   NGX_HTTP_COUPON_ERROR_WRONGTYPE },
        { "NOAUTH",      NGX_HTTP_COUPON_ERROR_AUTH },
        { "NOPERM",      NGX_HTTP_COUPON_ERROR_AUTH },
        { "WRONGPASS",   NGX_HTTP_COUPON_ERROR_AUTH },
        { NULL,          NGX_HTTP_COUPON_ERROR_OTHER }
    };

    for (i = 0; words[i].word != NULL; i++) {
        if (ngx_strncmp(text, words[i].word, ngx_strlen(words[i].word)) == 0) {
            break;
        }
    }

    kind = words[i].kind;

    ngx_http_coupon_redis_report(pool, kind, what, text, len);
}


/*
 * Counts all, logs one line a second: an outage under load is one fact.  The
 * text is Redis' or ours and never holds a body or a password.
 */
void
ngx_http_coupon_redis_report(ngx_http_coupon_redis_t *pool,
    ngx_http_coupon_error_e kind, const char *what, const char *text,
    size_t len)
{
    (void) ngx_atomic_fetch_add(&pool->errors->kinds[kind], 1);

    if (pool->logged == ngx_time()) {
        pool->unlogged++;
        return;
    }

    pool->logged = ngx_time();

    ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                  "coupon_callback: Redis %V: %s: %*s (%ui more since the last "
                  "message)",
                  &pool->name, what, ngx_min(len, 256), text, pool->unlogged);

    pool->unlogged = 0;
}

/*
 * The state of a connection, and what moves it.
 *
 *   DOWN --timer--> CONNECTING --connected--> GREETING --settings read--> UP
 *    ^                                                                     |
 *    +-------------- lost: closed, refused, silent, dropped ---------------+
 *
 * hiredis' callbacks only record what happened and post an event; freeing and
 * connecting are done there, outside of hiredis.  All timers are cancelable:
 * a worker that is asked to go does not wait for a connection that is idle.
 */

#include "redis.h"


#define NGX_HTTP_COUPON_REDIS_CONNECT_MSEC  2000
#define NGX_HTTP_COUPON_REDIS_GREET_MSEC    3000
#define NGX_HTTP_COUPON_REDIS_PROBE_MSEC    3000
#define NGX_HTTP_COUPON_REDIS_SILENT        2       /* probes */
#define NGX_HTTP_COUPON_REDIS_FIRST_MSEC    100     /* pause after a failure */
#define NGX_HTTP_COUPON_REDIS_LAST_MSEC     2000


static redisAsyncContext *ngx_http_coupon_redis_open(ngx_addr_t *addr);
static void ngx_http_coupon_redis_connected(const redisAsyncContext *ac,
    int status);
static void ngx_http_coupon_redis_disconnected(const redisAsyncContext *ac,
    int status);
static ngx_int_t ngx_http_coupon_redis_greet(
    ngx_http_coupon_redis_conn_t *conn);
static void ngx_http_coupon_redis_greeted(redisAsyncContext *ac, void *data,
    void *privdata);
static void ngx_http_coupon_redis_state(ngx_http_coupon_redis_conn_t *conn,
    ngx_http_coupon_redis_state_e state);
static void ngx_http_coupon_redis_way(ngx_http_coupon_redis_conn_t *conn,
    ngx_http_coupon_way_e way);
static void ngx_http_coupon_redis_notice(ngx_http_coupon_redis_conn_t *conn);


void
ngx_http_coupon_redis_connect(ngx_http_coupon_redis_conn_t *conn)
{
    ngx_addr_t               *addr;
    ngx_http_coupon_redis_t  *pool;

    pool = conn->pool;
    addr = &pool->addrs[(conn->number + conn->moves) % pool->naddrs];

    ngx_http_coupon_redis_state(conn, NGX_HTTP_COUPON_REDIS_CONNECTING);

    conn->silent = 0;
    conn->useless = 0;
    conn->unproven = NULL;
    conn->run_id[0] = '\0';
    conn->ac = ngx_http_coupon_redis_open(addr);

    if (conn->ac == NULL) {
        ngx_http_coupon_redis_report(pool, NGX_HTTP_COUPON_ERROR_CONNECT,
                                     "connect", "no memory", 9);
        ngx_http_coupon_redis_drop(conn);
        return;
    }

    conn->ac->data = conn;
    ngx_http_coupon_redis_watch_replies(conn);

    if (conn->ac->err != 0
        || (pool->tls && cc_tls_start(pool->tls, &conn->ac->c) != 0))
    {
        ngx_http_coupon_redis_report(pool, NGX_HTTP_COUPON_ERROR_CONNECT,
                                     "connect", conn->ac->c.errstr,
                                     ngx_strlen(conn->ac->c.errstr));
        ngx_http_coupon_redis_drop(conn);
        return;
    }

    if (ngx_http_coupon_redis_attach(conn, ngx_cycle->log) != NGX_OK) {
        ngx_http_coupon_redis_drop(conn);
        return;
    }

    ngx_add_timer(&conn->timer, NGX_HTTP_COUPON_REDIS_CONNECT_MSEC);

    /* in this order: setting the first one makes hiredis wait for the socket */

    redisAsyncSetDisconnectCallback(conn->ac,
                                    ngx_http_coupon_redis_disconnected);
    redisAsyncSetConnectCallback(conn->ac, ngx_http_coupon_redis_connected);
}


/* the address is numeric, so that nothing in here asks a name server */
static redisAsyncContext *
ngx_http_coupon_redis_open(ngx_addr_t *addr)
{
    size_t               len;
    u_char               text[NGX_SOCKADDR_STRLEN + 1];
    struct sockaddr_un  *saun;

    if (addr->sockaddr->sa_family == AF_UNIX) {
        saun = (struct sockaddr_un *) addr->sockaddr;
        return redisAsyncConnectUnix(saun->sun_path);
    }

    len = ngx_sock_ntop(addr->sockaddr, addr->socklen, text,
                        NGX_SOCKADDR_STRLEN, 0);
    text[len] = '\0';

    /* ngx_sock_ntop() writes no brackets without a port */

    return redisAsyncConnect((char *) text, ngx_inet_get_port(addr->sockaddr));
}


static void
ngx_http_coupon_redis_connected(const redisAsyncContext *ac, int status)
{
    ngx_http_coupon_redis_conn_t  *conn;

    conn = ac->data;

    if (status != REDIS_OK) {

        /* hiredis frees it when this returns */

        conn->ac = NULL;
        ngx_http_coupon_redis_report(conn->pool, NGX_HTTP_COUPON_ERROR_CONNECT,
                                     "connect", ac->errstr,
                                     ngx_strlen(ac->errstr));
        ngx_http_coupon_redis_drop(conn);
        return;
    }

    ngx_http_coupon_redis_state(conn, NGX_HTTP_COUPON_REDIS_GREETING);
    ngx_add_timer(&conn->timer, NGX_HTTP_COUPON_REDIS_GREET_MSEC);

    if (ngx_http_coupon_redis_greet(conn) != NGX_OK) {
        ngx_http_coupon_redis_drop(conn);
    }
}


/* pipelined: who is not let in, gets an error to each of the others as well */
static ngx_int_t
ngx_http_coupon_redis_greet(ngx_http_coupon_redis_conn_t *conn)
{
    int                       rc;
    ngx_http_coupon_redis_t  *pool;

    pool = conn->pool;
    rc = REDIS_OK;

    if (pool->user.len) {
        rc |= redisAsyncCommand(conn->ac, ngx_http_coupon_redis_greeted, conn,
                                "AUTH %b %b", pool->user.data, pool->user.len,
                                pool->password.data, pool->password.len);

    } else if (pool->password.len) {
        rc |= redisAsyncCommand(conn->ac, ngx_http_coupon_redis_greeted, conn,
                                "AUTH %b", pool->password.data,
                                pool->password.len);
    }

    if (pool->db) {
        rc |= redisAsyncCommand(conn->ac, ngx_http_coupon_redis_greeted, conn,
                                "SELECT %d", (int) pool->db);
    }

    if (rc != REDIS_OK) {
        return NGX_ERROR;
    }

    return ngx_http_coupon_durability_ask(conn);
}


static void
ngx_http_coupon_redis_greeted(redisAsyncContext *ac, void *data,
    void *privdata)
{
    redisReply                    *reply = data;
    ngx_http_coupon_redis_conn_t  *conn = privdata;

    if (reply != NULL && reply->type == REDIS_REPLY_ERROR
        && !conn->lost.posted)
    {
        ngx_http_coupon_redis_report(conn->pool, NGX_HTTP_COUPON_ERROR_AUTH,
                                     "AUTH or SELECT", reply->str, reply->len);
        ngx_http_coupon_redis_drop(conn);
    }
}


void
ngx_http_coupon_redis_proven(ngx_http_coupon_redis_conn_t *conn,
    ngx_http_coupon_way_e way, const char *unproven)
{
    ngx_uint_t                changed;
    ngx_http_coupon_redis_t  *pool;

    if (conn->lost.posted) {
        return;
    }

    pool = conn->pool;
    changed = (conn->state == NGX_HTTP_COUPON_REDIS_GREETING
               || conn->way != way);

    conn->silent = 0;
    conn->unproven = unproven;

    ngx_http_coupon_redis_way(conn, way);

    if (way == NGX_HTTP_COUPON_WAY_FENCE) {
        ngx_http_coupon_fence_start(pool);
    }

    if (pool->fsync && unproven != NULL) {
        ngx_http_coupon_redis_report(pool, NGX_HTTP_COUPON_ERROR_UNPROVEN,
                                     "durability is not proven", unproven,
                                     ngx_strlen(unproven));

    } else if (changed && pool->prove && conn != pool->fence.conn) {
        ngx_http_coupon_redis_notice(conn);
    }

    if (conn->state == NGX_HTTP_COUPON_REDIS_GREETING) {
        conn->failures = 0;
        ngx_http_coupon_redis_state(conn, NGX_HTTP_COUPON_REDIS_UP);
        ngx_add_timer(&conn->timer, NGX_HTTP_COUPON_REDIS_PROBE_MSEC);
    }
}


/* in which way a 200 will be durable: once per connect, and when it changes */
static void
ngx_http_coupon_redis_notice(ngx_http_coupon_redis_conn_t *conn)
{
    ngx_http_coupon_redis_t  *pool;

    pool = conn->pool;

    if (pool->fsync) {
        ngx_log_error(NGX_LOG_NOTICE, ngx_cycle->log, 0,
                      "coupon_callback: Redis %V: connection %ui: fsync by %s",
                      &pool->name, conn->number,
                      conn->way == NGX_HTTP_COUPON_WAY_FENCE
                      ? "a fence, WAITAOF" : "appendfsync always");
    }

    if (pool->fence.replicas) {
        ngx_log_error(NGX_LOG_NOTICE, ngx_cycle->log, 0,
                      "coupon_callback: Redis %V: connection %ui: %ui replicas "
                      "by a fence, %s", &pool->name, conn->number,
                      pool->fence.replicas, conn->waitaof ? "WAITAOF" : "WAIT");
    }
}


void
ngx_http_coupon_redis_timer_handler(ngx_event_t *ev)
{
    ngx_http_coupon_redis_conn_t  *conn;

    conn = ev->data;

    /* lost in this very turn of the loop: there is nobody to ask any more */

    if (conn->lost.posted) {
        return;
    }

    switch (conn->state) {

    case NGX_HTTP_COUPON_REDIS_DOWN:
        ngx_http_coupon_redis_connect(conn);
        return;

    case NGX_HTTP_COUPON_REDIS_UP:

        /* a WAITAOF that is out blocks whatever comes behind it */

        if (conn == conn->pool->fence.conn
            && ngx_http_coupon_fence_busy(conn->pool))
        {
            ngx_add_timer(ev, NGX_HTTP_COUPON_REDIS_PROBE_MSEC);
            return;
        }

        if (conn->silent < NGX_HTTP_COUPON_REDIS_SILENT) {

            /* a probe that is still out is not sent twice */

            if (conn->silent++ == 0
                && ngx_http_coupon_durability_ask(conn) != NGX_OK)
            {
                break;
            }

            ngx_add_timer(ev, NGX_HTTP_COUPON_REDIS_PROBE_MSEC);
            return;
        }

        break;

    case NGX_HTTP_COUPON_REDIS_CONNECTING:
    case NGX_HTTP_COUPON_REDIS_GREETING:
        break;
    }

    ngx_http_coupon_redis_report(conn->pool, NGX_HTTP_COUPON_ERROR_SILENT,
                                 "no answer", "given up", 8);
    ngx_http_coupon_redis_drop(conn);
}


static void
ngx_http_coupon_redis_disconnected(const redisAsyncContext *ac, int status)
{
    ngx_http_coupon_redis_conn_t  *conn;

    conn = ac->data;

    if (conn->ac != ac) {
        return;
    }

    /* hiredis frees it when this returns */

    conn->ac = NULL;

    if (status != REDIS_OK) {
        ngx_http_coupon_redis_report(conn->pool,
                                     ac->err == REDIS_ERR_PROTOCOL
                                     ? NGX_HTTP_COUPON_ERROR_PROTOCOL
                                     : NGX_HTTP_COUPON_ERROR_CLOSED,
                                     "connection lost", ac->errstr,
                                     ngx_strlen(ac->errstr));
    }

    ngx_http_coupon_redis_drop(conn);
}


void
ngx_http_coupon_redis_drop(ngx_http_coupon_redis_conn_t *conn)
{
    if (!conn->lost.posted) {
        ngx_post_event(&conn->lost, &ngx_posted_events);
    }
}


void
ngx_http_coupon_redis_avoid(ngx_http_coupon_redis_conn_t *conn)
{
    conn->useless = 1;
    ngx_http_coupon_redis_drop(conn);
}


void
ngx_http_coupon_redis_lost_handler(ngx_event_t *ev)
{
    ngx_msec_t                     pause;
    ngx_http_coupon_redis_conn_t  *conn;

    conn = ev->data;

    ngx_http_coupon_redis_close(conn);

    /* what was good until now is tried again at once */

    if (conn->state == NGX_HTTP_COUPON_REDIS_UP && !conn->useless) {
        ngx_http_coupon_redis_connect(conn);
        return;
    }

    ngx_http_coupon_redis_state(conn, NGX_HTTP_COUPON_REDIS_DOWN);

    pause = NGX_HTTP_COUPON_REDIS_LAST_MSEC;

    if (conn->failures < 5) {
        pause = ngx_min(NGX_HTTP_COUPON_REDIS_FIRST_MSEC << conn->failures,
                        NGX_HTTP_COUPON_REDIS_LAST_MSEC);
    }

    conn->failures++;
    conn->moves++;

    ngx_add_timer(&conn->timer, pause / 2 + ngx_random() % (pause / 2 + 1));
}


/* every transaction under way ends here, as lost */
void
ngx_http_coupon_redis_close(ngx_http_coupon_redis_conn_t *conn)
{
    redisAsyncContext  *ac;

    ac = conn->ac;
    conn->ac = NULL;

    if (ac != NULL) {
        redisAsyncFree(ac);
    }

    if (conn->timer.timer_set) {
        ngx_del_timer(&conn->timer);
    }

    if (conn == conn->pool->fence.conn) {
        ngx_http_coupon_fence_lost(conn->pool);
    }
}


static void
ngx_http_coupon_redis_state(ngx_http_coupon_redis_conn_t *conn,
    ngx_http_coupon_redis_state_e state)
{
    ngx_http_coupon_redis_t  *pool;

    pool = conn->pool;

    if (conn != pool->fence.conn) {

        if (state == NGX_HTTP_COUPON_REDIS_UP) {
            (void) ngx_atomic_fetch_add(&pool->gauges->up, 1);

        } else if (conn->state == NGX_HTTP_COUPON_REDIS_UP) {
            (void) ngx_atomic_fetch_add(&pool->gauges->up,
                                        (ngx_atomic_int_t) -1);
        }
    }

    if (state != NGX_HTTP_COUPON_REDIS_UP) {
        ngx_http_coupon_redis_way(conn, NGX_HTTP_COUPON_WAY_NONE);
    }

    conn->state = state;

    /* up or down, who waited for it has something to decide */

    if ((state == NGX_HTTP_COUPON_REDIS_UP
         || state == NGX_HTTP_COUPON_REDIS_DOWN)
        && !ngx_queue_empty(&pool->waiters) && !pool->wake.posted)
    {
        ngx_post_event(&pool->wake, &ngx_posted_events);
    }
}


static void
ngx_http_coupon_redis_way(ngx_http_coupon_redis_conn_t *conn,
    ngx_http_coupon_way_e way)
{
    ngx_http_coupon_gauges_t  *gauges;

    gauges = conn->pool->gauges;

    if (conn != conn->pool->fence.conn && conn->pool->prove) {
        (void) ngx_atomic_fetch_add(&gauges->ways[conn->way],
                                    (ngx_atomic_int_t) -1);
        (void) ngx_atomic_fetch_add(&gauges->ways[way], 1);
    }

    conn->way = way;
}

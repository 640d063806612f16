/*
 * hiredis on nginx's event loop.
 *
 * The socket is hiredis': it opens it and it closes it.  nginx only watches it,
 * through a connection that takes every step of ngx_close_connection() at the
 * end except the close.  hiredis reads 16k once per call, so events are level-
 * triggered.
 *
 * A call into hiredis may free the context; after one, nothing is touched but
 * our own structure, which lives as long as the cycle.
 */

#include "redis.h"


/* two or three transactions of a short callback, one of a long one */
#define NGX_HTTP_COUPON_REDIS_PUSH  3072


static void ngx_http_coupon_redis_read_handler(ngx_event_t *rev);
static void ngx_http_coupon_redis_write_handler(ngx_event_t *wev);
static void ngx_http_coupon_redis_flush(ngx_event_t *ev);
static void ngx_http_coupon_redis_do_write(ngx_http_coupon_redis_conn_t *conn);
static void ngx_http_coupon_redis_add_read(void *data);
static void ngx_http_coupon_redis_del_read(void *data);
static void ngx_http_coupon_redis_add_write(void *data);
static void ngx_http_coupon_redis_del_write(void *data);
static void ngx_http_coupon_redis_cleanup(void *data);


ngx_int_t
ngx_http_coupon_redis_attach(ngx_http_coupon_redis_conn_t *conn,
    ngx_log_t *log)
{
    ngx_connection_t  *c;

    c = ngx_get_connection(conn->ac->c.fd, log);
    if (c == NULL) {
        return NGX_ERROR;
    }

    c->data = conn;
    c->log = log;
    c->read->log = log;
    c->write->log = log;
    c->read->handler = ngx_http_coupon_redis_read_handler;
    c->write->handler = ngx_http_coupon_redis_write_handler;

    conn->connection = c;
    conn->fd = c->fd;
    conn->gathered = 0;
    conn->writing = 0;

    conn->write.data = conn;
    conn->write.log = log;
    conn->write.handler = ngx_http_coupon_redis_flush;

    conn->ac->ev.data = conn;
    conn->ac->ev.addRead = ngx_http_coupon_redis_add_read;
    conn->ac->ev.delRead = ngx_http_coupon_redis_del_read;
    conn->ac->ev.addWrite = ngx_http_coupon_redis_add_write;
    conn->ac->ev.delWrite = ngx_http_coupon_redis_del_write;
    conn->ac->ev.cleanup = ngx_http_coupon_redis_cleanup;

    return NGX_OK;
}


static void
ngx_http_coupon_redis_read_handler(ngx_event_t *rev)
{
    ngx_connection_t              *c;
    ngx_http_coupon_redis_conn_t  *conn;

    c = rev->data;
    conn = c->data;

    if (conn->ac != NULL) {
        redisAsyncHandleRead(conn->ac);
    }
}


static void
ngx_http_coupon_redis_write_handler(ngx_event_t *wev)
{
    ngx_connection_t  *c;

    c = wev->data;

    ngx_http_coupon_redis_do_write(c->data);
}


static void
ngx_http_coupon_redis_flush(ngx_event_t *ev)
{
    ngx_http_coupon_redis_do_write(ev->data);
}


static void
ngx_http_coupon_redis_do_write(ngx_http_coupon_redis_conn_t *conn)
{
    if (conn->ac == NULL) {
        return;
    }

    conn->gathered = 0;
    conn->writing = 1;
    redisAsyncHandleWrite(conn->ac);
    conn->writing = 0;
}


/*
 * Without it, worker and Redis would take turns: a turn of the loop with many
 * requests lasts longer than Redis needs for all of them.
 */
void
ngx_http_coupon_redis_push(ngx_http_coupon_redis_conn_t *conn, size_t size)
{
    int  done;

    conn->gathered += size;

    if (!conn->connection->write->active
        && conn->gathered >= NGX_HTTP_COUPON_REDIS_PUSH)
    {
        conn->gathered = 0;
        (void) redisBufferWrite(&conn->ac->c, &done);
    }
}


static void
ngx_http_coupon_redis_add_read(void *data)
{
    ngx_http_coupon_redis_conn_t  *conn = data;

    ngx_event_t  *rev = conn->connection->read;

    if (!rev->active
        && ngx_add_event(rev, NGX_READ_EVENT, NGX_LEVEL_EVENT) != NGX_OK)
    {
        ngx_http_coupon_redis_drop(conn);
    }
}


static void
ngx_http_coupon_redis_del_read(void *data)
{
    ngx_http_coupon_redis_conn_t  *conn = data;

    ngx_event_t  *rev = conn->connection->read;

    if (rev->active) {
        (void) ngx_del_event(rev, NGX_READ_EVENT, 0);
    }
}


/*
 * Asked for by hiredis with each command: then the write is posted, and what
 * all requests of this turn of the loop have to say goes out in one.  Asked for
 * while connecting, or from inside a write that the socket did not take whole,
 * it has to wait for the socket.
 */
static void
ngx_http_coupon_redis_add_write(void *data)
{
    ngx_http_coupon_redis_conn_t  *conn = data;

    ngx_event_t  *wev = conn->connection->write;

    if (wev->active) {
        return;
    }

    if (!conn->writing && conn->state != NGX_HTTP_COUPON_REDIS_CONNECTING) {

        if (!conn->write.posted) {
            ngx_post_event(&conn->write, &ngx_posted_events);
        }

        return;
    }

    if (ngx_add_event(wev, NGX_WRITE_EVENT, NGX_LEVEL_EVENT) != NGX_OK) {
        ngx_http_coupon_redis_drop(conn);
    }
}


static void
ngx_http_coupon_redis_del_write(void *data)
{
    ngx_http_coupon_redis_conn_t  *conn = data;

    ngx_event_t  *wev = conn->connection->write;

    if (wev->active) {
        (void) ngx_del_event(wev, NGX_WRITE_EVENT, 0);
    }
}


static void
ngx_http_coupon_redis_cleanup(void *data)
{
    ngx_http_coupon_redis_conn_t  *conn = data;

    ngx_connection_t  *c = conn->connection;

    if (c == NULL) {
        return;
    }

    ngx_http_coupon_redis_del_read(conn);
    ngx_http_coupon_redis_del_write(conn);

    if (c->read->posted) {
        ngx_delete_posted_event(c->read);
    }

    if (c->write->posted) {
        ngx_delete_posted_event(c->write);
    }

    if (conn->write.posted) {
        ngx_delete_posted_event(&conn->write);
    }

    c->read->closed = 1;
    c->write->closed = 1;

    ngx_free_connection(c);

    /* tells nginx that an event still in its hand is stale */

    c->fd = (ngx_socket_t) -1;
    conn->connection = NULL;
    conn->fd = (ngx_socket_t) -1;
}

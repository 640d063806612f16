/*
 * The fence: proof, for many writes at once, that they are on disk or with the
 * replicas.
 *
 * One connection per worker and pool carries one tiny write and a WAITAOF (or
 * WAIT) behind it.  Redis' log is in order, so that covers whatever the server
 * had executed before.  Everybody who finishes while a fence is out shares the
 * next one.
 *
 * It proves something only about the very process that executed the write: a
 * write is sent while the fence is connected to the same run of the server, and
 * what waited when that connection was lost has not been proven.
 */

#ifndef NGX_HTTP_COUPON_FENCE_H
#define NGX_HTTP_COUPON_FENCE_H

#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>


struct ngx_http_coupon_redis_s;
struct ngx_http_coupon_redis_conn_s;


/* one write that was executed; the memory is the caller's, until done() */
typedef struct {
    ngx_queue_t     queue;
    ngx_uint_t      epoch;         /* of the fence when the write was sent */
    ngx_uint_t      local;         /* wanted: 1 for the server's own disk */
    ngx_uint_t      replicas;      /* wanted */
    void          (*done)(void *data, ngx_uint_t proven);
    void           *data;
} ngx_http_coupon_fenced_t;


typedef struct {
    struct ngx_http_coupon_redis_conn_s  *conn;
    ngx_str_t       key;           /* PREFIX:fence, the tiny write */
    ngx_uint_t      replicas;      /* to wait for; 0: only the own disk */
    ngx_msec_t      timeout;       /* of one WAITAOF */

    ngx_queue_t     waiting;       /* for the next one */
    ngx_queue_t     covered;       /* by the one that is out */
    ngx_event_t     send;          /* posted: at the end of a loop turn */
    ngx_msec_t      sent;
    ngx_uint_t      epoch;
    unsigned        out:1;
    unsigned        refused:1;     /* the tiny write was */
} ngx_http_coupon_fence_t;


void ngx_http_coupon_fence_init(struct ngx_http_coupon_redis_s *pool,
    ngx_log_t *log);

/* connects it, unless it is or is about to */
void ngx_http_coupon_fence_start(struct ngx_http_coupon_redis_s *pool);

/*
 * May a write that needs the fence be sent on this connection?  NGX_OK;
 * NGX_AGAIN: in a moment; NGX_DECLINED.
 */
ngx_int_t ngx_http_coupon_fence_ready(
    struct ngx_http_coupon_redis_conn_s *conn);

/* called when no connection is ready: is it the fence that is elsewhere? */
void ngx_http_coupon_fence_follow(struct ngx_http_coupon_redis_s *pool);

/* done() is called later, or at once if the fence was lost meanwhile */
void ngx_http_coupon_fence_join(struct ngx_http_coupon_redis_s *pool,
    ngx_http_coupon_fenced_t *fenced);

/* its connection is being closed: nothing that waits has been proven */
void ngx_http_coupon_fence_lost(struct ngx_http_coupon_redis_s *pool);

/* 1 while one is out, and not for longer than it may be */
ngx_uint_t ngx_http_coupon_fence_busy(struct ngx_http_coupon_redis_s *pool);


#endif /* NGX_HTTP_COUPON_FENCE_H */

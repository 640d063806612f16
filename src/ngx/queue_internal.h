/*
 * What queue.c, which sends, and queue_reply.c, which is answered, share.
 */

#ifndef NGX_HTTP_COUPON_QUEUE_INTERNAL_H
#define NGX_HTTP_COUPON_QUEUE_INTERNAL_H

#include "command.h"
#include "queue.h"


#define NGX_HTTP_COUPON_TOKEN_LEN  33            /* random, '-', counter */
#define NGX_HTTP_COUPON_MARK_LEN                                             \
    (CC_DIGEST_LEN + 1 + NGX_HTTP_COUPON_TOKEN_LEN)


struct ngx_http_coupon_ticket_s {
    ngx_http_coupon_redis_conn_t  *conn;
    ngx_http_coupon_queue_pt       done;         /* NULL: the owner left */
    void                          *owner;

    ngx_uint_t                     replies;      /* to come; 0: it is freed */
    unsigned                       reported:1;   /* an error, once is enough */
    unsigned                       fence:1;      /* before it is durable */
    unsigned                       any_body:1;   /* the id alone tells */

    ngx_http_coupon_queue_outcome_e  outcome;    /* while it waits for that */
    ngx_http_coupon_fenced_t         fenced;

    u_char                         mark[NGX_HTTP_COUPON_MARK_LEN];
    ngx_str_t                      seen;         /* keys, behind the ticket */
    ngx_str_t                      stream;
};


/* the callbacks of what is sent; the ticket is their private data */
void ngx_http_coupon_queue_queued(redisAsyncContext *ac, void *data,
    void *privdata);
void ngx_http_coupon_queue_added(redisAsyncContext *ac, void *data,
    void *privdata);
void ngx_http_coupon_queue_rejected(redisAsyncContext *ac, void *data,
    void *privdata);
void ngx_http_coupon_queue_fenced(void *data, ngx_uint_t proven);

/* one of the replies is there; the last one frees the ticket */
void ngx_http_coupon_queue_replied(ngx_http_coupon_ticket_t *ticket);


#endif /* NGX_HTTP_COUPON_QUEUE_INTERNAL_H */

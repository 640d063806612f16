/*
 * Putting a delivery into the inbox: exactly once, or not at all.
 *
 * A ticket stands for one thing asked of Redis.  It joins a parked request and
 * a reply that may outlive each other: it is allocated for itself, knows its
 * owner by a pointer that the owner may take back, and is freed by the reply,
 * which hiredis delivers exactly once.
 */

#ifndef NGX_HTTP_COUPON_QUEUE_H
#define NGX_HTTP_COUPON_QUEUE_H

#include "message.h"
#include "redis.h"


typedef enum {
    NGX_HTTP_COUPON_QUEUE_STORED = 0,
    NGX_HTTP_COUPON_QUEUE_SEEN,          /* the id, with the same body */
    NGX_HTTP_COUPON_QUEUE_OTHER,         /* the id, with another body */
    NGX_HTTP_COUPON_QUEUE_FAILED         /* nothing is known to be stored */
} ngx_http_coupon_queue_outcome_e;


/* by what a delivery is known again */
typedef struct {
    cc_str_t     scope;                  /* its id is unique in; may be empty */
    unsigned     any_body;               /* the id alone tells */
    ngx_msec_t   window;                 /* for so long */
} ngx_http_coupon_known_t;


typedef void (*ngx_http_coupon_queue_pt)(void *owner,
    ngx_http_coupon_queue_outcome_e outcome);

typedef struct ngx_http_coupon_ticket_s  ngx_http_coupon_ticket_t;


/* before the first use in a process */
ngx_int_t ngx_http_coupon_queue_init(ngx_log_t *log);

/*
 * Sends the transaction that marks the id as seen and adds the entry, both or
 * neither.  The message is copied before this returns.  done() is called later,
 * never from inside, once, unless the ticket is left before: when the outcome
 * is known and, for what is stored or seen, as durable as the ack wants.  NULL:
 * it could not be sent, and done() is not called.
 */
ngx_http_coupon_ticket_t *ngx_http_coupon_queue_add(
    ngx_http_coupon_redis_conn_t *conn, const ngx_str_t *prefix,
    const cc_message_t *message, const ngx_http_coupon_ack_t *ack,
    const ngx_http_coupon_known_t *known, ngx_http_coupon_queue_pt done,
    void *owner);

/* the same for the quarantine, which keeps the newest `limit` bodies */
ngx_http_coupon_ticket_t *ngx_http_coupon_queue_reject(
    ngx_http_coupon_redis_conn_t *conn, const ngx_str_t *prefix,
    const cc_message_t *message, const ngx_http_coupon_ack_t *ack,
    const char *reason, ngx_int_t limit, ngx_http_coupon_queue_pt done,
    void *owner);

/* the owner goes: done() will not be called, the ticket frees itself */
void ngx_http_coupon_queue_leave(ngx_http_coupon_ticket_t *ticket);


#endif /* NGX_HTTP_COUPON_QUEUE_H */

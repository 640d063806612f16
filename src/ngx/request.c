/*
 * The life of one callback:
 *
 *   handler -> body read -> verified -> stored -> answered
 *                                 \-> kept aside -> answered
 *
 * It is parked at most twice, while its body arrives and while Redis works on
 * it.  Whatever wakes it, it ends in ngx_http_coupon_request_finish(), which
 * owns the only finalize and the table from result to HTTP status.
 *
 * A request that goes first (the client closed) leaves its ticket and its place
 * among the waiters in the cleanup; what Redis answers later finds no owner.
 */

#include "ngx_http_coupon.h"


static void ngx_http_coupon_request_body_ready(ngx_http_request_t *r);
static void ngx_http_coupon_request_verdict(ngx_http_coupon_ctx_t *ctx,
    cc_verdict_e verdict);
static ngx_int_t ngx_http_coupon_request_park(ngx_http_coupon_ctx_t *ctx);
static void ngx_http_coupon_request_store(ngx_http_coupon_ctx_t *ctx);
static void ngx_http_coupon_request_stored(void *data,
    ngx_http_coupon_queue_outcome_e outcome);
static void ngx_http_coupon_request_kept(void *data,
    ngx_http_coupon_queue_outcome_e outcome);
static void ngx_http_coupon_request_woken(void *data);
static void ngx_http_coupon_request_late(ngx_event_t *ev);
static void ngx_http_coupon_request_resume(ngx_http_coupon_ctx_t *ctx,
    ngx_http_coupon_result_e result, const char *message);
static void ngx_http_coupon_request_finish(ngx_http_coupon_ctx_t *ctx,
    ngx_http_coupon_result_e result, const char *message);
static void ngx_http_coupon_request_leave(void *data);
static void ngx_http_coupon_request_count(ngx_http_coupon_ctx_t *ctx);


const char  *ngx_http_coupon_result_names[] = {
    "accepted", "duplicate", "conflict", "unsigned", "malformed",
    "unavailable", "timeout", "overloaded", "foreign", "unusable"
};

static const ngx_uint_t  ngx_http_coupon_statuses[] = {
    NGX_HTTP_OK,
    NGX_HTTP_OK,
    NGX_HTTP_OK,
    NGX_HTTP_UNAUTHORIZED,
    NGX_HTTP_BAD_REQUEST,
    NGX_HTTP_SERVICE_UNAVAILABLE,
    NGX_HTTP_SERVICE_UNAVAILABLE,
    NGX_HTTP_SERVICE_UNAVAILABLE,
    NGX_HTTP_FORBIDDEN,
    NGX_HTTP_OK
};

/* by cc_verdict_e: what it comes to, and whether the body is kept aside */

static const struct {
    ngx_http_coupon_result_e  result;
    ngx_uint_t                keep;
} ngx_http_coupon_verdicts[] = {
    { NGX_HTTP_COUPON_ACCEPTED,    0 },
    { NGX_HTTP_COUPON_MALFORMED,   0 },
    { NGX_HTTP_COUPON_UNSIGNED,    0 },
    { NGX_HTTP_COUPON_FOREIGN,     0 },
    { NGX_HTTP_COUPON_MALFORMED,   1 },
    { NGX_HTTP_COUPON_UNUSABLE,    1 },
    { NGX_HTTP_COUPON_UNAVAILABLE, 0 }
};


ngx_int_t
ngx_http_coupon_request_handler(ngx_http_request_t *r)
{
    ngx_int_t               rc;
    ngx_uint_t              status;
    ngx_http_coupon_ctx_t  *ctx;

    if (r != r->main) {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "coupon_callback: a callback is no subrequest");
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ctx = ngx_pcalloc(r->pool, sizeof(ngx_http_coupon_ctx_t));
    if (ctx == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ctx->fd = r->connection->fd;
    ctx->request = r;
    ctx->conf = ngx_http_get_module_loc_conf(r,
                                             ngx_http_coupon_callback_module);
    ctx->result = NGX_HTTP_COUPON_NO_RESULT;
    ctx->started = ngx_http_coupon_metrics_now();

    ngx_http_set_ctx(r, ctx, ngx_http_coupon_callback_module);

    status = ngx_http_coupon_verify_head(r);

    if (status != 0) {
        rc = ngx_http_discard_request_body(r);

        if (rc != NGX_OK) {
            return rc;
        }

        return ngx_http_coupon_answer_error(r, status, NULL, NULL);
    }

    rc = ngx_http_read_client_request_body(r,
                                           ngx_http_coupon_request_body_ready);

    if (rc >= NGX_HTTP_SPECIAL_RESPONSE) {
        return rc;
    }

    return NGX_DONE;
}


ngx_http_coupon_ctx_t *
ngx_http_coupon_request_ctx(ngx_http_request_t *r)
{
    return ngx_http_get_module_ctx(r, ngx_http_coupon_callback_module);
}


static void
ngx_http_coupon_request_body_ready(ngx_http_request_t *r)
{
    ngx_http_coupon_ctx_t  *ctx;

    ctx = ngx_http_coupon_request_ctx(r);

    if (ngx_http_coupon_body(r, &ctx->body) != NGX_OK) {
        ngx_http_coupon_request_finish(ctx, NGX_HTTP_COUPON_UNAVAILABLE,
                                       "the body could not be read");
        return;
    }

    (void) ngx_atomic_fetch_add(&ctx->conf->counters->body_bytes,
                                ctx->body.len);

    ngx_http_coupon_request_verdict(ctx, ngx_http_coupon_verify_body(ctx));
}


static void
ngx_http_coupon_request_verdict(ngx_http_coupon_ctx_t *ctx,
    cc_verdict_e verdict)
{
    const char                *message;
    ngx_http_coupon_result_e   result;

    if (verdict != CC_VERDICT_ACCEPTED) {
        ngx_http_coupon_verify_log(ctx, verdict);

        result = ngx_http_coupon_verdicts[verdict].result;
        message = ctx->delivery.reason;

        if (result == NGX_HTTP_COUPON_UNAVAILABLE) {
            message = "the callback cannot be judged now";
        }

        /* nothing of an unusable one is processed, whatever becomes of it */

        if (result == NGX_HTTP_COUPON_UNUSABLE) {
            ctx->delivery.count = 0;
        }

        if (!ngx_http_coupon_verdicts[verdict].keep
            || ctx->conf->quarantine == 0)
        {
            ngx_http_coupon_request_finish(ctx, result, message);
            return;
        }

        ctx->reason = ctx->delivery.reason;
        ctx->kept = result;
    }

    if (ngx_http_coupon_request_park(ctx) != NGX_OK) {
        ngx_http_coupon_request_finish(ctx, NGX_HTTP_COUPON_UNAVAILABLE,
                                       "no memory");
        return;
    }

    cc_message_digest(ctx->digest, ctx->body);

    ngx_http_coupon_request_store(ctx);
}


/* from here on Redis, the clock or the client says what comes next */
static ngx_int_t
ngx_http_coupon_request_park(ngx_http_coupon_ctx_t *ctx)
{
    ngx_event_t         *rev;
    ngx_http_request_t  *r;

    r = ctx->request;
    rev = r->connection->read;

    ctx->cleanup = ngx_http_cleanup_add(r, 0);
    if (ctx->cleanup == NULL) {
        return NGX_ERROR;
    }

    ctx->cleanup->handler = ngx_http_coupon_request_leave;
    ctx->cleanup->data = ctx;

    ctx->parked = ngx_http_coupon_metrics_now();
    ctx->waiter.wake = ngx_http_coupon_request_woken;
    ctx->waiter.data = ctx;

    ctx->timer.data = ctx;
    ctx->timer.log = r->connection->log;
    ctx->timer.handler = ngx_http_coupon_request_late;
    ngx_add_timer(&ctx->timer, ctx->conf->timeout);

    /* body reading leaves a handler that would not notice a client's close */

    r->read_event_handler = ngx_http_test_reading;
    r->write_event_handler = ngx_http_request_empty_handler;

    if (rev->ready) {
        ngx_post_event(rev, &ngx_posted_events);
        return NGX_OK;
    }

    return ngx_handle_read_event(rev, 0);
}


/* into the inbox or, with a reason, into the quarantine */
static void
ngx_http_coupon_request_store(ngx_http_coupon_ctx_t *ctx)
{
    ngx_int_t                      rc;
    ngx_time_t                    *tp;
    const char                    *why;
    cc_message_t                   message;
    ngx_http_coupon_known_t        known;
    ngx_http_coupon_loc_conf_t    *conf;
    ngx_http_coupon_redis_conn_t  *conn;

    conf = ctx->conf;

    if (conf->redis->pending + conf->redis->waiting >= conf->max_pending) {
        ngx_http_coupon_request_finish(ctx, NGX_HTTP_COUPON_OVERLOADED,
                                    "too many callbacks are waiting already");
        return;
    }

    conn = ngx_http_coupon_redis_get(conf->redis, &conf->ack, &rc, &why);

    if (conn == NULL && rc == NGX_AGAIN) {
        ngx_http_coupon_redis_wait(conf->redis, &ctx->waiter);
        return;
    }

    if (conn == NULL) {
        ngx_http_coupon_request_finish(ctx, NGX_HTTP_COUPON_UNAVAILABLE, why);
        return;
    }

    tp = ngx_timeofday();

    message.source.data = (const unsigned char *) conf->provider->source;
    message.source.len = ngx_strlen(conf->provider->source);
    message.id.data = ctx->delivery.id;
    message.id.len = ctx->delivery.id_len;
    message.count = ctx->delivery.count;
    message.digest.data = ctx->digest;
    message.digest.len = CC_DIGEST_LEN;
    message.received = (int64_t) tp->sec * 1000 + tp->msec;
    message.body = ctx->body;

    known.scope.data = ctx->delivery.scope;
    known.scope.len = ctx->delivery.scope_len;
    known.any_body = conf->provider->rewritten;
    known.window = conf->dedup_window;

    if (ctx->reason != NULL) {
        ctx->ticket = ngx_http_coupon_queue_reject(conn, &conf->prefix,
                                                   &message, &conf->ack,
                                                   ctx->reason,
                                                   conf->quarantine,
                                                   ngx_http_coupon_request_kept,
                                                   ctx);
    } else {
        ctx->ticket = ngx_http_coupon_queue_add(conn, &conf->prefix, &message,
                                                &conf->ack, &known,
                                                ngx_http_coupon_request_stored,
                                                ctx);
    }

    if (ctx->ticket == NULL) {
        ngx_http_coupon_request_finish(ctx, NGX_HTTP_COUPON_UNAVAILABLE, why);
    }
}


static void
ngx_http_coupon_request_stored(void *data,
    ngx_http_coupon_queue_outcome_e outcome)
{
    ngx_http_coupon_ctx_t *ctx = data;

    ngx_connection_t  *c;

    c = ctx->request->connection;
    ctx->ticket = NULL;

    switch (outcome) {

    case NGX_HTTP_COUPON_QUEUE_STORED:
        ngx_http_coupon_request_resume(ctx, NGX_HTTP_COUPON_ACCEPTED, NULL);
        return;

    case NGX_HTTP_COUPON_QUEUE_SEEN:
        ngx_http_coupon_request_resume(ctx, NGX_HTTP_COUPON_DUPLICATE, NULL);
        return;

    case NGX_HTTP_COUPON_QUEUE_FAILED:
        ngx_http_coupon_request_resume(ctx, NGX_HTTP_COUPON_UNAVAILABLE,
                                       "the inbox did not confirm it");
        return;

    case NGX_HTTP_COUPON_QUEUE_OTHER:
        break;
    }

    ngx_http_set_log_request(c->log, ctx->request);

    ngx_log_error(NGX_LOG_WARN, c->log, 0,
                  "coupon_callback: conflict: batch \"%*s\" came again with "
                  "another body", ctx->delivery.id_len, ctx->delivery.id);

    if (ctx->conf->quarantine == 0) {
        ngx_http_coupon_request_resume(ctx, NGX_HTTP_COUPON_CONFLICT, NULL);
        return;
    }

    /* the provider will not send it again after a 200: first it is kept */

    ctx->reason = "conflict";
    ctx->kept = NGX_HTTP_COUPON_CONFLICT;
    ngx_http_coupon_request_store(ctx);
    ngx_http_run_posted_requests(c);
}


static void
ngx_http_coupon_request_kept(void *data,
    ngx_http_coupon_queue_outcome_e outcome)
{
    ngx_http_coupon_ctx_t *ctx = data;

    ctx->ticket = NULL;

    if (outcome != NGX_HTTP_COUPON_QUEUE_STORED) {
        ngx_http_coupon_request_resume(ctx, NGX_HTTP_COUPON_UNAVAILABLE,
                                       "the quarantine did not confirm it");

    } else {
        ngx_http_coupon_request_resume(ctx, ctx->kept, ctx->delivery.reason);
    }
}


static void
ngx_http_coupon_request_woken(void *data)
{
    ngx_http_coupon_ctx_t *ctx = data;

    ngx_connection_t  *c;

    c = ctx->request->connection;

    ngx_http_set_log_request(c->log, ctx->request);
    ngx_http_coupon_request_store(ctx);
    ngx_http_run_posted_requests(c);
}


static void
ngx_http_coupon_request_late(ngx_event_t *ev)
{
    ngx_http_coupon_request_resume(ev->data, NGX_HTTP_COUPON_TIMEOUT,
                                   "the inbox did not answer in time");
}


/* the end, coming from an event that is not the request's own */
static void
ngx_http_coupon_request_resume(ngx_http_coupon_ctx_t *ctx,
    ngx_http_coupon_result_e result, const char *message)
{
    ngx_connection_t  *c;

    c = ctx->request->connection;

    ngx_http_set_log_request(c->log, ctx->request);
    ngx_http_coupon_request_finish(ctx, result, message);
    ngx_http_run_posted_requests(c);
}


static void
ngx_http_coupon_request_finish(ngx_http_coupon_ctx_t *ctx,
    ngx_http_coupon_result_e result, const char *message)
{
    ngx_int_t            rc;
    ngx_uint_t           status;
    ngx_http_request_t  *r;

    r = ctx->request;

    if (ctx->cleanup != NULL) {
        ctx->cleanup->handler = NULL;
        ngx_http_coupon_request_leave(ctx);
    }

    ctx->result = result;
    ngx_http_coupon_request_count(ctx);

    status = ngx_http_coupon_statuses[result];

    if (status == NGX_HTTP_OK) {
        rc = ngx_http_coupon_answer_success(r, ctx->delivery.count);

    } else {
        rc = ngx_http_coupon_answer_error(r, status,
                                          ngx_http_coupon_result_names[result],
                                          message);
    }

    ngx_http_finalize_request(r, rc);
}


/* also the cleanup of a request that ends before it was answered */
static void
ngx_http_coupon_request_leave(void *data)
{
    ngx_http_coupon_ctx_t *ctx = data;

    if (ctx->timer.timer_set) {
        ngx_del_timer(&ctx->timer);
    }

    ngx_http_coupon_redis_unwait(ctx->conf->redis, &ctx->waiter);

    if (ctx->ticket != NULL) {
        ngx_http_coupon_queue_leave(ctx->ticket);
        ctx->ticket = NULL;
    }

    ctx->redis_time = ngx_http_coupon_metrics_now() - ctx->parked;
}


static void
ngx_http_coupon_request_count(ngx_http_coupon_ctx_t *ctx)
{
    ngx_http_coupon_counters_t  *c;

    c = ctx->conf->counters;

    (void) ngx_atomic_fetch_add(&c->results[ctx->result], 1);

    if (ctx->result == NGX_HTTP_COUPON_ACCEPTED) {
        (void) ngx_atomic_fetch_add(&c->coupons, ctx->delivery.count);
    }

    ngx_http_coupon_metrics_observe(&c->request,
                               ngx_http_coupon_metrics_now() - ctx->started);

    if (ctx->parked) {
        ngx_http_coupon_metrics_observe(&c->redis, ctx->redis_time);
    }
}

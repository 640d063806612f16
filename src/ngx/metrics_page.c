/*
 * The location that shows the counters, in the text format of Prometheus.
 *
 * Labels are the server's name and the location as they stand in nginx.conf.
 */

#include "ngx_http_coupon.h"


/* room for one receiver: its lines times its labels, escaped, and numbers */
#define NGX_HTTP_COUPON_METRICS_LINES                                        \
    (NGX_HTTP_COUPON_METRICS_RESULTS                                         \
     + 2 * (NGX_HTTP_COUPON_METRICS_BUCKETS + 3) + 5)

#define NGX_HTTP_COUPON_METRICS_LINE                                         \
    (4 * NGX_HTTP_COUPON_METRICS_LABEL + 160)

#define NGX_HTTP_COUPON_METRICS_HEAD  8192


static ngx_buf_t *ngx_http_coupon_metrics_render(
    ngx_http_coupon_main_conf_t *cmcf, ngx_pool_t *pool);
static u_char *ngx_http_coupon_metrics_gauges(u_char *p,
    ngx_http_coupon_shared_t *shared);
static u_char *ngx_http_coupon_metrics_results(u_char *p,
    ngx_http_coupon_counters_t **c, ngx_uint_t n);
static u_char *ngx_http_coupon_metrics_counter(u_char *p,
    ngx_http_coupon_counters_t **c, ngx_uint_t n, const char *name,
    const char *help, size_t offset);
static u_char *ngx_http_coupon_metrics_keys(u_char *p,
    ngx_http_coupon_counters_t **c, ngx_uint_t n);
static u_char *ngx_http_coupon_metrics_histogram(u_char *p,
    ngx_http_coupon_counters_t **c, ngx_uint_t n, const char *name,
    const char *help, size_t offset);
static u_char *ngx_http_coupon_metrics_head(u_char *p, const char *name,
    const char *type, const char *help);
static u_char *ngx_http_coupon_metrics_name(u_char *p,
    ngx_http_coupon_counters_t *c, const char *name);
static u_char *ngx_http_coupon_metrics_escape(u_char *p, u_char *text,
    size_t len);


static const char  *ngx_http_coupon_error_names[] = {
    "connect", "closed", "silent", "protocol", "unproven", "auth", "loading",
    "readonly", "oom", "misconf", "noreplicas", "busy", "wrongtype", "other"
};


ngx_int_t
ngx_http_coupon_metrics_handler(ngx_http_request_t *r)
{
    ngx_buf_t                     *b;
    ngx_int_t                      rc;
    ngx_uint_t                     i;
    ngx_chain_t                    out;
    ngx_http_coupon_loc_conf_t   **receiver;
    ngx_http_coupon_main_conf_t   *cmcf;

    if (!(r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD))) {
        return NGX_HTTP_NOT_ALLOWED;
    }

    rc = ngx_http_discard_request_body(r);
    if (rc != NGX_OK) {
        return rc;
    }

    cmcf = ngx_http_get_module_main_conf(r, ngx_http_coupon_callback_module);

    /* what is said about files holds also where nobody calls */

    receiver = cmcf->receivers.elts;

    for (i = 0; i < cmcf->receivers.nelts; i++) {
        if (receiver[i]->file != NULL) {
            ngx_http_coupon_file_look(receiver[i], r->connection->log);
        }
    }

    b = ngx_http_coupon_metrics_render(cmcf, r->pool);
    if (b == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    b->last_buf = (r == r->main) ? 1 : 0;
    b->last_in_chain = 1;

    ngx_str_set(&r->headers_out.content_type, "text/plain; version=0.0.4");
    r->headers_out.content_type_len = r->headers_out.content_type.len;
    r->headers_out.content_type_lowcase = NULL;
    r->headers_out.status = NGX_HTTP_OK;
    r->headers_out.content_length_n = b->last - b->pos;

    rc = ngx_http_send_header(r);

    if (rc == NGX_ERROR || rc > NGX_OK || r->header_only) {
        return rc;
    }

    out.buf = b;
    out.next = NULL;

    return ngx_http_output_filter(r, &out);
}


static ngx_buf_t *
ngx_http_coupon_metrics_render(ngx_http_coupon_main_conf_t *cmcf,
    ngx_pool_t *pool)
{
    ngx_buf_t                    *b;
    ngx_uint_t                    n;
    ngx_http_coupon_counters_t  **c;

    n = cmcf->counters.nelts;
    c = cmcf->counters.elts;

    b = ngx_create_temp_buf(pool, NGX_HTTP_COUPON_METRICS_HEAD
                                  + n * NGX_HTTP_COUPON_METRICS_LINES
                                      * NGX_HTTP_COUPON_METRICS_LINE);
    if (b == NULL) {
        return NULL;
    }

    b->last = ngx_http_coupon_metrics_gauges(b->last,
                              ngx_http_coupon_metrics_shared(cmcf->zone));
    b->last = ngx_http_coupon_metrics_results(b->last, c, n);

    b->last = ngx_http_coupon_metrics_counter(b->last, c, n,
                  "body_bytes_total", "Bytes of bodies read.",
                  offsetof(ngx_http_coupon_counters_t, body_bytes));

    b->last = ngx_http_coupon_metrics_counter(b->last, c, n,
                  "coupons_total", "Coupons in accepted callbacks.",
                  offsetof(ngx_http_coupon_counters_t, coupons));

    b->last = ngx_http_coupon_metrics_counter(b->last, c, n,
                  "file_errors_total", "Changed files that cannot be used.",
                  offsetof(ngx_http_coupon_counters_t, file_errors));

    b->last = ngx_http_coupon_metrics_keys(b->last, c, n);

    b->last = ngx_http_coupon_metrics_histogram(b->last, c, n,
                  "request_seconds", "The whole request.",
                  offsetof(ngx_http_coupon_counters_t, request));

    b->last = ngx_http_coupon_metrics_histogram(b->last, c, n,
                  "redis_seconds", "The Redis part of a request.",
                  offsetof(ngx_http_coupon_counters_t, redis));

    return b;
}


static u_char *
ngx_http_coupon_metrics_gauges(u_char *p, ngx_http_coupon_shared_t *shared)
{
    ngx_uint_t                 i;
    ngx_atomic_uint_t          pending, up, connections, always, fence;
    ngx_http_coupon_gauges_t  *g;

    pending = 0;
    up = 0;
    connections = 0;
    always = 0;
    fence = 0;

    for (i = 0; i < NGX_HTTP_COUPON_METRICS_PROCESSES; i++) {
        g = &shared->processes[i];

        if (g->pid == 0 || (kill(g->pid, 0) == -1 && ngx_errno == NGX_ESRCH)) {
            continue;
        }

        pending += g->pending;
        up += g->up;
        connections += g->connections;
        always += g->ways[NGX_HTTP_COUPON_WAY_ALWAYS];
        fence += g->ways[NGX_HTTP_COUPON_WAY_FENCE];
    }

    p = ngx_sprintf(p,
        "# HELP coupon_callback_pending Requests that wait for Redis now.\n"
        "# TYPE coupon_callback_pending gauge\n"
        "coupon_callback_pending %uA\n"
        "# HELP coupon_callback_redis_connections Connections configured.\n"
        "# TYPE coupon_callback_redis_connections gauge\n"
        "coupon_callback_redis_connections %uA\n"
        "# HELP coupon_callback_redis_connections_up Connections ready.\n"
        "# TYPE coupon_callback_redis_connections_up gauge\n"
        "coupon_callback_redis_connections_up %uA\n"
        "# HELP coupon_callback_redis_connections_durable Connections on which "
        "fsync is proven, and by what.\n"
        "# TYPE coupon_callback_redis_connections_durable gauge\n"
        "coupon_callback_redis_connections_durable{by=\"always\"} %uA\n"
        "coupon_callback_redis_connections_durable{by=\"fence\"} %uA\n"
        "# HELP coupon_callback_redis_errors_total Errors by their kind.\n"
        "# TYPE coupon_callback_redis_errors_total counter\n",
        pending, connections, up, always, fence);

    for (i = 0; i < NGX_HTTP_COUPON_ERROR_KINDS; i++) {
        p = ngx_sprintf(p,
                        "coupon_callback_redis_errors_total{kind=\"%s\"} %uA\n",
                        ngx_http_coupon_error_names[i],
                        shared->errors.kinds[i]);
    }

    return p;
}


static u_char *
ngx_http_coupon_metrics_results(u_char *p, ngx_http_coupon_counters_t **c,
    ngx_uint_t n)
{
    ngx_uint_t  i, k;

    p = ngx_http_coupon_metrics_head(p, "requests_total", "counter",
                                     "Callbacks by their result.");

    for (i = 0; i < n; i++) {
        for (k = 0; k < NGX_HTTP_COUPON_METRICS_RESULTS; k++) {
            p = ngx_http_coupon_metrics_name(p, c[i], "requests_total");
            p = ngx_sprintf(p, ",result=\"%s\"} %uA\n",
                            ngx_http_coupon_result_names[k], c[i]->results[k]);
        }
    }

    return p;
}


static u_char *
ngx_http_coupon_metrics_counter(u_char *p, ngx_http_coupon_counters_t **c,
    ngx_uint_t n, const char *name, const char *help, size_t offset)
{
    ngx_uint_t     i;
    ngx_atomic_t  *counter;

    p = ngx_http_coupon_metrics_head(p, name, "counter", help);

    for (i = 0; i < n; i++) {
        counter = (ngx_atomic_t *) ((u_char *) c[i] + offset);

        p = ngx_http_coupon_metrics_name(p, c[i], name);
        p = ngx_sprintf(p, "} %uA\n", *counter);
    }

    return p;
}


/* of those who verify with keys that expire */
static u_char *
ngx_http_coupon_metrics_keys(u_char *p, ngx_http_coupon_counters_t **c,
    ngx_uint_t n)
{
    ngx_uint_t          i;
    ngx_atomic_uint_t   expire;

    p = ngx_http_coupon_metrics_head(p, "keys_expire_seconds", "gauge",
                                     "Unix time when the keys expire.");

    for (i = 0; i < n; i++) {
        expire = c[i]->keys_expire;

        if (expire != 0) {
            p = ngx_http_coupon_metrics_name(p, c[i], "keys_expire_seconds");
            p = ngx_sprintf(p, "} %uA\n", expire);
        }
    }

    p = ngx_http_coupon_metrics_head(p, "keys_expired", "gauge",
                                     "1: the keys have expired, fetch them.");

    for (i = 0; i < n; i++) {
        expire = c[i]->keys_expire;

        if (expire != 0) {
            p = ngx_http_coupon_metrics_name(p, c[i], "keys_expired");
            p = ngx_sprintf(p, "} %d\n",
                            expire <= (ngx_atomic_uint_t) ngx_time());
        }
    }

    return p;
}


static u_char *
ngx_http_coupon_metrics_histogram(u_char *p, ngx_http_coupon_counters_t **c,
    ngx_uint_t n, const char *name, const char *help, size_t offset)
{
    u_char                       suffixed[64];
    ngx_uint_t                   i, k;
    ngx_atomic_uint_t            count, below;
    ngx_http_coupon_histogram_t *h;

    p = ngx_http_coupon_metrics_head(p, name, "histogram", help);

    for (i = 0; i < n; i++) {
        h = (ngx_http_coupon_histogram_t *) ((u_char *) c[i] + offset);

        /* read first: what comes meanwhile must not make a bucket larger */

        count = h->count;
        below = 0;

        (void) ngx_sprintf(suffixed, "%s_bucket%Z", name);

        for (k = 0; k < NGX_HTTP_COUPON_METRICS_BUCKETS; k++) {
            below += h->buckets[k];

            p = ngx_http_coupon_metrics_name(p, c[i], (char *) suffixed);
            p = ngx_sprintf(p, ",le=\"%s\"} %uA\n",
                            ngx_http_coupon_buckets[k].le,
                            ngx_min(below, count));
        }

        p = ngx_http_coupon_metrics_name(p, c[i], (char *) suffixed);
        p = ngx_sprintf(p, ",le=\"+Inf\"} %uA\n", count);

        (void) ngx_sprintf(suffixed, "%s_sum%Z", name);
        p = ngx_http_coupon_metrics_name(p, c[i], (char *) suffixed);
        p = ngx_sprintf(p, "} %uA.%06uA\n", h->sum / 1000000,
                        h->sum % 1000000);

        (void) ngx_sprintf(suffixed, "%s_count%Z", name);
        p = ngx_http_coupon_metrics_name(p, c[i], (char *) suffixed);
        p = ngx_sprintf(p, "} %uA\n", count);
    }

    return p;
}


static u_char *
ngx_http_coupon_metrics_head(u_char *p, const char *name, const char *type,
    const char *help)
{
    return ngx_sprintf(p, "# HELP coupon_callback_%s %s\n"
                          "# TYPE coupon_callback_%s %s\n",
                       name, help, name, type);
}


/* the name and the labels that all have, up to where others may follow */
static u_char *
ngx_http_coupon_metrics_name(u_char *p, ngx_http_coupon_counters_t *c,
    const char *name)
{
    p = ngx_sprintf(p, "coupon_callback_%s{server=\"", name);
    p = ngx_http_coupon_metrics_escape(p, c->server, c->server_len);
    p = ngx_sprintf(p, "\",location=\"");
    p = ngx_http_coupon_metrics_escape(p, c->location, c->location_len);
    *p++ = '"';

    return p;
}


/* a label value: backslash, quote and line feed have a form of their own */
static u_char *
ngx_http_coupon_metrics_escape(u_char *p, u_char *text, size_t len)
{
    size_t  i;

    for (i = 0; i < len; i++) {

        if (text[i] == '\\' || text[i] == '"') {
            *p++ = '\\';
        }

        if (text[i] == '\n') {
            *p++ = '\\';
            *p++ = 'n';
            continue;
        }

        *p++ = text[i];
    }

    return p;
}

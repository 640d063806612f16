/*
 * What a sender gets to read: JSON, whatever happened.
 *
 * The answers of this module are sent directly, so that an error_page of the
 * server, meant for people, never turns a 503 into something else.  Errors that
 * nginx itself finds in a receiving location before the module sees the request
 * (a body too large, a bad chunk) pass through the filter below, which puts the
 * same JSON in the place of nginx's page.
 */

#include "ngx_http_coupon.h"


#define NGX_HTTP_COUPON_RETRY_AFTER  "10"


typedef struct {
    ngx_uint_t   status;
    const char  *code;
    const char  *message;
} ngx_http_coupon_error_t;


static ngx_int_t ngx_http_coupon_answer_send(ngx_http_request_t *r,
    ngx_uint_t status, ngx_buf_t *b);
static ngx_int_t ngx_http_coupon_answer_header(ngx_http_request_t *r,
    const char *name, const char *value);
static const ngx_http_coupon_error_t *ngx_http_coupon_answer_default(
    ngx_uint_t status);
static ngx_buf_t *ngx_http_coupon_answer_json(ngx_http_request_t *r,
    const char *code, const char *message);
static ngx_int_t ngx_http_coupon_answer_header_filter(ngx_http_request_t *r);
static ngx_int_t ngx_http_coupon_answer_body_filter(ngx_http_request_t *r,
    ngx_chain_t *in);


static ngx_http_output_header_filter_pt  ngx_http_next_header_filter;
static ngx_http_output_body_filter_pt    ngx_http_next_body_filter;


static const ngx_http_coupon_error_t  ngx_http_coupon_errors[] = {
    { 400, "bad_request", "the request is not valid HTTP" },
    { 405, "method_not_allowed", "callbacks are sent by POST" },
    { 408, "too_slow", "the body did not arrive in time" },
    { 413, "too_large", "the body is larger than this location takes" },
    { 415, "unsupported_encoding", "the body must be sent without "
                                   "Content-Encoding" },
    { 500, "internal_error", "the request could not be handled" },
    { 503, "unavailable", "the request cannot be handled now" },
    { 0, "refused", "the request was refused" }
};


ngx_int_t
ngx_http_coupon_answer_success(ngx_http_request_t *r, ngx_uint_t n)
{
    ngx_buf_t  *b;

    b = ngx_create_temp_buf(r->pool, sizeof("{\"success\":true,\"processed\":}")
                                     + NGX_INT_T_LEN);
    if (b == NULL) {
        return NGX_ERROR;
    }

    b->last = ngx_sprintf(b->last, "{\"success\":true,\"processed\":%ui}", n);

    return ngx_http_coupon_answer_send(r, NGX_HTTP_OK, b);
}


ngx_int_t
ngx_http_coupon_answer_error(ngx_http_request_t *r, ngx_uint_t status,
    const char *code, const char *message)
{
    ngx_buf_t                      *b;
    const ngx_http_coupon_error_t  *error;

    error = ngx_http_coupon_answer_default(status);

    b = ngx_http_coupon_answer_json(r, code ? code : error->code,
                                    message ? message : error->message);
    if (b == NULL) {
        return NGX_ERROR;
    }

    if (status == NGX_HTTP_SERVICE_UNAVAILABLE
        && ngx_http_coupon_answer_header(r, "Retry-After",
                                         NGX_HTTP_COUPON_RETRY_AFTER)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (status == NGX_HTTP_NOT_ALLOWED
        && ngx_http_coupon_answer_header(r, "Allow", "POST") != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_http_coupon_answer_send(r, status, b);
}


static ngx_int_t
ngx_http_coupon_answer_send(ngx_http_request_t *r, ngx_uint_t status,
    ngx_buf_t *b)
{
    ngx_int_t               rc;
    ngx_chain_t             out;
    ngx_http_coupon_ctx_t  *ctx;

    ctx = ngx_http_coupon_request_ctx(r);

    if (ctx != NULL) {
        ctx->answered = 1;
    }

    b->last_buf = 1;
    b->last_in_chain = 1;

    r->headers_out.status = status;
    r->headers_out.content_length_n = b->last - b->pos;
    ngx_str_set(&r->headers_out.content_type, "application/json");
    r->headers_out.content_type_len = r->headers_out.content_type.len;
    r->headers_out.content_type_lowcase = NULL;

    rc = ngx_http_send_header(r);

    if (rc == NGX_ERROR || rc > NGX_OK || r->header_only) {
        return rc;
    }

    out.buf = b;
    out.next = NULL;

    return ngx_http_output_filter(r, &out);
}


static ngx_int_t
ngx_http_coupon_answer_header(ngx_http_request_t *r, const char *name,
    const char *value)
{
    ngx_table_elt_t  *h;

    h = ngx_list_push(&r->headers_out.headers);
    if (h == NULL) {
        return NGX_ERROR;
    }

    ngx_memzero(h, sizeof(ngx_table_elt_t));

    h->hash = 1;
    h->key.data = (u_char *) name;
    h->key.len = ngx_strlen(name);
    h->value.data = (u_char *) value;
    h->value.len = ngx_strlen(value);

    return NGX_OK;
}


static const ngx_http_coupon_error_t *
ngx_http_coupon_answer_default(ngx_uint_t status)
{
    const ngx_http_coupon_error_t  *error;

    for (error = ngx_http_coupon_errors; error->status != 0; error++) {
        if (error->status == status) {
            break;
        }
    }

    return error;
}


static ngx_buf_t *
ngx_http_coupon_answer_json(ngx_http_request_t *r, const char *code,
    const char *message)
{
    ngx_buf_t  *b;

    static const char  format[] = "{\"success\":false,\"error\":\"%s\","
                                  "\"message\":\"%s\"}";

    b = ngx_create_temp_buf(r->pool, sizeof(format) + ngx_strlen(code)
                                     + ngx_strlen(message));
    if (b == NULL) {
        return NULL;
    }

    b->last = ngx_sprintf(b->last, format, code, message);

    return b;
}


void
ngx_http_coupon_answer_init(void)
{
    ngx_http_next_header_filter = ngx_http_top_header_filter;
    ngx_http_top_header_filter = ngx_http_coupon_answer_header_filter;

    ngx_http_next_body_filter = ngx_http_top_body_filter;
    ngx_http_top_body_filter = ngx_http_coupon_answer_body_filter;
}


static ngx_int_t
ngx_http_coupon_answer_header_filter(ngx_http_request_t *r)
{
    ngx_buf_t                      *b;
    ngx_http_coupon_ctx_t          *ctx;
    ngx_http_coupon_loc_conf_t     *conf;
    const ngx_http_coupon_error_t  *error;

    conf = ngx_http_get_module_loc_conf(r, ngx_http_coupon_callback_module);

    if (conf->provider == NULL
        || r->headers_out.status < NGX_HTTP_BAD_REQUEST || r != r->main)
    {
        return ngx_http_next_header_filter(r);
    }

    ctx = ngx_http_coupon_request_ctx(r);

    if (ctx == NULL) {
        ctx = ngx_pcalloc(r->pool, sizeof(ngx_http_coupon_ctx_t));
        if (ctx == NULL) {
            return NGX_ERROR;
        }

        ctx->result = NGX_HTTP_COUPON_NO_RESULT;
        ngx_http_set_ctx(r, ctx, ngx_http_coupon_callback_module);
    }

    if (ctx->answered) {
        return ngx_http_next_header_filter(r);
    }

    error = ngx_http_coupon_answer_default(r->headers_out.status);
    b = ngx_http_coupon_answer_json(r, error->code, error->message);
    ctx->answer = ngx_alloc_chain_link(r->pool);

    if (b == NULL || ctx->answer == NULL) {
        return NGX_ERROR;
    }

    b->last_buf = 1;
    b->last_in_chain = 1;
    ctx->answer->buf = b;
    ctx->answer->next = NULL;
    ctx->answered = 1;

    ngx_http_clear_content_length(r);
    ngx_http_clear_accept_ranges(r);
    r->headers_out.content_length_n = b->last - b->pos;
    ngx_str_set(&r->headers_out.content_type, "application/json");
    r->headers_out.content_type_len = r->headers_out.content_type.len;
    r->headers_out.content_type_lowcase = NULL;

    return ngx_http_next_header_filter(r);
}


static ngx_int_t
ngx_http_coupon_answer_body_filter(ngx_http_request_t *r, ngx_chain_t *in)
{
    ngx_chain_t            *cl;
    ngx_http_coupon_ctx_t  *ctx;

    ctx = ngx_http_coupon_request_ctx(r);

    if (ctx == NULL || ctx->answer == NULL || in == NULL) {
        return ngx_http_next_body_filter(r, in);
    }

    /* what nginx wanted to say counts as said */

    for (cl = in; cl; cl = cl->next) {
        cl->buf->pos = cl->buf->last;
        cl->buf->file_pos = cl->buf->file_last;
    }

    cl = ctx->answer;
    ctx->answer = NULL;

    return ngx_http_next_body_filter(r, cl);
}

/*
 * Is this a callback, and from whom it says?  What the head can tell, then what
 * the provider says of the body, and what the log says of that.
 *
 * The provider knows nothing of nginx: what it looks at is collected here.
 */

#include "ngx_http_coupon.h"


static ngx_int_t ngx_http_coupon_verify_value(ngx_http_request_t *r,
    ngx_http_complex_value_t *value, cc_str_t *out);


ngx_uint_t
ngx_http_coupon_verify_head(ngx_http_request_t *r)
{
    ngx_uint_t        i;
    ngx_list_part_t  *part;
    ngx_table_elt_t  *h;

    static ngx_str_t  name = ngx_string("content-encoding");

    if (r->method != NGX_HTTP_POST) {
        return NGX_HTTP_NOT_ALLOWED;
    }

    for (part = &r->headers_in.headers.part; part; part = part->next) {
        h = part->elts;

        for (i = 0; i < part->nelts; i++) {

            if (h[i].key.len == name.len
                && ngx_strncasecmp(h[i].key.data, name.data, name.len) == 0
                && (h[i].value.len != sizeof("identity") - 1
                    || ngx_strncasecmp(h[i].value.data, (u_char *) "identity",
                                       sizeof("identity") - 1) != 0))
            {
                return NGX_HTTP_UNSUPPORTED_MEDIA_TYPE;
            }
        }
    }

    return 0;
}


cc_verdict_e
ngx_http_coupon_verify_body(ngx_http_coupon_ctx_t *ctx)
{
    ngx_time_t                  *tp;
    cc_callback_t                callback;
    ngx_http_request_t          *r;
    ngx_http_coupon_loc_conf_t  *conf;

    r = ctx->request;
    conf = ctx->conf;
    tp = ngx_timeofday();

    ngx_memzero(&callback, sizeof(cc_callback_t));

    callback.body = ctx->body;
    callback.now_ms = (int64_t) tp->sec * 1000 + tp->msec;

    if (conf->file != NULL) {
        ngx_http_coupon_file_look(conf, r->connection->log);
    }

    if (conf->unwrapped) {
        ngx_http_coupon_push_head(r, &callback);
    }

    if (ngx_http_coupon_verify_value(r, conf->proof, &callback.signature)
           != NGX_OK
        || ngx_http_coupon_verify_value(r, conf->signed_prefix,
                                         &callback.signed_prefix) != NGX_OK
        || ngx_http_coupon_verify_value(r, conf->timestamp,
                                         &callback.timestamp) != NGX_OK)
    {
        ctx->delivery.reason = "no memory";
        return CC_VERDICT_FAILED;
    }

    return conf->provider->verify(conf->verifier, &callback, &ctx->delivery);
}


static ngx_int_t
ngx_http_coupon_verify_value(ngx_http_request_t *r,
    ngx_http_complex_value_t *value, cc_str_t *out)
{
    ngx_str_t  text;

    ngx_str_null(&text);

    if (value != NULL && ngx_http_complex_value(r, value, &text) != NGX_OK) {
        return NGX_ERROR;
    }

    out->data = text.data;
    out->len = text.len;

    return NGX_OK;
}


void
ngx_http_coupon_verify_log(ngx_http_coupon_ctx_t *ctx, cc_verdict_e verdict)
{
    ngx_log_t      *log;
    cc_delivery_t  *delivery;

    log = ctx->request->connection->log;
    delivery = &ctx->delivery;

    switch (verdict) {

    case CC_VERDICT_ACCEPTED:
        break;

    case CC_VERDICT_UNREADABLE:
        ngx_log_error(NGX_LOG_WARN, log, 0,
                      "coupon_callback: unreadable at byte %uz: %s",
                      delivery->offset, delivery->reason);
        break;

    case CC_VERDICT_UNSIGNED:
        ngx_log_error(NGX_LOG_WARN, log, 0, "coupon_callback: unsigned: %s",
                      delivery->reason);
        break;

    case CC_VERDICT_FOREIGN:
        ngx_log_error(NGX_LOG_WARN, log, 0, "coupon_callback: foreign: %s",
                      delivery->reason);
        break;

    case CC_VERDICT_MALFORMED:
        ngx_log_error(NGX_LOG_ERR, log, 0,
                      "coupon_callback: malformed at byte %uz, batch \"%*s\": "
                      "%s", delivery->offset, delivery->id_len, delivery->id,
                      delivery->reason);
        break;

    case CC_VERDICT_UNUSABLE:
        ngx_log_error(NGX_LOG_ERR, log, 0,
                      "coupon_callback: unusable, id \"%*s\": %s",
                      delivery->id_len, delivery->id, delivery->reason);
        break;

    case CC_VERDICT_FAILED:
        ngx_log_error(NGX_LOG_CRIT, log, 0,
                      "coupon_callback: cannot be judged now: %s",
                      delivery->reason);
        break;
    }
}

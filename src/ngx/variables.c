/*
 * $coupon_callback_result, _id, _count and _redis_time, for log_format.
 */

#include "ngx_http_coupon.h"


static ngx_int_t ngx_http_coupon_variable_result(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_coupon_variable_id(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_coupon_variable_count(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_coupon_variable_redis_time(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_coupon_variable_text(ngx_http_variable_value_t *v,
    const void *data, size_t len);


static ngx_http_variable_t  ngx_http_coupon_variables[] = {

    { ngx_string("coupon_callback_result"), NULL,
      ngx_http_coupon_variable_result, 0, NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("coupon_callback_id"), NULL,
      ngx_http_coupon_variable_id, 0, NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("coupon_callback_count"), NULL,
      ngx_http_coupon_variable_count, 0, NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("coupon_callback_redis_time"), NULL,
      ngx_http_coupon_variable_redis_time, 0, NGX_HTTP_VAR_NOCACHEABLE, 0 },

      ngx_http_null_variable
};


ngx_int_t
ngx_http_coupon_variables_init(ngx_conf_t *cf)
{
    ngx_http_variable_t  *var, *v;

    for (v = ngx_http_coupon_variables; v->name.len; v++) {
        var = ngx_http_add_variable(cf, &v->name, v->flags);
        if (var == NULL) {
            return NGX_ERROR;
        }

        var->get_handler = v->get_handler;
        var->data = v->data;
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_coupon_variable_result(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    const char             *name;
    ngx_http_coupon_ctx_t  *ctx;

    ctx = ngx_http_coupon_request_ctx(r);

    if (ctx == NULL || ctx->result == NGX_HTTP_COUPON_NO_RESULT) {
        v->not_found = 1;
        return NGX_OK;
    }

    name = ngx_http_coupon_result_names[ctx->result];

    return ngx_http_coupon_variable_text(v, name, ngx_strlen(name));
}


static ngx_int_t
ngx_http_coupon_variable_id(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    ngx_http_coupon_ctx_t  *ctx;

    ctx = ngx_http_coupon_request_ctx(r);

    if (ctx == NULL || ctx->delivery.id_len == 0) {
        v->not_found = 1;
        return NGX_OK;
    }

    return ngx_http_coupon_variable_text(v, ctx->delivery.id,
                                         ctx->delivery.id_len);
}


static ngx_int_t
ngx_http_coupon_variable_count(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    u_char                 *p;
    ngx_http_coupon_ctx_t  *ctx;

    ctx = ngx_http_coupon_request_ctx(r);

    if (ctx == NULL || ctx->delivery.count == 0) {
        v->not_found = 1;
        return NGX_OK;
    }

    p = ngx_pnalloc(r->pool, NGX_INT_T_LEN);
    if (p == NULL) {
        return NGX_ERROR;
    }

    return ngx_http_coupon_variable_text(v, p,
                        ngx_sprintf(p, "%uD", ctx->delivery.count) - p);
}


/* seconds with milliseconds, as in $upstream_response_time */
static ngx_int_t
ngx_http_coupon_variable_redis_time(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    u_char                 *p;
    uint64_t                ms;
    ngx_http_coupon_ctx_t  *ctx;

    ctx = ngx_http_coupon_request_ctx(r);

    if (ctx == NULL || ctx->parked == 0) {
        v->not_found = 1;
        return NGX_OK;
    }

    p = ngx_pnalloc(r->pool, NGX_INT64_LEN + 4);
    if (p == NULL) {
        return NGX_ERROR;
    }

    ms = (ctx->redis_time + 500) / 1000;

    return ngx_http_coupon_variable_text(v, p,
                  ngx_sprintf(p, "%uL.%03uL", ms / 1000, ms % 1000) - p);
}


static ngx_int_t
ngx_http_coupon_variable_text(ngx_http_variable_value_t *v, const void *data,
    size_t len)
{
    v->data = (u_char *) data;
    v->len = len;
    v->valid = 1;
    v->no_cacheable = 0;
    v->not_found = 0;

    return NGX_OK;
}

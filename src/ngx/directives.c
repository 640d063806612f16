/*
 * Directives with a form of their own: nginx.conf to configuration.
 *
 * A setter refuses what is wrong by itself; what is wrong only together with
 * other directives is refused in complete.c.
 */

#include "ngx_http_coupon.h"


#define NGX_HTTP_COUPON_REPLICAS_MAX  16


static ngx_int_t ngx_http_coupon_hash(ngx_str_t *name, ngx_uint_t *hash);


char *
ngx_http_coupon_set_signature(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_coupon_loc_conf_t *lcf = conf;

    ngx_str_t   *value, text;
    ngx_uint_t   i;

    if (lcf->signature != NGX_CONF_UNSET_PTR) {
        return "is duplicate";
    }

    value = cf->args->elts;

    lcf->signature = ngx_http_coupon_value(cf, &value[1]);
    if (lcf->signature == NULL) {
        return NGX_CONF_ERROR;
    }

    lcf->hash = CC_HASH_SHA256;
    lcf->encoding = CC_ENCODING_HEX;
    ngx_str_set(&lcf->signature_prefix, "");

    for (i = 2; i < cf->args->nelts; i++) {

        if (ngx_http_coupon_option(&value[i], "prefix=", &text)) {
            lcf->signature_prefix = text;
            continue;
        }

        if (ngx_http_coupon_option(&value[i], "encoding=", &text)
            && ngx_http_coupon_encoding(&text, &lcf->encoding) == NGX_OK)
        {
            continue;
        }

        if (ngx_http_coupon_option(&value[i], "hash=", &text)
            && ngx_http_coupon_hash(&text, &lcf->hash) == NGX_OK)
        {
            continue;
        }

        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid parameter \"%V\" in \"%V\"", &value[i],
                           &cmd->name);
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


char *
ngx_http_coupon_set_timestamp(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_coupon_loc_conf_t *lcf = conf;

    ngx_int_t   ms;
    ngx_str_t  *value, text;

    if (lcf->timestamp != NGX_CONF_UNSET_PTR) {
        return "is duplicate";
    }

    value = cf->args->elts;

    lcf->tolerance = 5 * 60 * 1000;

    if (cf->args->nelts == 2 && value[1].len == 3
        && ngx_strncmp(value[1].data, "off", 3) == 0)
    {
        lcf->timestamp = NULL;
        return NGX_CONF_OK;
    }

    lcf->timestamp = ngx_http_coupon_value(cf, &value[1]);
    if (lcf->timestamp == NULL) {
        return NGX_CONF_ERROR;
    }

    if (cf->args->nelts == 2) {
        return NGX_CONF_OK;
    }

    ms = NGX_ERROR;

    if (ngx_http_coupon_option(&value[2], "tolerance=", &text)) {
        ms = ngx_parse_time(&text, 0);
    }

    if (ms == NGX_ERROR || ms == 0) {
        return "takes \"tolerance=TIME\" after its value, more than 0";
    }

    lcf->tolerance = ms;

    return NGX_CONF_OK;
}


char *
ngx_http_coupon_set_pattern(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    char  *p = conf;

    ngx_str_t                   *value;
    ngx_http_coupon_pattern_t  **pattern;

    pattern = (ngx_http_coupon_pattern_t **) (p + cmd->offset);

    if (*pattern != NGX_CONF_UNSET_PTR) {
        return "is duplicate";
    }

    value = cf->args->elts;
    *pattern = ngx_http_coupon_pattern(cf, &value[1]);

    return *pattern ? NGX_CONF_OK : "has a pattern that cannot be compiled";
}


char *
ngx_http_coupon_set_ack(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_coupon_loc_conf_t *lcf = conf;

    ngx_int_t   n;
    ngx_str_t  *value, text;

    if (lcf->ack.what != NGX_CONF_UNSET_UINT) {
        return "is duplicate";
    }

    value = cf->args->elts;

    if (ngx_strcmp(value[1].data, "fsync") == 0) {
        lcf->ack.what = NGX_HTTP_COUPON_ACK_FSYNC;

    } else if (ngx_strcmp(value[1].data, "enqueued") == 0) {
        lcf->ack.what = NGX_HTTP_COUPON_ACK_ENQUEUED;

    } else if (ngx_http_coupon_option(&value[1], "replicas=", &text)) {
        n = ngx_atoi(text.data, text.len);

        if (n == NGX_ERROR || n == 0 || n > NGX_HTTP_COUPON_REPLICAS_MAX) {
            return "takes \"replicas=N\" with N from 1 to 16";
        }

        lcf->ack.what = NGX_HTTP_COUPON_ACK_REPLICAS;
        lcf->ack.replicas = n;

    } else {
        return "takes \"fsync\", \"enqueued\" or \"replicas=N\"";
    }

    if (cf->args->nelts == 2) {
        return NGX_CONF_OK;
    }

    n = NGX_ERROR;

    if (lcf->ack.what != NGX_HTTP_COUPON_ACK_ENQUEUED
        && ngx_http_coupon_option(&value[2], "timeout=", &text))
    {
        n = ngx_parse_time(&text, 0);
    }

    if (n == NGX_ERROR || n == 0 || n >= NGX_HTTP_COUPON_PATIENCE) {
        return "takes \"timeout=TIME\" after \"fsync\" or \"replicas=N\", "
               "more than 0 and less than 10 seconds";
    }

    lcf->ack_timeout = n;

    return NGX_CONF_OK;
}


char *
ngx_http_coupon_set_quarantine(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_coupon_loc_conf_t *lcf = conf;

    ngx_str_t  *value;

    if (lcf->quarantine != NGX_CONF_UNSET) {
        return "is duplicate";
    }

    value = cf->args->elts;

    if (ngx_strcmp(value[1].data, "off") == 0) {
        lcf->quarantine = 0;
        return NGX_CONF_OK;
    }

    lcf->quarantine = ngx_atoi(value[1].data, value[1].len);

    if (lcf->quarantine == NGX_ERROR || lcf->quarantine == 0) {
        return "takes a number of bodies, or \"off\"";
    }

    return NGX_CONF_OK;
}


ngx_http_complex_value_t *
ngx_http_coupon_value(ngx_conf_t *cf, ngx_str_t *text)
{
    ngx_http_complex_value_t          *value;
    ngx_http_compile_complex_value_t   ccv;

    value = ngx_palloc(cf->pool, sizeof(ngx_http_complex_value_t));
    if (value == NULL) {
        return NULL;
    }

    ngx_memzero(&ccv, sizeof(ngx_http_compile_complex_value_t));
    ccv.cf = cf;
    ccv.value = text;
    ccv.complex_value = value;

    return ngx_http_compile_complex_value(&ccv) == NGX_OK ? value : NULL;
}


ngx_int_t
ngx_http_coupon_encoding(ngx_str_t *name, ngx_uint_t *encoding)
{
    if (name->len == 3 && ngx_strncmp(name->data, "hex", 3) == 0) {
        *encoding = CC_ENCODING_HEX;
        return NGX_OK;
    }

    if (name->len == 6 && ngx_strncmp(name->data, "base64", 6) == 0) {
        *encoding = CC_ENCODING_BASE64;
        return NGX_OK;
    }

    return NGX_ERROR;
}


static ngx_int_t
ngx_http_coupon_hash(ngx_str_t *name, ngx_uint_t *hash)
{
    ngx_uint_t  i;

    static const struct {
        ngx_str_t   name;
        cc_hash_e   hash;
    } hashes[] = {
        { ngx_string("sha256"), CC_HASH_SHA256 },
        { ngx_string("sha512"), CC_HASH_SHA512 },
        { ngx_string("sha1"),   CC_HASH_SHA1 }
    };

    for (i = 0; i < sizeof(hashes) / sizeof(hashes[0]); i++) {
        if (name->len == hashes[i].name.len
            && ngx_strncmp(name->data, hashes[i].name.data, name->len) == 0)
        {
            *hash = hashes[i].hash;
            return NGX_OK;
        }
    }

    return NGX_ERROR;
}


/* "name=value": 1 and the value, or 0 */
ngx_uint_t
ngx_http_coupon_option(ngx_str_t *argument, const char *name, ngx_str_t *value)
{
    size_t  len;

    len = ngx_strlen(name);

    if (argument->len < len || ngx_strncmp(argument->data, name, len) != 0) {
        return 0;
    }

    value->data = argument->data + len;
    value->len = argument->len - len;

    return 1;
}

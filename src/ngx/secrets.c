/*
 * Secrets: as they stand in nginx.conf, or in a file of their own, encoded or
 * not.  They are read when the configuration is, and never appear in a message.
 *
 * What comes out of a file is overwritten when the configuration goes; what
 * stands in nginx.conf itself, nginx has read with the rest, and keeps as it
 * keeps that.
 */

#include "ngx_http_coupon.h"


#define NGX_HTTP_COUPON_SECRET_MAX  4096


static ngx_int_t ngx_http_coupon_read_file(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_str_t *name, ngx_str_t *text);
static u_char *ngx_http_coupon_secret_alloc(ngx_conf_t *cf, size_t len);
static void ngx_http_coupon_secret_wipe(void *data);


char *
ngx_http_coupon_set_secret(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_coupon_loc_conf_t *lcf = conf;

    int             n;
    u_char         *p;
    cc_str_t        text;
    ngx_str_t      *value, *secret, encoding, raw;
    ngx_uint_t      kind;

    value = cf->args->elts;

    if (lcf->secrets == NGX_CONF_UNSET_PTR) {
        lcf->secrets = ngx_array_create(cf->pool, 2, sizeof(ngx_str_t));
        if (lcf->secrets == NULL) {
            return NGX_CONF_ERROR;
        }
    }

    secret = ngx_array_push(lcf->secrets);
    if (secret == NULL) {
        return NGX_CONF_ERROR;
    }

    if (ngx_http_coupon_read_secret(cf, cmd, &value[1], &raw) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    if (cf->args->nelts == 2) {
        *secret = raw;
        return NGX_CONF_OK;
    }

    if (!ngx_http_coupon_option(&value[2], "encoding=", &encoding)
        || ngx_http_coupon_encoding(&encoding, &kind) != NGX_OK)
    {
        return "takes \"encoding=base64\" or \"encoding=hex\" after the secret";
    }

    p = ngx_http_coupon_secret_alloc(cf, raw.len);
    if (p == NULL) {
        return NGX_CONF_ERROR;
    }

    text.data = raw.data;
    text.len = raw.len;

    n = cc_decode(kind, text, p, raw.len);

    if (n <= 0) {
        return "has a secret that is not of its encoding, or empty";
    }

    secret->data = p;
    secret->len = n;

    return NGX_CONF_OK;
}


/* STRING or file:PATH, never empty */
ngx_int_t
ngx_http_coupon_read_secret(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_str_t *value, ngx_str_t *secret)
{
    ngx_str_t  name;

    *secret = *value;

    if (ngx_http_coupon_option(value, "file:", &name)
        && ngx_http_coupon_read_file(cf, cmd, &name, secret) != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (secret->len == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"%V\" has an empty secret",
                           &cmd->name);
        return NGX_ERROR;
    }

    return NGX_OK;
}


/* one line end behind the text is the editor's, not the secret's */
static ngx_int_t
ngx_http_coupon_read_file(ngx_conf_t *cf, ngx_command_t *cmd, ngx_str_t *name,
    ngx_str_t *text)
{
    ssize_t     n;
    ngx_fd_t    fd;
    ngx_err_t   err;
    u_char      buf[NGX_HTTP_COUPON_SECRET_MAX + 1];

    if (ngx_conf_full_name(cf->cycle, name, 1) != NGX_OK) {
        return NGX_ERROR;
    }

    fd = ngx_open_file(name->data, NGX_FILE_RDONLY, NGX_FILE_OPEN, 0);
    n = -1;

    if (fd != NGX_INVALID_FILE) {
        n = ngx_read_fd(fd, buf, NGX_HTTP_COUPON_SECRET_MAX + 1);
    }

    err = ngx_errno;

    if (fd != NGX_INVALID_FILE) {
        (void) ngx_close_file(fd);
    }

    if (n == -1) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, err,
                           "\"%V\" cannot read the file \"%V\"", &cmd->name,
                           name);
        return NGX_ERROR;
    }

    if (n > NGX_HTTP_COUPON_SECRET_MAX) {
        ngx_explicit_memzero(buf, sizeof(buf));
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"%V\": the file \"%V\" is longer than %d bytes",
                           &cmd->name, name, NGX_HTTP_COUPON_SECRET_MAX);
        return NGX_ERROR;
    }

    if (n > 0 && buf[n - 1] == LF) {
        n--;

        if (n > 0 && buf[n - 1] == CR) {
            n--;
        }
    }

    if (n == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"%V\": the file \"%V\" is empty", &cmd->name,
                           name);
        return NGX_ERROR;
    }

    text->len = n;
    text->data = ngx_http_coupon_secret_alloc(cf, n);

    if (text->data != NULL) {
        ngx_memcpy(text->data, buf, n);
    }

    ngx_explicit_memzero(buf, sizeof(buf));

    return text->data != NULL ? NGX_OK : NGX_ERROR;
}


static u_char *
ngx_http_coupon_secret_alloc(ngx_conf_t *cf, size_t len)
{
    ngx_str_t           *secret;
    ngx_pool_cleanup_t  *cln;

    cln = ngx_pool_cleanup_add(cf->pool, sizeof(ngx_str_t));
    if (cln == NULL) {
        return NULL;
    }

    secret = cln->data;
    secret->len = len;
    secret->data = ngx_pnalloc(cf->pool, len);

    if (secret->data != NULL) {
        cln->handler = ngx_http_coupon_secret_wipe;
    }

    return secret->data;
}


static void
ngx_http_coupon_secret_wipe(void *data)
{
    ngx_str_t *secret = data;

    ngx_explicit_memzero(secret->data, secret->len);
}

/*
 * The request's body as one piece of bytes, wherever nginx has put it: in one
 * buffer, in two (what came with the head stays apart), in a temporary file, or
 * in both.  The signature is over exactly these bytes.
 */

#include "ngx_http_coupon.h"


static ngx_int_t ngx_http_coupon_body_copy(ngx_http_request_t *r,
    ngx_buf_t *buf, u_char *to);


ngx_int_t
ngx_http_coupon_body(ngx_http_request_t *r, cc_str_t *body)
{
    off_t         size;
    u_char       *p;
    ngx_buf_t    *buf;
    ngx_chain_t  *cl;

    body->data = (u_char *) "";
    body->len = 0;

    if (r->request_body == NULL || r->request_body->bufs == NULL) {
        return NGX_OK;
    }

    cl = r->request_body->bufs;

    if (cl->next == NULL && ngx_buf_in_memory(cl->buf)) {
        body->data = cl->buf->pos;
        body->len = cl->buf->last - cl->buf->pos;
        return NGX_OK;
    }

    size = 0;

    for ( /* void */ ; cl; cl = cl->next) {
        size += ngx_buf_size(cl->buf);
    }

    p = ngx_palloc(r->pool, size ? (size_t) size : 1);
    if (p == NULL) {
        return NGX_ERROR;
    }

    body->data = p;
    body->len = (size_t) size;

    for (cl = r->request_body->bufs; cl; cl = cl->next) {
        buf = cl->buf;

        if (ngx_http_coupon_body_copy(r, buf, p) != NGX_OK) {
            return NGX_ERROR;
        }

        p += ngx_buf_size(buf);
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_coupon_body_copy(ngx_http_request_t *r, ngx_buf_t *buf, u_char *to)
{
    size_t   size;
    ssize_t  n;

    size = (size_t) ngx_buf_size(buf);

    if (ngx_buf_in_memory(buf)) {
        ngx_memcpy(to, buf->pos, size);
        return NGX_OK;
    }

    /* a body of no bytes: the buffer only says that it is the last */

    if (!buf->in_file) {
        return NGX_OK;
    }

    n = ngx_read_file(buf->file, to, size, buf->file_pos);

    if (n == NGX_ERROR) {
        return NGX_ERROR;
    }

    if ((size_t) n != size) {
        ngx_log_error(NGX_LOG_CRIT, r->connection->log, 0,
                      "coupon_callback: only %z of %uz bytes in \"%V\"",
                      n, size, &buf->file->name);
        return NGX_ERROR;
    }

    return NGX_OK;
}

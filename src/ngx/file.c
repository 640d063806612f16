/*
 * Roots and keys in files that others write: nginx's own look at a file is one
 * stat(2) a second, which costs nothing beside a signature.
 *
 * Which file it was is told by its inode, size and time of change (ctime), so
 * that a rename over it, a rewriting in place and new permissions are seen.  A
 * file caught half written is no disaster: it is refused, and its end changes
 * it again.
 */

#include "file.h"


#define NGX_HTTP_COUPON_FILE_MAX  (1024 * 1024)


static void *ngx_http_coupon_file_read(ngx_http_coupon_file_t *file,
    ngx_log_t *log);
static ngx_int_t ngx_http_coupon_file_text(ngx_http_coupon_file_t *file,
    ngx_fd_t fd, ngx_log_t *log, cc_str_t *text);
static void ngx_http_coupon_file_seen(ngx_http_coupon_file_t *file,
    ngx_file_info_t *fi);
static void ngx_http_coupon_file_cleanup(void *data);


ngx_int_t
ngx_http_coupon_file_open(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_http_coupon_file_t *file)
{
    ngx_pool_cleanup_t  *cln;

    if (ngx_conf_full_name(cf->cycle, &file->name, 1) != NGX_OK) {
        return NGX_ERROR;
    }

    cln = ngx_pool_cleanup_add(cf->pool, 0);
    if (cln == NULL) {
        return NGX_ERROR;
    }

    *file->thing = ngx_http_coupon_file_read(file, cf->log);

    if (*file->thing == NULL) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"%V\" cannot use the file \"%V\"", &cmd->name,
                           &file->name);
        return NGX_ERROR;
    }

    cln->handler = ngx_http_coupon_file_cleanup;
    cln->data = file;

    return NGX_OK;
}


ngx_int_t
ngx_http_coupon_file_refresh(ngx_http_coupon_file_t *file, ngx_log_t *log)
{
    void             *thing;
    ngx_file_info_t   fi;

    if (file->looked == ngx_time()) {
        return NGX_DECLINED;
    }

    file->looked = ngx_time();

    if (ngx_file_info(file->name.data, &fi) == NGX_FILE_ERROR) {

        if (file->missing == ngx_errno) {
            return NGX_DECLINED;
        }

        file->missing = ngx_errno;
        ngx_log_error(NGX_LOG_ERR, log, file->missing,
                      "coupon_callback: cannot look at \"%V\", what was read "
                      "before stays in use", &file->name);
        return NGX_ERROR;
    }

    file->missing = 0;

    if (ngx_file_uniq(&fi) == file->uniq && ngx_file_size(&fi) == file->size
        && fi.st_ctim.tv_sec == file->changed.tv_sec
        && fi.st_ctim.tv_nsec == file->changed.tv_nsec)
    {
        return NGX_DECLINED;
    }

    ngx_http_coupon_file_seen(file, &fi);
    thing = ngx_http_coupon_file_read(file, log);

    if (thing == NULL) {
        return NGX_ERROR;
    }

    file->destroy(*file->thing);
    *file->thing = thing;

    ngx_log_error(NGX_LOG_NOTICE, log, 0,
                  "coupon_callback: read \"%V\", which has changed",
                  &file->name);

    return NGX_OK;
}


static void *
ngx_http_coupon_file_read(ngx_http_coupon_file_t *file, ngx_log_t *log)
{
    void        *thing;
    ngx_fd_t     fd;
    cc_str_t     text;
    ngx_int_t    rc;
    const char  *reason;

    fd = ngx_open_file(file->name.data, NGX_FILE_RDONLY, NGX_FILE_OPEN, 0);

    if (fd == NGX_INVALID_FILE) {
        ngx_log_error(NGX_LOG_ERR, log, ngx_errno,
                      "coupon_callback: cannot open \"%V\"", &file->name);
        return NULL;
    }

    rc = ngx_http_coupon_file_text(file, fd, log, &text);
    (void) ngx_close_file(fd);

    if (rc != NGX_OK) {
        return NULL;
    }

    thing = file->make(file->json, text, &reason);
    ngx_free((void *) text.data);

    if (thing == NULL) {
        ngx_log_error(NGX_LOG_ERR, log, 0,
                      "coupon_callback: cannot use \"%V\": %s", &file->name,
                      reason);
    }

    return thing;
}


static ngx_int_t
ngx_http_coupon_file_text(ngx_http_coupon_file_t *file, ngx_fd_t fd,
    ngx_log_t *log, cc_str_t *text)
{
    u_char           *p;
    size_t            size;
    ssize_t           n;
    ngx_file_info_t   fi;

    if (ngx_fd_info(fd, &fi) == NGX_FILE_ERROR) {
        ngx_log_error(NGX_LOG_ERR, log, ngx_errno,
                      "coupon_callback: cannot look at \"%V\"", &file->name);
        return NGX_ERROR;
    }

    ngx_http_coupon_file_seen(file, &fi);

    p = ngx_alloc(NGX_HTTP_COUPON_FILE_MAX + 1, log);
    if (p == NULL) {
        return NGX_ERROR;
    }

    for (size = 0; size <= NGX_HTTP_COUPON_FILE_MAX; size += n) {
        n = ngx_read_fd(fd, p + size, NGX_HTTP_COUPON_FILE_MAX + 1 - size);

        if (n == 0) {
            text->data = p;
            text->len = size;
            return NGX_OK;
        }

        if (n == -1) {
            break;
        }
    }

    ngx_log_error(NGX_LOG_ERR, log, n == -1 ? ngx_errno : 0,
                  "coupon_callback: cannot read \"%V\", or it is larger than "
                  "%d bytes", &file->name, NGX_HTTP_COUPON_FILE_MAX);
    ngx_free(p);

    return NGX_ERROR;
}


/* good or bad: it is not read again before it changes */
static void
ngx_http_coupon_file_seen(ngx_http_coupon_file_t *file, ngx_file_info_t *fi)
{
    file->uniq = ngx_file_uniq(fi);
    file->size = ngx_file_size(fi);
    file->changed = fi->st_ctim;
}


static void
ngx_http_coupon_file_cleanup(void *data)
{
    ngx_http_coupon_file_t *file = data;

    file->destroy(*file->thing);
}

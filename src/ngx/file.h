/*
 * A file whose content is made into something: read when the configuration is,
 * and again, by the worker that needs it, when it has changed.  No reload.
 *
 * A worker looks at most once a second.  What cannot be read or made sense of
 * leaves the old thing in place, so that there always is one.
 */

#ifndef NGX_HTTP_COUPON_FILE_H
#define NGX_HTTP_COUPON_FILE_H

#include <ngx_config.h>
#include <ngx_core.h>

#include "core.h"
#include "json.h"


/* something out of a text, or NULL with a constant in *reason */
typedef void *(*ngx_http_coupon_make_pt)(cc_json_t *json, cc_str_t text,
    const char **reason);

typedef struct {
    ngx_str_t                 name;       /* absolute */
    void                    **thing;      /* where its user looks for it */
    ngx_http_coupon_make_pt   make;
    void                    (*destroy)(void *thing);
    cc_json_t                *json;

    /* of this process */
    time_t                    looked;
    ngx_err_t                 missing;    /* why it is not there; 0: it is */
    struct timespec           changed;    /* which file it was */
    off_t                     size;
    ngx_file_uniq_t           uniq;
} ngx_http_coupon_file_t;


/*
 * Reads it for the first time.  name, thing, make, destroy and json are set.
 * NGX_ERROR: logged.  The thing is destroyed with the pool of cf.
 */
ngx_int_t ngx_http_coupon_file_open(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_http_coupon_file_t *file);

/*
 * Reads it again if it has changed.  NGX_OK: it was read; NGX_DECLINED: there
 * is nothing new; NGX_ERROR: what is new is of no use, logged once.
 */
ngx_int_t ngx_http_coupon_file_refresh(ngx_http_coupon_file_t *file,
    ngx_log_t *log);


#endif /* NGX_HTTP_COUPON_FILE_H */

/*
 * The shapes of batch ids and coupon codes: PCRE patterns, through nginx.
 *
 * The default ones are told by a table instead.  A match costs a hundred times
 * what a short text costs to look at, and a batch has a hundred codes.
 */

#include "ngx_http_coupon.h"


#define NGX_HTTP_COUPON_SHORT  64          /* {1,64} of both defaults */


struct ngx_http_coupon_pattern_s {
    ngx_regex_t  *regex;                   /* NULL: the table does */
    uint32_t      bytes[8];                /* one bit for each that may stand */
};


ngx_http_coupon_pattern_t  ngx_http_coupon_batch_id = {
    NULL,                                  /* ^[\x21-\x7e]{1,64}$ */
    { 0, 0xfffffffe, 0xffffffff, 0x7fffffff, 0, 0, 0, 0 }
};

ngx_http_coupon_pattern_t  ngx_http_coupon_coupon_code = {
    NULL,                                  /* ^[0-9A-Za-z_-]{1,64}$ */
    { 0, 0x03ff2000, 0x87fffffe, 0x07fffffe, 0, 0, 0, 0 }
};


ngx_http_coupon_pattern_t *
ngx_http_coupon_pattern(ngx_conf_t *cf, ngx_str_t *text)
{
    u_char                      errstr[NGX_MAX_CONF_ERRSTR];
    ngx_regex_compile_t         rc;
    ngx_http_coupon_pattern_t  *pattern;

    pattern = ngx_pcalloc(cf->pool, sizeof(ngx_http_coupon_pattern_t));
    if (pattern == NULL) {
        return NULL;
    }

    ngx_memzero(&rc, sizeof(ngx_regex_compile_t));

    rc.pattern = *text;
    rc.pool = cf->pool;
    rc.err.len = NGX_MAX_CONF_ERRSTR;
    rc.err.data = errstr;

    if (ngx_regex_compile(&rc) != NGX_OK) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "%V", &rc.err);
        return NULL;
    }

    pattern->regex = rc.regex;

    return pattern;
}


int
ngx_http_coupon_shaped(void *data, cc_str_t text)
{
    ngx_http_coupon_pattern_t *pattern = data;

    size_t     i;
    u_char     c;
    ngx_str_t  s;

    if (pattern->regex == NULL) {

        for (i = 0; i < text.len; i++) {
            c = text.data[i];

            if (!(pattern->bytes[c >> 5] & (1U << (c & 0x1f)))) {
                return 0;
            }
        }

        return text.len != 0 && text.len <= NGX_HTTP_COUPON_SHORT;
    }

    /*
     * Whatever a pattern takes, a control character would forge lines of a log;
     * a "$" matches in front of a last line feed as well.
     */

    for (i = 0; i < text.len; i++) {
        if (text.data[i] < 0x20 || text.data[i] == 0x7f) {
            return 0;
        }
    }

    if (text.len == 0) {
        return 0;
    }

    s.data = (u_char *) text.data;
    s.len = text.len;

    return ngx_regex_exec(pattern->regex, &s, NULL, 0) >= 0;
}

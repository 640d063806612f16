/*
 * coupon_callback_redis: where the inbox is, and how it is reached.
 *
 * Whether what is given for TLS goes together is known when all of the
 * directive has been read.
 */

#include "ngx_http_coupon.h"


typedef struct {
    ngx_uint_t      on;
    ngx_str_t      *option;         /* the last of those that need it on */
    cc_tls_conf_t   conf;
} ngx_http_coupon_redis_tls_t;


static ngx_int_t ngx_http_coupon_redis_option(ngx_conf_t *cf,
    ngx_command_t *cmd, ngx_http_coupon_redis_t *redis,
    ngx_http_coupon_redis_tls_t *tls, ngx_str_t *option);
static ngx_int_t ngx_http_coupon_redis_tls_option(ngx_conf_t *cf,
    ngx_http_coupon_redis_tls_t *tls, ngx_str_t *option);
static ngx_int_t ngx_http_coupon_redis_tls(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_http_coupon_redis_t *redis, ngx_http_coupon_redis_tls_t *tls,
    ngx_url_t *u);
static const char *ngx_http_coupon_redis_host(ngx_conf_t *cf, ngx_url_t *u);
static void ngx_http_coupon_redis_free_tls(void *data);


char *
ngx_http_coupon_set_redis(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_coupon_loc_conf_t *lcf = conf;

    ngx_url_t                     u;
    ngx_str_t                    *value;
    ngx_uint_t                    i;
    ngx_http_coupon_redis_t      *redis;
    ngx_http_coupon_redis_tls_t   tls;

    if (lcf->redis != NGX_CONF_UNSET_PTR) {
        return "is duplicate";
    }

    value = cf->args->elts;

    /* resolved now: a name server is never asked while callbacks wait */

    ngx_memzero(&u, sizeof(ngx_url_t));
    u.url = value[1];
    u.default_port = 6379;

    if (ngx_parse_url(cf->pool, &u) != NGX_OK) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "%s in \"%V\" of \"%V\"",
                           u.err ? u.err : "no memory", &u.url, &cmd->name);
        return NGX_CONF_ERROR;
    }

    redis = ngx_pcalloc(cf->pool, sizeof(ngx_http_coupon_redis_t));
    if (redis == NULL) {
        return NGX_CONF_ERROR;
    }

    redis->name = value[1];
    redis->addrs = u.addrs;
    redis->naddrs = u.naddrs;
    redis->connections = 4;

    ngx_memzero(&tls, sizeof(ngx_http_coupon_redis_tls_t));

    for (i = 2; i < cf->args->nelts; i++) {
        if (ngx_http_coupon_redis_option(cf, cmd, redis, &tls, &value[i])
            != NGX_OK)
        {
            return NGX_CONF_ERROR;
        }
    }

    if (redis->user.len && redis->password.len == 0) {
        return "has a user without a password";
    }

    if (ngx_http_coupon_redis_tls(cf, cmd, redis, &tls, &u) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    lcf->redis = redis;

    return NGX_CONF_OK;
}


static ngx_int_t
ngx_http_coupon_redis_option(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_http_coupon_redis_t *redis, ngx_http_coupon_redis_tls_t *tls,
    ngx_str_t *option)
{
    ngx_int_t  n;
    ngx_str_t  text;

    if (ngx_http_coupon_option(option, "db=", &text)) {
        n = ngx_atoi(text.data, text.len);

        if (n != NGX_ERROR && n <= NGX_MAX_INT32_VALUE) {
            redis->db = n;
            return NGX_OK;
        }

    } else if (ngx_http_coupon_option(option, "connections=", &text)) {
        n = ngx_atoi(text.data, text.len);

        if (n >= 1 && n <= 64) {
            redis->connections = n;
            return NGX_OK;
        }

    } else if (ngx_http_coupon_option(option, "user=", &text)) {

        if (text.len) {
            redis->user = text;
            return NGX_OK;
        }

    } else if (ngx_http_coupon_option(option, "password=", &text)) {
        return ngx_http_coupon_read_secret(cf, cmd, &text, &redis->password);

    } else if (ngx_http_coupon_option(option, "tls=", &text)) {
        tls->on = ngx_strcmp(text.data, "on") == 0;

        if (tls->on || ngx_strcmp(text.data, "off") == 0) {
            return NGX_OK;
        }

    } else if (ngx_http_coupon_redis_tls_option(cf, tls, option) == NGX_OK) {
        return NGX_OK;
    }

    /* it may hold a password with a slip in its name: not for the log */

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "invalid or unknown parameter in \"%V\"", &cmd->name);

    return NGX_ERROR;
}


/* NGX_DECLINED: it is none, or empty */
static ngx_int_t
ngx_http_coupon_redis_tls_option(ngx_conf_t *cf,
    ngx_http_coupon_redis_tls_t *tls, ngx_str_t *option)
{
    ngx_str_t    text;
    ngx_uint_t   i;

    const struct {
        const char   *name;
        const char  **field;
        ngx_uint_t    file;
    } options[] = {
        { "ca=",   &tls->conf.ca,   1 },
        { "cert=", &tls->conf.cert, 1 },
        { "key=",  &tls->conf.key,  1 },
        { "name=", &tls->conf.name, 0 }
    };

    for (i = 0; i < sizeof(options) / sizeof(options[0]); i++) {

        if (!ngx_http_coupon_option(option, options[i].name, &text)
            || text.len == 0)
        {
            continue;
        }

        if (options[i].file
            && ngx_conf_full_name(cf->cycle, &text, 1) != NGX_OK)
        {
            return NGX_ERROR;
        }

        *options[i].field = (char *) text.data;
        tls->option = option;

        return NGX_OK;
    }

    return NGX_DECLINED;
}


static ngx_int_t
ngx_http_coupon_redis_tls(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_http_coupon_redis_t *redis, ngx_http_coupon_redis_tls_t *tls,
    ngx_url_t *u)
{
    char                 error[512];
    ngx_pool_cleanup_t  *cln;

    if (!tls->on) {

        if (tls->option == NULL) {
            return NGX_OK;
        }

        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"%V\" in \"%V\" needs \"tls=on\"", tls->option,
                           &cmd->name);
        return NGX_ERROR;
    }

    if (u->family == AF_UNIX) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"tls=on\" in \"%V\" is for host:port, there is "
                           "no TLS on a unix socket", &cmd->name);
        return NGX_ERROR;
    }

    if ((tls->conf.cert == NULL) != (tls->conf.key == NULL)) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"cert=\" and \"key=\" in \"%V\" go together",
                           &cmd->name);
        return NGX_ERROR;
    }

    if (tls->conf.name == NULL) {
        tls->conf.name = ngx_http_coupon_redis_host(cf, u);
    }

    cln = ngx_pool_cleanup_add(cf->pool, 0);

    if (tls->conf.name == NULL || cln == NULL) {
        return NGX_ERROR;
    }

    redis->tls = cc_tls_create(&tls->conf, error, sizeof(error));

    if (redis->tls == NULL) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"tls=on\" in \"%V\": %s",
                           &cmd->name, error);
        return NGX_ERROR;
    }

    cln->handler = ngx_http_coupon_redis_free_tls;
    cln->data = redis->tls;

    return NGX_OK;
}


/* as a certificate has it: without the brackets of an address */
static const char *
ngx_http_coupon_redis_host(ngx_conf_t *cf, ngx_url_t *u)
{
    u_char     *p;
    ngx_str_t   host;

    host = u->host;

    if (host.len > 1 && host.data[0] == '[') {
        host.data++;
        host.len -= 2;
    }

    p = ngx_pnalloc(cf->pool, host.len + 1);

    if (p != NULL) {
        (void) ngx_cpystrn(p, host.data, host.len + 1);
    }

    return (char *) p;
}


static void
ngx_http_coupon_redis_free_tls(void *data)
{
    cc_tls_destroy(data);
}

/*
 * What makes a receiving location complete, once all directives are known.
 *
 * What would fail open or lose money is refused here, when the configuration is
 * read, with a sentence that names the directive.
 */

#include "ngx_http_coupon.h"


#define NGX_HTTP_COUPON_BUFFER  (256 * 1024)        /* a full batch */


static char *ngx_http_coupon_check(ngx_conf_t *cf,
    ngx_http_coupon_loc_conf_t *conf);
static void ngx_http_coupon_check_window(ngx_conf_t *cf,
    ngx_http_coupon_loc_conf_t *conf);
static ngx_uint_t ngx_http_coupon_covered(ngx_conf_t *cf, ngx_str_t *value,
    ngx_str_t *prefix);
static u_char *ngx_http_coupon_braced(ngx_conf_t *cf, ngx_str_t *text);
static ngx_int_t ngx_http_coupon_use_pool(ngx_conf_t *cf,
    ngx_http_coupon_main_conf_t *cmcf, ngx_http_coupon_loc_conf_t *conf);
static ngx_http_coupon_redis_t *ngx_http_coupon_add_pool(ngx_conf_t *cf,
    ngx_http_coupon_main_conf_t *cmcf, ngx_http_coupon_loc_conf_t *conf,
    ngx_http_coupon_redis_t *directive);
static ngx_int_t ngx_http_coupon_provider(ngx_conf_t *cf,
    ngx_http_coupon_loc_conf_t *conf);
static ngx_int_t ngx_http_coupon_sportapi(ngx_conf_t *cf,
    ngx_http_coupon_loc_conf_t *conf);
static void ngx_http_coupon_free_hmac(void *data);
static void ngx_http_coupon_free_json(void *data);


char *
ngx_http_coupon_complete(ngx_conf_t *cf, ngx_http_coupon_loc_conf_t *conf)
{
    char                          *rv;
    ngx_http_core_loc_conf_t      *clcf;
    ngx_http_core_srv_conf_t      *cscf;
    ngx_http_coupon_loc_conf_t   **receiver;
    ngx_http_coupon_main_conf_t   *cmcf;

    rv = ngx_http_coupon_check(cf, conf);

    if (rv != NGX_CONF_OK) {
        return rv;
    }

    cmcf = ngx_http_conf_get_module_main_conf(cf,
                                              ngx_http_coupon_callback_module);
    cscf = ngx_http_conf_get_module_srv_conf(cf, ngx_http_core_module);
    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    conf->server = cscf->server_name;
    conf->location = clcf->name;

    /* an answer that says "not stored" must not become a page, or a 200 */

    clcf->error_pages = NULL;

    /* nginx's default, which a full batch would leave for a temporary file */

    if (clcf->client_body_buffer_size == (size_t) 2 * ngx_pagesize) {
        clcf->client_body_buffer_size = NGX_HTTP_COUPON_BUFFER;
    }

    receiver = ngx_array_push(&cmcf->receivers);

    if (receiver == NULL
        || ngx_http_coupon_use_pool(cf, cmcf, conf) != NGX_OK
        || ngx_http_coupon_provider(cf, conf) != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    *receiver = conf;

    if (cmcf->zone == NULL) {
        cmcf->zone = ngx_http_coupon_metrics_zone(cf);
    }

    return cmcf->zone ? NGX_CONF_OK : NGX_CONF_ERROR;
}


static char *
ngx_http_coupon_check(ngx_conf_t *cf, ngx_http_coupon_loc_conf_t *conf)
{
    ngx_str_t                  empty;
    ngx_http_core_loc_conf_t  *clcf;

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    /* such as a "proxy_pass" behind "coupon_callback" */

    if (clcf->handler != ngx_http_coupon_request_handler && !clcf->noname) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"coupon_callback\" is in a location that has "
                           "another handler, too");
        return NGX_CONF_ERROR;
    }

    if (conf->redis == NULL) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"coupon_callback\" needs \"coupon_callback_redis\""
                           " to say where its inbox is");
        return NGX_CONF_ERROR;
    }

    if (conf->provider == &cc_sportapi && conf->secrets == NULL) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"coupon_callback sportapi\" needs a "
                           "\"coupon_callback_secret\"");
        return NGX_CONF_ERROR;
    }

    if (conf->prefix.len == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"coupon_callback_prefix\" is empty");
        return NGX_CONF_ERROR;
    }

    if (conf->timeout == 0 || conf->timeout >= NGX_HTTP_COUPON_PATIENCE) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"coupon_callback_timeout\" must be more than 0 and"
                           " less than the 10 seconds the provider waits");
        return NGX_CONF_ERROR;
    }

    if (conf->max_coupons == 0 || conf->max_pending == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"coupon_callback_max_coupons\" and "
                           "\"coupon_callback_max_pending\" must be 1 or more");
        return NGX_CONF_ERROR;
    }

    if (conf->dedup_window == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"coupon_callback_dedup_window\" must be more than "
                           "0");
        return NGX_CONF_ERROR;
    }

    ngx_http_coupon_check_window(cf, conf);

    ngx_str_null(&empty);

    if (conf->timestamp != NULL
        && !ngx_http_coupon_covered(cf, &conf->timestamp->value,
                                    conf->signed_prefix
                                    ? &conf->signed_prefix->value : &empty))
    {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"coupon_callback_timestamp\" is not covered by the"
                           " signature: \"coupon_callback_signed_prefix\" must "
                           "contain it");
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


/* forgotten sooner, a late repetition would be stored as a new one */
static void
ngx_http_coupon_check_window(ngx_conf_t *cf, ngx_http_coupon_loc_conf_t *conf)
{
    ngx_uint_t  i;

    static const struct {
        const cc_provider_t  *provider;
        ngx_msec_t            retries;
        const char           *words;
    } windows[] = {
        { &cc_sportapi, 81 * 60 * 1000, "81 minutes" },
        { &cc_apple, 157 * 60 * 60 * 1000, "157 hours" },
        { &cc_google, 7 * 24 * 60 * 60 * 1000, "7 days" }
    };

    for (i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {

        if (windows[i].provider == conf->provider
            && conf->dedup_window < windows[i].retries)
        {
            ngx_conf_log_error(NGX_LOG_WARN, cf, 0,
                               "\"coupon_callback_dedup_window\" is shorter "
                               "than the %s in which the provider retries",
                               windows[i].words);
        }
    }
}


/*
 * Is the value, "$http_x_timestamp", a part of the prefix that is signed,
 * "v0:${http_x_timestamp}:"?  A longer variable name that begins alike is not.
 */
static ngx_uint_t
ngx_http_coupon_covered(ngx_conf_t *cf, ngx_str_t *value, ngx_str_t *prefix)
{
    u_char  *part, *whole;

    part = ngx_http_coupon_braced(cf, value);
    whole = ngx_http_coupon_braced(cf, prefix);

    return part != NULL && whole != NULL && ngx_strchr(part, '$') != NULL
           && ngx_strstr(whole, part) != NULL;
}


/* "$name" as "${name}", which says the same and shows where the name ends */
static u_char *
ngx_http_coupon_braced(ngx_conf_t *cf, ngx_str_t *text)
{
    u_char  *p, *end, *braced, *q, c;

    braced = ngx_pnalloc(cf->pool, text->len * 3 + 1);
    if (braced == NULL) {
        return NULL;
    }

    p = text->data;
    end = p + text->len;
    q = braced;

    while (p < end) {
        *q++ = *p;

        if (*p++ != '$' || (p < end && *p == '{')) {
            continue;
        }

        *q++ = '{';

        for ( /* void */ ; p < end; p++) {
            c = ngx_tolower(*p);

            if ((c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_') {
                break;
            }

            *q++ = *p;
        }

        *q++ = '}';
    }

    *q = '\0';

    return braced;
}


/*
 * Only what somebody uses is connected.  Who waits for replicas has connections
 * of its own: a replica that is away must not delay those who do not need it.
 */
static ngx_int_t
ngx_http_coupon_use_pool(ngx_conf_t *cf, ngx_http_coupon_main_conf_t *cmcf,
    ngx_http_coupon_loc_conf_t *conf)
{
    ngx_uint_t                 i;
    ngx_http_coupon_redis_t   *directive, *pool, **pools;

    directive = conf->redis->directive ? conf->redis->directive : conf->redis;
    pools = cmcf->pools.elts;
    pool = NULL;

    for (i = 0; i < cmcf->pools.nelts; i++) {
        if (pools[i]->directive == directive
            && pools[i]->fence.replicas == conf->ack.replicas)
        {
            pool = pools[i];
        }
    }

    if (pool == NULL) {
        pool = ngx_http_coupon_add_pool(cf, cmcf, conf, directive);
        if (pool == NULL) {
            return NGX_ERROR;
        }
    }

    conf->redis = pool;

    if (conf->ack.what != NGX_HTTP_COUPON_ACK_ENQUEUED) {
        pool->prove = 1;
        pool->fence.timeout = ngx_max(pool->fence.timeout, conf->ack_timeout);
    }

    if (conf->ack.what == NGX_HTTP_COUPON_ACK_FSYNC) {
        pool->fsync = 1;
    }

    return NGX_OK;
}


static ngx_http_coupon_redis_t *
ngx_http_coupon_add_pool(ngx_conf_t *cf, ngx_http_coupon_main_conf_t *cmcf,
    ngx_http_coupon_loc_conf_t *conf, ngx_http_coupon_redis_t *directive)
{
    ngx_str_t                 *key;
    ngx_http_coupon_redis_t   *pool, **p;

    pool = ngx_palloc(cf->pool, sizeof(ngx_http_coupon_redis_t));
    p = ngx_array_push(&cmcf->pools);

    if (pool == NULL || p == NULL) {
        return NULL;
    }

    *pool = *directive;
    pool->directive = directive;
    pool->fence.replicas = conf->ack.replicas;

    key = &pool->fence.key;
    key->len = conf->prefix.len + sizeof(CC_KEY_FENCE) - 1;
    key->data = ngx_pnalloc(cf->pool, key->len);

    if (key->data == NULL) {
        return NULL;
    }

    (void) ngx_sprintf(key->data, "%V" CC_KEY_FENCE, &conf->prefix);

    *p = pool;

    return pool;
}


static ngx_int_t
ngx_http_coupon_provider(ngx_conf_t *cf, ngx_http_coupon_loc_conf_t *conf)
{
    if (conf->provider == &cc_apple) {
        return ngx_http_coupon_complete_apple(cf, conf);
    }

    if (conf->provider == &cc_google) {
        return ngx_http_coupon_complete_google(cf, conf);
    }

    return ngx_http_coupon_sportapi(cf, conf);
}


cc_json_t *
ngx_http_coupon_json(ngx_conf_t *cf)
{
    ngx_pool_cleanup_t           *cln;
    ngx_http_coupon_main_conf_t  *cmcf;

    cmcf = ngx_http_conf_get_module_main_conf(cf,
                                              ngx_http_coupon_callback_module);
    if (cmcf->json != NULL) {
        return cmcf->json;
    }

    cln = ngx_pool_cleanup_add(cf->pool, 0);
    if (cln == NULL) {
        return NULL;
    }

    cmcf->json = cc_json_create(((uint64_t) ngx_random() << 32)
                                ^ (uint64_t) ngx_random() ^ ngx_pid);
    if (cmcf->json == NULL) {
        return NULL;
    }

    cln->handler = ngx_http_coupon_free_json;
    cln->data = cmcf->json;

    return cmcf->json;
}


static ngx_int_t
ngx_http_coupon_sportapi(ngx_conf_t *cf, ngx_http_coupon_loc_conf_t *conf)
{
    cc_str_t             key;
    ngx_str_t           *secret;
    ngx_uint_t           i;
    cc_sportapi_t       *sportapi;
    ngx_pool_cleanup_t  *cln;

    sportapi = &conf->sportapi;
    conf->verifier = sportapi;
    conf->proof = conf->signature;

    sportapi->json = ngx_http_coupon_json(cf);
    if (sportapi->json == NULL) {
        return NGX_ERROR;
    }

    sportapi->prefix.data = conf->signature_prefix.data;
    sportapi->prefix.len = conf->signature_prefix.len;
    sportapi->encoding = conf->encoding;
    sportapi->tolerance_ms = conf->timestamp ? (int64_t) conf->tolerance : 0;
    sportapi->rules.shape = ngx_http_coupon_shaped;
    sportapi->rules.batch_id = conf->batch_id;
    sportapi->rules.coupon_code = conf->coupon_code;
    sportapi->rules.max_coupons = conf->max_coupons;

    sportapi->hmacs = ngx_pcalloc(cf->pool, conf->secrets->nelts
                                            * sizeof(cc_hmac_t *));
    if (sportapi->hmacs == NULL) {
        return NGX_ERROR;
    }

    secret = conf->secrets->elts;

    for (i = 0; i < conf->secrets->nelts; i++) {
        cln = ngx_pool_cleanup_add(cf->pool, 0);
        if (cln == NULL) {
            return NGX_ERROR;
        }

        key.data = secret[i].data;
        key.len = secret[i].len;

        sportapi->hmacs[i] = cc_hmac_create(conf->hash, key);

        if (sportapi->hmacs[i] == NULL) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "\"coupon_callback_secret\": OpenSSL refuses "
                               "the secret or the hash of "
                               "\"coupon_callback_signature\"");
            return NGX_ERROR;
        }

        cln->handler = ngx_http_coupon_free_hmac;
        cln->data = sportapi->hmacs[i];
        sportapi->nhmacs = i + 1;
    }

    return NGX_OK;
}


static void
ngx_http_coupon_free_hmac(void *data)
{
    cc_hmac_destroy(data);
}


static void
ngx_http_coupon_free_json(void *data)
{
    cc_json_destroy(data);
}

/*
 * ngx_http_coupon_callback_module: takes signed callbacks that move money, and
 * takes each exactly once.
 *
 * This file is the module's face to nginx: its directives, their defaults and
 * inheritance, what a worker starts and stops.  What happens to a request is in
 * src/ngx/request.c; who may send one, and what it looks like, in src/core and
 * src/providers, which know nothing of nginx.
 */

#include "ngx_http_coupon.h"


static void *ngx_http_coupon_create_main_conf(ngx_conf_t *cf);
static void *ngx_http_coupon_create_loc_conf(ngx_conf_t *cf);
static char *ngx_http_coupon_merge_loc_conf(ngx_conf_t *cf, void *parent,
    void *child);
static ngx_int_t ngx_http_coupon_defaults(ngx_conf_t *cf,
    ngx_http_coupon_loc_conf_t *conf);
static char *ngx_http_coupon_set_provider(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
static char *ngx_http_coupon_set_page(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
static ngx_int_t ngx_http_coupon_init(ngx_conf_t *cf);
static ngx_int_t ngx_http_coupon_init_process(ngx_cycle_t *cycle);
static void ngx_http_coupon_exit_process(ngx_cycle_t *cycle);


#define NGX_HTTP_COUPON_ANYWHERE                                             \
    NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF


static ngx_command_t  ngx_http_coupon_commands[] = {

    { ngx_string("coupon_callback"),
      NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_http_coupon_set_provider,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("coupon_callback_redis"),
      NGX_HTTP_COUPON_ANYWHERE|NGX_CONF_1MORE,
      ngx_http_coupon_set_redis,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("coupon_callback_prefix"),
      NGX_HTTP_COUPON_ANYWHERE|NGX_CONF_TAKE1,
      ngx_conf_set_str_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_coupon_loc_conf_t, prefix),
      NULL },

    { ngx_string("coupon_callback_secret"),
      NGX_HTTP_COUPON_ANYWHERE|NGX_CONF_TAKE12,
      ngx_http_coupon_set_secret,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("coupon_callback_signature"),
      NGX_HTTP_COUPON_ANYWHERE|NGX_CONF_1MORE,
      ngx_http_coupon_set_signature,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("coupon_callback_signed_prefix"),
      NGX_HTTP_COUPON_ANYWHERE|NGX_CONF_TAKE1,
      ngx_http_set_complex_value_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_coupon_loc_conf_t, signed_prefix),
      NULL },

    { ngx_string("coupon_callback_timestamp"),
      NGX_HTTP_COUPON_ANYWHERE|NGX_CONF_TAKE12,
      ngx_http_coupon_set_timestamp,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("coupon_callback_batch_id"),
      NGX_HTTP_COUPON_ANYWHERE|NGX_CONF_TAKE1,
      ngx_http_coupon_set_pattern,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_coupon_loc_conf_t, batch_id),
      NULL },

    { ngx_string("coupon_callback_coupon_code"),
      NGX_HTTP_COUPON_ANYWHERE|NGX_CONF_TAKE1,
      ngx_http_coupon_set_pattern,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_coupon_loc_conf_t, coupon_code),
      NULL },

    { ngx_string("coupon_callback_max_coupons"),
      NGX_HTTP_COUPON_ANYWHERE|NGX_CONF_TAKE1,
      ngx_conf_set_num_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_coupon_loc_conf_t, max_coupons),
      NULL },

    { ngx_string("coupon_callback_dedup_window"),
      NGX_HTTP_COUPON_ANYWHERE|NGX_CONF_TAKE1,
      ngx_conf_set_msec_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_coupon_loc_conf_t, dedup_window),
      NULL },

    { ngx_string("coupon_callback_ack"),
      NGX_HTTP_COUPON_ANYWHERE|NGX_CONF_TAKE12,
      ngx_http_coupon_set_ack,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("coupon_callback_timeout"),
      NGX_HTTP_COUPON_ANYWHERE|NGX_CONF_TAKE1,
      ngx_conf_set_msec_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_coupon_loc_conf_t, timeout),
      NULL },

    { ngx_string("coupon_callback_max_pending"),
      NGX_HTTP_COUPON_ANYWHERE|NGX_CONF_TAKE1,
      ngx_conf_set_num_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_coupon_loc_conf_t, max_pending),
      NULL },

    { ngx_string("coupon_callback_quarantine"),
      NGX_HTTP_COUPON_ANYWHERE|NGX_CONF_TAKE1,
      ngx_http_coupon_set_quarantine,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("coupon_callback_apple"),
      NGX_HTTP_COUPON_ANYWHERE|NGX_CONF_1MORE,
      ngx_http_coupon_set_apple,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("coupon_callback_google"),
      NGX_HTTP_COUPON_ANYWHERE|NGX_CONF_1MORE,
      ngx_http_coupon_set_google,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("coupon_callback_metrics"),
      NGX_HTTP_LOC_CONF|NGX_CONF_NOARGS,
      ngx_http_coupon_set_page,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

      ngx_null_command
};


static ngx_http_module_t  ngx_http_coupon_module_ctx = {
    ngx_http_coupon_variables_init,      /* preconfiguration */
    ngx_http_coupon_init,                /* postconfiguration */

    ngx_http_coupon_create_main_conf,    /* create main configuration */
    NULL,                                /* init main configuration */

    NULL,                                /* create server configuration */
    NULL,                                /* merge server configuration */

    ngx_http_coupon_create_loc_conf,     /* create location configuration */
    ngx_http_coupon_merge_loc_conf       /* merge location configuration */
};


ngx_module_t  ngx_http_coupon_callback_module = {
    NGX_MODULE_V1,
    &ngx_http_coupon_module_ctx,         /* module context */
    ngx_http_coupon_commands,            /* module directives */
    NGX_HTTP_MODULE,                     /* module type */
    NULL,                                /* init master */
    NULL,                                /* init module */
    ngx_http_coupon_init_process,        /* init process */
    NULL,                                /* init thread */
    NULL,                                /* exit thread */
    ngx_http_coupon_exit_process,        /* exit process */
    NULL,                                /* exit master */
    NGX_MODULE_V1_PADDING
};


static void *
ngx_http_coupon_create_main_conf(ngx_conf_t *cf)
{
    ngx_http_coupon_main_conf_t  *cmcf;

    cmcf = ngx_pcalloc(cf->pool, sizeof(ngx_http_coupon_main_conf_t));
    if (cmcf == NULL) {
        return NULL;
    }

    if (ngx_array_init(&cmcf->pools, cf->pool, 2,
                       sizeof(ngx_http_coupon_redis_t *)) != NGX_OK
        || ngx_array_init(&cmcf->receivers, cf->pool, 4,
                          sizeof(ngx_http_coupon_loc_conf_t *)) != NGX_OK
        || ngx_array_init(&cmcf->counters, cf->pool, 4,
                          sizeof(ngx_http_coupon_counters_t *)) != NGX_OK)
    {
        return NULL;
    }

    return cmcf;
}


static void *
ngx_http_coupon_create_loc_conf(ngx_conf_t *cf)
{
    ngx_http_coupon_loc_conf_t  *conf;

    conf = ngx_pcalloc(cf->pool, sizeof(ngx_http_coupon_loc_conf_t));
    if (conf == NULL) {
        return NULL;
    }

    /*
     * set by ngx_pcalloc():
     *
     *     conf->provider = NULL;
     *     conf->verifier = NULL;
     *     conf->proof = NULL;
     *     conf->file = NULL;
     *     conf->prefix = { 0, NULL };
     *     conf->signature_prefix = { 0, NULL };
     *     conf->signed_prefix = NULL;
     *     conf->sportapi = { 0 };
     *     conf->server = { 0, NULL };
     *     conf->location = { 0, NULL };
     *     conf->counters = NULL;
     */

    conf->redis = NGX_CONF_UNSET_PTR;
    conf->ack.what = NGX_CONF_UNSET_UINT;
    conf->ack_timeout = NGX_CONF_UNSET_MSEC;
    conf->timeout = NGX_CONF_UNSET_MSEC;
    conf->dedup_window = NGX_CONF_UNSET_MSEC;
    conf->max_pending = NGX_CONF_UNSET_UINT;
    conf->quarantine = NGX_CONF_UNSET;
    conf->secrets = NGX_CONF_UNSET_PTR;
    conf->signature = NGX_CONF_UNSET_PTR;
    conf->hash = NGX_CONF_UNSET_UINT;
    conf->encoding = NGX_CONF_UNSET_UINT;
    conf->timestamp = NGX_CONF_UNSET_PTR;
    conf->tolerance = NGX_CONF_UNSET_MSEC;
    conf->batch_id = NGX_CONF_UNSET_PTR;
    conf->coupon_code = NGX_CONF_UNSET_PTR;
    conf->max_coupons = NGX_CONF_UNSET_UINT;
    conf->apple = NGX_CONF_UNSET_PTR;
    conf->google = NGX_CONF_UNSET_PTR;

    return conf;
}


static char *
ngx_http_coupon_merge_loc_conf(ngx_conf_t *cf, void *parent, void *child)
{
    ngx_http_coupon_loc_conf_t *prev = parent;
    ngx_http_coupon_loc_conf_t *conf = child;

    ngx_http_core_loc_conf_t  *clcf;

    ngx_conf_merge_ptr_value(conf->redis, prev->redis, NULL);
    ngx_conf_merge_str_value(conf->prefix, prev->prefix, "{coupons}");
    ngx_conf_merge_msec_value(conf->timeout, prev->timeout, 5000);
    ngx_conf_merge_msec_value(conf->dedup_window, prev->dedup_window,
                              8 * 24 * 60 * 60 * 1000);
    ngx_conf_merge_uint_value(conf->max_pending, prev->max_pending, 1024);
    ngx_conf_merge_value(conf->quarantine, prev->quarantine, 10000);
    ngx_conf_merge_ptr_value(conf->secrets, prev->secrets, NULL);

    /* the parts of one directive stay together */

    if (conf->ack.what == NGX_CONF_UNSET_UINT) {
        conf->ack = prev->ack;
        conf->ack_timeout = prev->ack_timeout;
    }

    if (conf->signature == NGX_CONF_UNSET_PTR) {
        conf->signature = prev->signature;
        conf->hash = prev->hash;
        conf->encoding = prev->encoding;
        conf->signature_prefix = prev->signature_prefix;
    }

    if (conf->timestamp == NGX_CONF_UNSET_PTR) {
        conf->timestamp = prev->timestamp;
        conf->tolerance = prev->tolerance;
    }

    if (conf->signed_prefix == NULL) {
        conf->signed_prefix = prev->signed_prefix;
    }

    ngx_conf_merge_ptr_value(conf->batch_id, prev->batch_id,
                             NGX_CONF_UNSET_PTR);
    ngx_conf_merge_ptr_value(conf->coupon_code, prev->coupon_code,
                             NGX_CONF_UNSET_PTR);
    ngx_conf_merge_uint_value(conf->max_coupons, prev->max_coupons, 100);
    ngx_conf_merge_ptr_value(conf->apple, prev->apple, NULL);
    ngx_conf_merge_ptr_value(conf->google, prev->google, NULL);

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    /* "if" leaves the handler of its location in charge, "limit_except" none */

    if (clcf->noname && clcf->handler == NULL && prev->provider != NULL) {
        conf->provider = prev->provider;

        if (clcf->lmt_excpt) {
            clcf->handler = ngx_http_coupon_request_handler;
        }
    }

    if (conf->provider == NULL) {
        return NGX_CONF_OK;
    }

    if (ngx_http_coupon_defaults(cf, conf) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    return ngx_http_coupon_complete(cf, conf);
}


/* what is compiled, and only for a location that receives */
static ngx_int_t
ngx_http_coupon_defaults(ngx_conf_t *cf, ngx_http_coupon_loc_conf_t *conf)
{
    static ngx_str_t  signature = ngx_string("$http_x_signature");

    if (conf->batch_id == NGX_CONF_UNSET_PTR) {
        conf->batch_id = &ngx_http_coupon_batch_id;
    }

    if (conf->coupon_code == NGX_CONF_UNSET_PTR) {
        conf->coupon_code = &ngx_http_coupon_coupon_code;
    }

    if (conf->signature == NGX_CONF_UNSET_PTR) {
        conf->signature = ngx_http_coupon_value(cf, &signature);
        conf->hash = CC_HASH_SHA256;
        conf->encoding = CC_ENCODING_HEX;
    }

    if (conf->timestamp == NGX_CONF_UNSET_PTR) {
        conf->timestamp = NULL;
    }

    if (conf->ack.what == NGX_CONF_UNSET_UINT) {
        conf->ack.what = NGX_HTTP_COUPON_ACK_FSYNC;
    }

    if (conf->ack_timeout == NGX_CONF_UNSET_MSEC) {
        conf->ack_timeout = conf->timeout;
    }

    return conf->signature ? NGX_OK : NGX_ERROR;
}


static char *
ngx_http_coupon_set_provider(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_coupon_loc_conf_t *lcf = conf;

    ngx_str_t                 *value;
    ngx_uint_t                 i;
    ngx_http_core_loc_conf_t  *clcf;

    static const cc_provider_t *const  providers[] = {
        &cc_sportapi, &cc_apple, &cc_google, NULL
    };

    if (lcf->provider != NULL) {
        return "is duplicate";
    }

    value = cf->args->elts;

    for (i = 0; providers[i] != NULL; i++) {
        if (ngx_strcmp(value[1].data, providers[i]->source) == 0) {
            break;
        }
    }

    if (providers[i] == NULL) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"%V\" cannot receive \"%V\": this version knows "
                           "\"sportapi\", \"apple\" and \"google\"",
                           &cmd->name, &value[1]);
        return NGX_CONF_ERROR;
    }

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    if (clcf->handler != NULL) {
        return "is in a location that has a handler already";
    }

    lcf->provider = providers[i];
    clcf->handler = ngx_http_coupon_request_handler;

    return NGX_CONF_OK;
}


static char *
ngx_http_coupon_set_page(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_core_loc_conf_t     *clcf;
    ngx_http_coupon_main_conf_t  *cmcf;

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    if (clcf->handler != NULL) {
        return "is in a location that has a handler already";
    }

    clcf->handler = ngx_http_coupon_metrics_handler;

    cmcf = ngx_http_conf_get_module_main_conf(cf,
                                              ngx_http_coupon_callback_module);
    if (cmcf->zone == NULL) {
        cmcf->zone = ngx_http_coupon_metrics_zone(cf);
    }

    return cmcf->zone ? NGX_CONF_OK : NGX_CONF_ERROR;
}


static ngx_int_t
ngx_http_coupon_init(ngx_conf_t *cf)
{
    ngx_http_coupon_main_conf_t  *cmcf;

    cmcf = ngx_http_conf_get_module_main_conf(cf,
                                              ngx_http_coupon_callback_module);

    /* loaded but not used, the module stays out of everybody's way */

    if (cmcf->receivers.nelts != 0) {
        ngx_http_coupon_answer_init();
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_coupon_init_process(ngx_cycle_t *cycle)
{
    ngx_uint_t                     i;
    ngx_http_coupon_redis_t      **pool;
    ngx_http_coupon_shared_t      *shared;
    ngx_http_coupon_main_conf_t   *cmcf;

    cmcf = ngx_http_cycle_get_module_main_conf(cycle,
                                              ngx_http_coupon_callback_module);

    if (cmcf == NULL || cmcf->pools.nelts == 0
        || (ngx_process != NGX_PROCESS_WORKER
            && ngx_process != NGX_PROCESS_SINGLE))
    {
        return NGX_OK;
    }

    if (ngx_http_coupon_queue_init(cycle->log) != NGX_OK) {
        return NGX_ERROR;
    }

    shared = ngx_http_coupon_metrics_shared(cmcf->zone);
    cmcf->gauges = ngx_http_coupon_metrics_join(cmcf->zone, cycle->log);

    pool = cmcf->pools.elts;

    for (i = 0; i < cmcf->pools.nelts; i++) {
        if (ngx_http_coupon_redis_start(pool[i], cycle, cmcf->gauges,
                                        &shared->errors)
            != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


static void
ngx_http_coupon_exit_process(ngx_cycle_t *cycle)
{
    ngx_uint_t                     i;
    ngx_http_coupon_redis_t      **pool;
    ngx_http_coupon_main_conf_t   *cmcf;

    cmcf = ngx_http_cycle_get_module_main_conf(cycle,
                                              ngx_http_coupon_callback_module);

    if (cmcf == NULL || cmcf->gauges == NULL) {
        return;
    }

    pool = cmcf->pools.elts;

    for (i = 0; i < cmcf->pools.nelts; i++) {
        ngx_http_coupon_redis_stop(pool[i]);
    }

    ngx_http_coupon_metrics_leave(cmcf->gauges);
    cmcf->gauges = NULL;
}

/*
 * The shared memory zone: what is counted, and where.
 */

#include "ngx_http_coupon.h"


#define NGX_HTTP_COUPON_METRICS_SIZE  (512 * 1024)


static ngx_int_t ngx_http_coupon_metrics_init_zone(ngx_shm_zone_t *zone,
    void *old);
static ngx_http_coupon_counters_t *ngx_http_coupon_metrics_find(
    ngx_http_coupon_shared_t *shared, ngx_http_coupon_loc_conf_t *conf);
static ngx_http_coupon_counters_t *ngx_http_coupon_metrics_add(
    ngx_http_coupon_shared_t *shared, ngx_http_coupon_main_conf_t *cmcf,
    ngx_http_coupon_loc_conf_t *conf);
static size_t ngx_http_coupon_metrics_label(const ngx_str_t *text);
static ngx_int_t ngx_http_coupon_metrics_use(ngx_http_coupon_main_conf_t *cmcf,
    ngx_http_coupon_counters_t *c);
static ngx_uint_t ngx_http_coupon_metrics_used(
    ngx_http_coupon_main_conf_t *cmcf, const ngx_http_coupon_counters_t *c);


const ngx_http_coupon_bucket_t
    ngx_http_coupon_buckets[NGX_HTTP_COUPON_METRICS_BUCKETS] =
{
    { 100, "0.0001" }, { 250, "0.00025" }, { 500, "0.0005" },
    { 1000, "0.001" }, { 2500, "0.0025" }, { 5000, "0.005" },
    { 10000, "0.01" }, { 25000, "0.025" }, { 50000, "0.05" },
    { 100000, "0.1" }, { 500000, "0.5" }, { 1000000, "1" },
    { 5000000, "5" }, { 10000000, "10" }
};


ngx_shm_zone_t *
ngx_http_coupon_metrics_zone(ngx_conf_t *cf)
{
    ngx_shm_zone_t  *zone;

    static ngx_str_t  name = ngx_string("coupon_callback_metrics");

    zone = ngx_shared_memory_add(cf, &name, NGX_HTTP_COUPON_METRICS_SIZE,
                                 &ngx_http_coupon_callback_module);
    if (zone == NULL) {
        return NULL;
    }

    zone->init = ngx_http_coupon_metrics_init_zone;
    zone->data = ngx_http_conf_get_module_main_conf(cf,
                                             ngx_http_coupon_callback_module);

    return zone;
}


/* at start and at every reload; the counters of the cycle before stay */
static ngx_int_t
ngx_http_coupon_metrics_init_zone(ngx_shm_zone_t *zone, void *old)
{
    ngx_uint_t                     i;
    ngx_slab_pool_t               *pool;
    ngx_http_coupon_shared_t      *shared;
    ngx_http_coupon_loc_conf_t   **conf;
    ngx_http_coupon_main_conf_t   *cmcf;

    cmcf = zone->data;
    pool = (ngx_slab_pool_t *) zone->shm.addr;

    if (zone->shm.exists || old != NULL) {
        shared = pool->data;

    } else {
        shared = ngx_slab_calloc(pool, sizeof(ngx_http_coupon_shared_t));
        pool->data = shared;
    }

    if (shared == NULL) {
        return NGX_ERROR;
    }

    conf = cmcf->receivers.elts;

    /* those that have a place first: what is left then may be taken */

    for (i = 0; i < cmcf->receivers.nelts; i++) {
        conf[i]->counters = ngx_http_coupon_metrics_find(shared, conf[i]);

        if (ngx_http_coupon_metrics_use(cmcf, conf[i]->counters) != NGX_OK) {
            return NGX_ERROR;
        }
    }

    for (i = 0; i < cmcf->receivers.nelts; i++) {

        if (conf[i]->counters != NULL) {
            continue;
        }

        conf[i]->counters = ngx_http_coupon_metrics_add(shared, cmcf, conf[i]);

        if (conf[i]->counters == NULL) {
            ngx_log_error(NGX_LOG_EMERG, zone->shm.log, 0,
                          "\"coupon_callback\": more than %d receiving "
                          "locations", NGX_HTTP_COUPON_METRICS_RECEIVERS);
            return NGX_ERROR;
        }

        if (ngx_http_coupon_metrics_use(cmcf, conf[i]->counters) != NGX_OK) {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


/* NULL: no place has these labels */
static ngx_http_coupon_counters_t *
ngx_http_coupon_metrics_find(ngx_http_coupon_shared_t *shared,
    ngx_http_coupon_loc_conf_t *conf)
{
    size_t                       slen, llen;
    ngx_uint_t                   i;
    ngx_http_coupon_counters_t  *c;

    slen = ngx_http_coupon_metrics_label(&conf->server);
    llen = ngx_http_coupon_metrics_label(&conf->location);

    for (i = 0; i < shared->nreceivers; i++) {
        c = &shared->receivers[i];

        if (c->server_len == slen && c->location_len == llen
            && ngx_memcmp(c->server, conf->server.data, slen) == 0
            && ngx_memcmp(c->location, conf->location.data, llen) == 0)
        {
            return c;
        }
    }

    return NULL;
}


/*
 * A new place; where all have been used, one that this configuration has no use
 * for: until they are gone, workers of the one before may count in it.  NULL:
 * it needs more than there are.
 */
static ngx_http_coupon_counters_t *
ngx_http_coupon_metrics_add(ngx_http_coupon_shared_t *shared,
    ngx_http_coupon_main_conf_t *cmcf, ngx_http_coupon_loc_conf_t *conf)
{
    ngx_uint_t                   i;
    ngx_http_coupon_counters_t  *c;

    c = ngx_http_coupon_metrics_find(shared, conf);
    if (c != NULL) {
        return c;
    }

    i = shared->nreceivers;

    if (i < NGX_HTTP_COUPON_METRICS_RECEIVERS) {
        shared->nreceivers++;

    } else {
        for (i = 0; i < NGX_HTTP_COUPON_METRICS_RECEIVERS; i++) {
            if (!ngx_http_coupon_metrics_used(cmcf, &shared->receivers[i])) {
                break;
            }
        }

        if (i == NGX_HTTP_COUPON_METRICS_RECEIVERS) {
            return NULL;
        }
    }

    c = &shared->receivers[i];
    ngx_memzero(c, sizeof(ngx_http_coupon_counters_t));

    c->server_len = ngx_http_coupon_metrics_label(&conf->server);
    c->location_len = ngx_http_coupon_metrics_label(&conf->location);

    ngx_memcpy(c->server, conf->server.data, c->server_len);
    ngx_memcpy(c->location, conf->location.data, c->location_len);

    return c;
}


/* the bytes that fit; half a character would cost Prometheus the whole page */
static size_t
ngx_http_coupon_metrics_label(const ngx_str_t *text)
{
    size_t  len;

    len = ngx_min(text->len, NGX_HTTP_COUPON_METRICS_LABEL);

    while (len > 0 && len < text->len && (text->data[len] & 0xc0) == 0x80) {
        len--;
    }

    return len;
}


/* several locations of the same labels share a place */
static ngx_int_t
ngx_http_coupon_metrics_use(ngx_http_coupon_main_conf_t *cmcf,
    ngx_http_coupon_counters_t *c)
{
    ngx_http_coupon_counters_t  **used;

    if (c == NULL || ngx_http_coupon_metrics_used(cmcf, c)) {
        return NGX_OK;
    }

    used = ngx_array_push(&cmcf->counters);
    if (used == NULL) {
        return NGX_ERROR;
    }

    *used = c;

    return NGX_OK;
}


static ngx_uint_t
ngx_http_coupon_metrics_used(ngx_http_coupon_main_conf_t *cmcf,
    const ngx_http_coupon_counters_t *c)
{
    ngx_uint_t                    i;
    ngx_http_coupon_counters_t  **used;

    used = cmcf->counters.elts;

    for (i = 0; i < cmcf->counters.nelts; i++) {
        if (used[i] == c) {
            return 1;
        }
    }

    return 0;
}


ngx_http_coupon_shared_t *
ngx_http_coupon_metrics_shared(ngx_shm_zone_t *zone)
{
    return ((ngx_slab_pool_t *) zone->shm.addr)->data;
}


ngx_http_coupon_gauges_t *
ngx_http_coupon_metrics_join(ngx_shm_zone_t *zone, ngx_log_t *log)
{
    ngx_uint_t                 i;
    ngx_slab_pool_t           *pool;
    ngx_http_coupon_gauges_t  *g, *free;
    ngx_http_coupon_shared_t  *shared;

    pool = (ngx_slab_pool_t *) zone->shm.addr;
    shared = ngx_http_coupon_metrics_shared(zone);
    free = NULL;

    ngx_shmtx_lock(&pool->mutex);

    for (i = 0; i < NGX_HTTP_COUPON_METRICS_PROCESSES; i++) {
        g = &shared->processes[i];

        /* a place is free as well if its process did not live to leave it */

        if (g->pid == 0 || (kill(g->pid, 0) == -1 && ngx_errno == NGX_ESRCH)) {
            free = g;
            ngx_memzero(g, sizeof(ngx_http_coupon_gauges_t));
            g->pid = ngx_pid;
            break;
        }
    }

    ngx_shmtx_unlock(&pool->mutex);

    if (free == NULL) {
        ngx_log_error(NGX_LOG_WARN, log, 0,
                      "coupon_callback_metrics: more than %d processes, this "
                      "one is left out of the gauges",
                      NGX_HTTP_COUPON_METRICS_PROCESSES);
        return &shared->surplus;
    }

    return free;
}


void
ngx_http_coupon_metrics_leave(ngx_http_coupon_gauges_t *gauges)
{
    gauges->pid = 0;
}


void
ngx_http_coupon_metrics_observe(ngx_http_coupon_histogram_t *histogram,
    uint64_t microseconds)
{
    ngx_uint_t  i;

    for (i = 0; i < NGX_HTTP_COUPON_METRICS_BUCKETS; i++) {
        if (microseconds <= ngx_http_coupon_buckets[i].limit) {
            (void) ngx_atomic_fetch_add(&histogram->buckets[i], 1);
            break;
        }
    }

    (void) ngx_atomic_fetch_add(&histogram->count, 1);
    (void) ngx_atomic_fetch_add(&histogram->sum, microseconds);
}


uint64_t
ngx_http_coupon_metrics_now(void)
{
    struct timespec  ts;

    (void) clock_gettime(CLOCK_MONOTONIC, &ts);

    return (uint64_t) ts.tv_sec * 1000000 + (uint64_t) ts.tv_nsec / 1000;
}

/*
 * Counters in shared memory, over all workers, kept over a reload.
 *
 * A receiving location finds its counters again by its labels.  What a worker
 * has at this moment (pending, connections) stands in a place of its own, which
 * counts only while that process lives: a worker that was killed leaves nothing
 * behind in a sum.
 */

#ifndef NGX_HTTP_COUPON_METRICS_H
#define NGX_HTTP_COUPON_METRICS_H

#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>


#define NGX_HTTP_COUPON_METRICS_RESULTS  10     /* ngx_http_coupon_result_e */
#define NGX_HTTP_COUPON_METRICS_BUCKETS  14
#define NGX_HTTP_COUPON_METRICS_LABEL    128    /* bytes, longer are cut */

#define NGX_HTTP_COUPON_METRICS_RECEIVERS  256
#define NGX_HTTP_COUPON_METRICS_PROCESSES  256


/* kinds of Redis errors: the first word of the reply, or what happened */
typedef enum {
    NGX_HTTP_COUPON_ERROR_CONNECT = 0,
    NGX_HTTP_COUPON_ERROR_CLOSED,
    NGX_HTTP_COUPON_ERROR_SILENT,
    NGX_HTTP_COUPON_ERROR_PROTOCOL,
    NGX_HTTP_COUPON_ERROR_UNPROVEN,
    NGX_HTTP_COUPON_ERROR_AUTH,
    NGX_HTTP_COUPON_ERROR_LOADING,
    NGX_HTTP_COUPON_ERROR_READONLY,
    NGX_HTTP_COUPON_ERROR_OOM,
    NGX_HTTP_COUPON_ERROR_MISCONF,
    NGX_HTTP_COUPON_ERROR_NOREPLICAS,
    NGX_HTTP_COUPON_ERROR_BUSY,
    NGX_HTTP_COUPON_ERROR_WRONGTYPE,
    NGX_HTTP_COUPON_ERROR_OTHER,
    NGX_HTTP_COUPON_ERROR_KINDS
} ngx_http_coupon_error_e;


typedef struct {
    ngx_atomic_t                 buckets[NGX_HTTP_COUPON_METRICS_BUCKETS];
    ngx_atomic_t                 count;
    ngx_atomic_t                 sum;           /* microseconds */
} ngx_http_coupon_histogram_t;

typedef struct {
    u_char                       server[NGX_HTTP_COUPON_METRICS_LABEL];
    u_char                       location[NGX_HTTP_COUPON_METRICS_LABEL];
    size_t                       server_len;
    size_t                       location_len;

    ngx_atomic_t                 results[NGX_HTTP_COUPON_METRICS_RESULTS];
    ngx_atomic_t                 body_bytes;
    ngx_atomic_t                 coupons;       /* accepted */
    ngx_atomic_t                 file_errors;
    ngx_atomic_t                 keys_expire;   /* Unix seconds; 0: no keys */
    ngx_http_coupon_histogram_t  request;
    ngx_http_coupon_histogram_t  redis;
} ngx_http_coupon_counters_t;

typedef struct {
    ngx_atomic_t                 kinds[NGX_HTTP_COUPON_ERROR_KINDS];
} ngx_http_coupon_errors_t;

/* one process; a cache line, so that workers do not disturb each other */
typedef struct {
    ngx_pid_t                    pid;           /* 0: free */
    ngx_atomic_t                 pending;
    ngx_atomic_t                 up;
    ngx_atomic_t                 connections;
    ngx_atomic_t                 ways[3];       /* ngx_http_coupon_way_e */
    u_char                       padding[8];
} ngx_http_coupon_gauges_t;


/* all of it; a configuration may use some of the receivers only */
typedef struct {
    ngx_http_coupon_gauges_t     processes[NGX_HTTP_COUPON_METRICS_PROCESSES];
    ngx_http_coupon_gauges_t     surplus;       /* of processes beyond */
    ngx_http_coupon_errors_t     errors;
    ngx_uint_t                   nreceivers;
    ngx_http_coupon_counters_t   receivers[NGX_HTTP_COUPON_METRICS_RECEIVERS];
} ngx_http_coupon_shared_t;

typedef struct {
    uint64_t                     limit;         /* microseconds */
    const char                  *le;            /* the same, for Prometheus */
} ngx_http_coupon_bucket_t;


extern const ngx_http_coupon_bucket_t
    ngx_http_coupon_buckets[NGX_HTTP_COUPON_METRICS_BUCKETS];


/* adds the zone to the configuration that is being read */
ngx_shm_zone_t *ngx_http_coupon_metrics_zone(ngx_conf_t *cf);

/* this process's place among the gauges; all taken: one that nobody reads */
ngx_http_coupon_gauges_t *ngx_http_coupon_metrics_join(ngx_shm_zone_t *zone,
    ngx_log_t *log);
void ngx_http_coupon_metrics_leave(ngx_http_coupon_gauges_t *gauges);

ngx_http_coupon_shared_t *ngx_http_coupon_metrics_shared(ngx_shm_zone_t *zone);

void ngx_http_coupon_metrics_observe(ngx_http_coupon_histogram_t *histogram,
    uint64_t microseconds);

/* monotonic, in microseconds; nginx's own clock knows milliseconds */
uint64_t ngx_http_coupon_metrics_now(void);

/* metrics_page.c: the handler of a coupon_callback_metrics location */
ngx_int_t ngx_http_coupon_metrics_handler(ngx_http_request_t *r);


#endif /* NGX_HTTP_COUPON_METRICS_H */

/*
 * What the files of the module share: its configuration, the context of one
 * request, and who offers what to whom.
 *
 *   directives.c   nginx.conf -> configuration; redis_directive.c, secrets.c,
 *                  complete.c
 *   request.c      the life of one callback; owns the only finalize
 *   body.c         the request's buffers -> bytes
 *   verify.c       asks the provider
 *   answer.c       status, JSON, headers
 *   stores.c       Apple and Google: directives; file.c: their roots and keys
 *   variables.c    $coupon_callback_*
 *   queue.h        one Redis transaction and what became of it
 *   redis.h        the connections it travels on
 *   metrics.h      counters in shared memory
 */

#ifndef NGX_HTTP_COUPON_H
#define NGX_HTTP_COUPON_H

#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "apple.h"
#include "file.h"
#include "google.h"
#include "metrics.h"
#include "queue.h"
#include "redis.h"
#include "sportapi.h"


#define NGX_HTTP_COUPON_PATIENCE  10000      /* ms the provider waits */


typedef enum {
    NGX_HTTP_COUPON_ACCEPTED = 0,
    NGX_HTTP_COUPON_DUPLICATE,
    NGX_HTTP_COUPON_CONFLICT,
    NGX_HTTP_COUPON_UNSIGNED,
    NGX_HTTP_COUPON_MALFORMED,
    NGX_HTTP_COUPON_UNAVAILABLE,
    NGX_HTTP_COUPON_TIMEOUT,
    NGX_HTTP_COUPON_OVERLOADED,
    NGX_HTTP_COUPON_FOREIGN,
    NGX_HTTP_COUPON_UNUSABLE,
    NGX_HTTP_COUPON_RESULTS,

    NGX_HTTP_COUPON_NO_RESULT = NGX_HTTP_COUPON_RESULTS
} ngx_http_coupon_result_e;


typedef struct ngx_http_coupon_pattern_s  ngx_http_coupon_pattern_t;

typedef struct {
    ngx_array_t                  pools;      /* ngx_http_coupon_redis_t * */
    ngx_array_t                  receivers;  /* ngx_http_coupon_loc_conf_t * */
    ngx_array_t                  counters;   /* of these, each once */
    ngx_shm_zone_t              *zone;       /* NULL: nothing to count */
    ngx_http_coupon_gauges_t    *gauges;     /* of this process; NULL: none */
    cc_json_t                   *json;
} ngx_http_coupon_main_conf_t;


/* coupon_callback_apple, coupon_callback_google: shared by who inherits it */

typedef struct {
    ngx_http_coupon_file_t       root;
    cc_apple_t                   verifier;
} ngx_http_coupon_apple_t;

typedef struct {
    ngx_http_coupon_file_t       keys;
    cc_google_t                  verifier;
} ngx_http_coupon_google_t;


typedef struct {
    const cc_provider_t         *provider;   /* NULL: receives nothing */
    void                        *verifier;   /* the provider's configuration */
    ngx_http_complex_value_t    *proof;      /* what is verified; NULL: body */
    ngx_http_coupon_file_t      *file;       /* of the verifier; NULL: none */
    ngx_uint_t                   unwrapped;  /* the head names the message */

    ngx_http_coupon_redis_t     *redis;
    ngx_str_t                    prefix;
    ngx_http_coupon_ack_t        ack;
    ngx_msec_t                   ack_timeout;  /* of one fence */
    ngx_msec_t                   timeout;
    ngx_msec_t                   dedup_window;
    ngx_uint_t                   max_pending;
    ngx_int_t                    quarantine; /* 0: off */

    ngx_array_t                 *secrets;    /* ngx_str_t, decoded */
    ngx_http_complex_value_t    *signature;
    ngx_uint_t                   hash;
    ngx_uint_t                   encoding;
    ngx_str_t                    signature_prefix;
    ngx_http_complex_value_t    *signed_prefix;
    ngx_http_complex_value_t    *timestamp;
    ngx_msec_t                   tolerance;
    ngx_http_coupon_pattern_t   *batch_id;
    ngx_http_coupon_pattern_t   *coupon_code;
    ngx_uint_t                   max_coupons;

    cc_sportapi_t                sportapi;
    ngx_http_coupon_apple_t     *apple;
    ngx_http_coupon_google_t    *google;

    ngx_str_t                    server;     /* labels of its metrics */
    ngx_str_t                    location;
    ngx_http_coupon_counters_t  *counters;   /* in shared memory */
} ngx_http_coupon_loc_conf_t;


/* one callback, to its answer; lives in the pool of the request */
typedef struct {
    void                        *data;       /* laid out like a connection, */
    ngx_event_t                 *unused[2];  /* for the timer's debug log */
    ngx_socket_t                 fd;

    ngx_http_request_t          *request;
    ngx_http_coupon_loc_conf_t  *conf;

    cc_str_t                     body;
    cc_delivery_t                delivery;
    u_char                       digest[CC_DIGEST_LEN];
    const char                  *reason;     /* what is kept aside, why */
    ngx_http_coupon_result_e     kept;       /* … and what it then is */

    ngx_event_t                  timer;      /* coupon_callback_timeout */
    ngx_http_coupon_waiter_t     waiter;     /* for the first connection */
    ngx_http_coupon_ticket_t    *ticket;     /* NULL: nothing is under way */
    ngx_http_cleanup_t          *cleanup;

    uint64_t                     started;    /* microseconds, monotonic */
    uint64_t                     parked;     /* 0: Redis was not asked */
    uint64_t                     redis_time;

    ngx_http_coupon_result_e     result;
    unsigned                     answered:1;
    ngx_chain_t                 *answer;     /* instead of nginx's page */
} ngx_http_coupon_ctx_t;


extern ngx_module_t  ngx_http_coupon_callback_module;
extern const char   *ngx_http_coupon_result_names[];


/* request.c */
ngx_int_t ngx_http_coupon_request_handler(ngx_http_request_t *r);
ngx_http_coupon_ctx_t *ngx_http_coupon_request_ctx(ngx_http_request_t *r);

/* verify.c: what the head alone can tell: 0, or the status to refuse it with */
ngx_uint_t ngx_http_coupon_verify_head(ngx_http_request_t *r);

/* what the provider says of ctx->body; fills ctx->delivery as far as known */
cc_verdict_e ngx_http_coupon_verify_body(ngx_http_coupon_ctx_t *ctx);

/* one line for what was not accepted */
void ngx_http_coupon_verify_log(ngx_http_coupon_ctx_t *ctx,
    cc_verdict_e verdict);

/*
 * The whole body as one piece.  It points into the request's buffer where it
 * lies in one, else into a copy in the request's pool.  NGX_ERROR, logged, if
 * its temporary file cannot be read or memory is short.
 */
ngx_int_t ngx_http_coupon_body(ngx_http_request_t *r, cc_str_t *body);

/*
 * Sends {"success":true,"processed":N}.  What it returns is to be finalized
 * with.
 */
ngx_int_t ngx_http_coupon_answer_success(ngx_http_request_t *r, ngx_uint_t n);

/*
 * Sends {"success":false,"error":CODE,"message":MESSAGE} with the status, and
 * Retry-After with 503, Allow with 405.  Both texts are constants that need no
 * escaping; with NULL for both they follow from the status.
 */
ngx_int_t ngx_http_coupon_answer_error(ngx_http_request_t *r,
    ngx_uint_t status, const char *code, const char *message);

/* puts the filter for errors of nginx's own into the chain */
void ngx_http_coupon_answer_init(void);

ngx_int_t ngx_http_coupon_variables_init(ngx_conf_t *cf);


/* redis_directive.c: coupon_callback_redis */
char *ngx_http_coupon_set_redis(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);

/* directives.c: setters of the command table */
char *ngx_http_coupon_set_signature(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_coupon_set_timestamp(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_coupon_set_pattern(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_coupon_set_ack(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
char *ngx_http_coupon_set_quarantine(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);

/* directives.c: "name=value": 1 and the value, or 0 */
ngx_uint_t ngx_http_coupon_option(ngx_str_t *argument, const char *name,
    ngx_str_t *value);

/* "hex" or "base64" */
ngx_int_t ngx_http_coupon_encoding(ngx_str_t *name, ngx_uint_t *encoding);

/* secrets.c: coupon_callback_secret */
char *ngx_http_coupon_set_secret(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);

/* STRING or file:PATH, never empty; NGX_ERROR with the reason logged */
ngx_int_t ngx_http_coupon_read_secret(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_str_t *value, ngx_str_t *secret);

/* a compiled complex value, or NULL with the reason logged */
ngx_http_complex_value_t *ngx_http_coupon_value(ngx_conf_t *cf,
    ngx_str_t *text);

/* stores.c: coupon_callback_apple, coupon_callback_google */
char *ngx_http_coupon_set_apple(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_coupon_set_google(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);

/* what a location of Apple's or Google's calls for; NGX_ERROR is logged */
ngx_int_t ngx_http_coupon_complete_apple(ngx_conf_t *cf,
    ngx_http_coupon_loc_conf_t *conf);
ngx_int_t ngx_http_coupon_complete_google(ngx_conf_t *cf,
    ngx_http_coupon_loc_conf_t *conf);

/* looks after the file of a receiving location, and counts what came of it */
void ngx_http_coupon_file_look(ngx_http_coupon_loc_conf_t *conf,
    ngx_log_t *log);

/* what the head of an unwrapped push says of its message, read in place */
void ngx_http_coupon_push_head(ngx_http_request_t *r,
    cc_callback_t *callback);

/* complete.c: the reader of JSON that all share, or NULL */
cc_json_t *ngx_http_coupon_json(ngx_conf_t *cf);

/* pattern.c: the defaults */
extern ngx_http_coupon_pattern_t  ngx_http_coupon_batch_id;
extern ngx_http_coupon_pattern_t  ngx_http_coupon_coupon_code;

/* a compiled pattern, or NULL with the reason logged */
ngx_http_coupon_pattern_t *ngx_http_coupon_pattern(ngx_conf_t *cf,
    ngx_str_t *text);

/* cc_shape_pt of such a pattern */
int ngx_http_coupon_shaped(void *pattern, cc_str_t text);

/*
 * Checks a receiving location, whose values are merged, and makes what they
 * call for: keyed HMACs, its pool, its counters.
 */
char *ngx_http_coupon_complete(ngx_conf_t *cf,
    ngx_http_coupon_loc_conf_t *conf);


#endif /* NGX_HTTP_COUPON_H */

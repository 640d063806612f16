/*
 * What would receiving a callback cost if nothing had to be right about it?
 *
 *   bench body;     reads the body and answers
 *   bench hmac;     … and computes OpenSSL's HMAC-SHA256 of it
 *   bench redis;    … and puts it into a stream: MULTI, SET NX, XADD, EXEC
 *   bench guard;    the same with the real transaction, which knows duplicates
 *
 * Each stage does the work of the one before.  Nothing looks at the body, and
 * no duplicate is found, so that whatever checks as much as one byte of it must
 * be slower: this is what the real module is measured against.
 *
 * The connections to Redis are the real module's (src/ngx/redis*.c): pipelined,
 * and written to once a turn of the event loop, which is the fastest known.
 * Requests are never given up, as the generator waits for every answer.
 */

#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include <openssl/core_names.h>
#include <openssl/evp.h>

#include "ngx_http_coupon.h"
#include "queue.h"


#define NGX_HTTP_BENCH_BODY   1
#define NGX_HTTP_BENCH_HMAC   2
#define NGX_HTTP_BENCH_REDIS  3
#define NGX_HTTP_BENCH_GUARD  4

#define NGX_HTTP_BENCH_ARGS   8


typedef struct {
    ngx_str_t                  secret;
    ngx_http_coupon_redis_t    redis;      /* without addrs: not configured */
    ngx_http_coupon_gauges_t   gauges;
    ngx_http_coupon_errors_t   errors;
    EVP_MAC_CTX               *mac;        /* keyed */
} ngx_http_bench_main_conf_t;

typedef struct {
    ngx_uint_t                 stage;      /* 0: not here */
} ngx_http_bench_loc_conf_t;


static void *ngx_http_bench_create_main_conf(ngx_conf_t *cf);
static void *ngx_http_bench_create_loc_conf(ngx_conf_t *cf);
static char *ngx_http_bench_set(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
static char *ngx_http_bench_set_redis(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
static ngx_int_t ngx_http_bench_init_process(ngx_cycle_t *cycle);
static ngx_int_t ngx_http_bench_key(ngx_http_bench_main_conf_t *bmcf);

static ngx_int_t ngx_http_bench_handler(ngx_http_request_t *r);
static void ngx_http_bench_body_ready(ngx_http_request_t *r);
static ngx_int_t ngx_http_bench_hmac(ngx_http_bench_main_conf_t *bmcf,
    cc_str_t body);
static ngx_int_t ngx_http_bench_store(ngx_http_bench_main_conf_t *bmcf,
    ngx_http_request_t *r, cc_str_t body);
static ngx_int_t ngx_http_bench_add(ngx_http_request_t *r,
    ngx_http_coupon_redis_conn_t *conn, cc_str_t body);
static void ngx_http_bench_added(void *owner,
    ngx_http_coupon_queue_outcome_e outcome);
static int ngx_http_bench_command(ngx_http_coupon_redis_conn_t *conn,
    redisCallbackFn *done, void *data, ngx_uint_t n, const cc_str_t *args);
static void ngx_http_bench_queued(redisAsyncContext *ac, void *data,
    void *privdata);
static void ngx_http_bench_stored(redisAsyncContext *ac, void *data,
    void *privdata);
static ngx_int_t ngx_http_bench_answer(ngx_http_request_t *r);


static ngx_conf_enum_t  ngx_http_bench_stages[] = {
    { ngx_string("body"), NGX_HTTP_BENCH_BODY },
    { ngx_string("hmac"), NGX_HTTP_BENCH_HMAC },
    { ngx_string("redis"), NGX_HTTP_BENCH_REDIS },
    { ngx_string("guard"), NGX_HTTP_BENCH_GUARD },
    { ngx_null_string, 0 }
};


static ngx_command_t  ngx_http_bench_commands[] = {

    { ngx_string("bench"),
      NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_http_bench_set,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_bench_loc_conf_t, stage),
      &ngx_http_bench_stages },

    { ngx_string("bench_secret"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_str_slot,
      NGX_HTTP_MAIN_CONF_OFFSET,
      offsetof(ngx_http_bench_main_conf_t, secret),
      NULL },

    { ngx_string("bench_redis"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_TAKE1,
      ngx_http_bench_set_redis,
      NGX_HTTP_MAIN_CONF_OFFSET,
      0,
      NULL },

      ngx_null_command
};


static ngx_http_module_t  ngx_http_bench_module_ctx = {
    NULL,                                /* preconfiguration */
    NULL,                                /* postconfiguration */

    ngx_http_bench_create_main_conf,     /* create main configuration */
    NULL,                                /* init main configuration */

    NULL,                                /* create server configuration */
    NULL,                                /* merge server configuration */

    ngx_http_bench_create_loc_conf,      /* create location configuration */
    NULL                                 /* merge location configuration */
};


ngx_module_t  ngx_http_bench_module = {
    NGX_MODULE_V1,
    &ngx_http_bench_module_ctx,          /* module context */
    ngx_http_bench_commands,             /* module directives */
    NGX_HTTP_MODULE,                     /* module type */
    NULL,                                /* init master */
    NULL,                                /* init module */
    ngx_http_bench_init_process,         /* init process */
    NULL,                                /* init thread */
    NULL,                                /* exit thread */
    NULL,                                /* exit process */
    NULL,                                /* exit master */
    NGX_MODULE_V1_PADDING
};


static void *
ngx_http_bench_create_main_conf(ngx_conf_t *cf)
{
    return ngx_pcalloc(cf->pool, sizeof(ngx_http_bench_main_conf_t));
}


static void *
ngx_http_bench_create_loc_conf(ngx_conf_t *cf)
{
    ngx_http_bench_loc_conf_t  *blcf;

    blcf = ngx_pcalloc(cf->pool, sizeof(ngx_http_bench_loc_conf_t));
    if (blcf == NULL) {
        return NULL;
    }

    blcf->stage = NGX_CONF_UNSET_UINT;

    return blcf;
}


static char *
ngx_http_bench_set(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_core_loc_conf_t  *clcf;

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);
    clcf->handler = ngx_http_bench_handler;

    return ngx_conf_set_enum_slot(cf, cmd, conf);
}


static char *
ngx_http_bench_set_redis(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_bench_main_conf_t *bmcf = conf;

    ngx_url_t   u;
    ngx_str_t  *value;

    value = cf->args->elts;

    ngx_memzero(&u, sizeof(ngx_url_t));
    u.url = value[1];
    u.default_port = 6379;

    if (ngx_parse_url(cf->pool, &u) != NGX_OK) {
        return "has an invalid address";
    }

    bmcf->redis.directive = &bmcf->redis;
    bmcf->redis.name = value[1];
    bmcf->redis.addrs = u.addrs;
    bmcf->redis.naddrs = u.naddrs;
    bmcf->redis.connections = 4;

    return NGX_CONF_OK;
}


static ngx_int_t
ngx_http_bench_init_process(ngx_cycle_t *cycle)
{
    ngx_http_bench_main_conf_t  *bmcf;

    bmcf = ngx_http_cycle_get_module_main_conf(cycle, ngx_http_bench_module);

    if (bmcf == NULL) {
        return NGX_OK;
    }

    if (ngx_http_bench_key(bmcf) != NGX_OK) {
        return NGX_ERROR;
    }

    if (bmcf->redis.addrs == NULL) {
        return NGX_OK;
    }

    if (ngx_http_coupon_queue_init(cycle->log) != NGX_OK) {
        return NGX_ERROR;
    }

    return ngx_http_coupon_redis_start(&bmcf->redis, cycle, &bmcf->gauges,
                                       &bmcf->errors);
}


static ngx_int_t
ngx_http_bench_key(ngx_http_bench_main_conf_t *bmcf)
{
    EVP_MAC     *mac;
    OSSL_PARAM   params[2];

    static char  sha256[] = "SHA256";

    mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    bmcf->mac = EVP_MAC_CTX_new(mac);
    EVP_MAC_free(mac);

    params[0] = OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, sha256,
                                                 0);
    params[1] = OSSL_PARAM_construct_end();

    return bmcf->mac != NULL
           && EVP_MAC_init(bmcf->mac, bmcf->secret.data, bmcf->secret.len,
                           params) == 1 ? NGX_OK : NGX_ERROR;
}


static ngx_int_t
ngx_http_bench_handler(ngx_http_request_t *r)
{
    ngx_int_t  rc;

    rc = ngx_http_read_client_request_body(r, ngx_http_bench_body_ready);

    return rc >= NGX_HTTP_SPECIAL_RESPONSE ? rc : NGX_DONE;
}


static void
ngx_http_bench_body_ready(ngx_http_request_t *r)
{
    cc_str_t                     body;
    ngx_int_t                    rc;
    ngx_http_bench_loc_conf_t   *blcf;
    ngx_http_bench_main_conf_t  *bmcf;

    blcf = ngx_http_get_module_loc_conf(r, ngx_http_bench_module);
    bmcf = ngx_http_get_module_main_conf(r, ngx_http_bench_module);

    rc = ngx_http_coupon_body(r, &body);

    if (rc == NGX_OK && blcf->stage >= NGX_HTTP_BENCH_HMAC) {
        rc = ngx_http_bench_hmac(bmcf, body);
    }

    if (rc == NGX_OK && blcf->stage >= NGX_HTTP_BENCH_REDIS) {
        rc = ngx_http_bench_store(bmcf, r, body);

        if (rc == NGX_OK) {
            return;
        }
    }

    ngx_http_finalize_request(r, rc == NGX_OK ? ngx_http_bench_answer(r)
                                              : NGX_HTTP_SERVICE_UNAVAILABLE);
}


/* the whole of it is in a shared library: nobody can leave it out */
static ngx_int_t
ngx_http_bench_hmac(ngx_http_bench_main_conf_t *bmcf, cc_str_t body)
{
    size_t  len;
    u_char  md[EVP_MAX_MD_SIZE];

    return EVP_MAC_init(bmcf->mac, NULL, 0, NULL) == 1
           && EVP_MAC_update(bmcf->mac, body.data, body.len) == 1
           && EVP_MAC_final(bmcf->mac, md, &len, sizeof(md)) == 1
           ? NGX_OK : NGX_ERROR;
}


static ngx_int_t
ngx_http_bench_store(ngx_http_bench_main_conf_t *bmcf, ngx_http_request_t *r,
    cc_str_t body)
{
    u_char                         key[64];
    ngx_int_t                      rc;
    const char                    *why;
    ngx_http_coupon_ack_t          ack;
    ngx_http_bench_loc_conf_t     *blcf;
    ngx_http_coupon_redis_conn_t  *conn;

    static ngx_uint_t  number;
    static cc_str_t    multi[] = { cc_str("MULTI") };
    static cc_str_t    exec[] = { cc_str("EXEC") };
    static cc_str_t    set[] = { cc_str("SET"), cc_str(""), cc_str("1"),
                                 cc_str("NX"), cc_str("PX"),
                                 cc_str("691200000") };
    static cc_str_t    add[] = { cc_str("XADD"), cc_str("{bench}:inbox"),
                                 cc_str("*"), cc_str("body"), cc_str("") };

    ack.what = NGX_HTTP_COUPON_ACK_ENQUEUED;
    ack.replicas = 0;

    conn = ngx_http_coupon_redis_get(&bmcf->redis, &ack, &rc, &why);
    if (conn == NULL) {
        return NGX_ERROR;
    }

    blcf = ngx_http_get_module_loc_conf(r, ngx_http_bench_module);

    if (blcf->stage == NGX_HTTP_BENCH_GUARD) {
        return ngx_http_bench_add(r, conn, body);
    }

    set[1].data = key;
    set[1].len = ngx_sprintf(key, "{bench}:seen:%ui", number++) - key;
    add[4] = body;

    if (ngx_http_bench_command(conn, ngx_http_bench_queued, r, 1, multi)
        || ngx_http_bench_command(conn, ngx_http_bench_queued, r, 6, set)
        || ngx_http_bench_command(conn, ngx_http_bench_queued, r, 5, add)
        || ngx_http_bench_command(conn, ngx_http_bench_stored, r, 1, exec))
    {
        return NGX_ERROR;
    }

    conn->waiting++;
    ngx_http_coupon_redis_push(conn, body.len);

    return NGX_OK;
}


/* what the real module sends, of a delivery whose body nobody has looked at */
static ngx_int_t
ngx_http_bench_add(ngx_http_request_t *r, ngx_http_coupon_redis_conn_t *conn,
    cc_str_t body)
{
    u_char                   id[64];
    cc_message_t             message;
    ngx_http_coupon_ack_t    ack;
    ngx_http_coupon_known_t  known;

    static ngx_uint_t  number;
    static ngx_str_t   prefix = ngx_string("{bench}");
    static cc_str_t    source = cc_str("sportapi");
    static cc_str_t    digest = cc_str("00000000000000000000000000000000");

    ack.what = NGX_HTTP_COUPON_ACK_ENQUEUED;
    ack.replicas = 0;

    known.scope.len = 0;
    known.any_body = 0;
    known.window = 691200000;

    message.source = source;
    message.id.data = id;
    message.id.len = ngx_sprintf(id, "00000000-0000-0000-0000-%012ui", number++)
                     - id;
    message.count = 1;
    message.digest = digest;
    message.received = (int64_t) ngx_time() * 1000;
    message.body = body;

    return ngx_http_coupon_queue_add(conn, &prefix, &message, &ack, &known,
                                     ngx_http_bench_added, r)
           ? NGX_OK : NGX_ERROR;
}


static void
ngx_http_bench_added(void *owner, ngx_http_coupon_queue_outcome_e outcome)
{
    ngx_http_request_t *r = owner;

    ngx_connection_t  *c;

    c = r->connection;

    ngx_http_finalize_request(r, outcome == NGX_HTTP_COUPON_QUEUE_STORED
                                 ? ngx_http_bench_answer(r)
                                 : NGX_HTTP_SERVICE_UNAVAILABLE);
    ngx_http_run_posted_requests(c);
}


static int
ngx_http_bench_command(ngx_http_coupon_redis_conn_t *conn,
    redisCallbackFn *done, void *data, ngx_uint_t n, const cc_str_t *args)
{
    size_t       len[NGX_HTTP_BENCH_ARGS];
    ngx_uint_t   i;
    const char  *argv[NGX_HTTP_BENCH_ARGS];

    for (i = 0; i < n; i++) {
        argv[i] = (const char *) args[i].data;
        len[i] = args[i].len;
    }

    return redisAsyncCommandArgv(conn->ac, done, data, (int) n, argv, len);
}


/* hiredis keeps a callback for every reply */
static void
ngx_http_bench_queued(redisAsyncContext *ac, void *data, void *privdata)
{
}


static void
ngx_http_bench_stored(redisAsyncContext *ac, void *data, void *privdata)
{
    redisReply          *reply = data;
    ngx_http_request_t  *r = privdata;

    ngx_int_t                      rc;
    ngx_connection_t              *c;
    ngx_http_coupon_redis_conn_t  *conn;

    conn = ac->ev.data;
    conn->waiting--;

    c = r->connection;
    rc = NGX_HTTP_SERVICE_UNAVAILABLE;

    if (reply != NULL && reply->type == REDIS_REPLY_ARRAY) {
        rc = ngx_http_bench_answer(r);
    }

    ngx_http_finalize_request(r, rc);
    ngx_http_run_posted_requests(c);
}


static ngx_int_t
ngx_http_bench_answer(ngx_http_request_t *r)
{
    ngx_int_t     rc;
    ngx_buf_t    *b;
    ngx_chain_t   out;

    static u_char  text[] = "{\"success\":true,\"processed\":1}";

    b = ngx_calloc_buf(r->pool);
    if (b == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    b->pos = text;
    b->last = text + sizeof(text) - 1;
    b->memory = 1;
    b->last_buf = 1;
    b->last_in_chain = 1;

    out.buf = b;
    out.next = NULL;

    r->headers_out.status = NGX_HTTP_OK;
    r->headers_out.content_length_n = b->last - b->pos;
    ngx_str_set(&r->headers_out.content_type, "application/json");
    r->headers_out.content_type_len = r->headers_out.content_type.len;

    rc = ngx_http_send_header(r);

    if (rc == NGX_ERROR || rc > NGX_OK) {
        return rc;
    }

    return ngx_http_output_filter(r, &out);
}

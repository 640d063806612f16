/*
 * Replies that nobody asked for.
 *
 * hiredis pairs replies with callbacks by their order.  If one is left over, it
 * takes the connection for one that listens to channels, which ours never does,
 * and stops the process by an assertion.  No server may do that to a worker: so
 * a reply that begins while no callback waits is refused before it is made, and
 * the connection is lost instead, as after any other protocol error.
 *
 * An array far longer than any of ours is refused as well: hiredis makes room
 * for as many elements as it announces, and walks over all of them at the end,
 * which can hold a worker up for many seconds.
 */

#include "redis.h"


#define NGX_HTTP_COUPON_REDIS_ELEMENTS  64      /* EXEC has three */


#if (HIREDIS_MAJOR < 1)
typedef int     ngx_http_coupon_redis_elements_t;
#else
typedef size_t  ngx_http_coupon_redis_elements_t;
#endif


static ngx_uint_t ngx_http_coupon_redis_stray(const redisReadTask *task);
static void ngx_http_coupon_redis_refuse(const redisReadTask *task,
    const char *why);
static void *ngx_http_coupon_redis_create_string(const redisReadTask *task,
    char *text, size_t len);
static void *ngx_http_coupon_redis_create_array(const redisReadTask *task,
    ngx_http_coupon_redis_elements_t n);
static void *ngx_http_coupon_redis_create_integer(const redisReadTask *task,
    long long value);
static void *ngx_http_coupon_redis_create_nil(const redisReadTask *task);


/* hiredis' own, the same for every connection, and ours in front of them */
static redisReplyObjectFunctions   ngx_http_coupon_redis_creators;
static redisReplyObjectFunctions  *ngx_http_coupon_redis_defaults;


void
ngx_http_coupon_redis_watch_replies(ngx_http_coupon_redis_conn_t *conn)
{
    redisReader  *reader = conn->ac->c.reader;

    ngx_http_coupon_redis_defaults = reader->fn;
    ngx_http_coupon_redis_creators = *reader->fn;

    ngx_http_coupon_redis_creators.createString =
                                          ngx_http_coupon_redis_create_string;
    ngx_http_coupon_redis_creators.createArray =
                                          ngx_http_coupon_redis_create_array;
    ngx_http_coupon_redis_creators.createInteger =
                                          ngx_http_coupon_redis_create_integer;
    ngx_http_coupon_redis_creators.createNil =
                                          ngx_http_coupon_redis_create_nil;

    reader->fn = &ngx_http_coupon_redis_creators;
    reader->privdata = conn->ac;
}


static ngx_uint_t
ngx_http_coupon_redis_stray(const redisReadTask *task)
{
    redisAsyncContext  *ac = task->privdata;

    if (task->parent != NULL || ac->replies.head != NULL) {
        return 0;
    }

    ngx_http_coupon_redis_refuse(task, "a reply that nobody asked for");

    return 1;
}


static void
ngx_http_coupon_redis_refuse(const redisReadTask *task, const char *why)
{
    redisAsyncContext             *ac = task->privdata;
    ngx_http_coupon_redis_conn_t  *conn = ac->data;

    ngx_http_coupon_redis_report(conn->pool, NGX_HTTP_COUPON_ERROR_PROTOCOL,
                                 "refused", why, ngx_strlen(why));
}


/* NULL is, to hiredis, an error of the reader, which ends the connection */

static void *
ngx_http_coupon_redis_create_string(const redisReadTask *task, char *text,
    size_t len)
{
    return ngx_http_coupon_redis_stray(task)
           ? NULL
           : ngx_http_coupon_redis_defaults->createString(task, text, len);
}


static void *
ngx_http_coupon_redis_create_array(const redisReadTask *task,
    ngx_http_coupon_redis_elements_t n)
{
    if (ngx_http_coupon_redis_stray(task)) {
        return NULL;
    }

    if (n > NGX_HTTP_COUPON_REDIS_ELEMENTS) {
        ngx_http_coupon_redis_refuse(task, "an array that is too long");
        return NULL;
    }

    return ngx_http_coupon_redis_defaults->createArray(task, n);
}


static void *
ngx_http_coupon_redis_create_integer(const redisReadTask *task,
    long long value)
{
    return ngx_http_coupon_redis_stray(task)
           ? NULL
           : ngx_http_coupon_redis_defaults->createInteger(task, value);
}


static void *
ngx_http_coupon_redis_create_nil(const redisReadTask *task)
{
    return ngx_http_coupon_redis_stray(task)
           ? NULL
           : ngx_http_coupon_redis_defaults->createNil(task);
}

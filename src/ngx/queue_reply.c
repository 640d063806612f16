/*
 * What Redis answered, and what that means for the delivery.
 *
 * Every element of the reply is looked at; what is not exactly as expected is
 * not a success.  hiredis calls back once per command, with NULL when the
 * connection is lost; then nothing is known.
 */

#include <ngx_config.h>
#include <ngx_core.h>

#include "queue_internal.h"


static void ngx_http_coupon_queue_unmarked(redisAsyncContext *ac, void *data,
    void *privdata);
static void ngx_http_coupon_queue_executed(ngx_http_coupon_ticket_t *ticket,
    ngx_http_coupon_queue_outcome_e outcome);
static ngx_http_coupon_queue_outcome_e ngx_http_coupon_queue_judge(
    ngx_http_coupon_ticket_t *ticket, redisReply *exec);
static ngx_uint_t ngx_http_coupon_queue_refused(
    ngx_http_coupon_ticket_t *ticket, redisReply *reply);
static ngx_http_coupon_queue_outcome_e ngx_http_coupon_queue_unexpected(
    ngx_http_coupon_ticket_t *ticket);
static void ngx_http_coupon_queue_finish(ngx_http_coupon_ticket_t *ticket,
    ngx_http_coupon_queue_outcome_e outcome);


static const char  ngx_http_coupon_unmark[] =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then\n"
    "  return redis.call('DEL', KEYS[1])\n"
    "end\n"
    "return 0\n";


/* of MULTI and what it queues: QUEUED, or why EXEC is going to be refused */
void
ngx_http_coupon_queue_queued(redisAsyncContext *ac, void *data,
    void *privdata)
{
    redisReply                *reply = data;
    ngx_http_coupon_ticket_t  *ticket = privdata;

    if (reply != NULL) {
        (void) ngx_http_coupon_queue_refused(ticket, reply);
    }

    ngx_http_coupon_queue_replied(ticket);
}


void
ngx_http_coupon_queue_added(redisAsyncContext *ac, void *data,
    void *privdata)
{
    redisReply                       *reply = data;
    ngx_http_coupon_ticket_t         *ticket = privdata;
    ngx_http_coupon_command_t         command;
    ngx_http_coupon_queue_outcome_e   outcome;

    outcome = NGX_HTTP_COUPON_QUEUE_FAILED;

    if (reply != NULL) {
        outcome = ngx_http_coupon_queue_judge(ticket, reply);
    }

    if (outcome == NGX_HTTP_COUPON_QUEUE_FAILED && reply != NULL
        && reply->type == REDIS_REPLY_ARRAY)
    {
        /* the transaction ran: if our mark is there, it must not outlive it */

        ngx_http_coupon_command(&command, "EVAL");
        ngx_http_coupon_arg(&command, ngx_http_coupon_unmark,
                            sizeof(ngx_http_coupon_unmark) - 1);
        ngx_http_coupon_arg(&command, "1", 1);
        ngx_http_coupon_arg(&command, ticket->seen.data, ticket->seen.len);
        ngx_http_coupon_arg(&command, ticket->mark, NGX_HTTP_COUPON_MARK_LEN);

        if (redisAsyncCommandArgv(ac, ngx_http_coupon_queue_unmarked, ticket,
                                  command.argc, command.argv, command.len)
            == REDIS_OK)
        {
            ticket->replies++;
            ngx_http_coupon_queue_replied(ticket);
            return;
        }
    }

    ngx_http_coupon_queue_executed(ticket, outcome);
    ngx_http_coupon_queue_replied(ticket);
}


static void
ngx_http_coupon_queue_unmarked(redisAsyncContext *ac, void *data,
    void *privdata)
{
    ngx_http_coupon_ticket_t  *ticket = privdata;

    ngx_http_coupon_queue_finish(ticket, NGX_HTTP_COUPON_QUEUE_FAILED);
    ngx_http_coupon_queue_replied(ticket);
}


void
ngx_http_coupon_queue_rejected(redisAsyncContext *ac, void *data,
    void *privdata)
{
    redisReply                       *reply = data;
    ngx_http_coupon_ticket_t         *ticket = privdata;
    ngx_http_coupon_queue_outcome_e   outcome;

    outcome = NGX_HTTP_COUPON_QUEUE_FAILED;

    if (reply != NULL && !ngx_http_coupon_queue_refused(ticket, reply)) {
        outcome = reply->type == REDIS_REPLY_STRING
                  ? NGX_HTTP_COUPON_QUEUE_STORED
                  : ngx_http_coupon_queue_unexpected(ticket);
    }

    ngx_http_coupon_queue_executed(ticket, outcome);
    ngx_http_coupon_queue_replied(ticket);
}


/*
 * What the server has executed is not durable yet, if a fence is wanted; that
 * goes for the duplicate of a delivery, too
 */
static void
ngx_http_coupon_queue_executed(ngx_http_coupon_ticket_t *ticket,
    ngx_http_coupon_queue_outcome_e outcome)
{
    if (!ticket->fence || (outcome != NGX_HTTP_COUPON_QUEUE_STORED
                           && outcome != NGX_HTTP_COUPON_QUEUE_SEEN))
    {
        ngx_http_coupon_queue_finish(ticket, outcome);
        return;
    }

    ticket->outcome = outcome;
    ticket->replies++;

    ngx_http_coupon_fence_join(ticket->conn->pool, &ticket->fenced);
}


void
ngx_http_coupon_queue_fenced(void *data, ngx_uint_t proven)
{
    ngx_http_coupon_ticket_t *ticket = data;

    ngx_http_coupon_queue_finish(ticket, proven
                                         ? ticket->outcome
                                         : NGX_HTTP_COUPON_QUEUE_FAILED);
    ngx_http_coupon_queue_replied(ticket);
}


/* EXEC: what SET, XADD and the guard said */
static ngx_http_coupon_queue_outcome_e
ngx_http_coupon_queue_judge(ngx_http_coupon_ticket_t *ticket, redisReply *exec)
{
    redisReply  *set, *add, *guard;

    if (ngx_http_coupon_queue_refused(ticket, exec)) {
        return NGX_HTTP_COUPON_QUEUE_FAILED;
    }

    if (exec->type != REDIS_REPLY_ARRAY || exec->elements != 3) {
        return ngx_http_coupon_queue_unexpected(ticket);
    }

    set = exec->element[0];
    add = exec->element[1];
    guard = exec->element[2];

    if (guard->type == REDIS_REPLY_STRING && set->type == REDIS_REPLY_NIL) {

        /* another delivery's mark, which never stands without its entry */

        if (guard->len >= CC_DIGEST_LEN
            && (ticket->any_body
                || ngx_memcmp(guard->str, ticket->mark, CC_DIGEST_LEN) == 0))
        {
            return NGX_HTTP_COUPON_QUEUE_SEEN;
        }

        return NGX_HTTP_COUPON_QUEUE_OTHER;
    }

    if (ngx_http_coupon_queue_refused(ticket, set)
        || ngx_http_coupon_queue_refused(ticket, add)
        || ngx_http_coupon_queue_refused(ticket, guard))
    {
        return NGX_HTTP_COUPON_QUEUE_FAILED;
    }

    if (set->type == REDIS_REPLY_STATUS && add->type == REDIS_REPLY_STRING
        && guard->type == REDIS_REPLY_STATUS
        && ngx_strcmp(guard->str, "STORED") == 0)
    {
        return NGX_HTTP_COUPON_QUEUE_STORED;
    }

    return ngx_http_coupon_queue_unexpected(ticket);
}


/* an error reply: counted and logged, the first of a transaction */
static ngx_uint_t
ngx_http_coupon_queue_refused(ngx_http_coupon_ticket_t *ticket,
    redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ERROR) {
        return 0;
    }

    if (!ticket->reported) {
        ticket->reported = 1;
        ngx_http_coupon_redis_error(ticket->conn->pool, "refused",
                                    reply->str, reply->len);
    }

    /* it is a replica now: its name or address may lead to the master */

    if (ngx_strncmp(reply->str, "READONLY", 8) == 0) {
        ngx_http_coupon_redis_avoid(ticket->conn);
    }

    return 1;
}


/* whatever is at the other end, it is not the server we know */
static ngx_http_coupon_queue_outcome_e
ngx_http_coupon_queue_unexpected(ngx_http_coupon_ticket_t *ticket)
{
    ngx_http_coupon_redis_error(ticket->conn->pool, "refused",
                                "an unexpected reply", 19);
    ngx_http_coupon_redis_avoid(ticket->conn);

    return NGX_HTTP_COUPON_QUEUE_FAILED;
}


static void
ngx_http_coupon_queue_finish(ngx_http_coupon_ticket_t *ticket,
    ngx_http_coupon_queue_outcome_e outcome)
{
    void                      *owner;
    ngx_http_coupon_queue_pt   done;

    done = ticket->done;
    owner = ticket->owner;

    ngx_http_coupon_queue_leave(ticket);

    if (done != NULL && !ticket->conn->pool->stopping) {
        done(owner, outcome);
    }
}


/* hiredis and the fence call back exactly once, so this is the only free */
void
ngx_http_coupon_queue_replied(ngx_http_coupon_ticket_t *ticket)
{
    ngx_http_coupon_redis_t  *pool;

    if (--ticket->replies != 0) {
        return;
    }

    pool = ticket->conn->pool;

    ticket->conn->waiting--;
    pool->pending--;
    (void) ngx_atomic_fetch_add(&pool->gauges->pending, (ngx_atomic_int_t) -1);

    ngx_free(ticket);
}

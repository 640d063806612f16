/*
 * One request is one round trip:
 *
 *   MULTI
 *   SET  PREFIX:seen:SOURCE:ID  <digest>:<token>  NX PX <window>
 *   XADD PREFIX:inbox * source … id … count … digest … received … body …
 *   EVAL <guard> 2 PREFIX:seen:SOURCE:ID PREFIX:inbox <digest>:<token>
 *   EXEC
 *
 * (with PREFIX:seen:SOURCE:SCOPE:ID where ids are unique in a scope only).
 *
 * MULTI is atomic but not conditional, and Redis rolls nothing back: of SET NX
 * and XADD alone, a duplicate would be enqueued as well, and an XADD that fails
 * would leave a mark that turns every later delivery of this id into a
 * "duplicate" of something that was never stored.  The guard makes the pair
 * exact.  It sees a body only where there is an entry to take back.  What the
 * replies mean is in queue_reply.c.
 */

#include <ngx_config.h>
#include <ngx_core.h>

#include <openssl/rand.h>

#include "queue_internal.h"


static ngx_http_coupon_ticket_t *ngx_http_coupon_queue_ticket(
    ngx_http_coupon_redis_conn_t *conn, const ngx_str_t *prefix,
    const cc_message_t *message, const ngx_http_coupon_ack_t *ack,
    const cc_str_t *scope, const char *stream);
static ngx_http_coupon_ticket_t *ngx_http_coupon_queue_send(
    ngx_http_coupon_ticket_t *ticket, ngx_http_coupon_command_t *commands,
    ngx_uint_t n, redisCallbackFn *last);
static int ngx_http_coupon_queue_append(ngx_http_coupon_ticket_t *ticket,
    const ngx_http_coupon_command_t *command, u_char **text,
    redisCallbackFn *replied);
static void ngx_http_coupon_queue_field(ngx_http_coupon_command_t *command,
    const char *name, cc_str_t value);
static void ngx_http_coupon_queue_body(ngx_http_coupon_command_t *command,
    cc_str_t body);


/*
 * KEYS: the mark, the inbox.  ARGV: what SET was to write.
 *
 * The mark is ours: this is the first delivery, and XADD has added its entry if
 * the inbox is a stream; else the mark is taken back.  The mark is another's
 * (or no string at all): ours is the newest entry, and is taken back.  Once the
 * ids of the stream are used up, XADD adds nothing, and nothing is to be taken
 * back either: then both halves of the last id have all of their 20 digits.  A
 * mark that cannot be read (an ACL without GET) could be ours: then the entry
 * stays, as without it this mark would lose the batch.
 *
 * It is as short as that because Redis computes its SHA-1 every time, at 45
 * instructions a byte.
 */
static const char  ngx_http_coupon_guard[] =
    "local c,s,k=redis.call,KEYS[1],KEYS[2]\n"
    "local m,t=redis.pcall('GET',s),c('TYPE',k).ok=='stream'\n"
    "if m==ARGV[1]then\n"
    "if t then return{ok='STORED'}end\n"
    "c('DEL',s)\n"
    "return{err='WRONGTYPE inbox'}end\n"
    "if m and m.err and not m.err:find'WRONGTYPE'then return m end\n"
    "if t then\n"
    "local f,l=c('XINFO','STREAM',k)\n"
    "for i=1,#f,2 do if f[i]=='last-generated-id'then l=f[i+1]end end\n"
    "if#l<41 then c('XDEL',k,l)end end\n"
    "return m or{err='ERR no mark'}";

static const cc_str_t  ngx_http_coupon_no_scope;


/* of this process: no two tokens are the same, on whatever machine */
static uint64_t  ngx_http_coupon_token_random;
static uint64_t  ngx_http_coupon_token_count;


ngx_int_t
ngx_http_coupon_queue_init(ngx_log_t *log)
{
    ngx_http_coupon_token_count = 0;

    if (RAND_bytes((u_char *) &ngx_http_coupon_token_random,
                   sizeof(ngx_http_coupon_token_random))
        != 1)
    {
        ngx_log_error(NGX_LOG_EMERG, log, 0,
                      "coupon_callback: no random bytes for the tokens");
        return NGX_ERROR;
    }

    return NGX_OK;
}


ngx_http_coupon_ticket_t *
ngx_http_coupon_queue_add(ngx_http_coupon_redis_conn_t *conn,
    const ngx_str_t *prefix, const cc_message_t *message,
    const ngx_http_coupon_ack_t *ack, const ngx_http_coupon_known_t *known,
    ngx_http_coupon_queue_pt done, void *owner)
{
    u_char                     *p, ttl[NGX_INT_T_LEN];
    u_char                      count[NGX_INT64_LEN], received[NGX_INT64_LEN];
    cc_str_t                    value;
    ngx_http_coupon_ticket_t   *ticket;
    ngx_http_coupon_command_t   commands[5];

    ticket = ngx_http_coupon_queue_ticket(conn, prefix, message, ack,
                                          &known->scope, CC_KEY_INBOX);
    if (ticket == NULL) {
        return NULL;
    }

    ticket->done = done;
    ticket->owner = owner;
    ticket->any_body = known->any_body;

    ngx_http_coupon_token_count++;

    p = ngx_cpymem(ticket->mark, message->digest.data, CC_DIGEST_LEN);
    *p++ = ':';
    p = ngx_hex_dump(p, (u_char *) &ngx_http_coupon_token_random,
                     sizeof(ngx_http_coupon_token_random));
    *p++ = '-';
    (void) ngx_hex_dump(p, (u_char *) &ngx_http_coupon_token_count,
                        sizeof(ngx_http_coupon_token_count));

    ngx_http_coupon_command(&commands[0], "MULTI");

    ngx_http_coupon_command(&commands[1], "SET");
    ngx_http_coupon_arg(&commands[1], ticket->seen.data, ticket->seen.len);
    ngx_http_coupon_arg(&commands[1], ticket->mark, NGX_HTTP_COUPON_MARK_LEN);
    ngx_http_coupon_arg(&commands[1], "NX", 2);
    ngx_http_coupon_arg(&commands[1], "PX", 2);
    p = ngx_sprintf(ttl, "%M", known->window);
    ngx_http_coupon_arg(&commands[1], ttl, p - ttl);

    ngx_http_coupon_command(&commands[2], "XADD");
    ngx_http_coupon_arg(&commands[2], ticket->stream.data, ticket->stream.len);
    ngx_http_coupon_arg(&commands[2], "*", 1);
    ngx_http_coupon_queue_field(&commands[2], CC_FIELD_SOURCE,
                                message->source);
    ngx_http_coupon_queue_field(&commands[2], CC_FIELD_ID, message->id);
    value.data = count;
    value.len = ngx_sprintf(count, "%uL", message->count) - count;
    ngx_http_coupon_queue_field(&commands[2], CC_FIELD_COUNT, value);
    ngx_http_coupon_queue_field(&commands[2], CC_FIELD_DIGEST,
                                message->digest);
    value.data = received;
    value.len = ngx_sprintf(received, "%L", message->received) - received;
    ngx_http_coupon_queue_field(&commands[2], CC_FIELD_RECEIVED, value);
    ngx_http_coupon_queue_body(&commands[2], message->body);

    ngx_http_coupon_command(&commands[3], "EVAL");
    ngx_http_coupon_arg(&commands[3], ngx_http_coupon_guard,
                        sizeof(ngx_http_coupon_guard) - 1);
    ngx_http_coupon_arg(&commands[3], "2", 1);
    ngx_http_coupon_arg(&commands[3], ticket->seen.data, ticket->seen.len);
    ngx_http_coupon_arg(&commands[3], ticket->stream.data, ticket->stream.len);
    ngx_http_coupon_arg(&commands[3], ticket->mark, NGX_HTTP_COUPON_MARK_LEN);

    ngx_http_coupon_command(&commands[4], "EXEC");

    return ngx_http_coupon_queue_send(ticket, commands, 5,
                                      ngx_http_coupon_queue_added);
}


ngx_http_coupon_ticket_t *
ngx_http_coupon_queue_reject(ngx_http_coupon_redis_conn_t *conn,
    const ngx_str_t *prefix, const cc_message_t *message,
    const ngx_http_coupon_ack_t *ack, const char *reason, ngx_int_t limit,
    ngx_http_coupon_queue_pt done, void *owner)
{
    u_char                     *p, max[NGX_INT_T_LEN], received[NGX_INT64_LEN];
    cc_str_t                    value;
    ngx_http_coupon_ticket_t   *ticket;
    ngx_http_coupon_command_t   command;

    ticket = ngx_http_coupon_queue_ticket(conn, prefix, message, ack,
                                          &ngx_http_coupon_no_scope,
                                          CC_KEY_REJECTED);
    if (ticket == NULL) {
        return NULL;
    }

    ticket->done = done;
    ticket->owner = owner;

    ngx_http_coupon_command(&command, "XADD");
    ngx_http_coupon_arg(&command, ticket->stream.data, ticket->stream.len);
    ngx_http_coupon_arg(&command, "MAXLEN", 6);
    p = ngx_sprintf(max, "%i", limit);
    ngx_http_coupon_arg(&command, max, p - max);
    ngx_http_coupon_arg(&command, "*", 1);
    ngx_http_coupon_queue_field(&command, CC_FIELD_SOURCE, message->source);
    ngx_http_coupon_queue_field(&command, CC_FIELD_ID, message->id);
    value.data = (const unsigned char *) reason;
    value.len = ngx_strlen(reason);
    ngx_http_coupon_queue_field(&command, CC_FIELD_REASON, value);
    value.data = received;
    value.len = ngx_sprintf(received, "%L", message->received) - received;
    ngx_http_coupon_queue_field(&command, CC_FIELD_RECEIVED, value);
    ngx_http_coupon_queue_body(&command, message->body);

    return ngx_http_coupon_queue_send(ticket, &command, 1,
                                      ngx_http_coupon_queue_rejected);
}


static void
ngx_http_coupon_queue_field(ngx_http_coupon_command_t *command,
    const char *name, cc_str_t value)
{
    ngx_http_coupon_arg(command, name, ngx_strlen(name));
    ngx_http_coupon_arg(command, value.len ? value.data : (u_char *) "",
                        value.len);
}


static void
ngx_http_coupon_queue_body(ngx_http_coupon_command_t *command, cc_str_t body)
{
    ngx_http_coupon_arg(command, CC_FIELD_BODY, sizeof(CC_FIELD_BODY) - 1);
    ngx_http_coupon_command_apart(command, body.len ? body.data : (u_char *) "",
                                  body.len);
}


static ngx_http_coupon_ticket_t *
ngx_http_coupon_queue_ticket(ngx_http_coupon_redis_conn_t *conn,
    const ngx_str_t *prefix, const cc_message_t *message,
    const ngx_http_coupon_ack_t *ack, const cc_str_t *scope,
    const char *stream)
{
    u_char                    *p;
    ngx_http_coupon_ticket_t  *ticket;

    ticket = ngx_calloc(sizeof(ngx_http_coupon_ticket_t)
                        + prefix->len + sizeof(CC_KEY_SEEN)
                        + message->source.len + 1 + scope->len + 1
                        + message->id.len
                        + prefix->len + ngx_strlen(stream), ngx_cycle->log);
    if (ticket == NULL) {
        return NULL;
    }

    ticket->conn = conn;

    ticket->fence = ngx_http_coupon_redis_fenced(conn, ack);
    ticket->fenced.epoch = conn->pool->fence.epoch;
    ticket->fenced.local = (conn->way == NGX_HTTP_COUPON_WAY_FENCE);
    ticket->fenced.replicas = ack->replicas;
    ticket->fenced.done = ngx_http_coupon_queue_fenced;
    ticket->fenced.data = ticket;

    p = (u_char *) ticket + sizeof(ngx_http_coupon_ticket_t);
    ticket->seen.data = p;
    p = ngx_cpymem(p, prefix->data, prefix->len);
    p = ngx_cpymem(p, CC_KEY_SEEN, sizeof(CC_KEY_SEEN) - 1);
    p = ngx_cpymem(p, message->source.data, message->source.len);
    *p++ = ':';

    if (scope->len != 0) {
        p = ngx_cpymem(p, scope->data, scope->len);
        *p++ = ':';
    }

    p = ngx_cpymem(p, message->id.data, message->id.len);
    ticket->seen.len = p - ticket->seen.data;

    ticket->stream.data = p;
    p = ngx_cpymem(p, prefix->data, prefix->len);
    p = ngx_cpymem(p, stream, ngx_strlen(stream));
    ticket->stream.len = p - ticket->stream.data;

    return ticket;
}


/* all commands or, as the connection is then dropped, none */
static ngx_http_coupon_ticket_t *
ngx_http_coupon_queue_send(ngx_http_coupon_ticket_t *ticket,
    ngx_http_coupon_command_t *commands, ngx_uint_t n, redisCallbackFn *last)
{
    size_t                         size, apart;
    u_char                        *text, *p;
    ngx_uint_t                     i;
    ngx_http_coupon_redis_conn_t  *conn;

    size = 0;
    apart = 0;

    for (i = 0; i < n; i++) {
        size += ngx_http_coupon_command_size(&commands[i]);

        if (commands[i].apart) {
            apart += commands[i].len[commands[i].argc - 1];
        }
    }

    text = ngx_alloc(size, ngx_cycle->log);
    if (text == NULL) {
        ngx_free(ticket);
        return NULL;
    }

    conn = ticket->conn;

    conn->waiting++;
    conn->pool->pending++;
    (void) ngx_atomic_fetch_add(&conn->pool->gauges->pending, 1);

    p = text;

    for (i = 0; i < n; i++) {
        if (ngx_http_coupon_queue_append(ticket, &commands[i], &p,
                                         i == n - 1
                                         ? last : ngx_http_coupon_queue_queued)
            != REDIS_OK)
        {
            break;
        }
    }

    size = p - text + apart;
    ngx_free(text);

    if (i == n) {
        ngx_http_coupon_redis_push(conn, size);
        return ticket;
    }

    ngx_http_coupon_redis_drop(conn);
    ngx_http_coupon_queue_leave(ticket);

    ticket->replies++;
    ngx_http_coupon_queue_replied(ticket);

    return NULL;
}


/* one reply more is to come, unless nothing was appended at all */
static int
ngx_http_coupon_queue_append(ngx_http_coupon_ticket_t *ticket,
    const ngx_http_coupon_command_t *command, u_char **text,
    redisCallbackFn *replied)
{
    int                 rc, last;
    char               *begin;
    redisAsyncContext  *ac;

    ac = ticket->conn->ac;
    begin = (char *) *text;
    *text = ngx_http_coupon_command_write(command, *text);

    rc = redisAsyncFormattedCommand(ac, replied, ticket, begin,
                                    (char *) *text - begin);
    if (rc != REDIS_OK) {
        return rc;
    }

    ticket->replies++;

    if (!command->apart) {
        return REDIS_OK;
    }

    last = command->argc - 1;
    rc = redisAppendFormattedCommand(&ac->c, command->argv[last],
                                     command->len[last]);

    return rc == REDIS_OK
           ? redisAppendFormattedCommand(&ac->c, CRLF, sizeof(CRLF) - 1) : rc;
}


void
ngx_http_coupon_queue_leave(ngx_http_coupon_ticket_t *ticket)
{
    ticket->done = NULL;
    ticket->owner = NULL;
}

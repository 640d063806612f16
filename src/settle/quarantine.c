/*
 * The two places of the quarantine; see quarantine.h.
 */

#include <stdio.h>
#include <stdlib.h>

#include "buffer.h"
#include "message.h"
#include "quarantine.h"


#define CS_QUARANTINE_PAGE  "100"     /* entries of the stream in one reply */

typedef struct {
    cs_quarantined_pt   call;
    void               *ctx;
} cs_quarantine_call_t;


static void cs_quarantine_row(void *ctx, const cs_rejected_t *rejected);
static cs_status_e cs_quarantine_stream(cs_quarantine_t *q,
    cs_quarantined_pt call, void *ctx);
static cs_status_e cs_quarantine_range(cs_quarantine_t *q, const char *start,
    const char *end, redisReply **reply);
static void cs_quarantine_entry(const redisReply *entry, cs_quarantined_pt call,
    void *ctx);
static cc_str_t cs_quarantine_field(const redisReply *values,
    const char *name);
static cs_status_e cs_quarantine_drop_entry(cs_quarantine_t *q,
    const char *id);
static cs_status_e cs_quarantine_id(cs_quarantine_t *q, const char *id,
    int64_t *number);
static cs_status_e cs_quarantine_status(cs_quarantine_t *q,
    cs_status_e status, const char *id);
static cs_status_e cs_quarantine_redis(cs_quarantine_t *q);


cs_status_e
cs_quarantine_list(cs_quarantine_t *q, cs_quarantined_pt call, void *ctx)
{
    cs_status_e           status;
    cs_quarantine_call_t  row;

    row.call = call;
    row.ctx = ctx;

    if (q->store) {
        status = cs_store_rejected(q->store, 0, cs_quarantine_row, &row);

        if (status != CS_OK && status != CS_NONE) {
            return cs_quarantine_status(q, status, "");
        }
    }

    return cs_quarantine_stream(q, call, ctx);
}


cs_status_e
cs_quarantine_find(cs_quarantine_t *q, const char *id, cs_quarantined_pt call,
    void *ctx)
{
    int64_t               number;
    redisReply           *reply, *entry;
    cs_status_e           status;
    cs_quarantine_call_t  row;

    if (cs_quarantine_in_stream(id)) {

        status = cs_quarantine_range(q, id, id, &reply);
        if (status != CS_OK) {
            return status;
        }

        entry = cs_redis_at(reply, 0);

        if (entry) {
            cs_quarantine_entry(entry, call, ctx);
        }

        status = entry ? CS_OK : CS_NONE;
        freeReplyObject(reply);

        return cs_quarantine_status(q, status, id);
    }

    status = cs_quarantine_id(q, id, &number);
    if (status != CS_OK) {
        return status;
    }

    row.call = call;
    row.ctx = ctx;

    return cs_quarantine_status(q,
                                cs_store_rejected(q->store, number,
                                                  cs_quarantine_row, &row),
                                id);
}


cs_status_e
cs_quarantine_drop(cs_quarantine_t *q, const char *id)
{
    int64_t      number;
    cs_status_e  status;

    if (cs_quarantine_in_stream(id)) {
        return cs_quarantine_drop_entry(q, id);
    }

    status = cs_quarantine_id(q, id, &number);
    if (status != CS_OK) {
        return status;
    }

    return cs_quarantine_status(q, cs_store_rejected_drop(q->store, number),
                                id);
}


static void
cs_quarantine_row(void *ctx, const cs_rejected_t *rejected)
{
    char                   id[32];
    cs_quarantined_t       item;
    cs_quarantine_call_t  *row = ctx;

    (void) snprintf(id, sizeof(id), "%lld", (long long) rejected->id);

    item.id = cs_str_of(id);
    item.kept = *rejected;

    row->call(row->ctx, &item);
}


static cs_status_e
cs_quarantine_stream(cs_quarantine_t *q, cs_quarantined_pt call, void *ctx)
{
    char         start[64];
    size_t       i;
    cc_str_t     id;
    redisReply  *reply;
    cs_status_e  status;

    (void) snprintf(start, sizeof(start), "-");

    for ( ;; ) {

        status = cs_quarantine_range(q, start, "+", &reply);
        if (status != CS_OK) {
            return status;
        }

        if (cs_redis_at(reply, 0) == NULL) {
            freeReplyObject(reply);
            return CS_OK;
        }

        for (i = 0; cs_redis_at(reply, i) != NULL; i++) {
            cs_quarantine_entry(cs_redis_at(reply, i), call, ctx);
        }

        /* the next page begins behind the last one of this */

        id = cs_redis_str(cs_redis_at(cs_redis_at(reply, i - 1), 0));
        (void) snprintf(start, sizeof(start), "(%.*s", (int) id.len,
                        (const char *) id.data);

        freeReplyObject(reply);
    }
}


static cs_status_e
cs_quarantine_range(cs_quarantine_t *q, const char *start, const char *end,
    redisReply **reply)
{
    if (cs_redis_open(&q->redis) != CS_OK) {
        return cs_quarantine_redis(q);
    }

    *reply = cs_redis_call(&q->redis, "XRANGE", q->conf->rejected, start, end,
                           "COUNT", CS_QUARANTINE_PAGE);

    return *reply ? CS_OK : cs_quarantine_redis(q);
}


static void
cs_quarantine_entry(const redisReply *entry, cs_quarantined_pt call, void *ctx)
{
    cc_str_t            received;
    const redisReply   *values;
    cs_quarantined_t    item;

    memset(&item, 0, sizeof(cs_quarantined_t));

    values = cs_redis_at(entry, 1);

    item.id = cs_redis_str(cs_redis_at(entry, 0));
    item.kept.source = cs_quarantine_field(values, CC_FIELD_SOURCE);
    item.kept.batch_id = cs_quarantine_field(values, CC_FIELD_ID);
    item.kept.reason = cs_quarantine_field(values, CC_FIELD_REASON);
    item.kept.body = cs_quarantine_field(values, CC_FIELD_BODY);

    /* strings of hiredis end with a NUL; an entry's id begins with its time */

    received = cs_quarantine_field(values, CC_FIELD_RECEIVED);

    item.kept.received_at = strtoll((const char *) received.data, NULL, 10);
    item.kept.rejected_at = strtoll((const char *) item.id.data, NULL, 10);

    call(ctx, &item);
}


static cc_str_t
cs_quarantine_field(const redisReply *values, const char *name)
{
    size_t  i;

    for (i = 0; cs_redis_at(values, i + 1) != NULL; i += 2) {
        if (cc_str_is(cs_redis_str(cs_redis_at(values, i)), name)) {
            return cs_redis_str(cs_redis_at(values, i + 1));
        }
    }

    return cs_str_of("");
}


static cs_status_e
cs_quarantine_drop_entry(cs_quarantine_t *q, const char *id)
{
    long long    dropped;
    redisReply  *reply;

    if (cs_redis_open(&q->redis) != CS_OK) {
        return cs_quarantine_redis(q);
    }

    reply = cs_redis_call(&q->redis, "XDEL", q->conf->rejected, id);
    if (reply == NULL) {
        return cs_quarantine_redis(q);
    }

    dropped = reply->integer;
    freeReplyObject(reply);

    return cs_quarantine_status(q, dropped ? CS_OK : CS_NONE, id);
}


unsigned
cs_quarantine_in_stream(const char *id)
{
    return strchr(id, '-') != NULL;
}


static cs_status_e
cs_quarantine_id(cs_quarantine_t *q, const char *id, int64_t *number)
{
    if (q->store == NULL
        || cc_money_whole(number, cs_str_of(id)) != 0 || *number <= 0)
    {
        return cs_quarantine_status(q, CS_NONE, id);
    }

    return CS_OK;
}


static cs_status_e
cs_quarantine_status(cs_quarantine_t *q, cs_status_e status, const char *id)
{
    switch (status) {

    case CS_OK:
        break;

    case CS_NONE:
        (void) snprintf(q->error, sizeof(q->error),
                        "there is nothing with the id \"%s\"", id);
        break;

    case CS_REFUSED:
    case CS_AGAIN:
        (void) snprintf(q->error, sizeof(q->error), "the store: %s",
                        cs_store_error(q->store));
        break;
    }

    return status;
}


static cs_status_e
cs_quarantine_redis(cs_quarantine_t *q)
{
    (void) snprintf(q->error, sizeof(q->error), "Redis (%s): %s",
                    q->conf->redis.name, q->redis.error);

    return CS_AGAIN;
}

/*
 * Reading the inbox; see stream.h.
 *
 * The module takes the entry of a duplicate back in the moment it has added it.
 * That wakes a waiting XREADGROUP with nothing in its hands: an empty array or
 * nil is no error here.  An entry that is deleted while it is pending is one:
 * its id comes without a body, and a callback is lost to us.
 */

#include <stdio.h>
#include <stdlib.h>

#include "counters.h"
#include "log.h"
#include "stream.h"


static void cs_stream_aim(cs_stream_t *s);
static redisReply *cs_stream_read_own(cs_stream_t *s);
static redisReply *cs_stream_read_new(cs_stream_t *s);
static redisReply *cs_stream_claim(cs_stream_t *s);
static void cs_stream_claimed(cs_stream_t *s);
static void cs_stream_entries(cs_stream_t *s, const redisReply *entries);
static void cs_stream_entry(cs_stream_t *s, const redisReply *entry);
static void cs_stream_lost(cs_stream_t *s, cc_str_t id);


/*
 * Both or neither.  A script and not a MULTI, because a Redis without memory
 * refuses to queue even the commands that would give it some.
 */

static const char  cs_stream_ack_script[] =
    "redis.call('XACK', KEYS[1], ARGV[1], unpack(ARGV, 2))"
    "return redis.call('XDEL', KEYS[1], unpack(ARGV, 2))";


/*
 * With the consumer Redis drops what is pending for it: that there is nothing
 * has to be seen and used in one step.
 */

static const char  cs_stream_tidy_script[] =
    "local gone = {}\n"
    "local all = redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])\n"
    "for _, c in ipairs(all) do\n"
    "  local is = {}\n"
    "  for i = 1, #c, 2 do is[c[i]] = c[i + 1] end\n"
    "  if is.name ~= ARGV[2] and is.pending == 0\n"
    "     and is.idle >= tonumber(ARGV[3]) then\n"
    "    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], is.name)\n"
    "    gone[#gone + 1] = is.name\n"
    "  end\n"
    "end\n"
    "return gone";


cs_status_e
cs_stream_create_group(cs_stream_t *s)
{
    redisReply  *reply;

    reply = cs_redis_call(s->redis, "XGROUP", "CREATE", s->conf->inbox,
                          s->conf->group, "0", "MKSTREAM");

    if (reply == NULL) {
        return cs_redis_said(s->redis, "BUSYGROUP") ? CS_OK : CS_AGAIN;
    }

    freeReplyObject(reply);

    cs_log(CS_LOG_INFO, cs_msg("consumer group created"),
           cs_text("stream", s->conf->inbox),
           cs_text("group", s->conf->group));

    return CS_OK;
}


cs_status_e
cs_stream_read(cs_stream_t *s, cs_stream_part_e part)
{
    redisReply  *reply;

    cs_stream_aim(s);
    cs_stream_release(s);

    reply = NULL;

    switch (part) {

    case CS_STREAM_OWN:
        reply = cs_stream_read_own(s);
        break;

    case CS_STREAM_CLAIM:
        reply = cs_stream_claim(s);
        break;

    case CS_STREAM_NEW:
        reply = cs_stream_read_new(s);
        break;
    }

    if (reply == NULL) {
        return cs_redis_said(s->redis, "NOGROUP") ? CS_NONE : CS_AGAIN;
    }

    s->reply = reply;

    if (part == CS_STREAM_CLAIM) {
        cs_stream_claimed(s);
        return CS_OK;
    }

    /* [[stream, entries]], or nil after the wait */

    cs_stream_entries(s, cs_redis_at(cs_redis_at(reply, 0), 1));
    s->more = s->nids > 0;

    return CS_OK;
}


/* the next ones will be as long as the last ones */

static void
cs_stream_aim(cs_stream_t *s)
{
    size_t  n;

    if (s->n == 0) {
        s->asked = s->asked ? s->asked : CS_STREAM_GROUP_LEAST;
        return;
    }

    n = CS_STREAM_GROUP_BYTES / (s->bytes / s->n + 1);

    if (n > CS_STREAM_GROUP) {
        n = CS_STREAM_GROUP;
    }

    s->asked = n > CS_STREAM_GROUP_LEAST ? n : CS_STREAM_GROUP_LEAST;
}


static redisReply *
cs_stream_read_own(cs_stream_t *s)
{
    char  count[32];

    (void) snprintf(count, sizeof(count), "%zu", s->asked);

    return cs_redis_call(s->redis, "XREADGROUP", "GROUP", s->conf->group,
                         s->conf->consumer, "COUNT", count, "STREAMS",
                         s->conf->inbox, "0");
}


static redisReply *
cs_stream_read_new(cs_stream_t *s)
{
    char  count[32], block[16];

    (void) snprintf(count, sizeof(count), "%zu", s->asked);
    (void) snprintf(block, sizeof(block), "%d", CS_STREAM_BLOCK_MS);

    return cs_redis_call(s->redis, "XREADGROUP", "GROUP", s->conf->group,
                         s->conf->consumer, "COUNT", count, "BLOCK", block,
                         "STREAMS", s->conf->inbox, ">");
}


static redisReply *
cs_stream_claim(cs_stream_t *s)
{
    char  count[32], idle[32];

    (void) snprintf(count, sizeof(count), "%zu", s->asked);
    (void) snprintf(idle, sizeof(idle), "%lld",
                    (long long) s->conf->claim_after);

    if (s->cursor[0] == '\0') {
        (void) snprintf(s->cursor, sizeof(s->cursor), "0-0");
    }

    return cs_redis_call(s->redis, "XAUTOCLAIM", s->conf->inbox,
                         s->conf->group, s->conf->consumer, idle, s->cursor,
                         "COUNT", count);
}


/* [next cursor, entries, and since Redis 7.0 the ids that were deleted] */

static void
cs_stream_claimed(cs_stream_t *s)
{
    size_t             i;
    cc_str_t           cursor;
    const redisReply  *deleted;

    cs_stream_entries(s, cs_redis_at(s->reply, 1));

    /* Redis has taken these out of the pending list itself */

    deleted = cs_redis_at(s->reply, 2);

    for (i = 0; cs_redis_at(deleted, i) != NULL; i++) {
        cs_stream_lost(s, cs_redis_str(cs_redis_at(deleted, i)));
    }

    if (s->n) {
        cs_count(CS_COUNT_ENTRY_CLAIMED, (unsigned) s->n);

        cs_log(CS_LOG_WARN, cs_msg("took over what another consumer left"),
               cs_number("entries", (int64_t) s->n));
    }

    cursor = cs_redis_str(cs_redis_at(s->reply, 0));
    s->more = cursor.len > 0 && !cc_str_is(cursor, "0-0");

    (void) snprintf(s->cursor, sizeof(s->cursor), "%.*s", (int) cursor.len,
                    (const char *) cursor.data);
}


static void
cs_stream_entries(cs_stream_t *s, const redisReply *entries)
{
    size_t  i;

    for (i = 0; i < CS_STREAM_GROUP; i++) {

        if (cs_redis_at(entries, i) == NULL) {
            return;
        }

        cs_stream_entry(s, cs_redis_at(entries, i));
    }
}


static void
cs_stream_entry(cs_stream_t *s, const redisReply *entry)
{
    size_t             i;
    cc_str_t           id, *fields;
    cs_delivery_t     *delivery;
    const redisReply  *values;

    id = cs_redis_str(cs_redis_at(entry, 0));

    if (id.len == 0) {

        /* before 7.0 a claimed entry that was deleted is a nil without an id */

        cs_stream_lost(s, id);
        return;
    }

    s->ids[s->nids++] = (const char *) id.data;

    values = cs_redis_at(entry, 1);

    if (values == NULL || values->type != REDIS_REPLY_ARRAY) {
        cs_stream_lost(s, id);
        return;
    }

    fields = cs_alloc(values->elements * sizeof(cc_str_t));

    for (i = 0; i < values->elements; i++) {
        fields[i] = cs_redis_str(values->element[i]);
        s->bytes += fields[i].len;
    }

    delivery = &s->deliveries[s->n++];
    delivery->entry = id;
    delivery->unreadable = cc_message_parse(&delivery->message, fields,
                                            values->elements);
    free(fields);
}


static void
cs_stream_lost(cs_stream_t *s, cc_str_t id)
{
    cs_count(CS_COUNT_ENTRY_LOST, 1);

    cs_log(CS_LOG_ERROR, cs_msg("an entry was deleted from the inbox before it "
                                "was settled"),
           cs_text("stream", s->conf->inbox), cs_bytes("entry", id));
}


size_t
cs_stream_hold(cs_stream_t *s)
{
    size_t  i, j, kept, held;

    held = 0;

    for (i = 0; i < s->n; i++) {

        if (!s->deliveries[i].held) {
            continue;
        }

        held++;

        for (j = 0, kept = 0; j < s->nids; j++) {
            if (s->ids[j] != (const char *) s->deliveries[i].entry.data) {
                s->ids[kept++] = s->ids[j];
            }
        }

        s->nids = kept;
    }

    return held;
}


cs_status_e
cs_stream_ack(cs_stream_t *s)
{
    size_t       i;
    redisReply  *reply;
    const char  *words[5 + CS_STREAM_GROUP];

    if (s->nids == 0) {
        return CS_OK;
    }

    words[0] = "EVAL";
    words[1] = cs_stream_ack_script;
    words[2] = "1";
    words[3] = s->conf->inbox;
    words[4] = s->conf->group;

    for (i = 0; i < s->nids; i++) {
        words[5 + i] = s->ids[i];
    }

    reply = cs_redis_words(s->redis, 5 + s->nids, words);
    if (reply == NULL) {
        return CS_AGAIN;
    }

    freeReplyObject(reply);

    return CS_OK;
}


cs_status_e
cs_stream_tidy(cs_stream_t *s)
{
    char         idle[32];
    size_t       i;
    redisReply  *reply;

    (void) snprintf(idle, sizeof(idle), "%lld",
                    (long long) s->conf->claim_after * CS_STREAM_GONE);

    reply = cs_redis_call(s->redis, "EVAL", cs_stream_tidy_script, "1",
                          s->conf->inbox, s->conf->group, s->conf->consumer,
                          idle);
    if (reply == NULL) {
        return CS_AGAIN;
    }

    for (i = 0; cs_redis_at(reply, i) != NULL; i++) {
        cs_log(CS_LOG_INFO, cs_msg("a consumer is gone"),
               cs_bytes("consumer", cs_redis_str(cs_redis_at(reply, i))));
    }

    freeReplyObject(reply);

    return CS_OK;
}


void
cs_stream_release(cs_stream_t *s)
{
    if (s->reply) {
        freeReplyObject(s->reply);
        s->reply = NULL;
    }

    s->n = 0;
    s->nids = 0;
    s->bytes = 0;
    s->more = 0;
}

/*
 * Looking at the stream of operations, and adding to it; see outbox_stream.h.
 */

#include <stdio.h>
#include <stdlib.h>

#include "outbox_stream.h"


static cs_status_e cs_outbox_stream_call(cs_outbox_stream_t *s,
    const char *expected);
static void cs_outbox_stream_state(cs_outbox_stream_t *s,
    const redisReply *reply);
static int64_t cs_outbox_stream_number(cc_str_t id);
static void cs_outbox_stream_word(cs_outbox_stream_t *s);
static void cs_outbox_stream_key(cs_buffer_t *key,
    const cs_operation_t *operation);


/*
 * ARGV: the id that the last entry should have, and CS_OUTBOX_WORDS words of
 * each new one.  Answers with the last id, the operation_key of that entry, and
 * the length.  Should an XADD fail, those before it stay, in their order: the
 * next look finds how far it came.
 */

static const char  cs_outbox_stream_script[] =
    "local last, own = '0-0', ''\n"
    "if redis.call('EXISTS', KEYS[1]) == 1 then\n"
    "  local info = redis.call('XINFO', 'STREAM', KEYS[1])\n"
    "  local is = {}\n"
    "  for i = 1, #info, 2 do is[info[i]] = info[i + 1] end\n"
    "  last = is['last-generated-id']\n"
    "  local entry = is['last-entry']\n"
    "  if entry and entry[1] == last and entry[2][1] == 'operation_key' then\n"
    "    own = entry[2][2]\n"
    "  end\n"
    "end\n"
    "if last == ARGV[1] then\n"
    "  for i = 2, #ARGV, 8 do\n"
    "    last = redis.call('XADD', KEYS[1], ARGV[i],\n"
    "      'operation_key', ARGV[i + 1], 'coupon_code', ARGV[i + 2],\n"
    "      'settlement_generation', ARGV[i + 3], 'kind', ARGV[i + 4],\n"
    "      'amount', ARGV[i + 5], 'created_at', ARGV[i + 6],\n"
    "      'batch_id', ARGV[i + 7])\n"
    "    own = ARGV[i + 1]\n"
    "  end\n"
    "end\n"
    "return { last, redis.call('XLEN', KEYS[1]), own }";


cs_status_e
cs_outbox_stream_look(cs_outbox_stream_t *s)
{
    cs_outbox_stream_clear(s);

    /* no id is like this: nothing is added */

    return cs_outbox_stream_call(s, "");
}


void
cs_outbox_stream_put(cs_outbox_stream_t *s, int64_t number,
    const cs_operation_t *operation)
{
    char                   text[CC_MONEY_TEXT];
    const cc_operation_t  *o = &operation->operation;

    s->n++;
    s->number = number;

    cs_buffer_format(&s->words, "%lld-0", (long long) number);
    cs_outbox_stream_word(s);

    cs_outbox_stream_key(&s->words, operation);
    cs_outbox_stream_word(s);

    cs_buffer_add(&s->words, operation->code);
    cs_outbox_stream_word(s);

    cs_buffer_format(&s->words, "%u", o->generation);
    cs_outbox_stream_word(s);

    cs_buffer_text(&s->words, cc_operation_name(o->kind));
    cs_outbox_stream_word(s);

    (void) cc_money_format(text, o->amount);
    cs_buffer_text(&s->words, text);
    cs_outbox_stream_word(s);

    cs_buffer_format(&s->words, "%lld", (long long) operation->created_at);
    cs_outbox_stream_word(s);

    cs_buffer_add(&s->words, operation->batch_id);
    cs_outbox_stream_word(s);
}


/* the end of one */

static void
cs_outbox_stream_word(cs_outbox_stream_t *s)
{
    cc_str_t  nul = { .data = (const unsigned char *) "", .len = 1 };

    cs_buffer_add(&s->words, nul);
}


static void
cs_outbox_stream_key(cs_buffer_t *key, const cs_operation_t *operation)
{
    const cc_operation_t  *o = &operation->operation;

    cs_buffer_add(key, operation->code);
    cs_buffer_format(key, ":%u:%s", o->generation, cc_operation_name(o->kind));
}


cs_status_e
cs_outbox_stream_send(cs_outbox_stream_t *s)
{
    char         id[32];
    int64_t      number;
    cs_status_e  status;

    number = s->number;

    (void) snprintf(id, sizeof(id), "%lld-0", (long long) s->last);

    status = cs_outbox_stream_call(s, id);

    cs_outbox_stream_clear(s);

    return status == CS_OK && s->last != number ? CS_NONE : status;
}


static cs_status_e
cs_outbox_stream_call(cs_outbox_stream_t *s, const char *expected)
{
    size_t        i;
    redisReply   *reply;
    const char   *word;
    const char   *words[5 + CS_OUTBOX_GROUP * CS_OUTBOX_WORDS];

    words[0] = "EVAL";
    words[1] = cs_outbox_stream_script;
    words[2] = "1";
    words[3] = s->key;
    words[4] = expected;

    word = (const char *) s->words.data;

    for (i = 0; i < s->n * CS_OUTBOX_WORDS; i++) {
        words[5 + i] = word;
        word += strlen(word) + 1;
    }

    reply = cs_redis_words(s->redis, 5 + i, words);
    if (reply == NULL) {
        return CS_AGAIN;
    }

    cs_outbox_stream_state(s, reply);
    freeReplyObject(reply);

    return CS_OK;
}


static void
cs_outbox_stream_state(cs_outbox_stream_t *s, const redisReply *reply)
{
    const redisReply  *length;

    s->last = cs_outbox_stream_number(cs_redis_str(cs_redis_at(reply, 0)));

    length = cs_redis_at(reply, 1);
    s->length = length ? length->integer : 0;

    s->own.len = 0;
    cs_buffer_add(&s->own, cs_redis_str(cs_redis_at(reply, 2)));
}


/* of NUMBER-0, as it was made here; -1 of every other id */

static int64_t
cs_outbox_stream_number(cc_str_t id)
{
    char     text[48];
    int64_t  number;

    number = id.len ? strtoll((const char *) id.data, NULL, 10) : -1;

    (void) snprintf(text, sizeof(text), "%lld-0", (long long) number);

    return cc_str_is(id, text) ? number : -1;
}


unsigned
cs_outbox_stream_differs(const cs_outbox_stream_t *s,
    const cs_operation_t *operation)
{
    unsigned     differs;
    cs_buffer_t  key;

    memset(&key, 0, sizeof(cs_buffer_t));
    cs_outbox_stream_key(&key, operation);

    differs = s->own.len
              && (s->own.len != key.len
                  || memcmp(s->own.data, key.data, key.len) != 0);

    cs_buffer_free(&key);

    return differs;
}


void
cs_outbox_stream_clear(cs_outbox_stream_t *s)
{
    s->words.len = 0;
    s->n = 0;
}


void
cs_outbox_stream_free(cs_outbox_stream_t *s)
{
    cs_buffer_free(&s->words);
    cs_buffer_free(&s->own);
}

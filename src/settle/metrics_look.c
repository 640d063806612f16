/*
 * Looking at Redis and the store; see metrics_look.h.
 */

#include <stdlib.h>

#include "metrics_look.h"
#include "recovery.h"


static void cs_look_redis(cs_look_t *look, cs_page_t *page);
static int cs_look_inbox(cs_look_t *look);
static void cs_look_consumers(cs_look_t *look, cs_page_t *page);
static int cs_look_compare(const void *a, const void *b);
static void cs_look_store(cs_look_t *look, cs_page_t *page);
static int cs_look_totals(cs_look_t *look, cs_page_t *page);
static void cs_look_relay(cs_look_t *look, cs_page_t *page);
static int64_t cs_look_number(const redisReply *reply, size_t i);


/*
 * All of it at one moment, or the numbers would contradict each other: entries
 * in the inbox, those of them that are pending, the age of the oldest, entries
 * in the quarantine, then names and numbers of consumers.  What is settled is
 * deleted, so what is not pending is not delivered; the `lag` of Redis is not
 * known any more once something has been deleted.  It has the age by its own
 * clock, the one that made the id.
 */

static const char  cs_look_script[] =
    "local n, pending, id = redis.call('XLEN', KEYS[1]), 0, nil\n"
    "local last, consumers = '-', {}\n"
    "local groups = {}\n"
    "if redis.call('EXISTS', KEYS[1]) == 1 then\n"
    "  groups = redis.call('XINFO', 'GROUPS', KEYS[1])\n"
    "end\n"
    "for _, g in ipairs(groups) do\n"
    "  local is = {}\n"
    "  for i = 1, #g, 2 do is[g[i]] = g[i + 1] end\n"
    "  if is.name == ARGV[1] then\n"
    "    local waits = redis.call('XPENDING', KEYS[1], ARGV[1])\n"
    "    pending, id = waits[1], waits[2]\n"
    "    last = '(' .. is['last-delivered-id']\n"
    "    for _, c in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1],\n"
    "                                  ARGV[1])) do\n"
    "      local of = {}\n"
    "      for i = 1, #c, 2 do of[c[i]] = c[i + 1] end\n"
    "      consumers[#consumers + 1] = of.name\n"
    "      consumers[#consumers + 1] = of.pending\n"
    "    end\n"
    "  end\n"
    "end\n"
    "if not id and n > 0 then\n"
    "  local first = redis.call('XRANGE', KEYS[1], last, '+', 'COUNT', 1)[1]\n"
    "  id = first and first[1]\n"
    "end\n"
    "local age, t = 0, redis.call('TIME')\n"
    "if id then\n"
    "  age = t[1] * 1000 + math.floor(t[2] / 1000)\n"
    "        - tonumber(string.match(id, '%d+'))\n"
    "end\n"
    "return { n, pending, age, redis.call('XLEN', KEYS[2]), consumers }";


void
cs_look_init(cs_look_t *look, const cs_conf_t *conf)
{
    memset(look, 0, sizeof(cs_look_t));

    look->conf = conf;
    look->redis.conf = &conf->redis;
    look->redis.limit_ms = CS_LOOK_MS;
    look->store = cs_store_create(&conf->store, CS_LOOK_MS);

    cs_store_limit(look->store, CS_LOOK_MS);

    cs_outbox_init(&look->outbox, conf, look->store);
    look->outbox.redis.limit_ms = CS_LOOK_MS;
}


void
cs_look_free(cs_look_t *look)
{
    free(look->consumers);

    if (look->reply) {
        freeReplyObject(look->reply);
    }

    cs_redis_close(&look->redis);
    cs_outbox_free(&look->outbox);
    cs_store_destroy(look->store);
}


void
cs_look(cs_look_t *look, cs_page_t *page)
{
    cs_look_redis(look, page);
    cs_look_store(look, page);

    if (look->conf->relays && page->redis && page->store) {
        cs_look_relay(look, page);
    }
}


/* a connection that was idle since the last time may be none any more */

static void
cs_look_redis(cs_look_t *look, cs_page_t *page)
{
    int64_t   entries;
    unsigned  idle;

    idle = look->redis.context != NULL;

    if (!cs_look_inbox(look) && !(idle && cs_look_inbox(look))) {
        return;
    }

    entries = cs_look_number(look->reply, 0);

    page->redis = 1;
    page->pending = cs_look_number(look->reply, 1);
    page->oldest = cs_look_number(look->reply, 2);
    page->stream_rejected = cs_look_number(look->reply, 3);

    /* what was deleted while it was pending is no entry any more */

    page->undelivered = entries > page->pending ? entries - page->pending : 0;

    cs_look_consumers(look, page);
}


/* 1 if there is a reply */

static int
cs_look_inbox(cs_look_t *look)
{
    const cs_conf_t  *conf = look->conf;

    if (look->reply) {
        freeReplyObject(look->reply);
        look->reply = NULL;
    }

    if (cs_redis_open(&look->redis) == CS_OK) {
        look->reply = cs_redis_call(&look->redis, "EVAL", cs_look_script, "2",
                                    conf->inbox, conf->rejected, conf->group);
    }

    if (cs_redis_at(look->reply, 4) == NULL) {
        cs_redis_close(&look->redis);
        return 0;
    }

    return 1;
}


static void
cs_look_consumers(cs_look_t *look, cs_page_t *page)
{
    size_t             i, n;
    const redisReply  *reply;

    reply = cs_redis_at(look->reply, 4);

    n = reply->type == REDIS_REPLY_ARRAY ? reply->elements / 2 : 0;

    free(look->consumers);
    look->consumers = cs_alloc(n * sizeof(cs_page_consumer_t));

    for (i = 0; i < n; i++) {
        look->consumers[i].name = cs_redis_str(cs_redis_at(reply, 2 * i));
        look->consumers[i].pending = cs_look_number(reply, 2 * i + 1);
    }

    qsort(look->consumers, n, sizeof(cs_page_consumer_t), cs_look_compare);

    page->consumers = n;
    page->consumer = look->consumers;
    page->nconsumer = n;
}


/* the most pending first, else in the order of names */

static int
cs_look_compare(const void *a, const void *b)
{
    int                        order;
    const cs_page_consumer_t  *one = a, *two = b;

    if (one->pending != two->pending) {
        return one->pending < two->pending ? 1 : -1;
    }

    order = memcmp(one->name.data, two->name.data,
                   one->name.len < two->name.len ? one->name.len
                                                 : two->name.len);

    return order ? order : (one->name.len > two->name.len)
                           - (one->name.len < two->name.len);
}


static void
cs_look_store(cs_look_t *look, cs_page_t *page)
{
    unsigned  idle;

    idle = look->opened;

    page->store = cs_look_totals(look, page)
                  || (idle && cs_look_totals(look, page));
}


static int
cs_look_totals(cs_look_t *look, cs_page_t *page)
{
    int64_t      gap;
    cs_store_t  *store = look->store;

    look->opened = cs_store_open(store, 0) == CS_OK
        && cs_store_totals(store, &page->totals) == CS_OK
        && cs_store_mark(store, CS_MARK_POLLED, &page->polled_at) == CS_OK
        && cs_store_mark(store, CS_MARK_GAP, &gap) == CS_OK;

    if (!look->opened) {
        cs_store_close(store);
        return 0;
    }

    page->recovering = gap != 0;

    return 1;
}


/* has a connection to Redis of its own, which may be none any more as well */

static void
cs_look_relay(cs_look_t *look, cs_page_t *page)
{
    unsigned  idle;

    idle = look->outbox.redis.context != NULL;

    page->relay = cs_outbox_look(&look->outbox, &page->unrelayed) == CS_OK
                  || (idle && cs_outbox_look(&look->outbox, &page->unrelayed)
                              == CS_OK);
}


static int64_t
cs_look_number(const redisReply *reply, size_t i)
{
    const redisReply  *number = cs_redis_at(reply, i);

    return number && number->type == REDIS_REPLY_INTEGER ? number->integer : 0;
}

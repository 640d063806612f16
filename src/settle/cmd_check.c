/*
 * coupon-settle check: is everything there that `run` needs, and is it set up
 * so that nothing is lost?
 *
 * One line for each fact.  "wrong" makes the exit status 1; a "note" is what
 * may be meant so, or what the first run sets up.
 */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "api.h"
#include "buffer.h"
#include "command.h"
#include "outbox.h"
#include "redis.h"


typedef struct {
    const cs_args_t  *args;
    cs_redis_t        redis;
    int               wrong;
    unsigned          tables;           /* the store has them */
} cs_check_t;


static void cs_check_redis(cs_check_t *check);
static void cs_check_version(cs_check_t *check);
static void cs_check_durability(cs_check_t *check);
static void cs_check_eviction(cs_check_t *check);
static void cs_check_group(cs_check_t *check);
static void cs_check_store(cs_check_t *check);
static void cs_check_store_fact(void *ctx, cs_fact_e fact,
    const char *text);
static void cs_check_operations(cs_check_t *check);
static void cs_check_api(cs_check_t *check);
static char *cs_check_setting(cs_check_t *check, const char *name);
static void cs_check_say(cs_check_t *check, const char *verdict,
    const char *format, ...) __attribute__((format(printf, 3, 4)));

static const char  cs_ok[] = "ok";
static const char  cs_note[] = "note";
static const char  cs_wrong[] = "wrong";


int
cs_cmd_check(const cs_args_t *args)
{
    cs_check_t  check;

    memset(&check, 0, sizeof(cs_check_t));

    check.args = args;
    check.redis.conf = &args->conf.redis;

    /* a configuration with a mistake has not come as far as this */

    cs_check_say(&check, cs_ok, "configuration %s", args->path);

    cs_check_redis(&check);
    cs_check_store(&check);
    cs_check_operations(&check);
    cs_check_api(&check);

    cs_redis_close(&check.redis);

    return check.wrong;
}


static void
cs_check_redis(cs_check_t *check)
{
    const char  *name;

    name = check->args->conf.redis.name;

    if (cs_redis_open(&check->redis) != CS_OK) {
        cs_check_say(check, cs_wrong, "Redis %s: %s", name,
                     check->redis.error);
        return;
    }

    cs_check_version(check);
    cs_check_durability(check);
    cs_check_eviction(check);
    cs_check_group(check);
}


static void
cs_check_version(cs_check_t *check)
{
    int          major, minor;
    redisReply  *reply;
    const char  *version, *name;

    name = check->args->conf.redis.name;

    reply = cs_redis_call(&check->redis, "INFO", "server");
    if (reply == NULL) {
        cs_check_say(check, cs_wrong, "Redis %s: %s", name,
                     check->redis.error);
        return;
    }

    version = reply->type == REDIS_REPLY_STRING
              ? strstr(reply->str, "redis_version:") : NULL;

    if (version == NULL
        || sscanf(version, "redis_version:%d.%d", &major, &minor) != 2)
    {
        cs_check_say(check, cs_wrong, "Redis %s: does not say its version",
                     name);

    } else if (major < 6 || (major == 6 && minor < 2)) {
        cs_check_say(check, cs_wrong, "Redis %s: version %d.%d has no "
                     "XAUTOCLAIM, 6.2 is the oldest that will do", name, major,
                     minor);

    } else {
        cs_check_say(check, cs_ok, "Redis %s, version %d.%d", name, major,
                     minor);
    }

    freeReplyObject(reply);
}


static void
cs_check_durability(cs_check_t *check)
{
    char  *aof, *fsync, *skips;

    aof = cs_check_setting(check, "appendonly");
    fsync = cs_check_setting(check, "appendfsync");
    skips = cs_check_setting(check, "no-appendfsync-on-rewrite");

    if (aof && strcmp(aof, "yes") != 0) {
        cs_check_say(check, cs_wrong, "Redis: appendonly is %s, a crash loses "
                     "callbacks that were answered 200", aof);

    } else if (aof && fsync && strcmp(fsync, "always") != 0) {
        cs_check_say(check, cs_note, "Redis: appendfsync is %s, nginx answers "
                     "503 unless coupon_callback_ack is enqueued", fsync);

    } else if (skips && strcmp(skips, "no") != 0) {
        cs_check_say(check, cs_note, "Redis: no-appendfsync-on-rewrite is %s, "
                     "nginx answers 503 unless coupon_callback_ack is enqueued",
                     skips);

    } else if (aof && fsync) {
        cs_check_say(check, cs_ok, "Redis: appendonly yes, appendfsync always");
    }

    free(aof);
    free(fsync);
    free(skips);
}


static void
cs_check_eviction(cs_check_t *check)
{
    char  *policy;

    policy = cs_check_setting(check, "maxmemory-policy");
    if (policy == NULL) {
        return;
    }

    if (strncmp(policy, "allkeys-", 8) == 0) {
        cs_check_say(check, cs_wrong, "Redis: maxmemory-policy is %s, which "
                     "may throw the inbox away", policy);

    } else {
        cs_check_say(check, cs_ok, "Redis: maxmemory-policy %s", policy);
    }

    free(policy);
}


static void
cs_check_group(cs_check_t *check)
{
    size_t            i, j;
    cc_str_t          group;
    redisReply       *reply, *one;
    const cs_conf_t  *conf;

    conf = &check->args->conf;

    reply = cs_redis_call(&check->redis, "XINFO", "GROUPS", conf->inbox);

    if (reply == NULL && !cs_redis_said(&check->redis, "ERR no such key")) {
        cs_check_say(check, cs_wrong, "inbox %s: %s", conf->inbox,
                     check->redis.error);
        return;
    }

    group = cs_str_of(conf->group);

    for (i = 0; (one = cs_redis_at(reply, i)) != NULL; i++) {
        for (j = 0; cs_redis_at(one, j + 1) != NULL; j += 2) {

            if (cc_str_is(cs_redis_str(one->element[j]), "name")
                && cc_str_is(cs_redis_str(one->element[j + 1]), conf->group))
            {
                group.len = 0;
            }
        }
    }

    if (group.len) {
        cs_check_say(check, cs_note, "inbox %s: no group %s yet, the first run "
                     "makes it", conf->inbox, conf->group);

    } else {
        cs_check_say(check, cs_ok, "inbox %s, group %s", conf->inbox,
                     conf->group);
    }

    if (reply) {
        freeReplyObject(reply);
    }
}


static void
cs_check_store(cs_check_t *check)
{
    cs_store_t  *store;

    store = cs_store_create(&check->args->conf.store, 2000);

    cs_store_check(store, cs_check_store_fact, check);
    cs_store_destroy(store);
}


static void
cs_check_store_fact(void *ctx, cs_fact_e fact, const char *text)
{
    cs_check_t          *check = ctx;
    const char          *name = check->args->conf.store.name;
    static const char   *verdicts[] = { cs_ok, cs_note, cs_wrong };

    check->tables |= fact == CS_FACT_OK;

    cs_check_say(check, verdicts[fact], text[0] ? "store %s: %s" : "store %s",
                 name, text);
}


static void
cs_check_operations(cs_check_t *check)
{
    int64_t           lag;
    cs_store_t       *store;
    cs_outbox_t       outbox;
    const cs_conf_t  *conf;

    conf = &check->args->conf;

    /* what keeps the store from it has been said */

    if (!conf->relays || !check->tables) {
        return;
    }

    store = cs_store_create(&conf->store, 2000);
    cs_outbox_init(&outbox, conf, store);

    if (cs_outbox_look(&outbox, &lag) != CS_OK) {
        cs_check_say(check, cs_wrong, "operations %s: %s", conf->operations,
                     outbox.error);

    } else if (lag && outbox.stream.length >= conf->max_length) {
        cs_check_say(check, cs_wrong, "operations %s: full, its %lld entries "
                     "wait for their consumers, and %lld operations for room",
                     conf->operations, (long long) outbox.stream.length,
                     (long long) lag);

    } else {
        cs_check_say(check, cs_ok, "operations %s: %lld entries, %lld "
                     "operations to come", conf->operations,
                     (long long) outbox.stream.length, (long long) lag);
    }

    cs_outbox_free(&outbox);
    cs_store_destroy(store);
}


static void
cs_check_api(cs_check_t *check)
{
    cs_api_t             *api;
    const cs_reply_t     *reply;
    const cs_api_conf_t  *conf;

    conf = &check->args->conf.api;

    if (conf->base_url == NULL) {
        cs_check_say(check, cs_note, "no [api]: doubts wait for a person");
        return;
    }

    api = cs_api_create(conf);

    if (cs_api_calculated(api, 1) != CS_API_OK) {
        cs_check_say(check, cs_wrong, "API %s: %s", conf->base_url,
                     cs_api_error(api));
        cs_api_destroy(api);
        return;
    }

    reply = cs_api_reply(api);

    if (reply->malformed) {
        cs_check_say(check, cs_wrong, "API %s: %u of the %u coupons of the "
                     "last minute have not the shape of one", conf->base_url,
                     reply->malformed, reply->count);

    } else {
        cs_check_say(check, cs_ok, "API %s, %u coupons in the last minute",
                     conf->base_url, reply->count);
    }

    cs_api_destroy(api);
}


/* a copy, or NULL after a note: the server may forbid CONFIG */

static char *
cs_check_setting(cs_check_t *check, const char *name)
{
    char        *value;
    redisReply  *reply;

    value = NULL;

    reply = cs_redis_call(&check->redis, "CONFIG", "GET", name);

    if (cs_redis_at(reply, 1) != NULL) {
        value = cs_copy((const char *)
                        cs_redis_str(cs_redis_at(reply, 1)).data);
    }

    if (reply) {
        freeReplyObject(reply);
    }

    if (value == NULL) {
        cs_check_say(check, cs_note, "Redis: %s cannot be read: %s", name,
                     reply ? "no answer" : check->redis.error);
    }

    return value;
}


static void
cs_check_say(cs_check_t *check, const char *verdict, const char *format, ...)
{
    va_list  args;

    if (verdict == cs_wrong) {
        check->wrong = 1;
    }

    (void) printf("%-6s ", verdict);

    va_start(args, format);
    (void) vprintf(format, args);
    va_end(args);

    (void) printf("\n");
}

/*
 * coupon-settle run: takes callbacks out of the inbox and settles them, until
 * it is asked to stop.
 *
 * One round reads up to one transaction's worth of deliveries, settles them and
 * acknowledges them.  Whatever fails on the way, nothing is remembered here:
 * what was not acknowledged is still in Redis, in the list of what this
 * consumer has taken, and after every failure that list is read first.  What
 * was settled and not acknowledged is known by its batch id.
 */

#include <malloc.h>
#include <stdlib.h>

#include "clock.h"
#include "command.h"
#include "health.h"
#include "log.h"
#include "metrics.h"
#include "poller.h"
#include "recovery.h"
#include "relay.h"
#include "retry.h"
#include "stream.h"
#include "worker.h"


#define CS_RUN_PATIENCE_MS  500      /* for a locked store, in one try */
#define CS_RUN_KEEP_MB      64       /* of memory, for the next round */

typedef struct {
    const cs_conf_t   *conf;
    cs_redis_t         redis;
    cs_stream_t        stream;
    cs_store_t        *store;
    cs_worker_t       *worker;
    cs_retry_t         redis_retry;
    cs_retry_t         store_retry;
    cs_retry_t         held_retry;
    int64_t            held_at;      /* when to try what is held; 0: nothing */
    cs_stream_part_e   part;         /* to be read next */
    int64_t            claim_at;     /* monotonic time of the next claiming */
    unsigned           had_store;
    unsigned           had_group;
    unsigned           fatal;
} cs_run_t;


static void cs_run_keep_memory(void);
static void cs_run_round(cs_run_t *run);
static int cs_run_open(cs_run_t *run);
static int cs_run_look(cs_run_t *run);
static void cs_run_held(cs_run_t *run, size_t n);
static void cs_run_part(cs_run_t *run);
static void cs_run_no_group(cs_run_t *run);
static void cs_run_redis_failed(cs_run_t *run);
static void cs_run_store_failed(cs_run_t *run);


int
cs_cmd_run(const cs_args_t *args)
{
    cs_run_t      *run;
    unsigned       fatal;
    cs_relay_t    *relay;
    cs_poller_t   *poller;
    cs_metrics_t  *metrics;

    cs_stop_init();

    if (cs_metrics_start(&metrics, &args->conf) != CS_OK) {
        return 1;
    }

    cs_run_keep_memory();

    run = cs_alloc(sizeof(cs_run_t));

    run->conf = &args->conf;
    run->redis.conf = &args->conf.redis;
    run->stream.redis = &run->redis;
    run->stream.conf = &args->conf;
    run->store = cs_store_create(&args->conf.store, CS_RUN_PATIENCE_MS);
    run->worker = cs_worker_create(run->store, &args->conf);
    run->redis_retry.what = "redis";
    run->redis_retry.cause = CS_CAUSE_REDIS;
    run->store_retry.what = "store";
    run->store_retry.cause = CS_CAUSE_STORE;
    run->held_retry.what = "wallet";
    run->held_retry.cause = CS_CAUSE_WALLET;

    cs_log(CS_LOG_INFO, cs_msg("started"),
           cs_text("redis", args->conf.redis.name),
           cs_text("stream", args->conf.inbox),
           cs_text("group", args->conf.group),
           cs_text("consumer", args->conf.consumer),
           cs_text("store", args->conf.store.name));

    poller = cs_poller_start(&args->conf);
    relay = cs_relay_start(&args->conf);

    while (!run->fatal && !cs_stop_wait(0)) {
        cs_run_round(run);
    }

    cs_metrics_stop(metrics);
    cs_poller_join(poller);
    cs_relay_join(relay);

    cs_log(CS_LOG_INFO, cs_msg("stopped"));

    fatal = run->fatal;

    cs_stream_release(&run->stream);
    cs_redis_close(&run->redis);
    cs_worker_destroy(run->worker);
    cs_store_destroy(run->store);
    free(run);

    return fatal ? 1 : 0;
}


/*
 * A round wants the memory that the one before has freed.  By default the
 * kernel gets it back in between, and to fetch it again, page by page, was
 * measured to take up to half of the daemon's time.
 */

static void
cs_run_keep_memory(void)
{
#ifdef __GLIBC__
    (void) mallopt(M_TRIM_THRESHOLD, CS_RUN_KEEP_MB * 1024 * 1024);
    (void) mallopt(M_MMAP_THRESHOLD, CS_RUN_KEEP_MB / 2 * 1024 * 1024);
#endif
}


static void
cs_run_round(cs_run_t *run)
{
    size_t       held;
    cs_status_e  status;

    cs_health_beat();

    if (!cs_run_open(run)) {
        return;
    }

    status = cs_stream_read(&run->stream, run->part);

    if (status == CS_NONE) {
        cs_run_no_group(run);
        return;
    }

    if (status != CS_OK) {
        cs_run_redis_failed(run);
        return;
    }

    run->had_group = 1;

    if (run->stream.n
        && cs_worker_deliveries(run->worker, run->stream.deliveries,
                                run->stream.n)
           != CS_OK)
    {
        cs_run_store_failed(run);
        return;
    }

    if (run->stream.n == 0 && !cs_run_look(run)) {
        return;
    }

    held = cs_stream_hold(&run->stream);

    if (held == run->stream.asked) {
        cs_run_store_failed(run);
        return;
    }

    cs_retry_done(&run->store_retry);
    cs_run_held(run, held);

    if (cs_stream_ack(&run->stream) != CS_OK) {
        cs_run_redis_failed(run);
        return;
    }

    cs_retry_done(&run->redis_retry);
    cs_health_round(CS_HEALTH_READY);

    cs_run_part(run);
}


/* 1 if Redis and the store are there */

static int
cs_run_open(cs_run_t *run)
{
    if (cs_redis_open(&run->redis) != CS_OK) {
        cs_run_redis_failed(run);
        return 0;
    }

    if (!run->had_store) {
        cs_health_round(CS_HEALTH_STARTING);
    }

    switch (cs_store_open(run->store, run->conf->migrate)) {

    case CS_OK:
        run->had_store = 1;
        return 1;

    case CS_REFUSED:

        /* a newer program has made these tables: no retry makes it older */

        cs_log(CS_LOG_ERROR, cs_msg("the store cannot be used"),
               cs_text("reason", cs_store_error(run->store)));
        run->fatal = 1;
        return 0;

    case CS_NONE:
    case CS_AGAIN:
        break;
    }

    cs_run_store_failed(run);

    return 0;
}


/*
 * A round without anything to settle has no use for the store.  If somebody
 * wants to know whether we are ready, it is looked at all the same.
 */

static int
cs_run_look(cs_run_t *run)
{
    int64_t  mark;

    if (!cs_health_wanted()
        || cs_store_mark(run->store, CS_MARK_POLLED, &mark) == CS_OK)
    {
        return 1;
    }

    cs_run_store_failed(run);

    return 0;
}


/*
 * What is held stays with this consumer and is tried again later, while others
 * go on.  As many as a group of it are too many: then nothing goes on.
 */

static void
cs_run_held(cs_run_t *run, size_t n)
{
    if (n) {
        run->held_at = cs_monotonic()
                       + cs_retry_failed(&run->held_retry,
                                         cs_store_error(run->store));

    } else if (run->part == CS_STREAM_OWN) {
        run->held_at = 0;
        cs_retry_done(&run->held_retry);
    }
}


/* own entries until there are none, then claiming when it is time, then new */

static void
cs_run_part(cs_run_t *run)
{
    int64_t  now;

    now = cs_monotonic();

    if (run->part != CS_STREAM_NEW && run->stream.more && !run->held_at) {
        return;
    }

    if (run->part == CS_STREAM_CLAIM) {
        run->claim_at = now + run->conf->claim_after / 2;

        if (cs_stream_tidy(&run->stream) != CS_OK) {
            cs_run_redis_failed(run);
            return;
        }
    }

    run->part = now >= run->claim_at ? CS_STREAM_CLAIM : CS_STREAM_NEW;

    if (run->held_at && now >= run->held_at) {
        run->part = CS_STREAM_OWN;
    }
}


/*
 * The group is made when a read says that it is missing, and not before: a
 * Redis without memory refuses to make one, and is in want of being emptied.
 */

static void
cs_run_no_group(cs_run_t *run)
{
    if (run->had_group) {
        cs_log(CS_LOG_ERROR, cs_msg("the consumer group is gone: was Redis "
                                    "emptied?"),
               cs_text("stream", run->conf->inbox),
               cs_text("group", run->conf->group));
    }

    if (cs_stream_create_group(&run->stream) != CS_OK) {
        cs_run_redis_failed(run);
    }
}


static void
cs_run_redis_failed(cs_run_t *run)
{
    run->part = CS_STREAM_OWN;

    cs_health_round(CS_HEALTH_REDIS);
    cs_redis_close(&run->redis);

    (void) cs_stop_wait(cs_retry_failed(&run->redis_retry, run->redis.error));
}


static void
cs_run_store_failed(cs_run_t *run)
{
    int64_t  pause;

    run->part = CS_STREAM_OWN;

    cs_health_round(cs_store_held(run->store) ? CS_HEALTH_WALLET
                                              : CS_HEALTH_STORE);

    pause = cs_retry_failed(&run->store_retry, cs_store_error(run->store));

    /* opening it anew is the cure for all that is not only a lock */

    cs_store_close(run->store);

    (void) cs_stop_wait(pause);
}

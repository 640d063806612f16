/*
 * The steps of the relay; see outbox.h.
 *
 * A step asks the stream for its last number, reads from the outbox what comes
 * behind that, and adds it under the condition that the number still stands.
 * Only when nothing is left to be sent are new numbers given: so a stream that
 * does not belong to this ledger is noticed before a number is wasted on it.
 */

#include <stdio.h>

#include "clock.h"
#include "counters.h"
#include "log.h"
#include "outbox.h"


#define CS_OUTBOX_NUMBERS   1000         /* given in one transaction */
#define CS_OUTBOX_IDLE_MS   200
#define CS_OUTBOX_FULL_MS   1000
#define CS_OUTBOX_COUNT_MAX 1000000      /* further the lag is not counted */


static int64_t cs_outbox_round(cs_outbox_t *o);
static unsigned cs_outbox_room(cs_outbox_t *o);
static int64_t cs_outbox_full(cs_outbox_t *o);
static void cs_outbox_lost(cs_outbox_t *o);
static cs_status_e cs_outbox_read(cs_outbox_t *o, unsigned limit);
static void cs_outbox_row(void *ctx, int64_t number,
    const cs_operation_t *operation);
static int64_t cs_outbox_send(cs_outbox_t *o);
static cs_status_e cs_outbox_number(cs_outbox_t *o, int64_t *waiting);
static void cs_outbox_redis_wrong(cs_outbox_t *o);
static void cs_outbox_store_wrong(cs_outbox_t *o);
static void cs_outbox_stream_wrong(cs_outbox_t *o);
static int64_t cs_outbox_failed(cs_outbox_t *o, cs_retry_t *retry);


void
cs_outbox_init(cs_outbox_t *o, const cs_conf_t *conf, cs_store_t *store)
{
    memset(o, 0, sizeof(cs_outbox_t));

    o->conf = conf;
    o->store = store;
    o->redis.conf = &conf->redis;
    o->stream.redis = &o->redis;
    o->stream.key = conf->operations;

    o->redis_retry.what = "redis of the relay";
    o->redis_retry.cause = CS_CAUSE_REDIS;
    o->store_retry.what = "store of the relay";
    o->store_retry.cause = CS_CAUSE_STORE;
    o->stream_retry.what = "stream of operations";
    o->stream_retry.cause = CS_CAUSE_REDIS;

    o->seen = -1;
}


void
cs_outbox_free(cs_outbox_t *o)
{
    cs_outbox_stream_free(&o->stream);
    cs_redis_close(&o->redis);
}


int64_t
cs_outbox_step(cs_outbox_t *o)
{
    int64_t  wait;

    wait = o->not_before - cs_monotonic();

    if (wait > 0) {
        return wait;
    }

    o->failed = 0;

    wait = cs_outbox_round(o);
    o->not_before = cs_monotonic() + wait;

    return wait;
}


static int64_t
cs_outbox_round(cs_outbox_t *o)
{
    int64_t      waiting;
    unsigned     room;
    cs_status_e  status;

    if (cs_redis_open(&o->redis) != CS_OK
        || cs_outbox_stream_look(&o->stream) != CS_OK)
    {
        cs_outbox_redis_wrong(o);
        return cs_outbox_failed(o, &o->redis_retry);
    }

    room = cs_outbox_room(o);

    status = cs_store_open(o->store, o->conf->migrate);

    if (status == CS_OK) {

        /* without room, too: it is full only for what there is to be sent */

        status = cs_outbox_read(o, room ? room : 1);

        if (status == CS_NONE) {
            cs_outbox_stream_wrong(o);
            return cs_outbox_failed(o, &o->stream_retry);
        }
    }

    waiting = 0;

    if (status == CS_OK && o->stream.n == 0) {
        status = cs_outbox_number(o, &waiting);
    }

    if (status != CS_OK) {
        cs_outbox_store_wrong(o);
        return cs_outbox_failed(o, &o->store_retry);
    }

    cs_retry_done(&o->store_retry);
    cs_retry_done(&o->stream_retry);
    cs_outbox_lost(o);

    if (o->stream.n == 0) {
        cs_retry_done(&o->redis_retry);
        return waiting ? 0 : CS_OUTBOX_IDLE_MS;
    }

    return room ? cs_outbox_send(o) : cs_outbox_full(o);
}


static int64_t
cs_outbox_send(cs_outbox_t *o)
{
    size_t       n;
    cs_status_e  status;

    n = o->stream.n;

    status = cs_outbox_stream_send(&o->stream);

    if (status == CS_AGAIN) {
        cs_outbox_redis_wrong(o);
        return cs_outbox_failed(o, &o->redis_retry);
    }

    cs_retry_done(&o->redis_retry);

    if (status == CS_OK) {
        o->sent += n;
        cs_count(CS_COUNT_RELAYED, (unsigned) n);
        o->seen = o->stream.last;

        cs_log(CS_LOG_INFO, cs_msg("operations relayed"),
               cs_number("operations", (int64_t) n),
               cs_number("last", o->stream.last));
    }

    /* or another relay was quicker, or Redis was emptied: look again */

    return 0;
}


/* how many may be sent now */

static unsigned
cs_outbox_room(cs_outbox_t *o)
{
    int64_t  room;

    room = o->conf->max_length - o->stream.length;

    if (room <= 0) {
        return 0;
    }

    /* a little room now and then is not worth a word each time */

    if (room > o->conf->max_length / 10) {
        o->full = 0;
    }

    return room < CS_OUTBOX_GROUP ? (unsigned) room : CS_OUTBOX_GROUP;
}


static int64_t
cs_outbox_full(cs_outbox_t *o)
{
    cs_retry_done(&o->redis_retry);

    if (!o->full) {
        cs_log(CS_LOG_WARN, cs_msg("the stream of operations is full, "
                                   "waiting for its consumers"),
               cs_text("stream", o->stream.key),
               cs_number("length", o->stream.length));
    }

    o->full = 1;

    return CS_OUTBOX_FULL_MS;
}


/*
 * From the last entry on, which is read again to see that it is ours.  It may
 * be missing in the outbox, where somebody has tidied up; but a number that was
 * never given may not be in the stream: what gets it next would be passed over.
 * CS_NONE: it is not ours.
 */

static cs_status_e
cs_outbox_read(cs_outbox_t *o, unsigned limit)
{
    int64_t      given, last;
    cs_status_e  status;

    last = o->stream.last;

    if (last < 0) {
        return CS_NONE;
    }

    o->found = 0;
    o->differs = 0;

    status = cs_store_outbox(o->store, last, limit + (last > 0), cs_outbox_row,
                             o);

    if (status == CS_AGAIN || status == CS_REFUSED) {
        return status;
    }

    if (o->found || last == 0) {
        return o->differs ? CS_NONE : CS_OK;
    }

    status = cs_store_mark(o->store, CS_MARK_OUTBOX, &given);

    return status == CS_OK && last > given ? CS_NONE : status;
}


static void
cs_outbox_row(void *ctx, int64_t number, const cs_operation_t *operation)
{
    cs_outbox_t  *o = ctx;

    if (number == o->stream.last) {
        o->found = 1;
        o->differs = cs_outbox_stream_differs(&o->stream, operation);

    } else if (o->stream.n < CS_OUTBOX_GROUP) {
        cs_outbox_stream_put(&o->stream, number, operation);
    }
}


/* a look first: a transaction that writes would disturb those who settle */

static cs_status_e
cs_outbox_number(cs_outbox_t *o, int64_t *waiting)
{
    unsigned     n;
    cs_status_e  status;

    status = cs_store_outbox_waiting(o->store, 1, waiting);

    if (status == CS_OK && *waiting) {
        status = cs_store_outbox_number(o->store, CS_OUTBOX_NUMBERS, &n);
    }

    return status;
}


static void
cs_outbox_lost(cs_outbox_t *o)
{
    if (o->stream.last < o->seen) {
        cs_log(CS_LOG_ERROR, cs_msg("the stream of operations has lost its "
                                    "end, relaying it again: was Redis "
                                    "emptied?"),
               cs_text("stream", o->stream.key),
               cs_number("last", o->stream.last),
               cs_number("was", o->seen));

    } else if (o->seen < 0 && o->stream.last == 0 && o->stream.n) {
        cs_log(CS_LOG_WARN, cs_msg("the stream of operations is empty, "
                                   "relaying from the first one on"),
               cs_text("stream", o->stream.key));
    }

    o->seen = o->stream.last;
}


static void
cs_outbox_redis_wrong(cs_outbox_t *o)
{
    (void) snprintf(o->error, sizeof(o->error), "%s: %s", o->stream.key,
                    o->redis.error);
}


static void
cs_outbox_store_wrong(cs_outbox_t *o)
{
    (void) snprintf(o->error, sizeof(o->error), "%s",
                    cs_store_error(o->store));
}


static void
cs_outbox_stream_wrong(cs_outbox_t *o)
{
    (void) snprintf(o->error, sizeof(o->error), "the last entry of %s is none "
                    "that this ledger has sent: was the database restored, or "
                    "has somebody else written there? When its consumers are "
                    "done delete it, and all is relayed again", o->stream.key);
}


/* what has gone wrong stands in o->error; returns how long to wait */

static int64_t
cs_outbox_failed(cs_outbox_t *o, cs_retry_t *retry)
{
    o->failed = 1;

    /* anew, by the address: it may have become a replica */

    if (retry == &o->redis_retry) {
        cs_redis_close(&o->redis);
    }

    if (retry == &o->store_retry) {
        cs_store_close(o->store);
    }

    return cs_retry_failed(retry, o->error);
}


cs_status_e
cs_outbox_look(cs_outbox_t *o, int64_t *lag)
{
    int64_t      given;
    cs_status_e  status;

    if (cs_redis_open(&o->redis) != CS_OK
        || cs_outbox_stream_look(&o->stream) != CS_OK)
    {
        cs_outbox_redis_wrong(o);
        cs_redis_close(&o->redis);

        return CS_AGAIN;
    }

    status = cs_store_open(o->store, 0);

    if (status == CS_OK) {
        status = cs_outbox_read(o, 1);

        if (status == CS_NONE) {
            cs_outbox_stream_wrong(o);
            return CS_NONE;
        }
    }

    if (status == CS_OK) {
        status = cs_store_mark(o->store, CS_MARK_OUTBOX, &given);
    }

    if (status == CS_OK) {
        status = cs_store_outbox_waiting(o->store, CS_OUTBOX_COUNT_MAX, lag);
    }

    if (status != CS_OK) {
        cs_outbox_store_wrong(o);
        cs_store_close(o->store);

        return CS_AGAIN;
    }

    *lag += given - o->stream.last;

    return CS_OK;
}

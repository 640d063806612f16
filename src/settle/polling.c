/*
 * The steps of the poller; see polling.h.
 *
 * Order of a step: the regular round, if it is time; who waits and is due; a
 * group of a recovery.  So a recovery of any length delays neither the fresh
 * results nor the doubts.
 *
 * All requests only read, so the same is simply asked again after a failure,
 * with growing pauses, or as late as the API wishes.
 */

#include <stdio.h>

#include "clock.h"
#include "log.h"
#include "polling.h"
#include "recovery.h"


#define CS_MINUTE            (60 * 1000)
#define CS_POLL_LOOK         1000           /* between looks for who waits */


static int cs_poll_ready(cs_poll_t *p);
static cs_status_e cs_poll_start(cs_poll_t *p);
static void cs_poll_calculated(cs_poll_t *p);
static void cs_poll_due(cs_poll_t *p);
static void cs_poll_not_waiting(void *ctx, cc_str_t code);
static void cs_poll_look(cs_poll_t *p);
static int64_t cs_poll_next(cs_poll_t *p);


void
cs_poll_init(cs_poll_t *p, const cs_conf_t *conf, cs_store_t *store,
    cs_api_t *api, unsigned eager)
{
    memset(p, 0, sizeof(cs_poll_t));

    p->conf = conf;
    p->store = store;
    p->api = api;
    p->answers = cs_answers_create(store, conf);

    p->api_retry.what = "api";
    p->api_retry.cause = CS_CAUSE_API;
    p->api_retry.cap = CS_POLL_RETRY_CAP;
    p->store_retry.what = "store of the poller";
    p->store_retry.cause = CS_CAUSE_STORE;
    p->store_retry.cap = CS_POLL_RETRY_CAP;

    p->schedule.first = eager ? 0 : conf->api.confirm_after;
    p->schedule.pause = eager ? CS_SCHEDULE_LONGEST : conf->api.confirm_after;
}


void
cs_poll_free(cs_poll_t *p)
{
    cs_answers_destroy(p->answers);
    cs_schedule_free(&p->schedule);
    cs_buffer_free(&p->recovery.after);
}


int64_t
cs_poll_step(cs_poll_t *p)
{
    int64_t  now;

    p->failed = 0;
    now = cs_monotonic();

    if (now < p->not_before && !(p->denied && cs_api_new_token(p->api))) {
        return p->not_before - now;
    }

    if (!cs_poll_ready(p)) {
        return cs_poll_next(p);
    }

    if (now >= p->poll_at) {
        cs_poll_calculated(p);
        return cs_poll_next(p);
    }

    if (now >= p->look_at) {
        cs_poll_look(p);
    }

    if (!p->failed) {
        p->asked.n = 0;
        cs_schedule_due(&p->schedule, now, &p->asked);

        if (p->asked.n) {
            cs_poll_due(p);

        } else if (p->recovery.phase != CS_RECOVER_NOT) {
            cs_recovery_step(p);
        }
    }

    return cs_poll_next(p);
}


/* how long until there is something to do, after this step */

static int64_t
cs_poll_next(cs_poll_t *p)
{
    int64_t  now, next, due;

    now = cs_monotonic();

    if (now < p->not_before) {
        return p->not_before - now;
    }

    if (p->failed || p->recovery.phase != CS_RECOVER_NOT) {
        return 0;
    }

    next = p->poll_at < p->look_at ? p->poll_at : p->look_at;
    due = cs_schedule_next(&p->schedule);

    if (due >= 0 && due < next) {
        next = due;
    }

    return next > now ? next - now : 0;
}


/* 1 if the store is there and what it remembers was read */

static int
cs_poll_ready(cs_poll_t *p)
{
    cs_status_e  status;

    status = cs_store_open(p->store, p->conf->migrate);

    if (status == CS_OK && !p->started) {
        status = cs_poll_start(p);
    }

    if (status != CS_OK) {
        cs_poll_store_failed(p);
        return 0;
    }

    p->started = 1;

    return 1;
}


static cs_status_e
cs_poll_start(cs_poll_t *p)
{
    int64_t      since, polled;
    cs_status_e  status;

    status = cs_store_mark(p->store, CS_MARK_GAP, &since);

    if (status == CS_OK) {
        status = cs_store_mark(p->store, CS_MARK_POLLED, &polled);
    }

    if (status != CS_OK) {
        return status;
    }

    if (since) {
        cs_recovery_begin(p, since, 0);
    }

    if (polled) {
        return CS_OK;
    }

    /* from here on it is ours to miss nothing, though the API be away */

    status = cs_store_begin(p->store, CS_WRITE);

    if (status == CS_OK) {
        status = cs_store_mark_set(p->store, CS_MARK_POLLED, cs_now());
    }

    return status == CS_OK ? cs_store_commit(p->store) : status;
}


unsigned
cs_poll_minutes(const cs_api_conf_t *conf, int64_t since_last)
{
    int64_t  ms, longest;

    longest = (int64_t) CS_API_MINUTES * CS_MINUTE;
    ms = conf->window;

    /* a round that is a little late is what the window is for */

    if (since_last > conf->window / 4 * 3) {
        ms += since_last;
    }

    /* a clock that was set back says nothing about the length of the break */

    if (since_last < 0 || ms > longest) {
        ms = longest;
    }

    return (unsigned) ((ms + CS_MINUTE - 1) / CS_MINUTE);
}


unsigned
cs_poll_is_gap(int64_t since_last)
{
    return since_last > (int64_t) (CS_API_MINUTES - 1) * CS_MINUTE;
}


static void
cs_poll_calculated(cs_poll_t *p)
{
    char                       origin[48];
    unsigned                   minutes;
    cs_api_e                   result;
    const cs_answers_count_t  *count;

    if (cs_store_mark(p->store, CS_MARK_POLLED, &p->round_last) != CS_OK) {
        cs_poll_store_failed(p);
        return;
    }

    p->round_at = cs_now();
    minutes = cs_poll_minutes(&p->conf->api, p->round_at - p->round_last);

    result = cs_api_calculated(p->api, minutes);

    if (result != CS_API_OK) {
        cs_poll_api_failed(p, result);
        return;
    }

    cs_poll_api_back(p);

    (void) snprintf(origin, sizeof(origin), "poll:%lld",
                    (long long) p->round_at);

    if (cs_poll_settle(p, CS_ANSWER_CALCULATED, origin, NULL) != CS_OK) {
        return;
    }

    p->poll_at = cs_monotonic() + p->conf->api.interval;
    p->look_at = 0;

    count = cs_answers_count(p->answers);

    cs_log(CS_LOG_INFO, cs_msg("polled"), cs_number("minutes", minutes),
           cs_number("coupons", count->coupons),
           cs_number("operations", count->operations),
           cs_number("doubts", count->doubts),
           cs_number("held", count->held),
           cs_number("malformed", count->malformed),
           cs_number("rejected", count->rejected));

    cs_answers_waiting(p->answers, cs_poll_not_waiting, p);

    if (cs_poll_is_gap(p->round_at - p->round_last)) {
        cs_recovery_begin(p, p->round_last, 0);
    }
}


static void
cs_poll_not_waiting(void *ctx, cc_str_t code)
{
    cs_poll_t  *p = ctx;

    cs_schedule_now(&p->schedule, code, cs_monotonic());
}


static void
cs_poll_look(cs_poll_t *p)
{
    int64_t  now;

    now = cs_monotonic();

    if (cs_schedule_update(&p->schedule, p->store, now) != CS_OK) {
        cs_poll_store_failed(p);
        return;
    }

    cs_retry_done(&p->store_retry);
    p->look_at = now + CS_POLL_LOOK;
}


/* those of p->asked */

static void
cs_poll_due(cs_poll_t *p)
{
    size_t            i;
    int64_t           now;
    cs_asked_item_t  *item;

    if (!cs_poll_ask(p, "confirm")) {
        return;
    }

    now = cs_monotonic();

    for (i = 0; i < p->asked.n; i++) {

        item = &p->asked.items[i];

        if (item->moved) {
            continue;
        }

        if (!item->answered) {
            cs_log(CS_LOG_WARN, cs_msg("the API does not know a coupon that "
                                       "waits for its word"),
                   cs_bytes("coupon", cs_asked_code(item)));
        }

        cs_schedule_asked(&p->schedule, cs_asked_code(item), now);
    }

    /* our own changes are to be known before others come */

    cs_poll_look(p);
}

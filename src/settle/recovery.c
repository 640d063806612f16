/*
 * The steps of a recovery; see recovery.h.
 */

#include <stdio.h>

#include "clock.h"
#include "log.h"
#include "recovery.h"


#define CS_RECOVERY_MARGIN   (10 * 60 * 1000)    /* around the break, in ms */
#define CS_RECOVERY_REPORT   20                  /* requests between reports */


static void cs_recovery_codes(cs_poll_t *p);
static void cs_recovery_advance(cs_poll_t *p);
static void cs_recovery_period(cs_poll_t *p);
static void cs_recovery_count(cs_poll_t *p);
static void cs_recovery_finish(cs_poll_t *p);
static void cs_recovery_report(const cs_recovery_t *r, const char *text);


void
cs_recovery_begin(cs_poll_t *p, int64_t since, int64_t created)
{
    char            time[CS_TIME_TEXT];
    cs_buffer_t     after;
    cs_recovery_t  *r = &p->recovery;

    /* a break within a break: all of it from its beginning */

    if (r->phase != CS_RECOVER_NOT) {
        since = r->since < since ? r->since : since;
        created = r->created < created || created == 0 ? r->created : created;
    }

    after = r->after;
    memset(r, 0, sizeof(cs_recovery_t));

    r->phase = CS_RECOVER_CODES;
    r->after = after;
    r->after.len = 0;
    r->since = since - CS_RECOVERY_MARGIN;
    r->until = cs_now();
    r->created = r->since - p->conf->api.recheck;

    if (created && created < r->created) {
        r->created = created;
    }

    cs_time_format(time, since);
    cs_log(CS_LOG_WARN, cs_msg("recovery begins"), cs_text("since", time));
}


void
cs_poll_recover(cs_poll_t *p, int64_t created)
{
    cs_recovery_begin(p, cs_now(), created);
}


void
cs_recovery_step(cs_poll_t *p)
{
    if (p->recovery.phase == CS_RECOVER_CODES) {
        cs_recovery_codes(p);

    } else {
        cs_recovery_period(p);
    }

    if (!p->failed && p->recovery.phase != CS_RECOVER_NOT
        && p->recovery.groups % CS_RECOVERY_REPORT == 0)
    {
        cs_recovery_report(&p->recovery, "recovery goes on");
    }
}


static void
cs_recovery_codes(cs_poll_t *p)
{
    cc_str_t        after;
    cs_status_e     status;
    cs_recovery_t  *r = &p->recovery;

    after.data = r->after.data;
    after.len = r->after.len;

    p->asked.n = 0;

    status = cs_store_unconfirmed(p->store, after,
                                  r->since - p->conf->api.recheck,
                                  CS_ASKED_MAX, cs_asked_listed, &p->asked);

    if (status == CS_NONE) {
        r->phase = CS_RECOVER_PERIODS;
        return;
    }

    if (status != CS_OK) {
        cs_poll_store_failed(p);
        return;
    }

    if (cs_poll_ask(p, "recover")) {
        cs_recovery_advance(p);
    }
}


static void
cs_recovery_advance(cs_poll_t *p)
{
    size_t            i;
    cs_recovery_t    *r = &p->recovery;
    cs_asked_item_t  *item;

    cs_recovery_count(p);

    for (i = 0; i < p->asked.n; i++) {

        item = &p->asked.items[i];

        /* changed meanwhile: the group is read again from here on */

        if (item->moved) {
            return;
        }

        r->after.len = 0;
        cs_buffer_add(&r->after, cs_asked_code(item));

        if (item->answered) {
            r->read++;

        } else {
            r->unknown++;
        }
    }
}


static void
cs_recovery_period(cs_poll_t *p)
{
    char            origin[48];
    int64_t         to;
    cs_api_e        result;
    cs_recovery_t  *r = &p->recovery;

    if (r->created >= r->until) {
        cs_recovery_finish(p);
        return;
    }

    to = r->created + CS_API_SLICE;
    to = to < r->until ? to : r->until;

    result = cs_api_created(p->api, r->created, to);

    if (result != CS_API_OK) {
        cs_poll_api_failed(p, result);
        return;
    }

    cs_poll_api_back(p);

    (void) snprintf(origin, sizeof(origin), "recover:%lld",
                    (long long) cs_now());

    if (cs_poll_settle(p, CS_ANSWER_CREATED, origin, NULL) != CS_OK) {
        return;
    }

    cs_recovery_count(p);

    r->read += cs_answers_count(p->answers)->coupons;
    r->created = to;
}


static void
cs_recovery_count(cs_poll_t *p)
{
    cs_recovery_t             *r = &p->recovery;
    const cs_answers_count_t  *count;

    count = cs_answers_count(p->answers);

    r->groups++;
    r->operations += count->operations;
    r->held += count->held + count->malformed;
    r->rejected += count->rejected;
}


static void
cs_recovery_finish(cs_poll_t *p)
{
    cs_status_e  status;

    status = cs_store_begin(p->store, CS_WRITE);

    if (status == CS_OK) {
        status = cs_store_mark_set(p->store, CS_MARK_GAP, 0);
    }

    if (status == CS_OK) {
        status = cs_store_commit(p->store);
    }

    if (status != CS_OK) {
        cs_poll_store_failed(p);
        return;
    }

    p->recovery.phase = CS_RECOVER_NOT;

    cs_recovery_report(&p->recovery, "recovery is finished");
}


static void
cs_recovery_report(const cs_recovery_t *r, const char *text)
{
    cs_log(CS_LOG_INFO, cs_msg(text), cs_number("requests", r->groups),
           cs_number("coupons", r->read), cs_number("unknown", r->unknown),
           cs_number("operations", r->operations),
           cs_number("held", r->held), cs_number("rejected", r->rejected));
}

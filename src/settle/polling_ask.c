/*
 * What both files of the poller do with a question and its answer: ask for a
 * group by code, settle an answer, and what follows from a failure; see
 * recovery.h.
 */

#include <stdio.h>

#include "clock.h"
#include "counters.h"
#include "log.h"
#include "recovery.h"


static cs_status_e cs_poll_marks(void *ctx);


int
cs_poll_ask(cs_poll_t *p, const char *what)
{
    char                       origin[48];
    cs_api_e                   result;
    const cs_answers_count_t  *count;

    result = cs_api_results(p->api, &p->asked);

    if (result != CS_API_OK) {
        cs_poll_api_failed(p, result);
        return 0;
    }

    cs_poll_api_back(p);

    (void) snprintf(origin, sizeof(origin), "%s:%lld", what,
                    (long long) cs_now());

    if (cs_poll_settle(p, CS_ANSWER_ASKED, origin, &p->asked) != CS_OK) {
        return 0;
    }

    count = cs_answers_count(p->answers);

    cs_log(CS_LOG_INFO, cs_msg("asked the API by code"), cs_text("why", what),
           cs_number("codes", (int64_t) p->asked.n),
           cs_number("coupons", count->coupons),
           cs_number("operations", count->operations),
           cs_number("moved", count->moved),
           cs_number("held", count->held),
           cs_number("malformed", count->malformed),
           cs_number("rejected", count->rejected));

    return 1;
}


cs_status_e
cs_poll_settle(cs_poll_t *p, cs_answer_kind_e kind, const char *origin,
    cs_asked_t *asked)
{
    cs_answer_t  answer;
    cs_status_e  status;

    memset(&answer, 0, sizeof(cs_answer_t));

    answer.kind = kind;
    answer.origin = origin;
    answer.reply = cs_api_reply(p->api);
    answer.asked = asked;

    if (kind == CS_ANSWER_CALCULATED) {
        answer.also = cs_poll_marks;
        answer.ctx = p;
    }

    status = cs_answers_settle(p->answers, &answer);

    if (status != CS_OK) {
        cs_poll_store_failed(p);
        return status;
    }

    cs_retry_done(&p->store_retry);

    return CS_OK;
}


/* from when on the next round has to cover; not before all of this one is in */

static cs_status_e
cs_poll_marks(void *ctx)
{
    int64_t      since;
    cs_poll_t   *p = ctx;
    cs_status_e  status;

    status = cs_store_mark_set(p->store, CS_MARK_POLLED, p->round_at);

    if (status != CS_OK || !cs_poll_is_gap(p->round_at - p->round_last)) {
        return status;
    }

    status = cs_store_mark(p->store, CS_MARK_GAP, &since);

    if (status == CS_OK && since == 0) {
        status = cs_store_mark_set(p->store, CS_MARK_GAP, p->round_last);
    }

    return status;
}


void
cs_poll_api_failed(cs_poll_t *p, cs_api_e result)
{
    int64_t  pause, after;

    p->failed = 1;
    p->denied = result == CS_API_DENIED;

    (void) snprintf(p->error, sizeof(p->error), "%s", cs_api_error(p->api));

    if (cs_stop_wait(0)) {
        return;                  /* it was we who broke it off */
    }

    pause = cs_retry_failed(&p->api_retry, p->error);

    /* asking these again at once would bring the same */

    if (result == CS_API_DENIED || result == CS_API_WRONG) {
        pause = CS_POLL_RETRY_CAP;
    }

    after = cs_api_retry_after(p->api);

    p->not_before = cs_monotonic() + (after > pause ? after : pause);
}


void
cs_poll_api_back(cs_poll_t *p)
{
    p->denied = 0;
    p->not_before = 0;
    cs_retry_done(&p->api_retry);
}


/* opening it anew is the cure for all that is not only a lock */

void
cs_poll_store_failed(cs_poll_t *p)
{
    p->failed = 1;

    (void) snprintf(p->error, sizeof(p->error), "the store: %s",
                    cs_store_error(p->store));

    p->not_before = cs_monotonic()
                    + cs_retry_failed(&p->store_retry,
                                      cs_store_error(p->store));

    cs_store_close(p->store);
}

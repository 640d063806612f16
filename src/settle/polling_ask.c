/*
 * What both files of the poller do with a question and its answer: ask for a
 * group by code, settle an answer in one transaction, and what follows from a
 * failure; see recovery.h.
 */

#include <stdio.h>

#include "clock.h"
#include "log.h"
#include "recovery.h"


#define CS_POLL_TRIES  5              /* of a transaction in collision */


static int cs_poll_narrow(cs_poll_t *p);
static cs_status_e cs_poll_transaction(cs_poll_t *p, cs_answer_kind_e kind,
    const char *origin, cs_asked_t *asked);
static cs_status_e cs_poll_marks(cs_poll_t *p);


int
cs_poll_ask(cs_poll_t *p, const char *what)
{
    char                       origin[48];
    cs_api_e                   result;
    cs_status_e                status;
    const cs_answers_count_t  *count;

    p->operations = 0;

    result = cs_api_results(p->api, &p->asked);

    if (result == CS_API_UNUSABLE) {
        return cs_poll_narrow(p);
    }

    if (result != CS_API_OK) {
        cs_poll_api_failed(p, result);
        return 0;
    }

    p->limit = CS_ASKED_MAX;
    cs_poll_api_back(p);

    (void) snprintf(origin, sizeof(origin), "%s:%lld", what,
                    (long long) cs_now());

    status = cs_poll_settle(p, CS_ANSWER_ASKED, origin, &p->asked);

    if (status != CS_OK) {
        return 0;
    }

    count = cs_answers_count(p->answers);
    p->operations = count->operations;

    cs_log(CS_LOG_INFO, cs_msg("asked the API by code"), cs_text("why", what),
           cs_number("codes", (int64_t) p->asked.n),
           cs_number("coupons", count->coupons),
           cs_number("operations", count->operations),
           cs_number("moved", count->moved));

    return 1;
}


/*
 * One coupon of a group is none: it must not keep the answer from the others.
 * Half of the group is asked for, and half of that, until it stands alone; then
 * it counts as not answered.
 */

static int
cs_poll_narrow(cs_poll_t *p)
{
    cs_poll_api_back(p);

    if (p->asked.n > 1) {
        p->limit = (unsigned) p->asked.n / 2;
        return 0;
    }

    p->limit = CS_ASKED_MAX;

    cs_log(CS_LOG_ERROR, cs_msg("what the API says of a coupon cannot be used"),
           cs_bytes("coupon", cs_asked_code(&p->asked.items[0])),
           cs_text("reason", cs_api_error(p->api)));

    return 1;
}


cs_status_e
cs_poll_settle(cs_poll_t *p, cs_answer_kind_e kind, const char *origin,
    cs_asked_t *asked)
{
    unsigned     tries;
    cs_status_e  status;

    for (tries = 1; ; tries++) {

        status = cs_poll_transaction(p, kind, origin, asked);

        /* only in another writer's way: the answer is as good as before */

        if (status != CS_AGAIN || !cs_store_collided(p->store)
            || tries == CS_POLL_TRIES)
        {
            break;
        }
    }

    if (status != CS_OK) {
        cs_poll_store_failed(p);
        return status;
    }

    cs_retry_done(&p->store_retry);

    return CS_OK;
}


static cs_status_e
cs_poll_transaction(cs_poll_t *p, cs_answer_kind_e kind, const char *origin,
    cs_asked_t *asked)
{
    cs_status_e  status;

    cs_log_hold();

    status = cs_store_begin(p->store, CS_WRITE);

    if (status == CS_OK) {
        status = cs_answers_settle(p->answers, kind, origin,
                                   cs_api_reply(p->api), asked);
    }

    if (status == CS_OK && kind == CS_ANSWER_CALCULATED) {
        status = cs_poll_marks(p);
    }

    if (status == CS_OK) {
        status = cs_store_commit(p->store);
    }

    if (status != CS_OK) {
        cs_store_rollback(p->store);
        cs_log_discard();
        return status;
    }

    cs_log_release();

    return CS_OK;
}


/* from when on the next round has to cover, with the coupons of this one */

static cs_status_e
cs_poll_marks(cs_poll_t *p)
{
    int64_t      since;
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

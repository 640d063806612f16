/*
 * After a break that no window of the API can cover, and what the files of the
 * poller share.
 *
 * The known coupons are read by their codes, in groups of 100: those without a
 * confirmed final, and those confirmed so lately (`recheck` before the break)
 * that a recalculation in the break may have been missed.  Then the coupons
 * created from as long before the break on, hour by hour, for those that nobody
 * has told us of.  Regular rounds go on meanwhile, so what changes after it was
 * read is seen by them.
 *
 * It may be broken off at any moment: the mark gap_since stays, and the next
 * start begins anew; what is settled already is then only confirmed.
 */

#ifndef CS_RECOVERY_H
#define CS_RECOVERY_H

#include "polling.h"


#define CS_MARK_POLLED     "polled_at"
#define CS_MARK_GAP        "gap_since"

#define CS_POLL_RETRY_CAP  (60 * 1000)    /* longest of our pauses, in ms */


/* created: see cs_poll_recover() */
void cs_recovery_begin(cs_poll_t *poll, int64_t since, int64_t created);

/* one request more */
void cs_recovery_step(cs_poll_t *poll);


/* of polling_ask.c */

/* asks for poll->asked and settles the answer; 0: it failed, and was said */
int cs_poll_ask(cs_poll_t *poll, const char *what);

/* settles the answer that the API gave last; a failure was said */
CC_MUST_USE cs_status_e cs_poll_settle(cs_poll_t *poll, cs_answer_kind_e kind,
    const char *origin, cs_asked_t *asked);

void cs_poll_api_failed(cs_poll_t *poll, cs_api_e result);
void cs_poll_api_back(cs_poll_t *poll);
void cs_poll_store_failed(cs_poll_t *poll);


#endif /* CS_RECOVERY_H */

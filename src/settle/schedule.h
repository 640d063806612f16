/*
 * Which coupons are to be read from the API, and when: those that wait for its
 * word, confirm_after after that began, and then ever less often.
 *
 * Who waits is written in the store.  When each was asked is only remembered
 * here: after a restart all of them are asked anew, and nothing is lost.  Times
 * are those of the monotonic clock, in ms.
 */

#ifndef CS_SCHEDULE_H
#define CS_SCHEDULE_H

#include "asked.h"
#include "buffer.h"
#include "store.h"


#define CS_SCHEDULE_LONGEST  (60 * 60 * 1000)    /* pause between checks */

typedef struct {
    int64_t       first;         /* pause before a first check; set by the … */
    int64_t       pause;         /* … owner, as the one that then doubles */

    cs_buffer_t   checks;        /* of cs_check_t, in the order of the codes */
    cs_buffer_t   codes;         /* their text */
    cs_buffer_t   old_checks;
    cs_buffer_t   old_codes;
    size_t        old;           /* merging: the next of the old ones */
    int64_t       now;
} cs_schedule_t;


/* looks into the store who waits now */
CC_MUST_USE cs_status_e cs_schedule_update(cs_schedule_t *schedule,
    cs_store_t *store, int64_t now);

/* puts those that are due, as far as there is room, into *asked */
void cs_schedule_due(const cs_schedule_t *schedule, int64_t now,
    cs_asked_t *asked);

/* when the next one is due; -1: none waits */
int64_t cs_schedule_next(const cs_schedule_t *schedule);

/*
 * The coupon was asked for: after the next update, if it waits still, it does
 * so twice as long as before.
 */
void cs_schedule_asked(cs_schedule_t *schedule, cc_str_t code, int64_t now);

/* it is due, if it waits */
void cs_schedule_now(cs_schedule_t *schedule, cc_str_t code, int64_t now);

size_t cs_schedule_count(const cs_schedule_t *schedule);
void cs_schedule_free(cs_schedule_t *schedule);


#endif /* CS_SCHEDULE_H */

/*
 * The poller: reads the provider's API on a schedule, asks for what waits for
 * the API's word, and recovers after a break.  README, "Polling".
 *
 * It is driven step by step: a step makes at most one request, settles the
 * answer, and says when the next one is wanted.  It never sleeps, so it runs as
 * well in a thread beside the stream as in a command.
 *
 * What it has to remember over a restart is in the store, two marks:
 *   polled_at   when the last successful round was begun (Unix ms).  The next
 *               one covers everything since: it does not move on a failure.
 *   gap_since   the polled_at before a break that no window can cover; there
 *               as long as its recovery is not finished.
 */

#ifndef CS_POLLING_H
#define CS_POLLING_H

#include "answers.h"
#include "api.h"
#include "retry.h"
#include "schedule.h"


typedef enum {
    CS_RECOVER_NOT = 0,
    CS_RECOVER_CODES,            /* what is not confirmed, by code */
    CS_RECOVER_PERIODS           /* what was created since, hour by hour */
} cs_recover_e;

typedef struct {
    cs_recover_e   phase;
    int64_t        since;        /* the break, in Unix ms */
    int64_t        until;
    int64_t        created;      /* coupons created from here on */
    cs_buffer_t    after;        /* the last code that was read */
    unsigned       read;         /* coupons that the API gave … */
    unsigned       unknown;      /* … and did not know */
    unsigned       operations;
    unsigned       held;         /* coupons that were taken, but … */
    unsigned       rejected;     /* … not as they should have been */
    unsigned       groups;       /* requests so far */
} cs_recovery_t;

typedef struct {
    /* set by cs_poll_init() */
    const cs_conf_t  *conf;
    cs_store_t       *store;
    cs_api_t         *api;
    cs_answers_t     *answers;

    cs_retry_t        api_retry;
    cs_retry_t        store_retry;
    unsigned          started;       /* the marks were read */
    unsigned          denied;        /* waits for another token */
    unsigned          failed;        /* the last step has … */
    char              error[640];    /* … and this is why */

    int64_t           round_at;      /* Unix ms: of the round in hand … */
    int64_t           round_last;    /* … and of the last successful one */

    int64_t           not_before;    /* monotonic, as the next two */
    int64_t           poll_at;
    int64_t           look_at;       /* for who waits */

    cs_schedule_t     schedule;
    cs_recovery_t     recovery;
    cs_asked_t        asked;
} cs_poll_t;


/*
 * conf, store (open or not) and api outlive it.  eager: what waits is asked for
 * at once, not confirm_after later, and not again soon: a round is to end,
 * however long the answers take.
 */
void cs_poll_init(cs_poll_t *poll, const cs_conf_t *conf, cs_store_t *store,
    cs_api_t *api, unsigned eager);
void cs_poll_free(cs_poll_t *poll);

/*
 * One step.  Returns how many milliseconds nothing more is to be done; 0: there
 * is more.  Then poll->failed and poll->error say how it went.
 */
int64_t cs_poll_step(cs_poll_t *poll);

/*
 * A recovery, whether there was a break or not; coupons created from `created`
 * on (Unix ms) are looked for, and at least those of the last `recheck`.
 */
void cs_poll_recover(cs_poll_t *poll, int64_t created);

/*
 * The minutes that the next /calculated has to cover after `since_last` ms
 * without a successful one.
 */
unsigned cs_poll_minutes(const cs_api_conf_t *conf, int64_t since_last);

/* 1 if no window covers that, with a margin */
unsigned cs_poll_is_gap(int64_t since_last);


#endif /* CS_POLLING_H */

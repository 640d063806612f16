/*
 * What the daemon has done since it was started, as numbers that only grow; the
 * page of metrics shows them.
 *
 * Counting is an atomic addition, and never waits for who looks.  What is
 * counted in a transaction of the store counts with its commit, and what a
 * savepoint takes back does not: store.c says where they begin and end, each
 * thread for itself.
 */

#ifndef CS_COUNTERS_H
#define CS_COUNTERS_H

#include <stdint.h>


/* why a batch or notification was rejected, in classes */
typedef enum {
    CS_REJECT_ENTRY = 0,             /* the entry of the inbox is incomplete */
    CS_REJECT_SOURCE,                /* of a source that is not settled */
    CS_REJECT_BODY,                  /* it has not the shape of one */
    CS_REJECT_MISMATCH,              /* entry and body are not the same */
    CS_REJECT_CONFLICT,              /* the id is there, with another body */
    CS_REJECT_STORE,                 /* the store can never hold it */
    CS_REJECT_COUPON,                /* one coupon of the API */
    CS_REJECT_N
} cs_reject_e;

/* what had to be tried again */
typedef enum {
    CS_CAUSE_REDIS = 0,
    CS_CAUSE_STORE,
    CS_CAUSE_WALLET,                 /* what hangs on the operations */
    CS_CAUSE_COLLISION,              /* another consumer's transaction */
    CS_CAUSE_API,
    CS_CAUSE_N
} cs_cause_e;

/* a name that has room for several is the first of them */
typedef enum {
    CS_COUNT_BATCH_SETTLED = 0,
    CS_COUNT_BATCH_REPEATED,
    CS_COUNT_NOTE_SETTLED,
    CS_COUNT_NOTE_REPEATED,
    CS_COUNT_REJECTED,                                /* + cs_reject_e */
    CS_COUNT_COUPON = CS_COUNT_REJECTED + CS_REJECT_N,
    CS_COUNT_OPERATION,                               /* + their kind, */
    CS_COUNT_REFUND = CS_COUNT_OPERATION + 2,         /* + their effect */
    CS_COUNT_DOUBT_OPENED = CS_COUNT_REFUND + 4,
    CS_COUNT_DOUBT_CLEARED,
    CS_COUNT_RELAYED,
    CS_COUNT_ENTRY_CLAIMED,
    CS_COUNT_ENTRY_LOST,
    CS_COUNT_RETRY,                                   /* + cs_cause_e */
    CS_COUNT_API = CS_COUNT_RETRY + CS_CAUSE_N,       /* + cs_api_e */
    CS_COUNT_API_MALFORMED = CS_COUNT_API + 5,
    CS_COUNT_N
} cs_count_e;

#define CS_COMMIT_BUCKETS  12

typedef struct {
    uint64_t   n[CS_COUNT_N];
    uint64_t   commits[CS_COMMIT_BUCKETS + 1];        /* the last: longer */
    uint64_t   commit_us;                             /* all of them */
} cs_counts_t;

/* the upper bounds of the buckets, in microseconds */
extern const int64_t  cs_commit_bounds[CS_COMMIT_BUCKETS];


void cs_count(unsigned what, unsigned n);

/* a transaction has begun, was committed, or came to nothing */
void cs_count_begin(void);
void cs_count_commit(void);
void cs_count_rollback(void);

/* they do not nest */
void cs_count_savepoint(void);
void cs_count_undo(void);

/* a COMMIT that succeeded took that long */
void cs_count_commit_time(int64_t us);

/* all of them as they are now, each for itself */
void cs_counts_read(cs_counts_t *counts);


#endif /* CS_COUNTERS_H */

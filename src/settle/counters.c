/*
 * The counters; see counters.h.
 */

#include <stdatomic.h>
#include <string.h>

#include "counters.h"


typedef struct {
    unsigned   open;                 /* a transaction is */
    unsigned   n[CS_COUNT_N];        /* counted in it, … */
    unsigned   kept[CS_COUNT_N];     /* … and until the savepoint */
} cs_count_pending_t;


const int64_t  cs_commit_bounds[CS_COMMIT_BUCKETS] = {
    1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000,
    2500000, 5000000
};

static atomic_uint_fast64_t              cs_counted[CS_COUNT_N];
static atomic_uint_fast64_t              cs_commits[CS_COMMIT_BUCKETS + 1];
static atomic_uint_fast64_t              cs_commit_us;

static _Thread_local cs_count_pending_t  cs_pending;


void
cs_count(unsigned what, unsigned n)
{
    if (cs_pending.open) {
        cs_pending.n[what] += n;
        return;
    }

    atomic_fetch_add_explicit(&cs_counted[what], n, memory_order_relaxed);
}


void
cs_count_begin(void)
{
    memset(&cs_pending, 0, sizeof(cs_count_pending_t));
    cs_pending.open = 1;
}


void
cs_count_commit(void)
{
    unsigned  i;

    cs_pending.open = 0;

    for (i = 0; i < CS_COUNT_N; i++) {
        if (cs_pending.n[i]) {
            cs_count(i, cs_pending.n[i]);
        }
    }
}


void
cs_count_rollback(void)
{
    cs_pending.open = 0;
}


void
cs_count_savepoint(void)
{
    memcpy(cs_pending.kept, cs_pending.n, sizeof(cs_pending.n));
}


void
cs_count_undo(void)
{
    memcpy(cs_pending.n, cs_pending.kept, sizeof(cs_pending.n));
}


void
cs_count_commit_time(int64_t us)
{
    unsigned  i;

    for (i = 0; i < CS_COMMIT_BUCKETS && us > cs_commit_bounds[i]; i++) {
        /* void */
    }

    atomic_fetch_add_explicit(&cs_commits[i], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&cs_commit_us, (uint64_t) us,
                              memory_order_relaxed);
}


void
cs_counts_read(cs_counts_t *counts)
{
    unsigned  i;

    for (i = 0; i < CS_COUNT_N; i++) {
        counts->n[i] = atomic_load_explicit(&cs_counted[i],
                                            memory_order_relaxed);
    }

    for (i = 0; i <= CS_COMMIT_BUCKETS; i++) {
        counts->commits[i] = atomic_load_explicit(&cs_commits[i],
                                                  memory_order_relaxed);
    }

    counts->commit_us = atomic_load_explicit(&cs_commit_us,
                                             memory_order_relaxed);
}

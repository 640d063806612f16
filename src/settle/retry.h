/*
 * Something we need is away (Redis, the store): when to try again, and when to
 * speak about it.
 *
 * The pause doubles from try to try, up to a cap, and a part of it is random so
 * that many consumers do not come back in step.  It is said once that the thing
 * is away, again when the reason changes, and once that it is back.
 */

#ifndef CS_RETRY_H
#define CS_RETRY_H

#include "counters.h"


#define CS_RETRY_FIRST   100      /* ms */
#define CS_RETRY_CAP     5000


typedef struct {
    const char  *what;            /* "redis", "store"; the caller sets it, … */
    cs_cause_e   cause;           /* … and what it counts as */
    int64_t      cap;             /* longest pause; 0: CS_RETRY_CAP */
    int64_t      pause;           /* 0: it is there */
    int64_t      since;           /* monotonic time at which it went away */
    char         reason[256];
} cs_retry_t;


/* it is away: says so, and returns how many milliseconds to wait */
int64_t cs_retry_failed(cs_retry_t *retry, const char *reason);

/* it has answered */
void cs_retry_done(cs_retry_t *retry);


#endif /* CS_RETRY_H */

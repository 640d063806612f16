/*
 * A provider that exists only in memory, for tests of the poller: its coupons,
 * what becomes of them and when, and the answers of its API to that.  It takes
 * the place of src/settle/api.c, and the test's clock that of clock.c, so that
 * the poller, the rules, the worker and SQLite run as they are, only faster.
 */

#ifndef PROVIDER_H
#define PROVIDER_H

#include "api.h"
#include "buffer.h"
#include "unit.h"


#define PROVIDER_COUPONS  8
#define PROVIDER_TURNS    8

#define MINUTE            (60 * 1000LL)
#define HOUR              (60 * MINUTE)

enum { PROVIDER_CALCULATED, PROVIDER_CREATED, PROVIDER_BY_CODE };

/* a coupon takes this status and real_win at this time */
typedef struct {
    int64_t      at;
    int          status;          /* 1 active, 2 and 3 final, 15 */
    const char  *win;             /* as written; NULL: none */
} turn_t;

typedef struct {
    char      code[16];
    int64_t   created;
    turn_t    turns[PROVIDER_TURNS];
    unsigned  nturns;
} truth_t;

typedef struct {
    int64_t    now;               /* Unix ms; the monotonic clock is the same */
    truth_t    coupons[PROVIDER_COUPONS];
    unsigned   ncoupons;
    int64_t    away_from;         /* the API does not answer in this time */
    int64_t    away_until;
    uint64_t   random;
    unsigned   malformed;         /* percent of coupons that are given so */
    unsigned   asked[3];          /* how often, by question */
    unsigned   last;              /* … and what the last time */
    char       wrong[128];        /* a question against the contract */

    /* called between the API's answer and its arrival: time may pass */
    void     (*under_way)(void);
} provider_t;


extern provider_t  provider;

/* the turn a coupon has taken last, or NULL: it does not exist yet */
const turn_t *provider_turn(const truth_t *truth, int64_t now);

/* the JSON object of a coupon, with bets named by `bet` */
void provider_coupon(cs_buffer_t *buffer, const truth_t *truth,
    const turn_t *turn, const char *bet);


#endif /* PROVIDER_H */

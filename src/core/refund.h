/*
 * The refund state machine of a store's purchase: (what is stored, what an
 * event says) -> (what to store, which effects).  Pure: no I/O, no clock.
 *
 * The rule behind it: a store tells how things stand, with the time it says so,
 * and may tell it late, twice or out of order.  What counts is the newest word;
 * an effect is the difference between how things stand now and what was already
 * done.  So any order of the same events, with any repeats, ends the same.
 *
 *   purchase      what access hangs on: Apple's originalTransactionId,
 *                 Google's purchaseToken
 *   transaction   what money hangs on: Apple's transactionId, Google's orderId;
 *                 an event without one takes the purchase's key for it
 *
 * Contract: README, "Refunds"; tests: t/vectors/scenarios.json.gz.
 */

#ifndef CC_REFUND_H
#define CC_REFUND_H

#include "core.h"
#include "money.h"


#define CC_REFUND_ALL         100000    /* thousandths of a percent */
#define CC_REFUND_OPERATIONS  3         /* at most, of one event */


typedef enum {
    CC_ACCESS_UNKNOWN = 0,              /* nobody has said anything yet */
    CC_ACCESS_GRANTED,
    CC_ACCESS_REVOKED
} cc_access_e;

typedef enum {
    CC_REQUEST_NONE = 0,
    CC_REQUEST_CONSUMPTION,             /* Apple asks: 12 hours */
    CC_REQUEST_REVIEW,                  /* Google asks: 24 hours */
    CC_REQUEST_UNITS                    /* a part is refunded: which? */
} cc_request_e;

typedef enum {
    CC_EFFECT_REVOKE_ACCESS = 0,
    CC_EFFECT_RESTORE_ACCESS,
    CC_EFFECT_DEBIT_BALANCE,            /* a negative one gives back */
    CC_EFFECT_REVERSE_PAYOUT            /* likewise */
} cc_effect_e;


/* what one event says; its time is the store's own, Unix milliseconds */
typedef struct {
    int64_t              time;
    unsigned             has_fraction;
    unsigned             fraction;      /* refunded so far: 0 … CC_REFUND_ALL */
    cc_access_e          access;        /* UNKNOWN: it says nothing about it */
    cc_request_e         request;
    unsigned             has_price;
    int64_t              price_milli;   /* of the whole transaction */
} cc_refund_event_t;

/* how things stand; all zero where there is no row yet */
typedef struct {
    cc_access_e          access;        /* of the purchase */
    int64_t              access_as_of;
    unsigned             refunded;      /* of the transaction */
    int64_t              refunded_as_of;
    unsigned             generation;    /* changes of this transaction so far */
} cc_refund_state_t;

typedef struct {
    cc_effect_e          effect;
    unsigned             generation;    /* one of a kind in each */
    unsigned             fraction_from;
    unsigned             fraction_to;
    unsigned             has_amount;
    cc_money_t           amount;        /* of the price; < 0: given back */
} cc_refund_operation_t;

typedef struct {
    cc_refund_state_t      next;
    unsigned               stale;       /* it came too late to count */
    cc_refund_operation_t  operations[CC_REFUND_OPERATIONS];
    unsigned               noperations;
} cc_refund_t;


/* What becomes of a purchase.  Every combination has an answer. */
void cc_refund(cc_refund_t *out, const cc_refund_state_t *stored,
    const cc_refund_event_t *event);

/*
 * Until when a request must be answered, Unix milliseconds: its hours from the
 * store's time or from receipt, whichever came first.  0: there is no deadline.
 */
int64_t cc_refund_deadline(const cc_refund_event_t *event, int64_t received);

/*
 * The fraction of a whole number, half up.  The part of it that belongs to an
 * operation is cc_refund_share(n, to) - cc_refund_share(n, from): however many
 * parts there are, together they are exact.  0 <= n < 2^62.
 */
int64_t cc_refund_share(int64_t n, unsigned fraction);

const char *cc_effect_name(cc_effect_e effect);      /* "debit_balance" */
const char *cc_access_name(cc_access_e access);      /* "revoked" */
const char *cc_request_name(cc_request_e request);   /* "consumption" */


#endif /* CC_REFUND_H */

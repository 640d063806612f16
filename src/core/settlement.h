/*
 * The settlement state machine of a coupon: (what is stored, what was seen) ->
 * (what to store, which money operations).  Pure: no I/O, no clock.
 *
 * The table stands in the README, "Settlement"; the tests drive this function
 * with the same table (t/unit/settlement.table).
 *
 * The rule behind it: order of arrival decides nothing.  Where two callbacks
 * could be told apart only by which came first, the coupon is put in doubt, and
 * no money moves until somebody who knows (the provider's API, a person) says.
 */

#ifndef CC_SETTLEMENT_H
#define CC_SETTLEMENT_H

#include "core.h"
#include "money.h"


typedef enum {
    CC_STATE_NONE = 0,               /* no row yet */
    CC_STATE_ACTIVE,
    CC_STATE_FINAL,
    CC_STATE_RECALCULATING
} cc_state_e;

typedef enum {
    CC_SEEN_ACTIVE = 0,              /* A: neither final nor recalculation */
    CC_SEEN_RECALCULATION,           /* R */
    CC_SEEN_FINAL                    /* F(x) */
} cc_seen_e;

typedef enum {
    CC_OPERATION_FINAL_CREDIT = 0,   /* amount as given, >= 0 */
    CC_OPERATION_RECALCULATION_DEBIT /* amount <= 0 */
} cc_operation_kind_e;


typedef struct {
    cc_state_e    state;
    unsigned      generation;
    unsigned      credited;          /* this generation has a final_credit */
    cc_money_t    credit;            /* of this amount */
    const char   *doubt;             /* NULL, or why money is held */
    unsigned      confirmed;         /* the present final was confirmed */
} cc_settled_t;

typedef struct {
    cc_seen_e     seen;
    unsigned      has_real_win;
    cc_money_t    real_win;
    unsigned      authoritative;     /* the API or a person says so */
} cc_snapshot_t;

typedef struct {
    cc_operation_kind_e  kind;
    unsigned             generation;
    cc_money_t           amount;     /* signed: a debit is negative */
} cc_operation_t;

typedef struct {
    cc_settled_t    next;            /* its doubt: a constant or stored.doubt */
    unsigned        adopt;           /* status and real_win of the snapshot
                                        become the coupon's; bets always do */
    cc_operation_t  operations[2];   /* in this order */
    unsigned        noperations;
} cc_settlement_t;


/* What becomes of a coupon.  Every combination has an answer. */
void cc_settle(cc_settlement_t *out, const cc_settled_t *stored,
    const cc_snapshot_t *seen);

const char *cc_state_name(cc_state_e state);            /* "final" */
const char *cc_operation_name(cc_operation_kind_e kind); /* "final_credit" */


#endif /* CC_SETTLEMENT_H */

/*
 * The API's answers on their way into the ledger: the same rules and the same
 * store as a callback, and the question how much each coupon of an answer is
 * worth.
 *
 * What was asked for by its code and has not been touched since is the truth of
 * this moment: authoritative.  A list that was not asked for by code cannot
 * prove that for every coupon; README, "Polling", says what it may do.
 *
 * No coupon of an answer keeps the others waiting.  One whose money the wallet
 * does not let through, and one that has not the shape of a coupon, becomes a
 * doubt: a row of the ledger, that is asked about again until it passes.  What
 * the store will not even hold as that goes to `rejected`, once.
 */

#ifndef CS_ANSWERS_H
#define CS_ANSWERS_H

#include "api.h"
#include "store.h"


/* rejected.source of a coupon that was put aside */
#define CS_SOURCE_API  "api"

typedef enum {
    CS_ANSWER_ASKED = 0,        /* coupons of cs_asked_t, by code */
    CS_ANSWER_CALCULATED,       /* a list of coupons that are final */
    CS_ANSWER_CREATED           /* a list of coupons of any status */
} cs_answer_kind_e;

typedef struct cs_answers_s  cs_answers_t;

/* what the last cs_answers_settle() has done */
typedef struct {
    unsigned  coupons;
    unsigned  operations;
    unsigned  doubts;           /* new ones, for whatever reason */
    unsigned  moved;            /* left alone: the stored version had changed */
    unsigned  waiting;          /* left alone: to be asked for by code */
    unsigned  held;             /* by what hangs on the operations */
    unsigned  malformed;        /* have not the shape of a coupon */
    unsigned  rejected;         /* the store cannot hold them */
} cs_answers_count_t;

/* what else belongs into the transaction of an answer */
typedef cs_status_e (*cs_answers_also_pt)(void *ctx);

typedef struct {
    cs_answer_kind_e     kind;
    const char          *origin;   /* of operations, in place of a batch id */
    const cs_reply_t    *reply;
    cs_asked_t          *asked;    /* for CS_ANSWER_ASKED: what was asked for;
                                      gets its `answered` and `moved` set */
    cs_answers_also_pt   also;     /* may be NULL */
    void                *ctx;
} cs_answer_t;


/* store and conf outlive it */
cs_answers_t *cs_answers_create(cs_store_t *store, const cs_conf_t *conf);
void cs_answers_destroy(cs_answers_t *answers);

/*
 * Settles the coupons of an answer, and does what also() does: in one
 * transaction, or, where the store does not take that, part by part, also()
 * last.  CS_OK: the store has all of it, in one form or another.  Else it may
 * have some of it, cs_store_error() says why, and the same answer may be given
 * again.
 */
CC_MUST_USE cs_status_e cs_answers_settle(cs_answers_t *answers,
    const cs_answer_t *answer);

const cs_answers_count_t *cs_answers_count(const cs_answers_t *answers);

/* why the last one that was held or rejected was; empty if none was */
const char *cs_answers_reason(const cs_answers_t *answers);

/*
 * Codes of a list that are waiting for their check (see schedule.h), which need
 * not wait longer: what changed is known to the API.  Called for each.
 */
void cs_answers_waiting(cs_answers_t *answers,
    void (*call)(void *ctx, cc_str_t code), void *ctx);


#endif /* CS_ANSWERS_H */

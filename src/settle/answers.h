/*
 * The API's answers on their way into the ledger: the same rules and the same
 * store as a callback, and the question how much each coupon of an answer is
 * worth.
 *
 * What was asked for by its code and has not been touched since is the truth of
 * this moment: authoritative.  A list that was not asked for by code cannot
 * prove that for every coupon; README, "Polling", says what it may do.
 */

#ifndef CS_ANSWERS_H
#define CS_ANSWERS_H

#include "api.h"
#include "store.h"


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
    unsigned  doubts;
    unsigned  moved;            /* left alone: the stored version had changed */
    unsigned  waiting;          /* left alone: to be asked for by code */
} cs_answers_count_t;


/* store and conf outlive it */
cs_answers_t *cs_answers_create(cs_store_t *store, const cs_conf_t *conf);
void cs_answers_destroy(cs_answers_t *answers);

/*
 * Settles the coupons of an answer inside the caller's transaction; operations
 * carry `origin` in the place of a batch id.  asked is for CS_ANSWER_ASKED and
 * gets its `answered` and `moved` set.  CS_REFUSED: the store cannot take it,
 * cs_store_error() says why.
 */
CC_MUST_USE cs_status_e cs_answers_settle(cs_answers_t *answers,
    cs_answer_kind_e kind, const char *origin, const cs_reply_t *reply,
    cs_asked_t *asked);

const cs_answers_count_t *cs_answers_count(const cs_answers_t *answers);

/*
 * Codes of a list that are waiting for their check (see schedule.h), which need
 * not wait longer: what changed is known to the API.  Called for each.
 */
void cs_answers_waiting(cs_answers_t *answers,
    void (*call)(void *ctx, cc_str_t code), void *ctx);


#endif /* CS_ANSWERS_H */

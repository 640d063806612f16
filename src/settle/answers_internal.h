/*
 * What the files of the answers share: answers.c brings an answer into the
 * store, transaction by transaction; answers_judge.c says what each coupon of
 * it is worth; answers_reject.c puts aside what the store cannot hold.
 */

#ifndef CS_ANSWERS_INTERNAL_H
#define CS_ANSWERS_INTERNAL_H

#include "answers.h"
#include "settling.h"
#include "string_list.h"


/* what is done with the coupons of a part */
typedef enum {
    CS_TAKE_EXPECT = 0,          /* only their codes are collected */
    CS_TAKE_SETTLE,
    CS_TAKE_HOLD,                /* … only a doubt in place of any operation */
    CS_TAKE_REJECT
} cs_take_e;

struct cs_answers_s {
    cs_store_t           *store;
    const cs_conf_t      *conf;
    cc_json_t            *json;
    cs_settling_t         settling;
    cs_answers_count_t    count;
    char                  reason[256];
    cs_strings_t          codes;         /* of the part in hand */
    cs_strings_t          waiting;       /* see cs_answers_waiting() */

    /* while an answer is settled */
    const cs_answer_t    *answer;
    cs_take_e             take;
    unsigned              from;          /* the part: coupons by number … */
    unsigned              to;
    unsigned              at;            /* … and the one that comes next */
    cs_status_e           stopped;       /* why a reading was, or CS_OK */
};


/* a cs_judge_pt; ctx is the cs_answers_t */
cs_trust_e cs_answers_judge(void *ctx, const cs_coupon_t *stored,
    const cc_coupon_t *seen, const char **doubt);

/* puts a coupon aside, in the transaction in hand */
CC_MUST_USE cs_status_e cs_answers_reject(cs_answers_t *answers,
    const cc_coupon_t *coupon, const char *why);


#endif /* CS_ANSWERS_INTERNAL_H */

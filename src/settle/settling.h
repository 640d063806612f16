/*
 * One coupon on its way into the ledger: where the settlement rules and the
 * store meet.  Runs inside a transaction that somebody else began.
 */

#ifndef CS_SETTLING_H
#define CS_SETTLING_H

#include "bets.h"
#include "config.h"
#include "store.h"


/* how much a snapshot is worth for the coupon as it is stored */
typedef enum {
    CS_TRUST_PUSHED = 0,         /* a callback: may be late, early, repeated */
    CS_TRUST_KNOWN,              /* authoritative */
    CS_TRUST_HELD,               /* not to be settled: a doubt is set */
    CS_TRUST_NONE                /* the coupon stays as it is */
} cs_trust_e;

/* for CS_TRUST_HELD *doubt is set to a constant sentence */
typedef cs_trust_e (*cs_judge_pt)(void *ctx, const cs_coupon_t *stored,
    const cc_coupon_t *seen, const char **doubt);

typedef struct {
    /* set by the owner */
    cs_store_t        *store;
    const cs_conf_t   *conf;
    cc_str_t           origin;         /* batch id, or "resolve:MS" */
    unsigned           authoritative;
    cs_judge_pt        judge;          /* NULL: authoritative says it */
    void              *judge_ctx;
    unsigned           known_only;     /* an unknown coupon is CS_NONE */
    unsigned           unread;         /* of what is seen only code and raw are
                                          known; the judge holds it */
    const char        *hold;           /* a constant doubt that takes the place
                                          of any operation; NULL: none does */
    cs_bets_t          bets;           /* of the coupon that comes next */

    /* counted up for the owner */
    unsigned           operations;
    unsigned           doubts;
    unsigned           held;           /* by `hold` */

    /* between the steps of one coupon */
    cs_coupon_t        stored;
    char               doubt[256];     /* the text of stored.settled.doubt */
} cs_settling_t;


/*
 * Settles the coupon and stores it with the bets.  CS_REFUSED: the store says
 * that this can never be stored.
 */
CC_MUST_USE cs_status_e cs_settle_coupon(cs_settling_t *settling,
    const cc_coupon_t *seen);

/* what a status code means, by the configuration */
cc_seen_e cs_settle_seen(const cs_conf_t *conf, int64_t status);


#endif /* CS_SETTLING_H */

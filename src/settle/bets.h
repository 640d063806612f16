/*
 * The bets of one coupon, kept until the coupon itself has been read: a body
 * gives the bets first, and the ledger wants the coupon first.
 */

#ifndef CS_BETS_H
#define CS_BETS_H

#include "buffer.h"
#include "store.h"


typedef struct {
    cs_buffer_t   bets;            /* of cs_bet_t */
    cs_buffer_t   text;            /* their uuids and raw objects */
} cs_bets_t;


/* copies it */
void cs_bets_add(cs_bets_t *bets, const cc_event_t *event);

CC_MUST_USE cs_status_e cs_bets_save(const cs_bets_t *bets, cs_store_t *store,
    cc_str_t code);

void cs_bets_clear(cs_bets_t *bets);
void cs_bets_free(cs_bets_t *bets);


#endif /* CS_BETS_H */

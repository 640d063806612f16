/*
 * Refunds on their way into the ledger: where the refund state machine and the
 * store_* tables meet.  Runs inside a transaction that somebody else began.
 */

#ifndef CS_REFUNDS_H
#define CS_REFUNDS_H

#include "config.h"
#include "message.h"
#include "store.h"
#include "store_event.h"


/* 1 if a delivery of this source is settled here */
unsigned cs_refunds_source(cc_str_t source);

/*
 * Settles one notification.  CS_OK: settled, now or earlier.  CS_REFUSED: it
 * says too little to act on, nothing was written, and *reason says why.
 * CS_AGAIN: the store.
 */
CC_MUST_USE cs_status_e cs_refunds_settle(cs_store_t *store,
    const cs_conf_t *conf, cc_json_t *json, const cc_message_t *message,
    const char **reason);

/*
 * What a person states about a transaction that is known: this much of it is
 * refunded, as of now.  Closes what waited for that.  CS_NONE: it is not known.
 */
CC_MUST_USE cs_status_e cs_refunds_state(cs_store_t *store,
    const cs_conf_t *conf, const char *source, const char *transaction,
    unsigned fraction);


#endif /* CS_REFUNDS_H */

/*
 * What a stored notification of Apple or Google says to the refund state
 * machine.
 *
 * The bodies come out of the inbox: the module has verified them, so that a JWS
 * is only taken apart here.  What is authentic but says too little to act on is
 * refused with a reason, and waits in `rejected` for a person.
 */

#ifndef CC_STORE_EVENT_H
#define CC_STORE_EVENT_H

#include "core.h"
#include "json.h"
#include "refund.h"


#define CC_STORE_KEY_MAX       1024     /* a purchaseToken */
#define CC_STORE_KIND_MAX      64
#define CC_STORE_CURRENCY_MAX  8
#define CC_STORE_ID_MAX        256
#define CC_STORE_SCOPE_MAX     256
#define CC_STORE_PACKAGE_MAX   256


typedef struct {
    cc_refund_event_t  event;
    char               id[CC_STORE_ID_MAX + 1];     /* as the module has it */
    char               kind[CC_STORE_KIND_MAX + 1];         /* "REFUND" */
    char               purchase_key[CC_STORE_KEY_MAX + 1];  /* may be empty */
    char               transaction_key[CC_STORE_KEY_MAX + 1];
    char               currency[CC_STORE_CURRENCY_MAX + 1];
    char               scope[CC_STORE_SCOPE_MAX + 1];   /* Google's ids are
                                        unique in it; Apple's have none */
    char               package[CC_STORE_PACKAGE_MAX + 1];   /* Google's app */
} cc_store_event_t;


/*
 * Reads an accepted body.  NULL, or a constant that says why nobody can act on
 * it; cc_json_no_memory says nothing about it.
 */
CC_MUST_USE const char *cc_apple_event(cc_store_event_t *out, cc_json_t *json,
    cc_str_t body);

/*
 * Of Google also the id under which the body was accepted, or an empty one: of
 * an unwrapped push it alone says which message it was.
 */
CC_MUST_USE const char *cc_google_event(cc_store_event_t *out,
    cc_json_t *json, cc_str_t id, cc_str_t body);

/*
 * The length of the subscription in the id of an unwrapped push, which is
 * SUBSCRIPTION:MESSAGEID; 0 for every other id, as none of them has a colon.
 */
size_t cc_google_unwrapped_scope(cc_str_t id);

/*
 * What somebody who knows states about a transaction, at the time (Unix
 * milliseconds) for which it holds: this much of it is refunded.  Access goes
 * when nothing is left.
 */
void cc_stated_event(cc_refund_event_t *event, int64_t time,
    unsigned fraction);


#endif /* CC_STORE_EVENT_H */

/*
 * Google Play's DeveloperNotification: what a real-time developer notification
 * says, and whether that is enough to act on.
 *
 * The module reads with it to decide, coupon-settle to settle.  A kind or a
 * code that does not exist yet is no error: it is kept, and moves nothing.
 * Source: Google Play, "Real-time developer notifications reference guide".
 */

#ifndef CC_RTDN_H
#define CC_RTDN_H

#include <cjson/cJSON.h>

#include "core.h"
#include "json.h"


typedef enum {
    CC_RTDN_OTHER = 0,              /* one that is not known here */
    CC_RTDN_TEST,
    CC_RTDN_SUBSCRIPTION,
    CC_RTDN_ONE_TIME,
    CC_RTDN_VOIDED,
    CC_RTDN_REVIEW                  /* a refund that Google asks about */
} cc_rtdn_kind_e;

/* the strings live as long as the tree */
typedef struct {
    cJSON           *tree;
    cc_rtdn_kind_e   kind;
    int64_t          event_ms;      /* eventTimeMillis, Unix milliseconds */
    cc_str_t         package;
    cc_str_t         purchase_token;
    cc_str_t         order_id;
    int64_t          type;          /* notificationType; voided: refundType */
    int64_t          product_type;  /* voided: 1 subscription, 2 one-time */
} cc_rtdn_t;


/*
 * Reads the data of a message, decoded where it was wrapped.  NULL, or a
 * constant that says why it cannot be used; cc_json_no_memory says nothing
 * about it.  To be freed in either case.
 */
CC_MUST_USE const char *cc_rtdn_read(cc_rtdn_t *rtdn, cc_json_t *json,
    cc_str_t text);
void cc_rtdn_free(cc_rtdn_t *rtdn);


#endif /* CC_RTDN_H */

/*
 * Google Play real-time developer notifications, pushed by Cloud Pub/Sub.
 * Contract: README, "Google".
 *
 * The token in the Authorization line says who calls: Google, for the service
 * account and audience that are ours.  It does not sign the body; what the body
 * says is believed because of the caller.
 */

#ifndef CC_GOOGLE_H
#define CC_GOOGLE_H

#include "json.h"
#include "jwks.h"
#include "provider.h"


#define CC_GOOGLE_SKEW      300             /* seconds, either way */
#define CC_GOOGLE_LIFETIME  86400           /* no token lives longer */
#define CC_GOOGLE_TOKEN_MAX 8192            /* bytes */


/* the conf of cc_google.verify(); everything is owned by who filled it */
typedef struct {
    cc_json_t   *json;
    cc_jwks_t   *keys;
    cc_str_t     audience;
    cc_str_t     email;
    cc_str_t     subscription;              /* empty: any */
    cc_str_t     package;                   /* empty: any */
    unsigned     unwrapped;                 /* the body is the notification */
} cc_google_t;


/*
 * id: the messageId; scope: the subscription.  Unwrapped the id is
 * SUBSCRIPTION:MESSAGEID and there is no scope: the body does not name the
 * subscription, and whoever settles the delivery gets only body and id.
 */
extern const cc_provider_t  cc_google;


#endif /* CC_GOOGLE_H */

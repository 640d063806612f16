/*
 * Apple App Store Server Notifications V2: {"signedPayload": "<JWS>"}.
 * Contract: README, "Apple".
 *
 * What is accepted is signed by Apple, for this app, and names what it is; the
 * transaction inside is signed by Apple as well, for the same app.  What Apple
 * has signed for this app but nobody can act on is CC_VERDICT_UNUSABLE.
 */

#ifndef CC_APPLE_H
#define CC_APPLE_H

#include "json.h"
#include "provider.h"
#include "x5c.h"


/* how far Apple's clock may be ahead of ours */
#define CC_APPLE_AHEAD_MS  (300 * 1000)


typedef enum {
    CC_APPLE_PRODUCTION = 1,
    CC_APPLE_SANDBOX = 2,
    CC_APPLE_ANY = 3
} cc_apple_environment_e;

/* the conf of cc_apple.verify(); everything is owned by who filled it */
typedef struct {
    cc_json_t               *json;
    cc_x5c_t                *roots;
    cc_str_t                 bundle_id;
    int64_t                  app_apple_id;  /* asked for in Production only */
    cc_apple_environment_e   environment;
} cc_apple_t;


/* id: the notificationUUID in lower case; scope: its environment */
extern const cc_provider_t  cc_apple;


#endif /* CC_APPLE_H */

/*
 * SportAPI coupon callbacks: an HMAC over the raw body, then the envelope.
 * Contract: README, "Body shape" and "Signatures".
 */

#ifndef CC_SPORTAPI_H
#define CC_SPORTAPI_H

#include "envelope.h"
#include "provider.h"
#include "signature.h"


/* the conf of cc_sportapi.verify(); everything is owned by who filled it */
typedef struct {
    cc_hmac_t           **hmacs;        /* one per secret; any may match */
    unsigned              nhmacs;
    cc_str_t              prefix;       /* "sha256=", may be empty */
    cc_encoding_e         encoding;
    int64_t               tolerance_ms; /* 0: there is no timestamp */
    cc_envelope_rules_t   rules;
    cc_json_t            *json;
} cc_sportapi_t;


extern const cc_provider_t  cc_sportapi;


#endif /* CC_SPORTAPI_H */

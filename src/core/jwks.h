/*
 * A JSON Web Key Set: Google's keys, by their kid, out of the text of a file.
 *
 * A key is taken if it is one that an RS256 token may be signed with: RSA of
 * 2048 to 8192 bits, exponent 65537 or more, use and alg absent or right, and
 * its kid stands once.  Every other key is passed over: one odd key must not
 * take the whole set down.
 *
 * A member "expires" beside "keys" (Unix seconds) says until when whoever
 * fetched the set takes it for fresh.  Source: RFC 7517, RFC 7518 section 6.3.
 */

#ifndef CC_JWKS_H
#define CC_JWKS_H

#include <openssl/types.h>

#include "core.h"
#include "json.h"


#define CC_JWKS_MAX  64             /* keys that are looked at */


typedef struct cc_jwks_s  cc_jwks_t;


/* NULL, with a constant in *reason, if the text is no key set, or no memory */
CC_MUST_USE cc_jwks_t *cc_jwks_create(cc_json_t *json, cc_str_t text,
    const char **reason);
void cc_jwks_destroy(cc_jwks_t *jwks);

/* how many keys can be used, maybe 0 */
unsigned cc_jwks_count(const cc_jwks_t *jwks);

/* Unix seconds, or 0 if the set does not say */
int64_t cc_jwks_expires(const cc_jwks_t *jwks);

/* the key of this kid, which lives as long as the set, or NULL */
EVP_PKEY *cc_jwks_find(const cc_jwks_t *jwks, cc_str_t kid);


#endif /* CC_JWKS_H */

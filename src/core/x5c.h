/*
 * Apple's certificate chain: whose key has signed this, if Apple says so?
 *
 * A chain is leaf, intermediate and one of the pinned roots, no more and no
 * fewer, with Apple's two extensions where Apple puts them.  Dates are handed
 * out, not judged: a notification is judged at its own signedDate, which only
 * the verified signature makes worth reading.
 *
 * No revocation (OCSP) is asked for and no other trust store is looked at.
 * Source: Apple, "App Store Server Notifications"; RFC 5280.
 */

#ifndef CC_X5C_H
#define CC_X5C_H

#include <openssl/types.h>

#include "core.h"


#define CC_X5C_CACHED  32           /* verified chains that are remembered */


typedef struct cc_x5c_s  cc_x5c_t;

/* lives until the next call with the same cc_x5c_t */
typedef struct {
    EVP_PKEY  *key;                 /* of the leaf */
    int64_t    not_before;          /* Unix seconds; all three certificates */
    int64_t    not_after;           /* are valid from the one to the other */
} cc_x5c_leaf_t;


/*
 * Pins the roots in the text: certificates in PEM, or one in DER as Apple
 * publishes it.  NULL, with a constant in *reason, if it holds none, or one
 * that is no CA certificate, or without memory.
 */
CC_MUST_USE cc_x5c_t *cc_x5c_create(cc_str_t text, const char **reason);
void cc_x5c_destroy(cc_x5c_t *x5c);

/*
 * Verifies the leaf and the intermediate, base64 of DER as x5c has them.  NULL
 * if all is well, else a constant; cc_json_no_memory says nothing about them.
 */
CC_MUST_USE const char *cc_x5c_verify(cc_x5c_t *x5c, cc_str_t leaf,
    cc_str_t intermediate, cc_x5c_leaf_t *out);

/* chains that were verified in full, and not found remembered */
unsigned long cc_x5c_verified(const cc_x5c_t *x5c);


#endif /* CC_X5C_H */

/*
 * HMAC signatures: who sent these bytes?
 *
 * A cc_hmac_t is one secret with one hash, keyed once and used for any number
 * of bodies.  A listed signature matches if it decodes to exactly the bytes of
 * the MAC; the comparison takes the same time wherever the bytes differ.
 *
 * Sources: RFC 2104, RFC 4648; CONTRACT: the provider's document leaves header,
 * hash and encoding open, so they are configuration.
 */

#ifndef CC_SIGNATURE_H
#define CC_SIGNATURE_H

#include "core.h"


#define CC_MAC_MAX            64     /* SHA-512 */
#define CC_SIGNATURES_MAX     32     /* listed signatures that are looked at */

typedef enum {
    CC_HASH_SHA256 = 0,
    CC_HASH_SHA512,
    CC_HASH_SHA1
} cc_hash_e;

typedef enum {
    CC_ENCODING_HEX = 0,             /* either case */
    CC_ENCODING_BASE64               /* RFC 4648 section 4, padding optional */
} cc_encoding_e;


typedef struct cc_hmac_s  cc_hmac_t;

/*
 * The key is copied into libcrypto and wiped there by cc_hmac_destroy().
 * NULL without memory or if libcrypto refuses the key or hash.
 */
cc_hmac_t *cc_hmac_create(cc_hash_e hash, cc_str_t key);
void cc_hmac_destroy(cc_hmac_t *hmac);

/*
 * The MAC of prefix and body, one after the other, into mac[CC_MAC_MAX].
 * Returns its length, or 0 if libcrypto failed.
 */
CC_MUST_USE size_t cc_hmac_compute(cc_hmac_t *hmac, cc_str_t prefix,
    cc_str_t body, unsigned char *mac);

/*
 * 1 if one of the signatures listed in `list`, parted by spaces, tabs or
 * commas, is this MAC.  With a prefix ("sha256=", "v1,") only those that begin
 * with it are looked at, and the prefix may itself hold a comma.
 */
CC_MUST_USE int cc_signature_match(cc_str_t list, cc_str_t prefix,
    cc_encoding_e encoding, const unsigned char *mac, size_t len);

/*
 * Decodes hex or base64 into out, which has room for size bytes.  Returns the
 * number of bytes, or -1 if the text is not of that encoding, too long or, for
 * base64, not canonical (spare bits set).
 */
CC_MUST_USE int cc_decode(cc_encoding_e encoding, cc_str_t text,
    unsigned char *out, size_t size);

/*
 * A Unix time in seconds or milliseconds (from 10^11 on), digits only, no sign,
 * at most 15 digits.  Returns 1 if it lies within tolerance_ms of now_ms, the
 * limit included; 0 if not, or if it is no such number.
 */
CC_MUST_USE int cc_timestamp_fresh(cc_str_t text, int64_t now_ms,
    int64_t tolerance_ms);


#endif /* CC_SIGNATURE_H */

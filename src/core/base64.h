/*
 * Base64 where one value has one text: the strict decoder behind JWS, X.509 in
 * JSON, JWKS and Pub/Sub data.
 *
 * Libraries take white space, either alphabet, missing padding and spare bits,
 * so that two texts are one value and a check of the text says little.  Here a
 * text is refused unless encoding its value again gives the same text.
 *
 * Source: RFC 4648; RFC 7515 section 2 for the form without padding.
 */

#ifndef CC_BASE64_H
#define CC_BASE64_H

#include "core.h"


typedef enum {
    CC_BASE64_STANDARD = 0,     /* section 4, "+/", padded */
    CC_BASE64_URL               /* section 5, "-_", without padding */
} cc_base64_e;


/* room for what `len` characters decode to */
#define cc_base64_size(len)  ((len) / 4 * 3 + 3)


/*
 * Decodes into buf, which has size bytes; *out becomes what was written there.
 * Returns -1 if the text is not of that form, or does not fit.
 */
CC_MUST_USE int cc_base64_decode(cc_base64_e form, cc_str_t text,
    unsigned char *buf, size_t size, cc_str_t *out);


#endif /* CC_BASE64_H */

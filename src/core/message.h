/*
 * The entry of the inbox stream: the only contract between the module, which
 * writes it, and coupon-settle, which reads it.  Also the names of the keys.
 *
 *   PREFIX:inbox            stream, fields below
 *   PREFIX:seen:SOURCE:ID   string "<digest>:<token>", expires; for the stores
 *                           SOURCE:SCOPE:ID, see cc_delivery_t
 *   PREFIX:rejected         stream, capped
 *   PREFIX:fence            string, rewritten to prove what was written before
 *   PREFIX:operations       stream, money operations for another system
 */

#ifndef CC_MESSAGE_H
#define CC_MESSAGE_H

#include "core.h"


#define CC_KEY_INBOX      ":inbox"
#define CC_KEY_SEEN       ":seen:"
#define CC_KEY_REJECTED   ":rejected"
#define CC_KEY_FENCE      ":fence"
#define CC_KEY_OPERATIONS ":operations"

#define CC_FIELD_SOURCE   "source"
#define CC_FIELD_ID       "id"
#define CC_FIELD_COUNT    "count"
#define CC_FIELD_DIGEST   "digest"
#define CC_FIELD_RECEIVED "received"
#define CC_FIELD_BODY     "body"
#define CC_FIELD_REASON   "reason"

#define CC_SOURCE_SPORTAPI  "sportapi"

#define CC_DIGEST_LEN     32          /* hex digits of XXH3-128 */


typedef struct {
    cc_str_t   source;
    cc_str_t   id;
    uint64_t   count;
    cc_str_t   digest;                /* CC_DIGEST_LEN digits */
    int64_t    received;              /* Unix milliseconds */
    cc_str_t   body;
} cc_message_t;


/*
 * Reads an inbox entry from its fields and values in turn (n strings, so n is
 * even).  Unknown fields are passed over; of a field that stands twice the last
 * one counts.  The strings stay the caller's.
 * Returns NULL, or a constant sentence that names what is missing or wrong; all
 * that could be read is set all the same, so that it can be kept aside.
 */
CC_MUST_USE const char *cc_message_parse(cc_message_t *message,
    const cc_str_t *fields, size_t n);

/*
 * The digest of a raw body, CC_DIGEST_LEN lower-case hex digits without NUL.
 * It only tells two authentic bodies of one id apart; it proves nothing.
 */
void cc_message_digest(unsigned char *hex, cc_str_t body);


#endif /* CC_MESSAGE_H */

/*
 * The inbox entry: fields of a stream entry to a message, and the digest.
 */

#include <xxhash.h>

#include "message.h"


static int cc_message_number(uint64_t *n, cc_str_t text);
static int cc_message_is_digest(cc_str_t text);


const char *
cc_message_parse(cc_message_t *message, const cc_str_t *fields, size_t n)
{
    int       counted, timed;
    size_t    i;
    uint64_t  ms;

    memset(message, 0, sizeof(cc_message_t));
    counted = 0;
    timed = 0;
    ms = 0;

    for (i = 0; i + 1 < n; i += 2) {

        if (cc_str_is(fields[i], CC_FIELD_SOURCE)) {
            message->source = fields[i + 1];

        } else if (cc_str_is(fields[i], CC_FIELD_ID)) {
            message->id = fields[i + 1];

        } else if (cc_str_is(fields[i], CC_FIELD_COUNT)) {
            counted = cc_message_number(&message->count, fields[i + 1]);

        } else if (cc_str_is(fields[i], CC_FIELD_DIGEST)) {
            message->digest = fields[i + 1];

        } else if (cc_str_is(fields[i], CC_FIELD_RECEIVED)) {
            timed = cc_message_number(&ms, fields[i + 1]);

        } else if (cc_str_is(fields[i], CC_FIELD_BODY)) {
            message->body = fields[i + 1];
        }
    }

    message->received = (int64_t) ms;

    if (message->source.len == 0) {
        return "the inbox entry has no source";
    }

    if (message->id.len == 0) {
        return "the inbox entry has no id";
    }

    if (message->body.len == 0) {
        return "the inbox entry has no body";
    }

    if (!cc_message_is_digest(message->digest)) {
        return "the inbox entry has no digest of 32 hex digits";
    }

    if (!counted) {
        return "the inbox entry has no count";
    }

    if (!timed) {
        return "the inbox entry has no time of receipt";
    }

    return NULL;
}


/* one to fifteen digits; *n stays 0 if it is anything else */
static int
cc_message_number(uint64_t *n, cc_str_t text)
{
    size_t    i;
    uint64_t  value;

    *n = 0;

    if (text.len == 0 || text.len > 15) {
        return 0;
    }

    for (value = 0, i = 0; i < text.len; i++) {

        if (text.data[i] < '0' || text.data[i] > '9') {
            return 0;
        }

        value = value * 10 + (text.data[i] - '0');
    }

    *n = value;

    return 1;
}


static int
cc_message_is_digest(cc_str_t text)
{
    size_t  i;

    for (i = 0; i < text.len; i++) {
        if (strchr("0123456789abcdef", text.data[i]) == NULL
            || text.data[i] == '\0')
        {
            return 0;
        }
    }

    return text.len == CC_DIGEST_LEN;
}


void
cc_message_digest(unsigned char *hex, cc_str_t body)
{
    size_t             i;
    XXH128_canonical_t bytes;

    static const char  digits[] = "0123456789abcdef";

    XXH128_canonicalFromHash(&bytes, XXH3_128bits(body.data, body.len));

    for (i = 0; i < sizeof(bytes.digest); i++) {
        hex[i * 2] = (unsigned char) digits[bytes.digest[i] >> 4];
        hex[i * 2 + 1] = (unsigned char) digits[bytes.digest[i] & 0xf];
    }
}

/*
 * Fuzzing the inbox entry.  The input is its fields and values, one a line.
 * A message is either refused with a sentence or complete; in both cases its
 * strings lie in the input, and a number that was bad is 0.
 */

#include "fuzz.h"
#include "json_walk.h"
#include "message.h"


#define STRINGS_MAX  32


static void
check_inside(cc_str_t s, const uint8_t *data, size_t size)
{
    must(s.len == 0 || (s.data >= data && s.data + s.len <= data + size));
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t          n, i;
    cc_str_t        fields[STRINGS_MAX];
    const char     *error;
    cc_message_t    message;
    const uint8_t  *p = data, *end = data + size, *cut;
    unsigned char   digest[CC_DIGEST_LEN], again[CC_DIGEST_LEN];

    for (n = 0; n < STRINGS_MAX && p < end; p = cut + 1, n++) {
        cut = memchr(p, '\n', (size_t) (end - p));
        cut = cut ? cut : end;
        fields[n] = unit_str(p, (size_t) (cut - p));
    }

    error = cc_message_parse(&message, fields, n & ~(size_t) 1);

    check_inside(message.source, data, size);
    check_inside(message.id, data, size);
    check_inside(message.digest, data, size);
    check_inside(message.body, data, size);
    must(message.count < 1000000000000000);
    must(message.received >= 0 && message.received < 1000000000000000);

    if (error == NULL) {
        must(message.source.len && message.id.len && message.body.len);
        must(message.digest.len == CC_DIGEST_LEN);

        for (i = 0; i < CC_DIGEST_LEN; i++) {
            must(message.digest.data[i] != '\0'
                 && strchr("0123456789abcdef", message.digest.data[i]));
        }
    }

    cc_message_digest(digest, unit_str(data, size));
    cc_message_digest(again, unit_str(data, size));
    must(memcmp(digest, again, CC_DIGEST_LEN) == 0);

    return 0;
}

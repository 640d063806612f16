/*
 * Numbers of JSON: where does one end?  RFC 8259, section 6: no plus in front,
 * no leading zeros, digits on both sides of a point.
 */

#include "json_internal.h"


static inline const unsigned char *cc_json_digits_end(const unsigned char *p,
    const unsigned char *end);


const unsigned char *
cc_json_long_number_end(const unsigned char *p, const unsigned char *end)
{
    const unsigned char  *part;

    if (*p == '-') {
        p++;
    }

    part = p;
    p = cc_json_digits_end(p, end);

    if (p == part) {
        return NULL;
    }

    if (*part == '0') {
        p = part + 1;
    }

    if (p < end && *p == '.') {
        part = p + 1;
        p = cc_json_digits_end(part, end);

        if (p == part) {
            return NULL;
        }
    }

    if (p < end && (*p | 0x20) == 'e') {
        p++;

        if (p < end && (*p == '+' || *p == '-')) {
            p++;
        }

        part = p;
        p = cc_json_digits_end(part, end);

        if (p == part) {
            return NULL;
        }
    }

    return p;
}


const char *
cc_json_number_error(const unsigned char *p, const unsigned char *end)
{
    if (*p == '-') {
        p++;
    }

    return p < end && *p >= '0' && *p <= '9'
           ? "no JSON: a number without its digits"
           : "no JSON: a value is missing";
}


static inline const unsigned char *
cc_json_digits_end(const unsigned char *p, const unsigned char *end)
{
    uint64_t  found;

    for ( /* void */ ; end - p >= 8; p += 8) {
        found = cc_json_no_digits(p);

        if (found != 0) {
            return p + cc_json_first(found);
        }
    }

    while (p < end && (unsigned) *p - '0' <= 9) {
        p++;
    }

    return p;
}

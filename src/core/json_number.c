/*
 * Numbers of JSON: where does one end?  RFC 8259, section 6: no plus in front,
 * no leading zeros, digits on both sides of a point.
 */

#include "json_internal.h"


static inline const unsigned char *cc_json_digits_end(const unsigned char *p,
    const unsigned char *end);


static const char  cc_json_no_digits[] = "no JSON: a number without its digits";


const unsigned char *
cc_json_number_end(const unsigned char *p, const unsigned char *end,
    const char **error)
{
    const unsigned char  *part;

    if (*p == '-') {
        p++;
    }

    part = p;

    if (p < end && *p == '0') {
        p++;

    } else {
        p = cc_json_digits_end(p, end);
    }

    if (p == part) {
        *error = "no JSON: a value is missing";
        return NULL;
    }

    if (p < end && *p == '.') {
        part = p + 1;
        p = cc_json_digits_end(part, end);

        if (p == part) {
            *error = cc_json_no_digits;
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
            *error = cc_json_no_digits;
            return NULL;
        }
    }

    return p;
}


static inline const unsigned char *
cc_json_digits_end(const unsigned char *p, const unsigned char *end)
{
    while (p < end && (unsigned) *p - '0' <= 9) {
        p++;
    }

    return p;
}

/*
 * Exact decimals: reading, writing, comparing, adding.
 *
 * A value read here has at most 18 digits before scaling and at most 26 after,
 * so that 10^12 of them can be added before 128 bits are near their end; the
 * sum is checked all the same.
 */

#include "money.h"


#define CC_MONEY_PLAIN_DIGITS  18


typedef struct {
    uint64_t  coefficient;      /* the digits between the outer zeros */
    unsigned  digits;           /* how many these are; 0: the value is zero */
    int64_t   exponent;         /* value = coefficient * 10^exponent */
    int64_t   fraction;         /* digits after the point as it was written */
    unsigned  negative;
} cc_decimal_t;


static inline int cc_money_plain(cc_money_t *m, cc_str_t text,
    unsigned digits);
CC_NOINLINE static int cc_money_decimal(cc_money_t *m, cc_str_t text,
    unsigned digits);
static int cc_money_scan(cc_decimal_t *d, cc_str_t text);
static const unsigned char *cc_money_exponent(int64_t *exponent,
    const unsigned char *p, const unsigned char *end);
static cc_int128_t cc_money_power(unsigned n);


int
cc_money_parse(cc_money_t *m, cc_str_t text, unsigned digits)
{
    return cc_money_plain(m, text, digits) == 0 ? 0
           : cc_money_decimal(m, text, digits);
}


/*
 * What nearly all amounts are: digits, perhaps with a point between, and so few
 * that none has to be counted and 64 bits are enough.  Returns -1 for the rest.
 */
static inline int
cc_money_plain(cc_money_t *m, cc_str_t text, unsigned digits)
{
    size_t         i, point;
    int64_t        n;
    unsigned char  c;

    point = text.len;

    if (text.len == 0 || text.len > digits) {
        return -1;
    }

    for (i = 0, n = 0; i < text.len; i++) {
        c = text.data[i];

        if (c >= '0' && c <= '9') {
            n = n * 10 + (c - '0');

        } else if (c == '.' && point == text.len) {
            point = i;

        } else {
            return -1;
        }
    }

    /* no zero in front, a digit on both sides of the point, and not too many */

    if ((text.data[0] == '0' && point > 1) || point == 0
        || point + 1 == text.len
        || text.len - point > CC_MONEY_SCALE_MAX + 1)
    {
        return -1;
    }

    m->coefficient = n;
    m->scale = point == text.len ? 0 : (unsigned) (text.len - point - 1);

    return 0;
}


static int
cc_money_decimal(cc_money_t *m, cc_str_t text, unsigned digits)
{
    int64_t       whole, needed, scale;
    cc_decimal_t  d;

    if (cc_money_scan(&d, text) != 0 || d.digits > digits) {
        return -1;
    }

    /* digits that the value needs before and after the point */

    whole = 0;
    needed = 0;

    if (d.digits != 0) {
        whole = d.digits + d.exponent;
        needed = d.exponent < 0 ? -d.exponent : 0;
    }

    if (needed > CC_MONEY_SCALE_MAX
        || (whole > 0 ? whole : 0) + needed > CC_MONEY_PLAIN_DIGITS)
    {
        return -1;
    }

    scale = d.fraction > needed ? d.fraction : needed;

    if (scale > CC_MONEY_SCALE_MAX) {
        scale = CC_MONEY_SCALE_MAX;
    }

    m->scale = (unsigned) scale;
    m->coefficient = 0;

    if (d.digits != 0) {
        m->coefficient = (cc_int128_t) d.coefficient
                         * cc_money_power((unsigned) (scale + d.exponent));
    }

    if (d.negative) {
        m->coefficient = -m->coefficient;
    }

    return 0;
}


/* the grammar of RFC 8259, section 6; zeros are counted, not multiplied in */
static int
cc_money_scan(cc_decimal_t *d, cc_str_t text)
{
    int64_t               zeros, exponent, point;
    const unsigned char  *p, *end, *start;

    memset(d, 0, sizeof(cc_decimal_t));

    if (text.len == 0) {
        return -1;
    }

    p = text.data;
    end = p + text.len;

    if (p < end && *p == '-') {
        d->negative = 1;
        p++;
    }

    start = p;
    zeros = 0;
    point = 0;

    for ( /* void */ ; p < end; p++) {

        if (*p == '.' && point == 0 && p > start) {
            point = 1;
            continue;
        }

        if (*p < '0' || *p > '9') {
            break;
        }

        if (p == start + 1 && *start == '0') {
            return -1;
        }

        d->fraction += point;

        if (*p == '0') {
            zeros += (d->digits != 0);
            continue;
        }

        if (d->digits + zeros + 1 > CC_MONEY_PLAIN_DIGITS) {
            return -1;
        }

        d->digits += (unsigned) zeros + 1;
        d->coefficient = d->coefficient
                         * (uint64_t) cc_money_power((unsigned) zeros + 1)
                         + (uint64_t) (*p - '0');
        zeros = 0;
    }

    if (p == start || p[-1] == '.') {
        return -1;
    }

    exponent = 0;

    if (p < end) {
        p = cc_money_exponent(&exponent, p, end);
    }

    if (p != end) {
        return -1;
    }

    d->exponent = exponent - d->fraction + zeros;
    d->fraction = d->fraction > exponent ? d->fraction - exponent : 0;

    return 0;
}


/* e+12; returns where it ends, or NULL.  What no amount can have saturates */
static const unsigned char *
cc_money_exponent(int64_t *exponent, const unsigned char *p,
    const unsigned char *end)
{
    int                   negative;
    int64_t               n;
    const unsigned char  *start;

    if (*p != 'e' && *p != 'E') {
        return NULL;
    }

    p++;
    negative = 0;

    if (p < end && (*p == '+' || *p == '-')) {
        negative = (*p == '-');
        p++;
    }

    n = 0;

    for (start = p; p < end && *p >= '0' && *p <= '9'; p++) {
        if (n < INT64_MAX / 1000) {
            n = n * 10 + (*p - '0');
        }
    }

    if (p == start) {
        return NULL;
    }

    *exponent = negative ? -n : n;

    return p;
}


int
cc_money_whole(int64_t *n, cc_str_t text)
{
    cc_int128_t  unit;
    cc_money_t   m;

    if (cc_money_parse(&m, text, CC_MONEY_PLAIN_DIGITS) != 0) {
        return -1;
    }

    if (m.scale == 0) {
        *n = (int64_t) m.coefficient;
        return 0;
    }

    unit = cc_money_power(m.scale);

    if (m.coefficient % unit != 0) {
        return -1;
    }

    *n = (int64_t) (m.coefficient / unit);

    return 0;
}


size_t
cc_money_format(char *buf, cc_money_t m)
{
    char         *p, digits[CC_MONEY_TEXT];
    size_t        n;
    cc_int128_t   rest;

    p = buf;
    rest = m.coefficient;

    if (rest < 0) {
        *p++ = '-';
        rest = -rest;
    }

    n = 0;

    do {
        digits[n++] = (char) ('0' + (int) (rest % 10));
        rest /= 10;
    } while (rest != 0 || n <= m.scale);

    while (n > 0) {
        if (n == m.scale) {
            *p++ = '.';
        }

        *p++ = digits[--n];
    }

    *p = '\0';

    return (size_t) (p - buf);
}


int
cc_money_compare(cc_money_t a, cc_money_t b)
{
    if (a.scale < b.scale) {
        a.coefficient *= cc_money_power(b.scale - a.scale);

    } else {
        b.coefficient *= cc_money_power(a.scale - b.scale);
    }

    return (a.coefficient > b.coefficient) - (a.coefficient < b.coefficient);
}


cc_money_t
cc_money_negate(cc_money_t m)
{
    m.coefficient = -m.coefficient;

    return m;
}


int
cc_money_add(cc_money_t *sum, cc_money_t a, cc_money_t b)
{
    cc_money_t   result;
    cc_int128_t  limit;

    result.scale = a.scale > b.scale ? a.scale : b.scale;

    if (__builtin_mul_overflow(a.coefficient,
                               cc_money_power(result.scale - a.scale),
                               &a.coefficient)
        || __builtin_mul_overflow(b.coefficient,
                                  cc_money_power(result.scale - b.scale),
                                  &b.coefficient)
        || __builtin_add_overflow(a.coefficient, b.coefficient,
                                  &result.coefficient))
    {
        return -1;
    }

    limit = cc_money_power(30);

    if (result.coefficient >= limit || result.coefficient <= -limit) {
        return -1;
    }

    *sum = result;

    return 0;
}


static cc_int128_t
cc_money_power(unsigned n)
{
    cc_int128_t  power;

    for (power = 1; n > 0; n--) {
        power *= 10;
    }

    return power;
}

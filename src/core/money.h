/*
 * Exact decimals.  Money is never a binary float, in no variable and no column:
 * a value is a whole coefficient and the number of digits after the point, and
 * the scale that was written is kept (125.50 stays 125.50).
 */

#ifndef CC_MONEY_H
#define CC_MONEY_H

#include "core.h"


/* CONTRACT: what a real_win may look like (README, "Body shape") */
#define CC_MONEY_SCALE_MAX      8    /* digits after the point */
#define CC_MONEY_NUMBER_DIGITS  15   /* a JSON number: what a double survives */
#define CC_MONEY_STRING_DIGITS  18   /* a JSON string */

/* room for any cc_money_format() with its NUL */
#define CC_MONEY_TEXT           48

__extension__ typedef __int128  cc_int128_t;

typedef struct {
    cc_int128_t  coefficient;        /* value * 10^scale */
    unsigned     scale;              /* 0 .. CC_MONEY_SCALE_MAX */
} cc_money_t;


/*
 * Reads a decimal in the grammar of a JSON number (RFC 8259, section 6):
 * "125.50", "1e2", "0.1".  Zeros that carry no value do not count as digits.
 *
 * digits  the most significant digits, CC_MONEY_NUMBER_DIGITS or
 *         CC_MONEY_STRING_DIGITS
 *
 * Returns 0, or -1 if the text is no decimal, has more significant digits,
 * more than 18 digits in plain notation, or more than CC_MONEY_SCALE_MAX
 * digits after the point.  A negative value is read; callers that forbid it
 * look at the coefficient.
 */
CC_MUST_USE int cc_money_parse(cc_money_t *m, cc_str_t text, unsigned digits);

/*
 * Reads a whole number in the same grammar (15, 15.0, 1.5e1) into *n.
 * Returns -1 if it is not whole or does not fit 18 digits.
 */
CC_MUST_USE int cc_money_whole(int64_t *n, cc_str_t text);

/*
 * Writes plain notation without exponent, "-125.50", and a NUL into buf, which
 * has CC_MONEY_TEXT bytes.  Returns the length without the NUL.
 */
size_t cc_money_format(char *buf, cc_money_t m);

/* below 0, 0 or above 0 as a is less than, equal to or more than b, by value */
int cc_money_compare(cc_money_t a, cc_money_t b);

/* the same amount with the other sign */
cc_money_t cc_money_negate(cc_money_t m);

/*
 * *sum = a + b, exact, at the larger scale.  Returns -1, with *sum untouched,
 * where it would not fit 30 digits, which leaves any two values comparable.
 */
CC_MUST_USE int cc_money_add(cc_money_t *sum, cc_money_t a, cc_money_t b);


#endif /* CC_MONEY_H */

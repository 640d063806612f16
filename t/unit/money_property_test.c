/*
 * Are amounts exact?  Random decimals, read, written, compared and added, and
 * all of it checked against an oracle that shares no idea with the code: there
 * a decimal is two strings of digits, one before and one behind the point, and
 * sums are made column by column, as at school.
 */

#include "money.h"
#include "unit.h"


#define ROUNDS       20000
#define DIGITS_MAX   64


/* a decimal as text: -12.5 is { 1, "12", "5" }; zero is { 0, "", "" } */
typedef struct {
    int   negative;
    char  whole[DIGITS_MAX];
    char  part[DIGITS_MAX];
} decimal_t;


/* the oracle: text -> decimal_t, or -1 where money.h says so */
static int
oracle_parse(decimal_t *d, const char *text, unsigned digits)
{
    char    all[2 * DIGITS_MAX];
    long    point;
    size_t  i, n = 0, first, last, whole, part;

    memset(d, 0, sizeof(*d));
    d->negative = *text == '-';
    text += d->negative;
    point = -1;

    for ( /* void */ ; *text && *text != 'e'; text++) {
        if (*text == '.') {
            point = (long) n;
        } else {
            all[n++] = *text;
        }
    }

    point = (point < 0 ? (long) n : point) + (*text ? atol(text + 1) : 0);

    for (first = 0; first < n && all[first] == '0'; first++) { /* void */ }
    for (last = n; last > first && all[last - 1] == '0'; last--) { /* void */ }

    if (first == last) {
        d->negative = 0;
        return 0;
    }

    point -= (long) first;
    whole = point > 0 ? (size_t) point : 0;
    part = (long) (last - first) > point ? (size_t) ((long) (last - first)
                                                     - point) : 0;

    if (last - first > digits || part > 8 || whole > 18 || whole + part > 18) {
        return -1;
    }

    for (i = 0; i < whole; i++) {
        d->whole[i] = first + i < last ? all[first + i] : '0';
    }

    for (i = 0; i < part; i++) {
        d->part[i] = point + (long) i >= 0
                     ? all[first + (size_t) (point + (long) i)] : '0';
    }

    return 0;
}


/* plain notation, at least `scale` digits after the point */
static void
oracle_format(char *out, const decimal_t *d, unsigned scale)
{
    size_t  n = strlen(d->part);

    out += sprintf(out, "%s%s%s%s", d->negative ? "-" : "",
                   *d->whole ? d->whole : "0", scale ? "." : "", d->part);

    for ( /* void */ ; n < scale; n++) {
        *out++ = '0';
    }

    *out = '\0';
}


/* both numbers as digits over a common length: 26 before, 8 after the point */
static void
oracle_align(char *out, const decimal_t *d)
{
    memset(out, '0', 34);
    memcpy(out + 26 - strlen(d->whole), d->whole, strlen(d->whole));
    memcpy(out + 26, d->part, strlen(d->part));
    out[34] = '\0';
}


static int
oracle_compare(const decimal_t *a, const decimal_t *b)
{
    char  x[35], y[35];

    oracle_align(x, a);
    oracle_align(y, b);

    if (a->negative != b->negative) {
        return a->negative ? -1 : 1;
    }

    return a->negative ? strcmp(y, x) : strcmp(x, y);
}


/* 34 digits of |a| + |b| or ||a| - |b||, column by column */
static void
oracle_add(char *out, const decimal_t *a, const decimal_t *b)
{
    int   i, column, carry = 0, minus = a->negative != b->negative;
    char  x[35], y[35], swap[35];

    oracle_align(x, a);
    oracle_align(y, b);

    if (minus && strcmp(x, y) < 0) {
        memcpy(swap, x, 35);
        memcpy(x, y, 35);
        memcpy(y, swap, 35);
    }

    for (i = 33; i >= 0; i--) {
        column = (x[i] - '0') + (minus ? '0' - y[i] : y[i] - '0') + carry;
        carry = column < 0 ? -1 : column / 10;
        out[i] = (char) ('0' + (column + 10) % 10);
    }

    out[34] = '\0';
}


/* a number of JSON's grammar, most of them near one of the limits */
static void
random_decimal(char *out, uint64_t *seed)
{
    size_t  i, n = 1 + unit_below(seed, 19), part = unit_below(seed, 10);
    char   *p = out;

    *p = '-';
    p += unit_below(seed, 4) == 0;

    if (unit_below(seed, 4) == 0) {
        *p++ = '0';

    } else {
        *p++ = (char) ('1' + unit_below(seed, 9));

        for (i = 1; i < n; i++) {
            *p++ = (char) ('0' + unit_below(seed, unit_below(seed, 2) ? 10
                                                                      : 1));
        }
    }

    if (part) {
        *p++ = '.';

        for (i = 0; i < part; i++) {
            *p++ = (char) ('0' + unit_below(seed, unit_below(seed, 2) ? 10
                                                                      : 1));
        }
    }

    if (unit_below(seed, 3) == 0) {
        p += sprintf(p, "e%d", (int) unit_below(seed, 41) - 20);
    }

    *p = '\0';
}


/* one random decimal against the oracle; *m and *d are set if it was read */
static int
check_decimal(uint64_t *seed, cc_money_t *m, decimal_t *d, unsigned *refused)
{
    int       wrong, want;
    char      text[DIGITS_MAX], got[CC_MONEY_TEXT], expected[4 * DIGITS_MAX];
    cc_str_t  exact;
    unsigned  digits = unit_below(seed, 2) ? CC_MONEY_NUMBER_DIGITS
                                           : CC_MONEY_STRING_DIGITS;

    do {
        random_decimal(text, seed);
        exact = unit_exact(unit_cstr(text));
        want = oracle_parse(d, text, digits);
        wrong = cc_money_parse(m, exact, digits) != want;
        unit_free(exact);

        *refused += want == -1;

        if (!wrong && want == 0) {
            oracle_format(expected, d, m->scale);
            wrong = m->scale > CC_MONEY_SCALE_MAX
                    || cc_money_format(got, *m) != strlen(expected)
                    || strcmp(got, expected) != 0;
        }

        if (wrong) {
            diag("\"%s\" within %u digits, want %d", text, digits, want);
            return -1;
        }
    } while (want == -1);

    return 0;
}


static int
sign(int n)
{
    return (n > 0) - (n < 0);
}


/* format(a + b) without point and leading zeros against the columns */
static int
check_sum(cc_money_t a, cc_money_t b, const decimal_t *x, const decimal_t *y)
{
    char         want[35], got[35];
    unsigned     i;
    cc_money_t   sum;
    cc_int128_t  n;

    if (cc_money_add(&sum, a, b) != 0
        || sum.scale != (a.scale > b.scale ? a.scale : b.scale))
    {
        return -1;
    }

    n = sum.coefficient < 0 ? -sum.coefficient : sum.coefficient;

    for (i = sum.scale; i < CC_MONEY_SCALE_MAX; i++) {
        n *= 10;
    }

    for (i = 34; i-- > 0; n /= 10) {
        got[i] = (char) ('0' + (int) (n % 10));
    }

    got[34] = '\0';
    oracle_add(want, x, y);

    return n == 0 && strcmp(got, want) == 0 ? 0 : -1;
}


static void
test_properties(void)
{
    unsigned    i, refused = 0, parsed = 0, compared = 0, added = 0, other = 0;
    uint64_t    seed = unit_seed();
    decimal_t   x, y;
    cc_money_t  a, b, zero, back;

    for (i = 0; i < ROUNDS; i++) {
        if (check_decimal(&seed, &a, &x, &refused) != 0
            || check_decimal(&seed, &b, &y, &refused) != 0)
        {
            continue;
        }

        parsed++;

        compared += sign(cc_money_compare(a, b)) == sign(oracle_compare(&x, &y))
                    && sign(cc_money_compare(b, a))
                       == -sign(cc_money_compare(a, b))
                    && cc_money_compare(a, a) == 0;

        added += check_sum(a, b, &x, &y) == 0;

        other += cc_money_add(&zero, a, cc_money_negate(a)) == 0
                 && zero.coefficient == 0
                 && cc_money_add(&back, a, b) == 0
                 && cc_money_add(&back, back, cc_money_negate(b)) == 0
                 && cc_money_compare(back, a) == 0;
    }

    is_int(parsed, ROUNDS, "random decimals are read and written exactly");
    is_int(compared, ROUNDS, "compared as digit strings are");
    is_int(added, ROUNDS, "added as at school");
    is_int(other, ROUNDS, "a - a is 0 and a + b - b is a");
    ok(refused > ROUNDS / 10, "%u more were refused as the rules say", refused);
}


int
main(void)
{
    test_properties();

    return done_testing();
}

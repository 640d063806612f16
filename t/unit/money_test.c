/*
 * Are amounts exact?  The rules of money.h one by one, with literals: grammar,
 * limits, zeros that carry no value, whole numbers, sums at the edge.
 *
 * Random decimals against an oracle: money_property_test.c.
 */

#include "money.h"
#include "unit.h"


static void
is_money(const char *text, unsigned digits, const char *want)
{
    char        buf[CC_MONEY_TEXT];
    size_t      len;
    cc_str_t    exact = unit_exact(unit_cstr(text));
    cc_money_t  m;

    if (cc_money_parse(&m, exact, digits) == 0) {
        len = cc_money_format(buf, m);
        is_str(unit_str(buf, len), want, "\"%s\" within %u digits", text,
               digits);

    } else {
        ok(0, "\"%s\" within %u digits is read", text, digits);
    }

    unit_free(exact);
}


static void
test_nothing(void)
{
    int64_t     n;
    cc_money_t  m;

    ok(cc_money_parse(&m, unit_str(NULL, 0), 18) == -1, "no text, no amount");
    ok(cc_money_whole(&n, unit_str(NULL, 0)) == -1, "and no number");
}


static void
no_money(cc_str_t text, unsigned digits, const char *why)
{
    cc_str_t    exact = unit_exact(text);
    cc_money_t  m;

    ok(cc_money_parse(&m, exact, digits) == -1, "\"%.*s\" refused: %s",
       (int) text.len, (const char *) text.data, why);

    unit_free(exact);
}


static void
test_grammar(void)
{
    size_t  i;

    static const char  *bad[] = {
        "", "-", "+1", ".5", "1.", "-.5", "1.e1", "01", "00", "-01", "00.5",
        "1e", "1e+", "1e-", "1e1.5", "1ee1", "1e1e1", "e1", " 1", "1 ", "1\n",
        "\t1", "1,5", "1 000", "1_0", "0x10", "1f", "--1", "- 1", "NaN",
        "nan", "Infinity", "-inf", "1.5.0", "1-", "1+1", "true", "null", "\"1\""
    };

    is_money("0", 15, "0");
    is_money("7", 15, "7");
    is_money("125.50", 15, "125.50");
    is_money("0.10", 15, "0.10");
    is_money("0.1", 15, "0.1");
    is_money("-125.50", 15, "-125.50");
    is_money("1e2", 15, "100");
    is_money("1E2", 15, "100");
    is_money("1e+2", 15, "100");
    is_money("1e0", 15, "1");
    is_money("1e00002", 15, "100");
    is_money("12.34", 18, "12.34");

    /* the scale is the one that was written, moved by the exponent */

    is_money("1.5e1", 15, "15");
    is_money("1.50e1", 15, "15.0");
    is_money("1.50e2", 15, "150");
    is_money("1.50e3", 15, "1500");
    is_money("1.50e-1", 15, "0.150");
    is_money("150e-1", 15, "15.0");

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        no_money(unit_cstr(bad[i]), 18, "no JSON number");
    }

    no_money(unit_text("1\0"), 18, "NUL behind it");
    no_money(unit_text("1\0" "2"), 18, "NUL in it");
    no_money(unit_text("\xd9\xa1"), 18, "an Arabic digit");
    no_money(unit_text("\xef\xbb\xbf" "1"), 18, "a byte order mark");
}


static void
test_limits(void)
{
    is_money("123456789012345", 15, "123456789012345");
    is_money("1234567.12345678", 15, "1234567.12345678");
    is_money("123456789012345678", 18, "123456789012345678");
    is_money("1234567890.12345678", 18, "1234567890.12345678");
    is_money("999999999999999999", 18, "999999999999999999");
    is_money("0.00000001", 15, "0.00000001");
    is_money("1e-8", 15, "0.00000001");
    is_money("1e17", 18, "100000000000000000");
    is_money("1e17", 15, "100000000000000000");

    no_money(unit_text("1234567890123456"), 15, "16 digits of 15");
    no_money(unit_text("12345678.12345678"), 15, "16 digits of 15");
    no_money(unit_text("123456789012345.6"), 15, "16 digits of 15");
    no_money(unit_text("1000000000000000.5"), 15, "zeros inside count");
    no_money(unit_text("1234567890123456789"), 18, "19 digits of 18");
    no_money(unit_text("10000000000.00000001"), 18, "19 digits of 18");
    no_money(unit_text("1e18"), 18, "19 digits in plain notation");
    no_money(unit_text("1000000000000000000"), 18, "19 digits, mostly zeros");
    no_money(unit_text("1e-9"), 18, "nine digits after the point");
    no_money(unit_text("0.000000001"), 18, "nine digits after the point");
    no_money(unit_text("0.123456789"), 18, "nine digits after the point");
    no_money(unit_text("1e999999999"), 18, "a huge exponent");
    no_money(unit_text("1e-999999999"), 18, "a tiny exponent");
    no_money(unit_text("1e99999999999999999999"), 18, "exponent past 2^64");
    no_money(unit_text("1e-99999999999999999999"), 18, "exponent past 2^64");
    no_money(unit_text("1e18446744073709551616"), 18, "exponent 2^64");
    no_money(unit_text("1e4294967296"), 18, "exponent 2^32");
    no_money(unit_text("1e-4294967296"), 18, "exponent -2^32");
}


/* 0 if both texts are read and say the same amount */
static int
differ(const char *a, const char *b)
{
    cc_money_t  x, y;

    return cc_money_parse(&x, unit_cstr(a), CC_MONEY_NUMBER_DIGITS) != 0
           || cc_money_parse(&y, unit_cstr(b), CC_MONEY_NUMBER_DIGITS) != 0
           || cc_money_compare(x, y) != 0
           || x.scale > CC_MONEY_SCALE_MAX || y.scale > CC_MONEY_SCALE_MAX;
}


static void
test_zeros(void)
{
    size_t  i;

    static const char  *same[][2] = {
        { "0", "-0" }, { "0", "0.0" }, { "0", "-0.00" }, { "0", "0e0" },
        { "0", "0e999999999" }, { "0", "0e-999999999" }, { "0", "0E+17" },
        { "0", "0.000000000000000000000000000000" },
        { "0", "0e99999999999999999999999" }, { "0", "-0.0e-9" },
        { "1.5", "1.50" }, { "1.5", "1.500000000000" }, { "1.5", "15e-1" },
        { "1.5", "0.15e1" }, { "1.5", "0.0000000000015e12" },
        { "1.5", "1500000000000000000000e-21" }, { "100", "1e2" },
        { "100", "100.00000000000000" }, { "-0.5", "-5e-1" },
        { "100000000000000000", "1e17" },
        { "100000000000000000", "100000000000000000.000000000" },
        { "0.00000001", "0.000000010000" },
        { "123456789012345", "1234567890123450000e-4" },
    };

    for (i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        ok(!differ(same[i][0], same[i][1]), "%s is %s", same[i][0],
           same[i][1]);
    }

    ok(differ("1.5", "1.51"), "1.5 is not 1.51");
    ok(differ("1.5", "-1.5"), "1.5 is not -1.5");
    ok(differ("10", "1"), "10 is not 1");

    is_money("-0", 15, "0");
    is_money("-0.00", 15, "0.00");
}


static void
test_whole(void)
{
    size_t    i;
    int64_t   n;
    cc_str_t  exact;

    static const struct {
        const char  *text;
        int64_t      n;
    } good[] = {
        { "0", 0 }, { "-0", 0 }, { "15", 15 }, { "15.0", 15 }, { "1.5e1", 15 },
        { "15.000000000000", 15 }, { "150e-1", 15 }, { "-3", -3 },
        { "0e99", 0 }, { "0.0", 0 }, { "1e17", 100000000000000000 },
        { "999999999999999999", 999999999999999999 },
        { "-999999999999999999", -999999999999999999 },
    };

    static const char  *bad[] = {
        "", "1.5", "1e-1", "15.01", "0.00000001", "1e18", "1e19",
        "1000000000000000000", "9223372036854775808", "-1e18", "1e400", "+2",
        "02", "2 ", "0x2", "2.", "two", "-", "15.0000000000001"
    };

    for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        n = 424242;
        exact = unit_exact(unit_cstr(good[i].text));

        ok(cc_money_whole(&n, exact) == 0 && n == good[i].n,
           "%s is the whole number %lld", good[i].text,
           (long long) good[i].n);

        unit_free(exact);
    }

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        exact = unit_exact(unit_cstr(bad[i]));
        ok(cc_money_whole(&n, exact) == -1, "\"%s\" is no whole number",
           bad[i]);
        unit_free(exact);
    }
}


static cc_money_t
money(cc_int128_t coefficient, unsigned scale)
{
    cc_money_t  m;

    m.coefficient = coefficient;
    m.scale = scale;

    return m;
}


static void
is_sum(cc_money_t a, cc_money_t b, const char *want)
{
    char        buf[CC_MONEY_TEXT];
    size_t      len;
    cc_money_t  sum = money(4711, 3);

    if (want == NULL) {
        ok(cc_money_add(&sum, a, b) == -1, "a sum of 31 digits is refused");
        ok(sum.coefficient == 4711 && sum.scale == 3, "and left untouched");
        return;
    }

    if (ok(cc_money_add(&sum, a, b) == 0, "a sum that makes %s", want)) {
        len = cc_money_format(buf, sum);
        is_str(unit_str(buf, len), want, "is %s", want);
    }
}


static void
test_edges(void)
{
    int          i;
    char         buf[CC_MONEY_TEXT];
    size_t       len;
    cc_money_t   m;
    cc_int128_t  limit = 1;

    for (i = 0; i < 30; i++) {
        limit *= 10;
    }

    is_sum(money(150, 2), money(5, 1), "2.00");
    is_sum(money(5, 1), money(150, 2), "2.00");
    is_sum(money(12550, 2), money(-12550, 2), "0.00");
    is_sum(money(limit - 1, 0), money(0, 0),
           "999999999999999999999999999999");
    is_sum(money(limit - 2, 8), money(1, 8),
           "9999999999999999999999.99999999");
    is_sum(money(limit - 1, 0), money(1, 0), NULL);
    is_sum(money(1 - limit, 0), money(-1, 0), NULL);
    is_sum(money(limit - 1, 0), money(1, 8), NULL);
    is_sum(money(1, 8), money(1 - limit, 0), NULL);
    is_sum(money(limit * 10000000, 0), money(1, 8), NULL);
    is_sum(money(1, 8), money(limit * 10000000, 0), NULL);
    is_sum(money(limit - 1, 0), money(-1, 0),
           "999999999999999999999999999998");

    ok(cc_money_compare(money(limit - 1, 0), money(limit - 1, 8)) > 0,
       "30 digits before the point are more than 22");
    ok(cc_money_compare(money(limit - 1, 8), money(limit - 1, 0)) < 0,
       "and the other way round");
    ok(cc_money_compare(money(1 - limit, 0), money(limit - 1, 8)) < 0,
       "a debt is less than a fortune");
    ok(cc_money_compare(money(10, 1), money(1, 0)) == 0, "1.0 is 1");
    ok(cc_money_compare(money(0, 8), money(0, 0)) == 0, "0.00000000 is 0");

    len = cc_money_format(buf, money(1 - limit, 8));
    is_str(unit_str(buf, len), "-9999999999999999999999.99999999",
           "the longest amount has room");
    ok(buf[len] == '\0', "and a NUL behind it");

    len = cc_money_format(buf, money(-5, 8));
    is_str(unit_str(buf, len), "-0.00000005", "zeros are filled in");

    m = cc_money_negate(money(12550, 2));
    ok(m.coefficient == -12550 && m.scale == 2, "125.50 negated");

    len = cc_money_format(buf, cc_money_negate(money(0, 2)));
    is_str(unit_str(buf, len), "0.00", "zero has no sign");
}


int
main(void)
{
    test_nothing();
    test_grammar();
    test_limits();
    test_zeros();
    test_whole();
    test_edges();

    return done_testing();
}

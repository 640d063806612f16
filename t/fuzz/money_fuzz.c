/*
 * Fuzzing decimals.  The input is one or two texts, parted by a line feed.
 * What is read is a JSON number too, is written so that it reads as the same
 * amount, and a + b - b is a.
 */

#include "fuzz.h"
#include "json_walk.h"
#include "money.h"


static cc_json_t  *json;


/* 0 if the text is an amount; everything that can be said of one is checked */
static int
read_money(cc_money_t *m, cc_str_t text)
{
    char        buf[CC_MONEY_TEXT];
    size_t      len;
    int64_t     whole;
    cc_money_t  again, number;

    if (cc_money_parse(m, text, CC_MONEY_STRING_DIGITS) != 0) {
        must(cc_money_parse(m, text, CC_MONEY_NUMBER_DIGITS) != 0);
        must(cc_money_whole(&whole, text) != 0);
        return -1;
    }

    must(json_walk(json, text, NULL) == NULL);
    must(m->scale <= CC_MONEY_SCALE_MAX);

    len = cc_money_format(buf, *m);
    must(len < sizeof(buf) && strlen(buf) == len);
    must(cc_money_parse(&again, unit_str(buf, len), CC_MONEY_STRING_DIGITS)
         == 0);
    must(again.coefficient == m->coefficient && again.scale == m->scale);

    if (cc_money_parse(&number, text, CC_MONEY_NUMBER_DIGITS) == 0) {
        must(cc_money_compare(number, *m) == 0);
    }

    if (cc_money_whole(&whole, text) == 0) {
        number.coefficient = whole;
        number.scale = 0;
        must(cc_money_compare(number, *m) == 0);
    }

    return 0;
}


static int
order(cc_money_t a, cc_money_t b)
{
    int  n = cc_money_compare(a, b);

    return (n > 0) - (n < 0);
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cc_str_t        first = unit_str(data, size), second = first;
    cc_money_t      a, b, sum, zero = { 0, 0 };
    const uint8_t  *cut = size ? memchr(data, '\n', size) : NULL;

    if (json == NULL) {
        json = cc_json_create(1);
        must(json != NULL);
    }

    if (cut) {
        first = unit_str(data, (size_t) (cut - data));
        second = unit_str(cut + 1, size - first.len - 1);
    }

    if (read_money(&a, first) != 0 || read_money(&b, second) != 0) {
        return 0;
    }

    must(order(a, b) == -order(b, a));
    must(cc_money_add(&sum, a, b) == 0);
    must(order(sum, a) == order(b, zero));
    must(cc_money_add(&sum, sum, cc_money_negate(b)) == 0);
    must(order(sum, a) == 0);

    return 0;
}

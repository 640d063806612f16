/*
 * Is a listed signature found, and nothing else taken for one?  And is a time
 * near enough to now?
 *
 * The MAC here is any 32 bytes: how it is computed is in signature_test.c.
 */

#include "signature.h"
#include "unit.h"


/* the bytes 0, 17, 34, ... in three spellings, and three that differ */
#define HEX "00112233445566778899aabbccddeeff102132435465768798a9bacbdcedfe0f"
#define UPPER "00112233445566778899AABBCCDDEEFF102132435465768798A9BACBDCEDFE0F"
#define BASE64 "ABEiM0RVZneImaq7zN3u/xAhMkNUZXaHmKm6y9zt/g8"
#define WRONG "00112233445566778899aabbccddeeff102132435465768798a9bacbdcedfe0e"
#define FIRST "01112233445566778899aabbccddeeff102132435465768798a9bacbdcedfe0f"
#define OTHER64 "BBEiM0RVZneImaq7zN3u/xAhMkNUZXaHmKm6y9zt/g8"

#define TEN(text)    text text text text text text text text text text


static unsigned char  mac[32];


static int
match(cc_str_t list, const char *prefix, cc_encoding_e encoding)
{
    int       found;
    cc_str_t  l = unit_exact(list), p = unit_exact(unit_cstr(prefix));

    found = cc_signature_match(l, p, encoding, mac, sizeof(mac));
    unit_free(l);
    unit_free(p);

    return found;
}


#define hex(prefix, literal)                                                  \
    (match(unit_text(literal), prefix, CC_ENCODING_HEX) == 1)
#define base64(prefix, literal)                                               \
    (match(unit_text(literal), prefix, CC_ENCODING_BASE64) == 1)


static void
test_one(void)
{
    size_t         i, bit, wrong = 0;
    char           text[65];
    unsigned char  flipped[32];

    ok(hex("", HEX), "hex");
    ok(hex("", UPPER), "in capitals");
    ok(base64("", BASE64), "base64 without padding");
    ok(base64("", BASE64 "="), "with padding");
    ok(hex("", " " HEX "\t"), "white space around it");

    ok(!hex("", ""), "nothing");
    ok(!cc_signature_match(unit_str(NULL, 0), unit_str(NULL, 0),
                           CC_ENCODING_HEX, mac, sizeof(mac)), "no header");
    ok(!hex("", " , \t,"), "only separators");
    ok(!hex("", WRONG), "the last bit is wrong");
    ok(!hex("", FIRST), "the first byte is wrong");
    ok(!hex("", HEX "00"), "a byte too much");
    ok(!hex("", "00" HEX), "a byte too much in front");
    ok(!hex("", HEX "0"), "half a byte too much");
    ok(!hex("", HEX "\0"), "a NUL behind it");
    ok(!hex("", "\0" HEX), "a NUL in front");
    ok(!hex("", HEX "\n"), "a line feed is no separator");
    ok(!hex("", HEX ";"), "nor is a semicolon");
    ok(!hex("", "\"" HEX "\""), "quotes");
    ok(!hex("", "0x" HEX), "a C prefix");
    ok(!hex("", TEN(HEX) TEN(HEX)), "longer than any MAC");
    ok(!hex("", BASE64), "base64 where hex is wanted");
    ok(!base64("", HEX), "hex where base64 is wanted");
    ok(!base64("", OTHER64), "another MAC in base64");
    ok(!base64("", BASE64 "=="), "too much padding");
    ok(!base64("", "ABEiM0RVZneImaq7zN3u_xAhMkNUZXaHmKm6y9zt_g8"),
       "the alphabet of URLs");
    ok(!base64("", "ABEiM0RVZneImaq7zN3u/xAhMkNUZXaHmKm6y9zt/g9"),
       "spare bits set");

    for (i = 0; i <= 62; i += 2) {
        wrong += match(unit_str(HEX, i), "", CC_ENCODING_HEX) != 0;
    }

    is_int(wrong, 0, "no beginning of it is enough");

    for (bit = 0; bit < 8 * sizeof(mac); bit++) {
        memcpy(flipped, mac, sizeof(mac));
        flipped[bit / 8] ^= (unsigned char) (1 << bit % 8);

        for (i = 0; i < sizeof(flipped); i++) {
            (void) sprintf(text + 2 * i, "%02x", flipped[i]);
        }

        wrong += match(unit_cstr(text), "", CC_ENCODING_HEX) != 0;
    }

    is_int(wrong, 0, "no bit of it may differ");
}


static void
test_length(void)
{
    unsigned char  long_mac[CC_MAC_MAX];
    cc_str_t       none = unit_text("");

    /* a comparison of no bytes would always be true */

    ok(!cc_signature_match(none, none, CC_ENCODING_HEX, mac, 0),
       "no MAC matches nothing");
    ok(!cc_signature_match(unit_text("sha256="), unit_text("sha256="),
                           CC_ENCODING_HEX, mac, 0), "nor an empty signature");
    ok(!cc_signature_match(unit_text(HEX), none, CC_ENCODING_HEX, mac, 0),
       "nor any other");
    ok(!cc_signature_match(unit_text(HEX), none, CC_ENCODING_HEX, mac, 31),
       "31 bytes are not 32");
    ok(cc_signature_match(unit_str(HEX, 40), none, CC_ENCODING_HEX, mac, 20),
       "20 bytes are, where the MAC has 20");

    memset(long_mac, 0xab, sizeof(long_mac));
    ok(cc_signature_match(unit_text(TEN("abABabAB") TEN("abab") "abababab"),
                          none, CC_ENCODING_HEX, long_mac, 64),
       "64 bytes, the longest");
    ok(!cc_signature_match(unit_text(TEN("abABabAB") TEN("abab") "abababab"
                                     "ab"), none, CC_ENCODING_HEX, long_mac,
                           64), "and 65 are too many");
}


static void
test_lists(void)
{
    ok(hex("", WRONG " " HEX), "the second of two, parted by a space");
    ok(hex("", WRONG "," HEX), "by a comma");
    ok(hex("", WRONG "\t" HEX), "by a tab");
    ok(hex("", WRONG " ,\t, " HEX), "by all of them");
    ok(hex("", HEX "," WRONG), "the first of two");
    ok(hex("", WRONG "," HEX "," FIRST), "the one in the middle");
    ok(hex("", "abc,zz,,  ," HEX), "rubbish before it");
    ok(hex("", "," HEX ","), "commas around it");
    ok(hex("", TEN(",   ,") TEN("\t , ") HEX), "a hundred separators");
    ok(!hex("", WRONG "," FIRST), "none of two");
    ok(!hex("", "00112233445566778899aabbccddeeff,"
            "102132435465768798a9bacbdcedfe0f"), "two halves are not one");

    ok(hex("sha256=", "sha256=" HEX), "a prefix");
    ok(hex("sha256=", "sha1=abcd, sha256=" HEX), "behind another one");
    ok(hex("sha256=", "sha256=" WRONG " sha256=" HEX), "twice");
    ok(hex("x", "x" HEX), "a prefix of one byte");
    ok(!hex("x", HEX), "it is missing");
    ok(!hex("x", "y" HEX), "it is another");
    ok(!hex("sha256=", HEX), "the prefix is missing");
    ok(!hex("sha256=", "sha256=" WRONG "," HEX), "missing where it counts");
    ok(!hex("sha256=", "sha1=" HEX), "another prefix");
    ok(!hex("sha256=", "SHA256=" HEX), "the prefix in capitals");
    ok(!hex("sha256=", "sha256= " HEX), "a space behind the prefix");
    ok(!hex("sha256=", "sha256"), "half a prefix");
    ok(!hex("sha256=", "sha256="), "a prefix and nothing");
    ok(!hex("sha256=", "xsha256=" HEX), "the prefix not at the beginning");
    ok(!hex("sha256=", "sha256=sha256=" HEX), "the prefix twice in one");

    ok(base64("v1,", "v1," BASE64 "="), "a prefix with a comma");
    ok(base64("v1,", "v1," OTHER64 "= v1a," OTHER64 "= v1," BASE64 "="),
       "in a list of the kind that Standard Webhooks has");
    ok(base64("v1,", "v1a," OTHER64 " v1," BASE64), "another version first");
    ok(base64("v1,", "v1," BASE64 ",v1," OTHER64), "parted by commas");
    ok(!base64("v1,", "v1a," BASE64 "="), "another version");
    ok(!base64("v1,", "v2," BASE64 "= v1," OTHER64 "="), "another version");
    ok(!base64("v1,", "v1 " BASE64), "the comma is part of the prefix");
    ok(!base64("v1,", BASE64), "no version");
    ok(!base64("v1,", "v1,"), "a version and nothing");
}


static void
is_nth(unsigned n, int wanted, const char *before, const char *prefix)
{
    char      list[8192], *p = list;
    unsigned  i;

    for (i = 1; i < n; i++) {
        p += sprintf(p, "%s ", before);
    }

    (void) sprintf(p, "%s" HEX, prefix);

    ok(match(unit_cstr(list), prefix, CC_ENCODING_HEX) == wanted,
       "signature %u of a list, behind \"%.8s...\": %s", n, before,
       wanted ? "found" : "not looked at");
}


static void
test_many(void)
{
    is_int(CC_SIGNATURES_MAX, 32, "the limit is 32");

    is_nth(2, 1, WRONG, "");
    is_nth(32, 1, WRONG, "");
    is_nth(33, 0, WRONG, "");
    is_nth(100, 0, WRONG, "");
    is_nth(33, 0, "zz", "");
    is_nth(32, 1, "v=" WRONG, "v=");
    is_nth(33, 0, "v=" WRONG, "v=");

    /* what has not the prefix is passed over, not looked at */

    is_nth(100, 1, "w=" WRONG, "v=");
}


static int
fresh(const char *text, int64_t now, int64_t tolerance)
{
    int       result;
    cc_str_t  exact = unit_exact(unit_cstr(text));

    result = cc_timestamp_fresh(exact, now, tolerance);
    unit_free(exact);

    return result;
}


static void
test_timestamp(void)
{
    int64_t  now = 1700000000000, five = 300000;
    size_t   i;

    static const char  *bad[] = {
        "", " ", "-1700000000", "+1700000000", " 1700000000", "1700000000 ",
        "1700000000.0", "1.7e9", "17000000O0", "0x6553f100", "1700000000,",
        "1,700,000,000", "1700000000\n", "now", "NaN", "-", "\xd9\xa1",
        "2023-11-14T22:13:20Z", "0001700000000000", "1700000000000000",
        "99999999999999999999999999"
    };

    ok(fresh("1700000000", now, five), "seconds");
    ok(fresh("1700000000000", now, five), "milliseconds");
    ok(fresh("1700000000", now + 999, five), "seconds of the same second");

    ok(fresh("1699999700", now, five), "the limit in the past, included");
    ok(!fresh("1699999699", now, five), "a second older");
    ok(fresh("1700000300", now, five), "the limit in the future, included");
    ok(!fresh("1700000301", now, five), "a second later");
    ok(fresh("1699999700000", now, five), "the limit in milliseconds");
    ok(!fresh("1699999699999", now, five), "a millisecond older");
    ok(fresh("1700000300000", now, five), "the other limit");
    ok(!fresh("1700000300001", now, five), "a millisecond later");
    ok(fresh("1700000000", now, 0), "no tolerance, the same time");
    ok(!fresh("1700000000001", now, 0), "no tolerance, another");

    ok(fresh("99999999999", 99999999999000, 0), "eleven digits are seconds");
    ok(fresh("100000000000", 100000000000, 0), "from 10^11 on it is not");
    ok(fresh("0", 0, 0), "the beginning of time");
    ok(!fresh("0", now, five), "long ago");
    ok(fresh("999999999999999", 999999999999999, 0), "fifteen digits");
    ok(!fresh("999999999999999", now, five), "far away");
    ok(!fresh("99999999999", now, five), "far away in seconds");

    ok(!cc_timestamp_fresh(unit_str(NULL, 0), now, five), "no header");

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ok(!fresh(bad[i], now, INT64_MAX), "\"%s\" is no time", bad[i]);
    }

    ok(!cc_timestamp_fresh(unit_text("1700000000\0"), now, five),
       "a NUL behind it");
    ok(!cc_timestamp_fresh(unit_text("17000\00000"), now, five),
       "a NUL inside");
}


int
main(void)
{
    size_t  i;

    for (i = 0; i < sizeof(mac); i++) {
        mac[i] = (unsigned char) (i * 17);
    }

    test_one();
    test_length();
    test_lists();
    test_many();
    test_timestamp();

    return done_testing();
}

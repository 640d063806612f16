/*
 * Are strings of JSON read as RFC 8259 and RFC 3629 say?  Characters, escapes,
 * surrogates, UTF-8, and decoding into a buffer that may be too small.
 *
 * Where the space is small it is walked whole: every code point, every \uXXXX,
 * every sequence of two bytes; longer sequences over the bytes at which the
 * rules change.  The oracle for UTF-8 works the other way round: a sequence is
 * valid if it is what some code point is written as.
 */

#include <ctype.h>

#include "json_walk.h"


#define CODE_POINTS  0x110000


static cc_json_t  *json;


/* UTF-8 of a code point by the table of RFC 3629, section 3; its length */
static size_t
utf8(unsigned char *out, unsigned long c)
{
    size_t         i, n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    unsigned char  lead[] = { 0, 0x00, 0xc0, 0xe0, 0xf0 };

    for (i = n; i-- > 1; c >>= 6) {
        out[i] = (unsigned char) (0x80 | (c & 0x3f));
    }

    out[0] = (unsigned char) (lead[n] | c);

    return n;
}


static int
is_surrogate(unsigned long c)
{
    return c >= 0xd800 && c <= 0xdfff;
}


/* the text as the only string; 1 and *token if it is valid */
static int
read_string(cc_json_token_t *token, cc_str_t text)
{
    cc_json_token_t  last;

    cc_json_open(json, text);

    return cc_json_next(json, token) == CC_JSON_STRING
           && cc_json_next(json, &last) == CC_JSON_END;
}


/* a valid string must decode to these bytes */
static int
decodes(const char *quoted, const void *want, size_t len)
{
    int              same;
    cc_str_t         out, text = unit_exact(unit_cstr(quoted));
    unsigned char    buf[64];
    cc_json_token_t  token;

    same = read_string(&token, text)
           && cc_json_decode(&token, &out, buf, sizeof(buf)) == 0
           && out.len == len && memcmp(out.data, want, len) == 0;

    unit_free(text);

    return same;
}


static void
test_characters(void)
{
    int            c, wrong = 0;
    size_t         n;
    unsigned long  point;
    unsigned char  text[8];

    for (c = 0; c < 0x80; c++) {
        text[0] = text[2] = '"';
        text[1] = (unsigned char) c;
        wrong += (json_walk_exact(json, unit_str(text, 3), NULL) == NULL)
                 != (c >= 0x20 && c != '"' && c != '\\');
    }

    is_int(wrong, 0, "ASCII: all but quote, backslash, control characters");

    for (wrong = 0, point = 0x80; point < CODE_POINTS; point++) {
        n = utf8(text + 1, point);
        text[n + 1] = '"';
        wrong += (json_walk(json, unit_str(text, n + 2), NULL) == NULL)
                 == is_surrogate(point);
    }

    is_int(wrong, 0, "every code point as UTF-8, surrogates refused");
}


/* 1 if the bytes are the UTF-8 of code points, one after the other */
static int
is_utf8(const unsigned char *p, size_t len)
{
    size_t         n;
    unsigned char  again[4];
    unsigned long  c;

    for ( /* void */ ; len > 0; p += n, len -= n) {

        /* the only code point it could be, if it is one at all */

        n = *p < 0xc0 ? 1 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : 4;

        if (len < n) {
            return 0;
        }

        c = n == 1 ? *p
            : n == 2 ? (*p & 0x1fUL) << 6 | (p[1] & 0x3f)
            : n == 3 ? (*p & 0x0fUL) << 12 | (p[1] & 0x3fUL) << 6
                       | (p[2] & 0x3f)
            : (*p & 0x07UL) << 18 | (p[1] & 0x3fUL) << 12
              | (p[2] & 0x3fUL) << 6 | (p[3] & 0x3f);

        if (c >= CODE_POINTS || is_surrogate(c) || utf8(again, c) != n
            || memcmp(again, p, n) != 0)
        {
            return 0;
        }
    }

    return 1;
}


static int
check_bytes(const unsigned char *bytes, size_t len)
{
    unsigned char  text[8];

    text[0] = text[len + 1] = '"';
    memcpy(text + 1, bytes, len);

    if ((json_walk_exact(json, unit_str(text, len + 2), NULL) == NULL)
        == is_utf8(bytes, len))
    {
        return 0;
    }

    diag_bytes("wrong about ", unit_str(text, len + 2));

    return 1;
}


static void
test_utf8(void)
{
    int            a, b, wrong = 0, valid = 0;
    size_t         i, k, l, n;
    unsigned char  bytes[4];

    static const unsigned char  edges[] = {
        0x20, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xaf, 0xb0, 0xbf,
        0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0,
        0xf1, 0xf3, 0xf4, 0xf5, 0xf7, 0xf8, 0xfb, 0xfc, 0xfd, 0xfe, 0xff
    };

    /* ASCII that is syntax in a string would end it: other tests have that */

    for (a = 0x80; a < 0x100; a++) {
        for (b = 0x20; b < 0x100; b++) {
            if (b == '"' || b == '\\') {
                continue;
            }

            bytes[0] = (unsigned char) a;
            bytes[1] = (unsigned char) b;
            wrong += check_bytes(bytes, 1) + check_bytes(bytes, 2);
            valid += is_utf8(bytes, 2);
        }
    }

    is_int(wrong, 0, "every byte and every pair of bytes");
    is_int(valid, 30 * 64, "of which %d are UTF-8", valid);

    wrong = 0;
    n = sizeof(edges);

    for (i = 0; i < n; i++) {
        for (k = 0; k < n; k++) {
            for (l = 0; l < n * n; l++) {
                bytes[0] = edges[i];
                bytes[1] = edges[k];
                bytes[2] = edges[l / n];
                bytes[3] = edges[l % n];

                wrong += check_bytes(bytes, 4);
                wrong += l % n == 0 ? check_bytes(bytes, 3) : 0;
            }
        }
    }

    is_int(wrong, 0, "three and four bytes at the edges of the rules");
}


static void
test_unicode_escapes(void)
{
    int            wrong = 0;
    char           text[32];
    size_t         n;
    unsigned       c;
    unsigned char  want[4];

    for (c = 0; c < 0x10000; c++) {
        (void) snprintf(text, sizeof(text), c & 1 ? "\"\\u%04x\""
                                                  : "\"\\u%04X\"", c);
        n = utf8(want, c);

        wrong += decodes(text, want, n) == (c == 0 || is_surrogate(c));
    }

    is_int(wrong, 0, "every \\uXXXX but zero and the surrogates");

    for (wrong = 0, c = 0; c < 4 * 0x100; c++) {
        n = 3 + c / 0x100;
        memcpy(text, "\"\\u1234\"", 8);
        text[n] = (char) (c & 0xff);
        wrong += (json_walk_exact(json, unit_str(text, 8), NULL) == NULL)
                 != (isxdigit((int) (c & 0xff)) != 0);
    }

    is_int(wrong, 0, "any byte in the place of each hex digit");

    for (wrong = 0, c = 0x10000; c < CODE_POINTS; c += c & 0x3ff ? 1 : 0x155) {
        (void) snprintf(text, sizeof(text), "\"\\u%04x\\u%04X\"",
                        0xd800 + ((c - 0x10000) >> 10), 0xdc00 + (c & 0x3ff));
        n = utf8(want, c);
        wrong += !decodes(text, want, n);
    }

    is_int(wrong, 0, "pairs of surrogates");
}


static void
refuses(const char *text, const char *why)
{
    ok(json_walk_exact(json, unit_cstr(text), NULL) != NULL, "%s: %s", why,
       text);
}


static void
test_escapes(void)
{
    int   c, wrong = 0;
    char  text[8];

    ok(decodes("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8),
       "the eight short escapes");
    ok(decodes("\"a\\u0041\\u00e9\\u20AC\\ud83d\\uDE00z\"",
               "aA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z", 12),
       "escapes of one to four bytes among others");
    ok(decodes("\"\\\\u0041\"", "\\u0041", 6), "an escaped backslash, then u");
    ok(decodes("\"\\u005cu0041\"", "\\u0041", 6), "the same spelled longer");
    ok(decodes("\"\\u0022\"", "\"", 1), "an escaped quote does not end it");

    for (c = 1; c < 0x80; c++) {
        (void) snprintf(text, sizeof(text), "\"\\%c\"", c);
        wrong += (json_walk_exact(json, unit_str(text, 4), NULL) == NULL)
                 != (strchr("\"\\/bfnrt", c) != NULL);
    }

    is_int(wrong, 0, "a backslash before any other character is refused");

    ok(json_walk_exact(json, unit_text("\"\\\0\""), NULL) != NULL,
       "a backslash before a NUL too");

    refuses("\"\\u0000\"", "a NUL");
    refuses("\"a\\u0000b\"", "a NUL");
    refuses("\"\\u\"", "hex digits missing");
    refuses("\"\\u1\"", "hex digits missing");
    refuses("\"\\u123\"", "hex digits missing");
    refuses("\"\\u12g4\"", "no hex digit");
    refuses("\"\\u-123\"", "no hex digit");
    refuses("\"\\u+123\"", "no hex digit");
    refuses("\"\\u 123\"", "no hex digit");
    refuses("\"\\U0041\"", "a capital U");
    refuses("\"\\x41\"", "C, not JSON");
    refuses("\"\\u{41}\"", "a newer JavaScript");
    refuses("\"\\ud800\"", "a lone high surrogate");
    refuses("\"\\udbff\"", "a lone high surrogate");
    refuses("\"\\udc00\"", "a lone low surrogate");
    refuses("\"\\udfff\"", "a lone low surrogate");
    refuses("\"\\ud800a\"", "a lone high surrogate");
    refuses("\"\\ud800\\n\"", "a lone high surrogate");
    refuses("\"\\ud800\\u0041\"", "a lone high surrogate");
    refuses("\"\\ud800\\ud800\"", "two high surrogates");
    refuses("\"\\ud800\\ud800\\udc00\"", "a lone one before a pair");
    refuses("\"\\udc00\\ud800\"", "a pair turned round");
    refuses("\"\\ud800\\udc0\"", "half of a low surrogate");
    refuses("\"\\ud800\\u\"", "half of a low surrogate");
    refuses("\"\\ud800\\\"", "an escape for the end");
    refuses("\"\\ud83d\\ude00\\udc00\"", "a lone one behind a pair");
    refuses("\"\\ud800\\ndc00\"", "another escape, then digits");
    refuses("\"\\ud800xudc00\"", "no escape, then u and digits");
    refuses("\"\\ud800\xed\xb0\x80\"", "half escaped, half not");
    refuses("\"\\\"", "the end escaped");
    refuses("\"\\", "nothing behind a backslash");
    refuses("\"\\u", "nothing behind \\u");
    refuses("\"\\u00", "nothing behind \\u00");
    refuses("\"\\u0041", "no end");
    refuses("\"\\ud800\\udc00", "no end");
    refuses("\"\xf0\x9f\x98", "no end");
    refuses("{\"\\ud800\":1}", "a lone surrogate in a name");
    refuses("{\"a\\u0000\":1}", "a NUL in a name");
    refuses("{\"\xff\":1}", "bad UTF-8 in a name");
}


static void
test_is(void)
{
    cc_json_token_t  token;

    (void) read_string(&token, unit_text("\"batchId\""));
    ok(cc_json_is(&token, "batchId"), "a string spells its text");
    ok(!cc_json_is(&token, "batchid"), "in its own case");
    ok(!cc_json_is(&token, "batchI"), "not a part of it");
    ok(!cc_json_is(&token, "batchIds"), "nor more");

    (void) read_string(&token, unit_text("\"b\\u0061tc\\u0068Id\""));
    ok(cc_json_is(&token, "batchId"), "with escapes as well");
    ok(!cc_json_is(&token, "b\\u0061tc\\u0068Id"), "not as it is written");

    (void) read_string(&token, unit_text("\"\""));
    ok(cc_json_is(&token, ""), "nothing spells nothing");
    ok(!cc_json_is(&token, "a"), "and nothing else");
}


static void
test_decode(void)
{
    size_t           size, wrong = 0;
    cc_str_t         out;
    unsigned char    buf[16];
    cc_json_token_t  token;

    /* 8 bytes: a, e acute, euro, ... written with and without escapes */

    (void) read_string(&token,
                       unit_text("\"a\\u00e9\\u20ac\xc3\xa9\""));

    for (size = 0; size <= sizeof(buf); size++) {
        memset(buf, 0x5a, sizeof(buf));

        if (cc_json_decode(&token, &out, buf, size) == 0) {
            wrong += size < 8 || out.data != buf
                     || !cc_str_is(out, "a\xc3\xa9\xe2\x82\xac\xc3\xa9");
        } else {
            wrong += size >= 8;
        }

        wrong += size < sizeof(buf) && buf[size] != 0x5a;
    }

    is_int(wrong, 0, "it fits 8 bytes, not fewer, and writes no more");

    memset(buf, 0x5a, sizeof(buf));
    (void) read_string(&token, unit_text("\"plain\""));
    ok(cc_json_decode(&token, &out, buf, sizeof(buf)) == 0
       && out.data == token.raw.data && cc_str_is(out, "plain")
       && buf[0] == 0x5a, "without escapes nothing is copied");
    ok(cc_json_decode(&token, &out, buf, 5) == 0, "plain fits 5 bytes");
    ok(cc_json_decode(&token, &out, buf, 4) == -1, "and not 4");

    (void) read_string(&token, unit_text("\"\""));
    ok(cc_json_decode(&token, &out, buf, 0) == 0 && out.len == 0,
       "nothing fits nothing");
}


int
main(void)
{
    json = cc_json_create(unit_seed());

    if (!ok(json != NULL, "a reader is made")) {
        return done_testing();
    }

    test_characters();
    test_utf8();
    test_unicode_escapes();
    test_escapes();
    test_is();
    test_decode();

    cc_json_destroy(json);

    return done_testing();
}

/*
 * Strings of JSON: are they valid, what do they spell?
 *
 * Validity: RFC 8259, section 7; UTF-8 by RFC 3629, section 4, without
 * surrogates and overlong forms; and no NUL, which C code downstream would take
 * for an end.  Decoding only ever sees what has been found valid.
 */

#include "json_internal.h"


/* a string that is read byte by byte, its escapes undone on the way */
typedef struct {
    const unsigned char  *p;
    const unsigned char  *end;
    unsigned char         bytes[4];     /* of the escape that was met last */
    size_t                n;
    size_t                i;
} cc_spelling_t;


static const char *cc_json_escape(const unsigned char **pp,
    const unsigned char *end);
static const char *cc_json_utf8(const unsigned char **pp,
    const unsigned char *end);
static size_t cc_json_unescape(const unsigned char **pp, unsigned char *out);
static void cc_json_spelling(cc_spelling_t *s, const cc_json_token_t *token);
static int cc_json_spelling_next(cc_spelling_t *s);
static unsigned cc_json_hex4(const unsigned char *p);


const char *
cc_json_string(const unsigned char **pp, const unsigned char *end,
    cc_json_token_t *token)
{
    const char           *error;
    const unsigned char  *p;

    p = *pp + 1;
    token->raw.data = p;
    error = NULL;

    while (error == NULL) {

        p = cc_json_plain_end(p, end);

        if (p == end) {
            error = "no JSON: a string without its end";

        } else if (*p == '"') {
            token->raw.len = (size_t) (p - token->raw.data);
            *pp = p + 1;
            return NULL;

        } else if (*p == '\\') {
            token->escaped = 1;

            do {
                error = cc_json_escape(&p, end);
            } while (error == NULL && p < end && *p == '\\');

        } else {
            do {
                error = cc_json_utf8(&p, end);
            } while (error == NULL && p < end && *p >= 0x80);
        }
    }

    *pp = p;

    return error;
}


static const char *
cc_json_escape(const unsigned char **pp, const unsigned char *end)
{
    size_t                left;
    unsigned              unit;
    const unsigned char  *p;

    p = *pp;
    left = (size_t) (end - p);

    if (left >= 2 && p[1] != 'u' && p[1] != '\0'
        && strchr("\"\\/bfnrt", p[1]) != NULL)
    {
        *pp = p + 2;
        return NULL;
    }

    unit = (left >= 6 && p[1] == 'u') ? cc_json_hex4(p + 2) : 0x10000;

    if (unit > 0xffff) {
        return "no JSON: an unknown escape";
    }

    if (unit == 0) {
        return "JSON refused: an escaped NUL in a string";
    }

    if (unit < 0xd800 || unit > 0xdfff) {
        *pp = p + 6;
        return NULL;
    }

    if (unit > 0xdbff || left < 12 || p[6] != '\\' || p[7] != 'u'
        || (cc_json_hex4(p + 8) & ~0x3ffu) != 0xdc00)
    {
        return "JSON refused: a lone surrogate";
    }

    *pp = p + 12;

    return NULL;
}


/* one character of two to four bytes */
static const char *
cc_json_utf8(const unsigned char **pp, const unsigned char *end)
{
    size_t                n, i;
    unsigned char         low, high;
    const unsigned char  *p;

    p = *pp;
    n = 0;
    low = 0x80;
    high = 0xbf;

    if (*p < 0x20) {
        return "no JSON: a control character in a string";
    }

    if (*p >= 0xc2 && *p <= 0xdf) {
        n = 2;

    } else if (*p >= 0xe0 && *p <= 0xef) {
        n = 3;
        low = (*p == 0xe0) ? 0xa0 : low;
        high = (*p == 0xed) ? 0x9f : high;

    } else if (*p >= 0xf0 && *p <= 0xf4) {
        n = 4;
        low = (*p == 0xf0) ? 0x90 : low;
        high = (*p == 0xf4) ? 0x8f : high;
    }

    if (n == 0 || (size_t) (end - p) < n || p[1] < low || p[1] > high) {
        return "no JSON: not UTF-8";
    }

    for (i = 2; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return "no JSON: not UTF-8";
        }
    }

    *pp = p + n;

    return NULL;
}


/* one escape sequence of a valid string as UTF-8; returns the bytes written */
static size_t
cc_json_unescape(const unsigned char **pp, unsigned char *out)
{
    unsigned              c;
    const char           *at;
    const unsigned char  *p;

    static const char     from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";

    p = *pp;

    if (p[1] != 'u') {
        at = strchr(from, p[1]);
        out[0] = (unsigned char) to[at - from];
        *pp = p + 2;
        return 1;
    }

    c = cc_json_hex4(p + 2);
    *pp = p + 6;

    if (c >= 0xd800 && c <= 0xdbff) {
        c = 0x10000 + ((c & 0x3ff) << 10) + (cc_json_hex4(p + 8) & 0x3ff);
        *pp = p + 12;
    }

    if (c < 0x80) {
        out[0] = (unsigned char) c;
        return 1;
    }

    if (c < 0x800) {
        out[0] = (unsigned char) (0xc0 | c >> 6);
        out[1] = (unsigned char) (0x80 | (c & 0x3f));
        return 2;
    }

    if (c < 0x10000) {
        out[0] = (unsigned char) (0xe0 | c >> 12);
        out[1] = (unsigned char) (0x80 | (c >> 6 & 0x3f));
        out[2] = (unsigned char) (0x80 | (c & 0x3f));
        return 3;
    }

    out[0] = (unsigned char) (0xf0 | c >> 18);
    out[1] = (unsigned char) (0x80 | (c >> 12 & 0x3f));
    out[2] = (unsigned char) (0x80 | (c >> 6 & 0x3f));
    out[3] = (unsigned char) (0x80 | (c & 0x3f));

    return 4;
}


int
cc_json_decode(const cc_json_token_t *token, cc_str_t *out,
    unsigned char *buf, size_t size)
{
    size_t                n, len;
    unsigned char         c[4];
    const unsigned char  *p, *end;

    *out = token->raw;

    if (!token->escaped) {
        return token->raw.len > size ? -1 : 0;
    }

    p = token->raw.data;
    end = p + token->raw.len;

    for (len = 0; p < end; len += n) {

        if (*p == '\\') {
            n = cc_json_unescape(&p, c);

        } else {
            c[0] = *p++;
            n = 1;
        }

        if (n > size - len) {
            return -1;
        }

        memcpy(buf + len, c, n);
    }

    out->data = buf;
    out->len = len;

    return 0;
}


int
cc_json_spells(const cc_json_token_t *token, const char *text)
{
    cc_str_t       s;
    unsigned char  buf[64];

    return cc_json_decode(token, &s, buf, sizeof(buf)) == 0
           && cc_str_is(s, text);
}


int
cc_json_same_spelled(const cc_json_token_t *a, const cc_json_token_t *b)
{
    int            ca, cb;
    cc_spelling_t  sa, sb;

    cc_json_spelling(&sa, a);
    cc_json_spelling(&sb, b);

    do {
        ca = cc_json_spelling_next(&sa);
        cb = cc_json_spelling_next(&sb);
    } while (ca == cb && ca != -1);

    return ca == cb;
}


static void
cc_json_spelling(cc_spelling_t *s, const cc_json_token_t *token)
{
    s->p = token->raw.data;
    s->end = token->raw.data + token->raw.len;
    s->n = 0;
    s->i = 0;
}


/* the next byte of what the string reads, or -1 */
static int
cc_json_spelling_next(cc_spelling_t *s)
{
    if (s->i < s->n) {
        return s->bytes[s->i++];
    }

    if (s->p == s->end) {
        return -1;
    }

    if (*s->p != '\\') {
        return *s->p++;
    }

    s->n = cc_json_unescape(&s->p, s->bytes);
    s->i = 1;

    return s->bytes[0];
}


/* four hex digits, or something above 0xffff */
static unsigned
cc_json_hex4(const unsigned char *p)
{
    unsigned  a, b, c, d;

    /* 16 more than the digit is worth; 0: it is none */

    static const unsigned char  digits[256] = {
        ['0'] = 16, 17, 18, 19, 20, 21, 22, 23, 24, 25,
        ['A'] = 26, 27, 28, 29, 30, 31,
        ['a'] = 26, 27, 28, 29, 30, 31
    };

    a = digits[p[0]];
    b = digits[p[1]];
    c = digits[p[2]];
    d = digits[p[3]];

    if (!(a & b & c & d & 16)) {
        return 0x10000;
    }

    return (a & 15) << 12 | (b & 15) << 8 | (c & 15) << 4 | (d & 15);
}

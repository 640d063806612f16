/*
 * The strict base64 decoder: one table for both alphabets, four characters at a
 * time, and nothing behind the last one that the encoder would not have put
 * there.
 */

#include "base64.h"


#define CC_BASE64_VALUE  0x3f
#define CC_BASE64_BOTH   0xc0
#define CC_BASE64_FORMS  { 0x40, 0x80 }     /* by cc_base64_e */


/* the value of a character and the forms in which it may stand; 0: in none */

#define B(value)  (CC_BASE64_BOTH | (value))

static const unsigned char  cc_base64_table[256] = {
    ['A'] = B(0),  ['B'] = B(1),  ['C'] = B(2),  ['D'] = B(3),  ['E'] = B(4),
    ['F'] = B(5),  ['G'] = B(6),  ['H'] = B(7),  ['I'] = B(8),  ['J'] = B(9),
    ['K'] = B(10), ['L'] = B(11), ['M'] = B(12), ['N'] = B(13), ['O'] = B(14),
    ['P'] = B(15), ['Q'] = B(16), ['R'] = B(17), ['S'] = B(18), ['T'] = B(19),
    ['U'] = B(20), ['V'] = B(21), ['W'] = B(22), ['X'] = B(23), ['Y'] = B(24),
    ['Z'] = B(25), ['a'] = B(26), ['b'] = B(27), ['c'] = B(28), ['d'] = B(29),
    ['e'] = B(30), ['f'] = B(31), ['g'] = B(32), ['h'] = B(33), ['i'] = B(34),
    ['j'] = B(35), ['k'] = B(36), ['l'] = B(37), ['m'] = B(38), ['n'] = B(39),
    ['o'] = B(40), ['p'] = B(41), ['q'] = B(42), ['r'] = B(43), ['s'] = B(44),
    ['t'] = B(45), ['u'] = B(46), ['v'] = B(47), ['w'] = B(48), ['x'] = B(49),
    ['y'] = B(50), ['z'] = B(51), ['0'] = B(52), ['1'] = B(53), ['2'] = B(54),
    ['3'] = B(55), ['4'] = B(56), ['5'] = B(57), ['6'] = B(58), ['7'] = B(59),
    ['8'] = B(60), ['9'] = B(61),
    ['+'] = 0x40 | 62, ['/'] = 0x40 | 63,
    ['-'] = 0x80 | 62, ['_'] = 0x80 | 63
};

#undef B


static int cc_base64_tail(const unsigned char *p, size_t n, unsigned mask,
    unsigned char *out);


int
cc_base64_decode(cc_base64_e form, cc_str_t text, unsigned char *buf,
    size_t size, cc_str_t *out)
{
    size_t                n, len;
    unsigned              a, b, c, d, mask;
    const unsigned char  *p;

    static const unsigned  forms[] = CC_BASE64_FORMS;

    p = text.data;
    len = text.len;
    mask = forms[form];

    if (form == CC_BASE64_STANDARD && len != 0) {

        if (len % 4 != 0) {
            return -1;
        }

        if (p[len - 1] == '=') {
            len -= (p[len - 2] == '=') ? 2 : 1;
        }
    }

    if (len % 4 == 1 || len / 4 * 3 + (len % 4 ? len % 4 - 1 : 0) > size) {
        return -1;
    }

    for (n = 0; len >= 4; len -= 4, p += 4, n += 3) {
        a = cc_base64_table[p[0]];
        b = cc_base64_table[p[1]];
        c = cc_base64_table[p[2]];
        d = cc_base64_table[p[3]];

        if ((a & b & c & d & mask) == 0) {
            return -1;
        }

        buf[n] = (unsigned char) (a << 2 | (b & CC_BASE64_VALUE) >> 4);
        buf[n + 1] = (unsigned char) (b << 4 | (c & CC_BASE64_VALUE) >> 2);
        buf[n + 2] = (unsigned char) (c << 6 | (d & CC_BASE64_VALUE));
    }

    if (len != 0) {

        if (cc_base64_tail(p, len, mask, buf + n) != 0) {
            return -1;
        }

        n += len - 1;
    }

    out->data = buf;
    out->len = n;

    return 0;
}


/* the last two or three characters, whose spare bits are zero */
static int
cc_base64_tail(const unsigned char *p, size_t n, unsigned mask,
    unsigned char *out)
{
    unsigned  a, b, c;

    a = cc_base64_table[p[0]];
    b = cc_base64_table[p[1]];
    c = (n == 3) ? cc_base64_table[p[2]] : CC_BASE64_BOTH;

    if ((a & b & c & mask) == 0
        || (n == 2 && (b & 0xf) != 0) || (n == 3 && (c & 0x3) != 0))
    {
        return -1;
    }

    out[0] = (unsigned char) (a << 2 | (b & CC_BASE64_VALUE) >> 4);

    if (n == 3) {
        out[1] = (unsigned char) (b << 4 | (c & CC_BASE64_VALUE) >> 2);
    }

    return 0;
}

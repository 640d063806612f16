/*
 * Fuzzing lists of signatures, their decoding, and timestamps.  The first byte
 * chooses encoding and prefix; the rest is the list.
 *
 * What is decoded can be encoded again to the same text; a match means that the
 * MAC's text stands in the list; and a good signature behind any list that is
 * not too long is found.
 */

#include <ctype.h>

#include "fuzz.h"
#include "json_walk.h"
#include "signature.h"


#define HEX "00112233445566778899aabbccddeeff102132435465768798a9bacbdcedfe0f"
#define BASE64 "ABEiM0RVZneImaq7zN3u/xAhMkNUZXaHmKm6y9zt/g8"


/* the text in hex or base64 that `bytes` must have come from */
static void
check_decoded(cc_encoding_e encoding, cc_str_t text, const uint8_t *bytes,
    size_t n)
{
    char    again[4 * CC_MAC_MAX];
    size_t  i, len;

    if (encoding == CC_ENCODING_HEX) {
        must(text.len == 2 * n);

        for (i = 0; i < n; i++) {
            (void) sprintf(again + 2 * i, "%02x", bytes[i]);
            must(tolower(text.data[2 * i]) == again[2 * i]);
            must(tolower(text.data[2 * i + 1]) == again[2 * i + 1]);
        }

        return;
    }

    len = (size_t) EVP_EncodeBlock((unsigned char *) again, bytes, (int) n);

    while (len > text.len && again[len - 1] == '=') {
        len--;
    }

    must(text.len == len && memcmp(again, text.data, len) == 0);
}


/* 1 if the MAC's text stands in the list, in either case if it is hex */
static int
is_inside(cc_encoding_e encoding, cc_str_t list)
{
    size_t       i, k, len;
    const char  *text = encoding == CC_ENCODING_HEX ? HEX : BASE64;

    len = strlen(text);

    for (i = 0; i + len <= list.len; i++) {
        for (k = 0; k < len; k++) {
            if (text[k] != (encoding == CC_ENCODING_HEX
                            ? tolower(list.data[i + k]) : list.data[i + k]))
            {
                break;
            }
        }

        if (k == len) {
            return 1;
        }
    }

    return 0;
}


/* the list with a good signature at its end, if that is looked at */
static void
check_appended(cc_encoding_e encoding, const char *prefix, cc_str_t list,
    const uint8_t *mac)
{
    char    *longer;
    size_t   i, n = 0;

    for (i = 0; i < list.len; i++) {
        n += strchr(" ,\t", list.data[i]) != NULL;
    }

    longer = malloc(list.len + 128);
    must(longer != NULL);
    memcpy(longer, list.data, list.len);
    i = list.len + (size_t) sprintf(longer + list.len, " %s%s", prefix,
                                    encoding == CC_ENCODING_HEX ? HEX
                                                                : BASE64);

    must(n + 2 > CC_SIGNATURES_MAX
         || cc_signature_match(unit_str(longer, i), unit_cstr(prefix),
                               encoding, mac, 32) == 1);
    free(longer);
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int            n;
    size_t         i;
    uint8_t        mac[32], bytes[CC_MAC_MAX];
    cc_str_t       list;
    const char    *prefix;
    cc_encoding_e  encoding;

    static const char  *prefixes[] = { "", "v1,", "sha256=", "v=" };

    if (size == 0) {
        return 0;
    }

    encoding = data[0] & 1 ? CC_ENCODING_BASE64 : CC_ENCODING_HEX;
    prefix = prefixes[data[0] >> 1 & 3];
    list = unit_str(data + 1, size - 1);

    for (i = 0; i < sizeof(mac); i++) {
        mac[i] = (uint8_t) (i * 17);
    }

    n = cc_decode(encoding, list, bytes, sizeof(bytes));
    must(n >= -1 && n <= CC_MAC_MAX);

    if (n >= 0) {
        check_decoded(encoding, list, bytes, (size_t) n);
    }

    if (cc_signature_match(list, unit_cstr(prefix), encoding, mac,
                           sizeof(mac)))
    {
        must(is_inside(encoding, list));
    }

    must(!cc_signature_match(list, unit_cstr(prefix), encoding, mac, 0));
    check_appended(encoding, prefix, list, mac);

    if (cc_timestamp_fresh(list, 1700000000000, 300000)) {
        must(list.len >= 10 && list.len <= 15);

        for (i = 0; i < list.len; i++) {
            must(isdigit(list.data[i]));
        }
    }

    return 0;
}

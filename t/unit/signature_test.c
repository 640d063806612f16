/*
 * Is the MAC the one of the standards, and is a signature decoded exactly?
 *
 * Vectors of RFC 4231 (SHA-256, SHA-512), RFC 2202 (SHA-1) and RFC 4648
 * (base64), written down here.  Lists of signatures and timestamps are in
 * signature_match_test.c.
 */

#include "signature.h"
#include "unit.h"


#define TEN(text)  text text text text text text text text text text


typedef struct {
    const char  *name;
    cc_str_t     key;
    cc_str_t     body;
    const char  *sha256;
    const char  *sha512;
    const char  *sha1;
} vector_t;


#define KEY_25  "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d"        \
                "\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19"
#define KEY_AA  TEN("\xaa") TEN("\xaa") TEN("\xaa") TEN("\xaa") TEN("\xaa")   \
                TEN("\xaa") TEN("\xaa") TEN("\xaa")


static const vector_t  vectors[] = {
    { "RFC 4231/2202 case 1", cc_str(TEN("\x0b") TEN("\x0b")),
      cc_str("Hi There"),
      "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
      "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cde"
      "daa833b7d6b8a702038b274eaea3f4e4be9d914eeb61f1702e696c203a126854",
      "b617318655057264e28bc0b6fb378c8ef146be00" },

    { "RFC 4231/2202 case 2", cc_str("Jefe"),
      cc_str("what do ya want for nothing?"),
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
      "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
      "9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737",
      "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79" },

    { "RFC 4231/2202 case 3", cc_str(TEN("\xaa") TEN("\xaa")),
      cc_str(TEN("\xdd") TEN("\xdd") TEN("\xdd") TEN("\xdd") TEN("\xdd")),
      "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
      "fa73b0089d56a284efb0f0756c890be9b1b5dbdd8ee81a3655f83e33b2279d39"
      "bf3e848279a722c806b485a47e67c807b946a337bee8942674278859e13292fb",
      "125d7342b9ac11cd91a39af48aa17b4f63f175d3" },

    { "RFC 4231/2202 case 4", cc_str(KEY_25),
      cc_str(TEN("\xcd") TEN("\xcd") TEN("\xcd") TEN("\xcd") TEN("\xcd")),
      "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
      "b0ba465637458c6990e5a8c5f61d4af7e576d97ff94b872de76f8050361ee3db"
      "a91ca5c11aa25eb4d679275cc5788063a5f19741120c4f2de2adebeb10a298dd",
      "4c9007f4026250c6bc8414f9bf50c86c2d7235da" },

    /* the RFC 4231 truncates this one: 128 bits of it */
    { "RFC 4231/2202 case 5", cc_str(TEN("\x0c") TEN("\x0c")),
      cc_str("Test With Truncation"),
      "a3b6167473100ee06e0c796c2955552b",
      "415fad6271580a531d4179bc891d87a6",
      "4c1a03424b55e07fe7f27be1d58bb9324a9a5a04" },

    { "RFC 4231 case 6",
      cc_str(KEY_AA TEN("\xaa") TEN("\xaa") TEN("\xaa") TEN("\xaa")
             TEN("\xaa") "\xaa"),
      cc_str("Test Using Larger Than Block-Size Key - Hash Key First"),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
      "80b24263c7c1a3ebb71493c1dd7be8b49b46d1f41b4aeec1121b013783f8f352"
      "6b56d037e05f2598bd0fd2215d6a1e5295e64f73f63f0aec8b915a985d786598",
      NULL },

    { "RFC 4231 case 7",
      cc_str(KEY_AA TEN("\xaa") TEN("\xaa") TEN("\xaa") TEN("\xaa")
             TEN("\xaa") "\xaa"),
      cc_str("This is a test using a larger than block-size key and a larger "
             "than block-size data. The key needs to be hashed before being "
             "used by the HMAC algorithm."),
      "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
      "e37b6a775dc87dbaa4dfa9f96e5e3ffddebd71f8867289865df5a32d20cdc944"
      "b6022cac3c4982b10d5eeb55c3e4de15134676fb6de0446065c97440fa8c6a58",
      NULL },

    { "RFC 2202 case 6", cc_str(KEY_AA),
      cc_str("Test Using Larger Than Block-Size Key - Hash Key First"),
      NULL, NULL, "aa4ae5e15272d00e95705637ce8a3b55ed402112" },

    { "RFC 2202 case 7", cc_str(KEY_AA),
      cc_str("Test Using Larger Than Block-Size Key and Larger "
             "Than One Block-Size Data"),
      NULL, NULL, "e8e99d0f45237d786d6bbaa7965c7808bbff1a91" },
};


static void
to_hex(char *hex, const unsigned char *bytes, size_t n)
{
    size_t  i;

    for (i = 0; i < n; i++) {
        (void) sprintf(hex + 2 * i, "%02x", bytes[i]);
    }
}


/* the MAC begins with `want`; the body is also cut in two at every place */
static void
is_mac(const vector_t *v, cc_hash_e hash, size_t len, const char *want)
{
    char           hex[2 * CC_MAC_MAX + 1];
    size_t         cut, n, wrong = 0;
    cc_str_t       prefix, body, key;
    cc_hmac_t     *hmac;
    unsigned char  mac[CC_MAC_MAX];

    if (want == NULL) {
        return;
    }

    key = unit_exact(v->key);
    hmac = cc_hmac_create(hash, key);

    /* the caller's key may go away */

    memset((void *) (uintptr_t) key.data, 0, key.len);
    unit_free(key);

    if (!ok(hmac != NULL, "%s, hash %d", v->name, (int) hash)) {
        return;
    }

    for (cut = 0; cut <= v->body.len; cut++) {
        prefix = unit_exact(unit_str(v->body.data, cut));
        body = unit_exact(unit_str(v->body.data + cut, v->body.len - cut));

        n = cc_hmac_compute(hmac, prefix, body, mac);
        to_hex(hex, mac, n);
        wrong += n != len || strncmp(hex, want, strlen(want)) != 0;

        unit_free(prefix);
        unit_free(body);
    }

    is_int(wrong, 0, "%zu times %.16s..., one context for all", cut, want);

    cc_hmac_destroy(hmac);
}


static void
test_hmac(void)
{
    size_t  i;

    for (i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        is_mac(&vectors[i], CC_HASH_SHA256, 32, vectors[i].sha256);
        is_mac(&vectors[i], CC_HASH_SHA512, 64, vectors[i].sha512);
        is_mac(&vectors[i], CC_HASH_SHA1, 20, vectors[i].sha1);
    }
}


static void
test_contexts(void)
{
    char            hex[2 * CC_MAC_MAX + 1];
    size_t          n;
    cc_str_t        empty = unit_text("");
    cc_hmac_t      *a, *b;
    unsigned char   mac[CC_MAC_MAX], other[CC_MAC_MAX];

    a = cc_hmac_create(CC_HASH_SHA256, unit_text("one"));
    b = cc_hmac_create(CC_HASH_SHA256, unit_text("two"));

    if (!ok(a && b, "two secrets at a time")) {
        return;
    }

    n = cc_hmac_compute(a, empty, unit_text("body"), mac);
    ok(n == 32 && cc_hmac_compute(b, empty, unit_text("body"), other) == 32
       && memcmp(mac, other, 32) != 0, "give two MACs");
    ok(cc_hmac_compute(a, empty, unit_text("body"), other) == 32
       && memcmp(mac, other, 32) == 0, "and the first gives its own again");
    ok(cc_hmac_compute(a, empty, unit_text("body\n"), other) == 32
       && memcmp(mac, other, 32) != 0, "one byte more is another MAC");
    ok(cc_hmac_compute(a, empty, unit_text("bo\0dy"), mac) == 32
       && cc_hmac_compute(a, empty, unit_text("bo\0dz"), other) == 32
       && memcmp(mac, other, 32) != 0, "a NUL ends nothing");

    /* echo -n | openssl dgst -sha256 -hmac one */

    n = cc_hmac_compute(a, empty, empty, mac);
    to_hex(hex, mac, n);
    is_str(unit_str(hex, 2 * n),
           "5008d90d783f5bb36d39e1777cbbbaa3d3f85a78abc242dcd953024946297860",
           "an empty body has a MAC");

    ok(cc_hmac_compute(a, unit_str(NULL, 0), unit_str(NULL, 0), other) == 32
       && memcmp(mac, other, 32) == 0, "no body has the same");

    cc_hmac_destroy(a);
    cc_hmac_destroy(b);
    cc_hmac_destroy(NULL);
}


/* decodes to `want`, into a buffer that has not a byte more */
static void
decodes(cc_encoding_e encoding, const char *text, cc_str_t want)
{
    int            n;
    cc_str_t       in = unit_exact(unit_cstr(text)), out = unit_exact(want);
    unsigned char  less[CC_MAC_MAX];

    memset((void *) (uintptr_t) out.data, 0x5a, out.len);
    n = cc_decode(encoding, in, (unsigned char *) (uintptr_t) out.data,
                  out.len);

    ok(n == (int) want.len && memcmp(out.data, want.data, want.len) == 0,
       "\"%s\" is %zu bytes", text, want.len);

    if (want.len > 0) {
        ok(cc_decode(encoding, in, less, want.len - 1) == -1,
           "that do not fit %zu", want.len - 1);
    }

    unit_free(in);
    unit_free(out);
}


static void
refuses(cc_encoding_e encoding, cc_str_t text, const char *why)
{
    cc_str_t       in = unit_exact(text);
    unsigned char  out[CC_MAC_MAX];

    ok(cc_decode(encoding, in, out, sizeof(out)) == -1, "\"%.*s\": %s",
       (int) text.len, (const char *) text.data, why);

    unit_free(in);
}


static void
test_hex(void)
{
    int            c, wrong = 0;
    unsigned char  in[2], out[2];

    decodes(CC_ENCODING_HEX, "", unit_text(""));
    decodes(CC_ENCODING_HEX, "00", unit_text("\0"));
    decodes(CC_ENCODING_HEX, "0aF9", unit_text("\x0a\xf9"));
    decodes(CC_ENCODING_HEX, "deadBEEF", unit_text("\xde\xad\xbe\xef"));
    decodes(CC_ENCODING_HEX, "0123456789abcdefABCDEF",
            unit_text("\x01\x23\x45\x67\x89\xab\xcd\xef\xab\xcd\xef"));

    for (c = 0; c < 256; c++) {
        in[0] = '1';
        in[1] = (unsigned char) c;

        wrong += (cc_decode(CC_ENCODING_HEX, unit_str(in, 2), out, 2) == 1)
                 != (c != 0 && strchr("0123456789abcdefABCDEF", c) != NULL);
        wrong += cc_decode(CC_ENCODING_HEX, unit_str(in + 1, 1), out, 2) != -1;
    }

    is_int(wrong, 0, "22 bytes are hex digits, and they come in pairs");

    refuses(CC_ENCODING_HEX, unit_text("abc"), "an odd number of digits");
    refuses(CC_ENCODING_HEX, unit_text("0x12"), "a C prefix");
    refuses(CC_ENCODING_HEX, unit_text("12 34"), "a space");
    refuses(CC_ENCODING_HEX, unit_text(" 1234"), "a space");
    refuses(CC_ENCODING_HEX, unit_text("12:34:"), "colons");
    refuses(CC_ENCODING_HEX, unit_text("1234\n\n"), "a line feed");
    refuses(CC_ENCODING_HEX, unit_text("12\0" "34"), "a NUL");
    refuses(CC_ENCODING_HEX, unit_text("1234\0\0"), "NUL behind it");
    refuses(CC_ENCODING_HEX, unit_text("\xef\xbc\x91\xef\xbc\x91"),
            "wide digits");
}


static void
test_base64(void)
{
    int            c, wrong = 0;
    unsigned char  in[4] = { 'A', 'A', 'A', 0 }, out[3];

    /* RFC 4648, section 10, with and without padding */

    decodes(CC_ENCODING_BASE64, "", unit_text(""));
    decodes(CC_ENCODING_BASE64, "Zg==", unit_text("f"));
    decodes(CC_ENCODING_BASE64, "Zm8=", unit_text("fo"));
    decodes(CC_ENCODING_BASE64, "Zm9v", unit_text("foo"));
    decodes(CC_ENCODING_BASE64, "Zm9vYg==", unit_text("foob"));
    decodes(CC_ENCODING_BASE64, "Zm9vYmE=", unit_text("fooba"));
    decodes(CC_ENCODING_BASE64, "Zm9vYmFy", unit_text("foobar"));
    decodes(CC_ENCODING_BASE64, "Zg", unit_text("f"));
    decodes(CC_ENCODING_BASE64, "Zm8", unit_text("fo"));
    decodes(CC_ENCODING_BASE64, "Zm9vYg", unit_text("foob"));
    decodes(CC_ENCODING_BASE64, "++//", unit_text("\xfb\xef\xff"));
    decodes(CC_ENCODING_BASE64, "////", unit_text("\xff\xff\xff"));
    decodes(CC_ENCODING_BASE64, "AAAA", unit_text("\0\0\0"));

    for (c = 0; c < 256; c++) {
        in[3] = (unsigned char) c;

        wrong += (cc_decode(CC_ENCODING_BASE64, unit_str(in, 4), out, 3) == 3)
                 != (c != 0 && strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "abcdefghijklmnopqrstuvwxyz"
                                      "0123456789+/", c) != NULL);
    }

    is_int(wrong, 0, "64 bytes are base64 digits");

    refuses(CC_ENCODING_BASE64, unit_text("A"), "six bits are no byte");
    refuses(CC_ENCODING_BASE64, unit_text("Zm9vY"), "six bits too many");
    refuses(CC_ENCODING_BASE64, unit_text("A==="), "too much padding");
    refuses(CC_ENCODING_BASE64, unit_text("===="), "only padding");
    refuses(CC_ENCODING_BASE64, unit_text("="), "only padding");
    refuses(CC_ENCODING_BASE64, unit_text("=="), "only padding");
    refuses(CC_ENCODING_BASE64, unit_text("Zg="), "half the padding");
    refuses(CC_ENCODING_BASE64, unit_text("Zm8=="), "too much padding");
    refuses(CC_ENCODING_BASE64, unit_text("Zm9v="), "padding not needed");
    refuses(CC_ENCODING_BASE64, unit_text("Zm9v===="), "padding not needed");
    refuses(CC_ENCODING_BASE64, unit_text("Zg==Zg=="), "padding inside");
    refuses(CC_ENCODING_BASE64, unit_text("Z=g="), "padding inside");
    refuses(CC_ENCODING_BASE64, unit_text("=Zm8"), "padding in front");
    refuses(CC_ENCODING_BASE64, unit_text("Zh=="), "spare bits set");
    refuses(CC_ENCODING_BASE64, unit_text("Zv"), "spare bits set");
    refuses(CC_ENCODING_BASE64, unit_text("Zm9="), "spare bits set");
    refuses(CC_ENCODING_BASE64, unit_text("Zm-_"), "the alphabet of URLs");
    refuses(CC_ENCODING_BASE64, unit_text("-w=="), "the alphabet of URLs");
    refuses(CC_ENCODING_BASE64, unit_text("Zm 9"), "a space");
    refuses(CC_ENCODING_BASE64, unit_text("Zm9v\n"), "a line feed");
    refuses(CC_ENCODING_BASE64, unit_text("Zm9\0"), "a NUL");
    refuses(CC_ENCODING_BASE64, unit_text("Zg=\0"), "a NUL for padding");
}


int
main(void)
{
    test_hmac();
    test_contexts();
    test_hex();
    test_base64();

    return done_testing();
}

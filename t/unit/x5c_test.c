/*
 * Chains: what may be pinned, the window of dates, and the memory of verified
 * chains, which is bounded and holds nothing that was not verified.  What makes
 * a chain bad is tested with the vectors (apple_vectors_test.c).
 */

#include "json.h"
#include "pki.h"
#include "x5c.h"


#define LEAVES  40


static pki_t  root, other, inter;


static cc_x5c_t *
create(cc_str_t text)
{
    const char  *reason;

    return cc_x5c_create(text, &reason);
}


static void
test_roots(void)
{
    char        *both;
    cc_str_t     pem = pki_pem(&root), der = pki_der(&root), text;
    cc_str_t     second = pki_pem(&other);
    cc_x5c_t    *x5c;
    const char  *reason;
    pki_t        leaf = pki_make("leaf", 0, PKI_LEAF_OID, &root, PKI_FROM,
                                 PKI_TO);

    x5c = create(pem);
    ok(x5c != NULL, "a root in PEM");
    cc_x5c_destroy(x5c);

    x5c = create(der);
    ok(x5c != NULL, "a root in DER, as Apple publishes it");
    cc_x5c_destroy(x5c);

    both = malloc(pem.len + second.len + 64);
    memcpy(both, pem.data, pem.len);
    memcpy(both + pem.len, second.data, second.len);
    x5c = create(unit_str(both, pem.len + second.len));
    ok(x5c != NULL, "two roots");
    cc_x5c_destroy(x5c);

    ok(create(unit_str(both, pem.len + second.len / 2)) == NULL,
       "one root and a half");
    free(both);

    both = malloc(der.len + 1);
    memcpy(both, der.data, der.len);
    both[der.len] = 0;
    ok(create(unit_str(both, der.len + 1)) == NULL, "DER and a byte more");
    free(both);

    text = pki_pem(&leaf);
    ok(create(text) == NULL, "a certificate that is no CA");
    unit_free(text);
    ok(create(unit_text("")) == NULL, "an empty file");
    ok(cc_x5c_create(unit_text("<html>not found</html>"), &reason) == NULL
       && strstr(reason, "no CA certificate") != NULL, "no certificate");

    unit_free(pem);
    unit_free(der);
    unit_free(second);
    pki_free(&leaf);
}


/* the window is what all three certificates have in common */
static void
test_window(void)
{
    pki_t          leaf = pki_make("leaf", 0, PKI_LEAF_OID, &inter,
                                   PKI_FROM + 1000, PKI_TO + 1000);
    cc_str_t       pem = pki_pem(&root), l = pki_x5c(&leaf),
                   i = pki_x5c(&inter);
    cc_x5c_t      *x5c = create(pem);
    cc_x5c_leaf_t  out;

    ok(cc_x5c_verify(x5c, l, i, &out) == NULL, "a chain");
    is_int(out.not_before, PKI_FROM + 1000, "begins with its last beginning");
    is_int(out.not_after, PKI_TO, "ends with its first end");
    ok(EVP_PKEY_eq(out.key, leaf.key) == 1, "its key is the leaf's");

    ok(cc_x5c_verify(x5c, i, l, &out) != NULL, "the other way round");
    ok(cc_x5c_verify(x5c, l, l, &out) != NULL, "the leaf twice");

    cc_x5c_destroy(x5c);
    unit_free(pem);
    unit_free(l);
    unit_free(i);
    pki_free(&leaf);
}


/* whether an extension of Apple's is missing, on the leaf or above it */
static void
test_marks(void)
{
    pki_t          plain = pki_make("plain", 1, NULL, &root, PKI_FROM, PKI_TO);
    pki_t          a = pki_make("a", 0, PKI_LEAF_OID, &plain, PKI_FROM, PKI_TO);
    pki_t          b = pki_make("b", 0, NULL, &inter, PKI_FROM, PKI_TO);
    cc_str_t       pem = pki_pem(&root), ca = pki_x5c(&plain),
                   i = pki_x5c(&inter), la = pki_x5c(&a), lb = pki_x5c(&b);
    cc_x5c_t      *x5c = create(pem);
    const char    *error;
    cc_x5c_leaf_t  out;

    error = cc_x5c_verify(x5c, la, ca, &out);
    ok(error && strstr(error, "App Store"), "an intermediate without its mark");
    error = cc_x5c_verify(x5c, lb, i, &out);
    ok(error && strstr(error, "App Store"), "a leaf without its mark");
    error = cc_x5c_verify(x5c, lb, i, &out);
    ok(error && strstr(error, "App Store"), "... is not remembered as good");
    is_int(cc_x5c_verified(x5c), 3, "... but verified each time");

    cc_x5c_destroy(x5c);
    unit_free(pem);
    unit_free(ca);
    unit_free(i);
    unit_free(la);
    unit_free(lb);
    pki_free(&plain);
    pki_free(&a);
    pki_free(&b);
}


static void
test_memory(void)
{
    unsigned       n, good;
    pki_t          leaf;
    cc_str_t       pem = pki_pem(&root), i = pki_x5c(&inter), leaves[LEAVES];
    cc_x5c_t      *x5c = create(pem);
    cc_x5c_leaf_t  out;

    for (n = 0; n < LEAVES; n++) {
        leaf = pki_make("leaf", 0, PKI_LEAF_OID, &inter, PKI_FROM, PKI_TO);
        leaves[n] = pki_x5c(&leaf);
        pki_free(&leaf);
    }

    for (good = 0, n = 0; n < LEAVES; n++) {
        good += cc_x5c_verify(x5c, leaves[n], i, &out) == NULL;
        good += cc_x5c_verify(x5c, leaves[n], i, &out) == NULL;
        good += cc_x5c_verify(x5c, leaves[0], i, &out) == NULL;
    }

    is_int(good, 3 * LEAVES, "%d leaves are good each time", LEAVES);
    is_int(cc_x5c_verified(x5c), LEAVES, "... and verified once each");

    good = cc_x5c_verify(x5c, leaves[LEAVES - CC_X5C_CACHED + 1], i, &out)
           == NULL;
    is_int(cc_x5c_verified(x5c), LEAVES, "the last %d are remembered",
           CC_X5C_CACHED);
    good += cc_x5c_verify(x5c, leaves[1], i, &out) == NULL;
    is_int(cc_x5c_verified(x5c), LEAVES + 1, "those before are not");
    good += cc_x5c_verify(x5c, leaves[0], i, &out) == NULL;
    is_int(cc_x5c_verified(x5c), LEAVES + 1, "unless they were used");

    for (n = 0; n < LEAVES; n++) {
        unit_free(leaves[n]);
    }

    cc_x5c_destroy(x5c);
    unit_free(pem);
    unit_free(i);
}


int
main(void)
{
    root = pki_make("root", 1, NULL, NULL, PKI_FROM, PKI_TO);
    other = pki_make("root", 1, NULL, NULL, PKI_FROM, PKI_TO);
    inter = pki_make("inter", 1, PKI_INTER_OID, &root, PKI_FROM, PKI_TO);

    test_roots();
    test_window();
    test_marks();
    test_memory();

    pki_free(&root);
    pki_free(&other);
    pki_free(&inter);

    return done_testing();
}

/*
 * Fuzzing the X.509 glue: two certificates in DER, parted by the first byte's
 * share of the input, under a root made here; and the input as a file of roots.
 * Nothing that this root has not signed is a chain.
 */

#include "fuzz.h"
#include "json_walk.h"
#include "pki.h"
#include "x5c.h"


static cc_str_t
encode(const uint8_t *data, size_t size)
{
    int       n;
    char     *text = malloc(size * 2 + 8);
    cc_str_t  exact;

    n = EVP_EncodeBlock((unsigned char *) text, data, (int) size);
    exact = unit_exact(unit_str(text, (size_t) n));
    free(text);

    return exact;
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t           cut;
    pki_t            root;
    cc_str_t         pem, leaf, intermediate;
    const char      *reason;
    cc_x5c_t        *own;
    cc_x5c_leaf_t    out;

    static cc_x5c_t *x5c;

    if (x5c == NULL) {
        root = pki_make("root", 1, NULL, NULL, PKI_FROM, PKI_TO);
        pem = pki_pem(&root);
        x5c = cc_x5c_create(pem, &reason);
        must(x5c != NULL);
        unit_free(pem);
        pki_free(&root);
    }

    if (size == 0) {
        return 0;
    }

    cut = 1 + (size - 1) * data[0] / 255;
    leaf = encode(data + 1, cut - 1);
    intermediate = encode(data + cut, size - cut);

    must(cc_x5c_verify(x5c, leaf, intermediate, &out) != NULL);

    /* its own root may make anything of it, but not with one certificate */

    own = cc_x5c_create(unit_str(data + 1, size - 1), &reason);

    if (own != NULL) {
        must(cc_x5c_verify(own, leaf, leaf, &out) != NULL);
    } else {
        must(reason != NULL);
    }

    cc_x5c_destroy(own);
    unit_free(leaf);
    unit_free(intermediate);

    return 0;
}

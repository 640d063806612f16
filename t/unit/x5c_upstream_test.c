/*
 * Apple's real certificates, where the file is at hand (it is not ours):
 *     CC_APPLE_UPSTREAM   chains of apple/app-store-server-library
 *
 * Chains of that library's own fixtures have no key identifiers, which every
 * certificate of Apple has: they are refused, also where the library takes
 * them.
 */

#include <openssl/evp.h>

#include "unit.h"
#include "x5c.h"


/* what stands between the lines of a PEM, without its line feeds */
static cc_str_t
armour(const char *pem)
{
    char        *text = malloc(strlen(pem) + 1), *p = text;
    cc_str_t     exact;
    const char  *at = strchr(pem, '\n');

    for ( /* void */ ; *at != '\0' && *at != '-'; at++) {
        if (*at != '\n') {
            *p++ = *at;
        }
    }

    exact = unit_exact(unit_str(text, (size_t) (p - text)));
    free(text);

    return exact;
}


static const char *
root_of(const cJSON *tree, const char *id)
{
    const cJSON  *root;

    cJSON_ArrayForEach(root, cJSON_GetObjectItemCaseSensitive(tree, "roots")) {
        if (strcmp(unit_member(root, "id"), id) == 0) {
            return unit_member(root, "pem");
        }
    }

    return "";
}


static void
check(const cJSON *tree, const cJSON *chain)
{
    int             good, want, fixture;
    int64_t         at;
    cc_str_t        leaf = armour(unit_member(chain, "leaf_pem"));
    cc_str_t        inter = armour(unit_member(chain, "intermediate_pem"));
    cc_x5c_t       *x5c;
    const char     *reason, *id = unit_member(chain, "id");
    cc_x5c_leaf_t   out;

    x5c = cc_x5c_create(unit_cstr(root_of(tree, unit_member(chain, "root"))),
                        &reason);
    ok(x5c != NULL, "%s: its root", id);

    at = (int64_t) cJSON_GetObjectItemCaseSensitive(chain, "at")->valuedouble
         / 1000;
    fixture = strncmp(id, "fixture", 7) == 0;
    want = strcmp(unit_member(chain, "want"), "accept") == 0 && !fixture;

    good = x5c != NULL && cc_x5c_verify(x5c, leaf, inter, &out) == NULL
           && at >= out.not_before && at <= out.not_after;

    ok(good == want, "%s is %s", id, want ? "good" : "refused");

    cc_x5c_destroy(x5c);
    unit_free(leaf);
    unit_free(inter);
}


int
main(void)
{
    cJSON        *tree = unit_vectors("CC_APPLE_UPSTREAM");
    const cJSON  *chain, *chains;

    if (tree == NULL) {
        skip("CC_APPLE_UPSTREAM");
        return done_testing();
    }

    chains = cJSON_GetObjectItemCaseSensitive(tree, "chains");

    cJSON_ArrayForEach(chain, chains) {
        check(tree, chain);
    }

    cJSON_Delete(tree);

    return done_testing();
}

/*
 * What the tests of the store notifications share: the compressed vectors in
 * t/vectors, found from the repository's root or by CC_VECTORS, and a case's
 * verdict in words.
 */

#ifndef CC_STORE_UNIT_H
#define CC_STORE_UNIT_H

#include <zlib.h>

#include "claims.h"
#include "provider.h"
#include "unit.h"


/* the JSON in t/vectors/NAME.gz; without it there is no test */
static TAP_UNUSED inline cJSON *
store_vectors(const char *name)
{
    int          n;
    char         path[512], *text = NULL;
    cJSON       *tree;
    gzFile       file;
    size_t       len = 0, size = 0;
    const char  *folder = getenv("CC_VECTORS");

    (void) snprintf(path, sizeof(path), "%s/%s.gz",
                    folder ? folder : "t/vectors", name);
    file = gzopen(path, "rb");

    if (file == NULL) {
        diag("cannot read %s", path);
        exit(1);
    }

    do {
        if (size - len < 65536) {
            size = 2 * size + 65536;
            text = realloc(text, size);
        }

        n = text ? gzread(file, text + len, 65536) : -1;
        len += n > 0 ? (size_t) n : 0;
    } while (n > 0);

    (void) gzclose(file);
    tree = cJSON_ParseWithLength(text, len);
    free(text);

    if (n < 0 || tree == NULL) {
        diag("%s is no compressed JSON", path);
        exit(1);
    }

    return tree;
}


static TAP_UNUSED inline cc_str_t
store_text(const cJSON *object, const char *name)
{
    cc_str_t  text;

    (void) cc_claim_string(object, name, &text);

    return text;
}


static TAP_UNUSED inline const char *
store_verdict(cc_verdict_e verdict)
{
    switch (verdict) {

    case CC_VERDICT_ACCEPTED:
        return "accepted";

    case CC_VERDICT_UNREADABLE:
        return "unreadable";

    case CC_VERDICT_UNSIGNED:
        return "unsigned";

    case CC_VERDICT_FOREIGN:
        return "foreign";

    case CC_VERDICT_MALFORMED:
        return "malformed";

    case CC_VERDICT_UNUSABLE:
        return "unusable";

    case CC_VERDICT_FAILED:
        return "failed";
    }

    return "nothing";
}


#endif /* CC_STORE_UNIT_H */

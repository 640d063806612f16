/*
 * Fuzzing the JSON reader: whatever the text, json_walk.h checks what json.h
 * promises; and what is taken, cJSON reads as a tree of as many parts, which it
 * can write so that our reader takes it again.
 */

#include "fuzz.h"
#include "json_walk.h"


/* without the fix of CVE-2023-26819 cJSON refuses longer numbers, if valid */
#define NUMBER_MAX  63


/* the tokens our reader must have seen for this tree */
static unsigned
count_tokens(const cJSON *item)
{
    unsigned      n = 1;
    const cJSON  *child;

    if (cJSON_IsObject(item) || cJSON_IsArray(item)) {
        n++;

        cJSON_ArrayForEach(child, item) {
            n += count_tokens(child) + (cJSON_IsObject(item) ? 1 : 0);
        }
    }

    return n;
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char              *text;
    cJSON             *tree;
    cc_str_t           input = unit_str(data, size);
    json_walk_t        walk;
    static cc_json_t  *json;

    if (json == NULL) {
        json = cc_json_create(1);
        must(json != NULL);
    }

    if (json_walk(json, input, &walk) != NULL) {
        return 0;
    }

    tree = cJSON_ParseWithLength((const char *) data, size);

    if (tree == NULL && walk.longest_number > NUMBER_MAX) {
        return 0;
    }

    must(tree != NULL);
    must(count_tokens(tree) == walk.tokens);

    text = cJSON_PrintUnformatted(tree);
    must(text != NULL);
    must(json_walk(json, unit_cstr(text), NULL) == NULL);

    cJSON_free(text);
    cJSON_Delete(tree);

    return 0;
}

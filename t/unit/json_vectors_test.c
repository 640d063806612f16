/*
 * Does the JSON reader agree with JSONTestSuite (nst/JSONTestSuite)?
 *
 * The suite is not part of this repository.  If CC_JSON_VECTORS names a file
 * {"cases": {"y_...": "<base64>", ...}} it is run: n_ must be refused, y_ taken
 * but where our stricter rule says otherwise, and i_, which parsers may decide,
 * is decided here, by name.
 */

#include "json_walk.h"


/* valid JSON that we refuse: a name twice, NUL in a string */
static const char  *const stricter[] = {
    "y_object_duplicated_key", "y_object_duplicated_key_and_value",
    "y_object_escaped_null_in_key", "y_string_null_escape", NULL
};

/* of the texts that may go either way we take numbers of any size, only */
static const char  *const taken[] = {
    "i_number_double_huge_neg_exp", "i_number_huge_exp",
    "i_number_neg_int_huge_exp", "i_number_pos_double_huge_exp",
    "i_number_real_neg_overflow", "i_number_real_pos_overflow",
    "i_number_real_underflow", "i_number_too_big_neg_int",
    "i_number_too_big_pos_int", "i_number_very_big_negative_int", NULL
};


static int
is_listed(const char *const *list, const char *name)
{
    for ( /* void */ ; *list; list++) {
        if (strcmp(*list, name) == 0) {
            return 1;
        }
    }

    return 0;
}


int
main(void)
{
    int           wanted;
    unsigned      cases = 0;
    cJSON        *file = unit_vectors("CC_JSON_VECTORS"), *item;
    cc_str_t      text;
    cc_json_t    *json;
    const char   *error;

    if (file == NULL) {
        skip("CC_JSON_VECTORS names no JSONTestSuite file");
        return done_testing();
    }

    json = cc_json_create(unit_seed());

    if (!ok(json != NULL, "a reader is made")) {
        return done_testing();
    }

    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(file, "cases")) {

        wanted = item->string[0] == 'y' ? !is_listed(stricter, item->string)
                                        : is_listed(taken, item->string);

        text = unit_base64(item->valuestring);
        error = json_walk(json, text, NULL);
        unit_free(text);

        ok((error == NULL) == wanted, "%s is %s", item->string,
           wanted ? "taken" : "refused");
        cases++;
    }

    ok(cases > 100, "the file holds %u cases", cases);

    cc_json_destroy(json);
    cJSON_Delete(file);

    return done_testing();
}

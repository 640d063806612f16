/*
 * Fuzzing the JSON reader: whatever the text, json_walk.h checks what json.h
 * promises; and what is taken, cJSON reads as the same values, which it can
 * write so that our reader takes them again.
 */

#include "fuzz.h"
#include "json_walk.h"


/* without the fix of CVE-2023-26819 cJSON refuses longer numbers, if valid */
#define NUMBER_MAX  63


/* a name or string, decoded, is what cJSON has; which ends at a NUL */
static void
check_text(const cc_json_token_t *token, const char *text)
{
    cc_str_t        out;
    unsigned char  *buf = malloc(token->raw.len + 1);

    must(buf != NULL && text != NULL);
    must(cc_json_decode(token, &out, buf, token->raw.len) == 0);
    must(cc_str_is(out, text));
    free(buf);
}


static void
check_number(const cc_json_token_t *token, double number)
{
    char  *digits = malloc(token->raw.len + 1);

    must(digits != NULL);
    memcpy(digits, token->raw.data, token->raw.len);
    digits[token->raw.len] = '\0';
    must(strtod(digits, NULL) >= number && strtod(digits, NULL) <= number);
    free(digits);
}


/* the value that `token` began is this part of the tree, to its end */
static void
check_value(cc_json_t *json, const cc_json_token_t *token, const cJSON *item)
{
    cJSON            *child;
    cc_json_type_e    end;
    cc_json_token_t   t;

    switch (token->type) {

    case CC_JSON_OBJECT:
    case CC_JSON_ARRAY:
        must(token->type == CC_JSON_OBJECT ? cJSON_IsObject(item)
                                           : cJSON_IsArray(item));
        end = token->type == CC_JSON_OBJECT ? CC_JSON_OBJECT_END
                                            : CC_JSON_ARRAY_END;

        for (child = item->child; child; child = child->next) {
            must(cc_json_next(json, &t) != end);

            if (t.type == CC_JSON_NAME) {
                check_text(&t, child->string);
                must(cc_json_next(json, &t) != CC_JSON_ERROR);
            }

            check_value(json, &t, child);
        }

        must(cc_json_next(json, &t) == end);
        break;

    case CC_JSON_STRING:
        must(cJSON_IsString(item));
        check_text(token, item->valuestring);
        break;

    case CC_JSON_NUMBER:
        must(cJSON_IsNumber(item));
        check_number(token, item->valuedouble);
        break;

    default:
        must(token->type == CC_JSON_TRUE ? cJSON_IsTrue(item)
             : token->type == CC_JSON_FALSE ? cJSON_IsFalse(item)
             : token->type == CC_JSON_NULL && cJSON_IsNull(item));
    }
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char              *text;
    cJSON             *tree;
    cc_str_t           input = unit_str(data, size);
    json_walk_t        walk;
    cc_json_token_t    token;
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

    cc_json_open(json, input);
    must(cc_json_next(json, &token) != CC_JSON_ERROR);
    check_value(json, &token, tree);
    must(cc_json_next(json, &token) == CC_JSON_END);

    text = cJSON_PrintUnformatted(tree);
    must(text != NULL);
    must(json_walk(json, unit_cstr(text), NULL) == NULL);

    cJSON_free(text);
    cJSON_Delete(tree);

    return 0;
}

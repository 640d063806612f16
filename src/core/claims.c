/*
 * Claims: strict scan first, then cJSON's tree, then typed access.
 */

#include <math.h>

#include "claims.h"


#define CC_CLAIM_NUMBER_MAX  60     /* characters; of 64 on cJSON gives up */


static const char *cc_claims_scan(cc_json_t *json, cc_str_t text);


cJSON *
cc_claims_parse(cc_json_t *json, cc_str_t text, const char **reason)
{
    cJSON  *tree;

    *reason = cc_claims_scan(json, text);

    if (*reason != NULL) {
        return NULL;
    }

    tree = cJSON_ParseWithLength((const char *) text.data, text.len);

    if (tree == NULL) {
        *reason = cc_json_no_memory;
    }

    return tree;
}


static const char *
cc_claims_scan(cc_json_t *json, cc_str_t text)
{
    cc_json_type_e    type;
    cc_json_token_t   token;

    cc_json_open(json, text);

    type = cc_json_next(json, &token);

    if (type != CC_JSON_OBJECT && type != CC_JSON_ERROR) {
        return "it is JSON, but not an object";
    }

    while (type != CC_JSON_END) {

        if (type == CC_JSON_ERROR) {
            return cc_json_error(json);
        }

        if (type == CC_JSON_NUMBER && token.raw.len > CC_CLAIM_NUMBER_MAX) {
            return "a number in it is too long";
        }

        type = cc_json_next(json, &token);
    }

    return NULL;
}


const cJSON *
cc_claim_object(const cJSON *claims, const char *name)
{
    const cJSON  *item;

    item = cJSON_GetObjectItemCaseSensitive(claims, name);

    return cJSON_IsObject(item) ? item : NULL;
}


int
cc_claim_exists(const cJSON *claims, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(claims, name) != NULL;
}


int
cc_claim_string(const cJSON *claims, const char *name, cc_str_t *out)
{
    const char  *text;

    text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(claims, name));

    out->data = (const unsigned char *) (text ? text : "");
    out->len = text ? strlen(text) : 0;

    return text != NULL;
}


int
cc_claim_is(const cJSON *claims, const char *name, cc_str_t wanted)
{
    cc_str_t  text;

    return cc_claim_string(claims, name, &text)
           && text.len == wanted.len
           && memcmp(text.data, wanted.data, wanted.len) == 0;
}


int
cc_claim_whole(const cJSON *claims, const char *name, int64_t *out)
{
    double        value;
    const cJSON  *item;

    *out = 0;
    item = cJSON_GetObjectItemCaseSensitive(claims, name);

    if (!cJSON_IsNumber(item)) {
        return 0;
    }

    value = item->valuedouble;

    if (!(fabs(value) <= (double) CC_CLAIM_WHOLE_MAX)
        || (double) (int64_t) value != value)
    {
        return 0;
    }

    *out = (int64_t) value;

    return 1;
}


int
cc_claim_shaped(cc_str_t text, const char *others, size_t max)
{
    size_t         i;
    unsigned char  c;

    for (i = 0; i < text.len; i++) {
        c = text.data[i];

        if (!((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z')
              || (c >= 'a' && c <= 'z')
              || (c != '\0' && strchr(others, c) != NULL)))
        {
            return 0;
        }
    }

    return text.len >= 1 && text.len <= max;
}

/*
 * The strict one-pass reader of JSON text: the walk along the grammar.
 *
 * State is one frame per open object or array and what may come next.  What was
 * read is proven valid only at CC_JSON_END; until then the walk has merely not
 * met an error yet.
 */

#include <stdlib.h>

#include "json_internal.h"


typedef enum {
    CC_JSON_WANT_VALUE = 0,
    CC_JSON_WANT_VALUE_OR_END,      /* behind [ */
    CC_JSON_WANT_NAME,              /* behind , in an object */
    CC_JSON_WANT_NAME_OR_END,       /* behind { */
    CC_JSON_WANT_NEXT,              /* behind a value: , or the end */
    CC_JSON_WANT_NOTHING            /* behind the whole value */
} cc_json_want_e;

struct cc_json_s {
    const unsigned char  *start;
    const unsigned char  *p;
    const unsigned char  *end;
    const char           *error;
    cc_json_want_e        want;
    unsigned              depth;
    cc_json_frame_t       frames[CC_JSON_DEPTH];
    cc_json_names_t       names;
};


static cc_json_type_e cc_json_value(cc_json_t *json, cc_json_token_t *token);
static cc_json_type_e cc_json_name(cc_json_t *json, cc_json_token_t *token);
static cc_json_type_e cc_json_begin(cc_json_t *json, cc_json_type_e type);
static cc_json_type_e cc_json_close(cc_json_t *json);
static cc_json_type_e cc_json_literal(cc_json_t *json, const char *text,
    cc_json_type_e type);
static inline const unsigned char *cc_json_blanks_end(const unsigned char *p,
    const unsigned char *end);
static inline int cc_json_text(cc_json_t *json, cc_json_token_t *token);
static int cc_json_number(cc_json_t *json);
static int cc_json_fail(cc_json_t *json, const char *error);


cc_json_t *
cc_json_create(uint64_t seed)
{
    cc_json_t  *json;

    json = calloc(1, sizeof(cc_json_t));

    if (json != NULL) {
        json->names.seed = seed;
    }

    return json;
}


void
cc_json_destroy(cc_json_t *json)
{
    if (json != NULL) {
        cc_json_names_free(&json->names);
        free(json);
    }
}


void
cc_json_open(cc_json_t *json, cc_str_t text)
{
    json->start = text.data;
    json->p = text.data;
    json->end = text.len ? text.data + text.len : text.data;
    json->error = NULL;
    json->want = CC_JSON_WANT_VALUE;
    json->depth = 0;

    cc_json_names_reset(&json->names);
}


/* mostly there are none, which one comparison tells */
static inline const unsigned char *
cc_json_blanks_end(const unsigned char *p, const unsigned char *end)
{
    while (p < end && *p <= ' '
           && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
    {
        p++;
    }

    return p;
}


cc_json_type_e
cc_json_next(cc_json_t *json, cc_json_token_t *token)
{
    const unsigned char  *p, *end;

    token->type = CC_JSON_ERROR;

    if (json->error != NULL) {
        return CC_JSON_ERROR;
    }

    end = json->end;
    p = cc_json_blanks_end(json->p, end);

    if (json->want == CC_JSON_WANT_NEXT && p < end && *p == ',') {
        json->want = json->frames[json->depth - 1].object
                     ? CC_JSON_WANT_NAME : CC_JSON_WANT_VALUE;
        p = cc_json_blanks_end(p + 1, end);
    }

    json->p = p;
    token->raw.data = p;
    token->raw.len = 0;
    token->escaped = 0;

    if (json->want == CC_JSON_WANT_NOTHING) {

        if (p != end) {
            return cc_json_fail(json, "no JSON: something behind its end");
        }

        return token->type = CC_JSON_END;
    }

    if (p == end) {
        return cc_json_fail(json, "no JSON: it ends too early");
    }

    switch (json->want) {

    case CC_JSON_WANT_NEXT:
        token->type = cc_json_close(json);
        break;

    case CC_JSON_WANT_NAME_OR_END:
        token->type = (*p == '}') ? cc_json_close(json)
                                  : cc_json_name(json, token);
        break;

    case CC_JSON_WANT_NAME:
        token->type = cc_json_name(json, token);
        break;

    case CC_JSON_WANT_VALUE_OR_END:
        token->type = (*p == ']') ? cc_json_close(json)
                                  : cc_json_value(json, token);
        break;

    case CC_JSON_WANT_VALUE:
    case CC_JSON_WANT_NOTHING:
        token->type = cc_json_value(json, token);
        break;
    }

    return token->type;
}


static cc_json_type_e
cc_json_value(cc_json_t *json, cc_json_token_t *token)
{
    cc_json_type_e  type;

    switch (*json->p) {

    case '{':
        return cc_json_begin(json, CC_JSON_OBJECT);

    case '[':
        return cc_json_begin(json, CC_JSON_ARRAY);

    case '"':
        type = cc_json_text(json, token) ? CC_JSON_STRING : CC_JSON_ERROR;
        break;

    case 't':
        type = cc_json_literal(json, "true", CC_JSON_TRUE);
        break;

    case 'f':
        type = cc_json_literal(json, "false", CC_JSON_FALSE);
        break;

    case 'n':
        type = cc_json_literal(json, "null", CC_JSON_NULL);
        break;

    default:
        type = cc_json_number(json) ? CC_JSON_NUMBER : CC_JSON_ERROR;
    }

    if (type == CC_JSON_ERROR) {
        return CC_JSON_ERROR;
    }

    if (type != CC_JSON_STRING) {
        token->raw.len = (size_t) (json->p - token->raw.data);
    }

    json->want = json->depth ? CC_JSON_WANT_NEXT : CC_JSON_WANT_NOTHING;

    return type;
}


static cc_json_type_e
cc_json_name(cc_json_t *json, cc_json_token_t *token)
{
    const unsigned char  *p;

    if (*json->p != '"') {
        return cc_json_fail(json, "no JSON: a member has no name");
    }

    if (!cc_json_text(json, token)) {
        return CC_JSON_ERROR;
    }

    json->error = cc_json_names_add(&json->names,
                                    &json->frames[json->depth - 1], token);

    if (json->error != NULL) {
        return CC_JSON_ERROR;
    }

    p = cc_json_blanks_end(json->p, json->end);
    json->p = p;

    if (p == json->end || *p != ':') {
        return cc_json_fail(json, "no JSON: a name without a colon");
    }

    json->p++;
    json->want = CC_JSON_WANT_VALUE;

    return CC_JSON_NAME;
}


/* a string from its quote on; mostly there is nothing special in it */
static inline int
cc_json_text(cc_json_t *json, cc_json_token_t *token)
{
    const unsigned char  *p, *start;

    start = json->p + 1;
    p = cc_json_plain_end(start, json->end);

    if (p < json->end && *p == '"') {
        token->raw.data = start;
        token->raw.len = (size_t) (p - start);
        json->p = p + 1;
        return 1;
    }

    json->error = cc_json_string(&json->p, json->end, token);

    return json->error == NULL;
}


static cc_json_type_e
cc_json_begin(cc_json_t *json, cc_json_type_e type)
{
    cc_json_frame_t  *frame;

    if (json->depth == CC_JSON_DEPTH) {
        return cc_json_fail(json, "JSON refused: nested too deeply");
    }

    frame = &json->frames[json->depth++];
    frame->first = json->names.nstack;
    frame->marks = 0;
    frame->object = (type == CC_JSON_OBJECT) ? ++json->names.objects : 0;

    json->want = frame->object ? CC_JSON_WANT_NAME_OR_END
                               : CC_JSON_WANT_VALUE_OR_END;
    json->p++;

    return type;
}


static cc_json_type_e
cc_json_close(cc_json_t *json)
{
    cc_json_frame_t  *frame;

    frame = &json->frames[json->depth - 1];

    if (*json->p != (frame->object ? '}' : ']')) {
        return cc_json_fail(json, "no JSON: a comma or an end is missing");
    }

    json->p++;
    json->names.nstack = frame->first;
    json->want = --json->depth ? CC_JSON_WANT_NEXT : CC_JSON_WANT_NOTHING;

    return frame->object ? CC_JSON_OBJECT_END : CC_JSON_ARRAY_END;
}


static cc_json_type_e
cc_json_literal(cc_json_t *json, const char *text, cc_json_type_e type)
{
    size_t  len;

    len = strlen(text);

    if ((size_t) (json->end - json->p) < len
        || memcmp(json->p, text, len) != 0)
    {
        return cc_json_fail(json, "no JSON: an unknown word");
    }

    json->p += len;

    return type;
}


#define cc_json_digits(p, end)                                               \
    while ((p) < (end) && *(p) >= '0' && *(p) <= '9') {                      \
        (p)++;                                                               \
    }


static int
cc_json_number(cc_json_t *json)
{
    const unsigned char  *p, *end, *part;

    p = json->p;
    end = json->end;

    if (*p == '-') {
        p++;
    }

    part = p;

    if (p < end && *p == '0') {
        p++;

    } else {
        cc_json_digits(p, end);
    }

    if (p == part) {
        return cc_json_fail(json, "no JSON: a value is missing");
    }

    if (p < end && *p == '.') {
        part = ++p;
        cc_json_digits(p, end);

        if (p == part) {
            return cc_json_fail(json, "no JSON: a number without its digits");
        }
    }

    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;

        if (p < end && (*p == '+' || *p == '-')) {
            p++;
        }

        part = p;
        cc_json_digits(p, end);

        if (p == part) {
            return cc_json_fail(json, "no JSON: a number without its digits");
        }
    }

    json->p = p;

    return 1;
}


int
cc_json_skip(cc_json_t *json, const cc_json_token_t *token, cc_str_t *raw)
{
    cc_str_t  value;

    if (raw == NULL && token->type != CC_JSON_OBJECT
        && token->type != CC_JSON_ARRAY)
    {
        return 0;
    }

    value = token->raw;

    if (token->type == CC_JSON_STRING) {
        value.data--;
        value.len += 2;
    }

    if (token->type == CC_JSON_OBJECT || token->type == CC_JSON_ARRAY) {

        if (cc_json_leave(json, json->depth - 1) != 0) {
            return -1;
        }

        value.len = (size_t) (json->p - value.data);
    }

    if (raw != NULL) {
        *raw = value;
    }

    return 0;
}


unsigned
cc_json_depth(const cc_json_t *json)
{
    return json->depth;
}


int
cc_json_leave(cc_json_t *json, unsigned depth)
{
    cc_json_token_t  t;

    while (json->depth > depth) {
        if (cc_json_next(json, &t) == CC_JSON_ERROR) {
            return -1;
        }
    }

    return 0;
}


const char *
cc_json_error(const cc_json_t *json)
{
    return json->error;
}


size_t
cc_json_offset(const cc_json_t *json)
{
    return (size_t) (json->p - json->start);
}


/* CC_JSON_ERROR and "no" are both 0 */
static int
cc_json_fail(cc_json_t *json, const char *error)
{
    json->error = error;

    return 0;
}

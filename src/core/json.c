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


CC_NOINLINE static cc_json_type_e cc_json_new_member(cc_json_t *json,
    cc_json_token_t *name, cc_json_token_t *value);
static int cc_json_name(cc_json_t *json, cc_json_token_t *token);
static inline cc_json_type_e cc_json_value(cc_json_t *json,
    cc_json_token_t *token);
static inline cc_json_type_e cc_json_text(cc_json_t *json,
    cc_json_token_t *token, cc_json_type_e type);
CC_NOINLINE static cc_json_type_e cc_json_odd_text(cc_json_t *json,
    cc_json_token_t *token, cc_json_type_e type);
CC_NOINLINE static cc_json_type_e cc_json_begin(cc_json_t *json,
    cc_json_token_t *token, cc_json_type_e type);
static cc_json_type_e cc_json_close(cc_json_t *json);
CC_NOINLINE static cc_json_type_e cc_json_word(cc_json_t *json,
    cc_json_token_t *token, const char *word, size_t len,
    cc_json_type_e type);
CC_NOINLINE static cc_json_type_e cc_json_number(cc_json_t *json,
    cc_json_token_t *token);
static inline cc_json_type_e cc_json_scalar(cc_json_t *json,
    cc_json_token_t *token, const unsigned char *end, cc_json_type_e type);
static inline const unsigned char *cc_json_blanks_end(const unsigned char *p,
    const unsigned char *end);
static int cc_json_fail(cc_json_t *json, const char *error);


static const char  cc_json_too_early[] = "no JSON: it ends too early";


cc_json_t *
cc_json_create(uint64_t seed)
{
    cc_json_t  *json;

    json = calloc(1, sizeof(cc_json_t));

    if (json != NULL && cc_json_names_init(&json->names, seed) != 0) {
        free(json);
        return NULL;
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

    if (json->want == CC_JSON_WANT_NOTHING) {

        if (p != end) {
            return cc_json_fail(json, "no JSON: something behind its end");
        }

        return token->type = CC_JSON_END;
    }

    if (p == end) {
        return cc_json_fail(json, cc_json_too_early);
    }

    switch (json->want) {

    case CC_JSON_WANT_NEXT:
        token->type = cc_json_close(json);
        break;

    case CC_JSON_WANT_NAME_OR_END:
        if (*p == '}') {
            token->type = cc_json_close(json);
            break;
        }

        /* fall through */

    case CC_JSON_WANT_NAME:
        token->type = cc_json_name(json, token) ? CC_JSON_NAME : CC_JSON_ERROR;
        break;

    case CC_JSON_WANT_VALUE_OR_END:
        if (*p == ']') {
            token->type = cc_json_close(json);
            break;
        }

        /* fall through */

    case CC_JSON_WANT_VALUE:
    case CC_JSON_WANT_NOTHING:
        return cc_json_value(json, token);
    }

    return token->type;
}


cc_json_type_e
cc_json_member(cc_json_t *json, cc_json_token_t *name, cc_json_token_t *value)
{
    cc_json_name_t   *again;
    cc_json_frame_t  *frame;

    value->type = CC_JSON_ERROR;

    if (json->error != NULL) {
        return CC_JSON_ERROR;
    }

    frame = &json->frames[json->depth - 1];
    again = cc_json_names_again(&json->names, frame, json->p, json->end);

    if (again == NULL) {
        return cc_json_new_member(json, name, value);
    }

    name->type = CC_JSON_NAME;
    name->escaped = again->token.escaped;
    name->raw.data = json->p + (again->token.raw.data - again->lead.data);
    name->raw.len = again->token.raw.len;
    json->p += again->lead.len;

    return cc_json_value(json, value);
}


static cc_json_type_e
cc_json_new_member(cc_json_t *json, cc_json_token_t *name,
    cc_json_token_t *value)
{
    cc_json_type_e        type;
    const unsigned char  *lead;

    lead = json->p;
    type = cc_json_next(json, name);

    if (type != CC_JSON_NAME) {
        return value->type = type;
    }

    json->p = cc_json_blanks_end(json->p, json->end);

    if (json->p == json->end) {
        return cc_json_fail(json, cc_json_too_early);
    }

    cc_json_names_lead(&json->names, &json->frames[json->depth - 1], lead,
                       json->p);

    return cc_json_value(json, value);
}


/* a name with its colon */
static int
cc_json_name(cc_json_t *json, cc_json_token_t *token)
{
    const unsigned char  *p;

    if (*json->p != '"') {
        return cc_json_fail(json, "no JSON: a member has no name");
    }

    token->escaped = 0;

    if (cc_json_text(json, token, CC_JSON_NAME) != CC_JSON_NAME) {
        return 0;
    }

    json->error = cc_json_names_add(&json->names,
                                    &json->frames[json->depth - 1], token);

    if (json->error != NULL) {
        return 0;
    }

    p = cc_json_blanks_end(json->p, json->end);
    json->p = p;

    if (p == json->end || *p != ':') {
        return cc_json_fail(json, "no JSON: a name without a colon");
    }

    json->p++;
    json->want = CC_JSON_WANT_VALUE;

    return 1;
}


/* everything but a string is another function's, which is called last */
static inline cc_json_type_e
cc_json_value(cc_json_t *json, cc_json_token_t *token)
{
    token->escaped = 0;
    token->raw.data = json->p;
    token->raw.len = 0;

    switch (*json->p) {

    case '"':
        json->want = json->depth ? CC_JSON_WANT_NEXT : CC_JSON_WANT_NOTHING;
        return cc_json_text(json, token, CC_JSON_STRING);

    case '{':
        return cc_json_begin(json, token, CC_JSON_OBJECT);

    case '[':
        return cc_json_begin(json, token, CC_JSON_ARRAY);

    case 't':
        return cc_json_word(json, token, "true", 4, CC_JSON_TRUE);

    case 'f':
        return cc_json_word(json, token, "false", 5, CC_JSON_FALSE);

    case 'n':
        return cc_json_word(json, token, "null", 4, CC_JSON_NULL);
    }

    return cc_json_number(json, token);
}


/* a string from its quote on; mostly there is nothing special in it */
static inline cc_json_type_e
cc_json_text(cc_json_t *json, cc_json_token_t *token, cc_json_type_e type)
{
    const unsigned char  *p, *start;

    start = json->p + 1;
    p = cc_json_plain_end(start, json->end);

    if (p == json->end || *p != '"') {
        return cc_json_odd_text(json, token, type);
    }

    token->raw.data = start;
    token->raw.len = (size_t) (p - start);
    json->p = p + 1;

    return token->type = type;
}


static cc_json_type_e
cc_json_odd_text(cc_json_t *json, cc_json_token_t *token, cc_json_type_e type)
{
    json->error = cc_json_string(&json->p, json->end, token);

    return token->type = json->error ? CC_JSON_ERROR : type;
}


static cc_json_type_e
cc_json_begin(cc_json_t *json, cc_json_token_t *token, cc_json_type_e type)
{
    cc_json_frame_t  *frame;

    if (json->depth == CC_JSON_DEPTH) {
        return cc_json_fail(json, "JSON refused: nested too deeply");
    }

    frame = &json->frames[json->depth++];
    frame->first = json->names.nstack;
    frame->marks = 0;
    frame->object = 0;
    json->want = CC_JSON_WANT_VALUE_OR_END;
    json->p++;

    if (type == CC_JSON_OBJECT) {
        cc_json_names_object(&json->names, frame);
        json->want = CC_JSON_WANT_NAME_OR_END;
    }

    return token->type = type;
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
cc_json_word(cc_json_t *json, cc_json_token_t *token, const char *word,
    size_t len, cc_json_type_e type)
{
    if ((size_t) (json->end - json->p) < len
        || memcmp(json->p, word, len) != 0)
    {
        return cc_json_fail(json, "no JSON: an unknown word");
    }

    return cc_json_scalar(json, token, json->p + len, type);
}


static cc_json_type_e
cc_json_number(cc_json_t *json, cc_json_token_t *token)
{
    const unsigned char  *end;

    end = cc_json_number_end(json->p, json->end, &json->error);

    return end ? cc_json_scalar(json, token, end, CC_JSON_NUMBER)
               : CC_JSON_ERROR;
}


static inline cc_json_type_e
cc_json_scalar(cc_json_t *json, cc_json_token_t *token,
    const unsigned char *end, cc_json_type_e type)
{
    token->raw.len = (size_t) (end - json->p);
    json->p = end;
    json->want = json->depth ? CC_JSON_WANT_NEXT : CC_JSON_WANT_NOTHING;

    return token->type = type;
}


unsigned
cc_json_depth(const cc_json_t *json)
{
    return json->depth;
}


int
cc_json_leave(cc_json_t *json, unsigned depth)
{
    cc_json_type_e   type;
    cc_json_token_t  name, value;

    while (json->depth > depth) {

        /* a name whose value was not read yet leaves an object in its middle */

        type = json->frames[json->depth - 1].object
               && json->want != CC_JSON_WANT_VALUE
               ? cc_json_member(json, &name, &value)
               : cc_json_next(json, &value);

        if (type == CC_JSON_ERROR) {
            return -1;
        }
    }

    return 0;
}


int
cc_json_skip_nested(cc_json_t *json, const cc_json_token_t *token,
    cc_str_t *raw)
{
    if (cc_json_leave(json, json->depth - 1) != 0) {
        return -1;
    }

    if (raw != NULL) {
        raw->data = token->raw.data;
        raw->len = (size_t) (json->p - raw->data);
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


/* mostly there are none, which one comparison tells */
static inline const unsigned char *
cc_json_blanks_end(const unsigned char *p, const unsigned char *end)
{
    while (p < end && *p <= ' ') {

        if (*p != ' ' && *p != '\n' && *p != '\r' && *p != '\t') {
            break;
        }

        p++;
    }

    return p;
}


/* CC_JSON_ERROR and "no" are both 0 */
static int
cc_json_fail(cc_json_t *json, const char *error)
{
    json->error = error;

    return 0;
}

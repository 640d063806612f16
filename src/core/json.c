/*
 * The strict one-pass reader of JSON text: the walk along the grammar.
 *
 * State is one frame per open object or array and what may come next.  What was
 * read is proven valid only at CC_JSON_END; until then the walk has merely not
 * met an error yet.
 */

#include <stdlib.h>

#include "json_reader.h"


static int cc_json_name(cc_json_t *json, cc_json_token_t *token);
CC_NOINLINE static cc_json_type_e cc_json_word(cc_json_t *json,
    cc_json_token_t *token, const char *word, size_t len,
    cc_json_type_e type);


const char  cc_json_too_early[] = "no JSON: it ends too early";


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
    json->frame = json->frames;

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
        json->want = json->frame->object
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


/* a name with its colon */
static int
cc_json_name(cc_json_t *json, cc_json_token_t *token)
{
    const unsigned char  *p;

    if (*json->p != '"') {
        return cc_json_fail(json, "no JSON: a member has no name");
    }

    if (cc_json_scalar(json, token) == CC_JSON_ERROR) {
        return 0;
    }

    token->type = CC_JSON_NAME;
    token->which = 0;

    json->error = cc_json_names_add(&json->names, json->frame, token);

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


cc_json_type_e
cc_json_scalar(cc_json_t *json, cc_json_token_t *token)
{
    const unsigned char  *end;

    end = cc_json_plain(token, json->p, json->end);

    if (end != NULL) {
        json->p = end;
        json->want = cc_json_behind_value(json);
        return token->type;
    }

    switch (*json->p) {

    case '"':
        json->want = cc_json_behind_value(json);
        json->error = cc_json_string(&json->p, json->end, token);
        return token->type = json->error ? CC_JSON_ERROR : CC_JSON_STRING;

    case 't':
        return cc_json_word(json, token, "true", 4, CC_JSON_TRUE);

    case 'f':
        return cc_json_word(json, token, "false", 5, CC_JSON_FALSE);

    case 'n':
        return cc_json_word(json, token, "null", 4, CC_JSON_NULL);
    }

    return cc_json_fail(json, cc_json_number_error(json->p, json->end));
}


cc_json_type_e
cc_json_begin(cc_json_t *json, cc_json_token_t *token)
{
    cc_json_frame_t  *frame;

    if (cc_json_depth(json) == CC_JSON_DEPTH) {
        return cc_json_fail(json, "JSON refused: nested too deeply");
    }

    frame = ++json->frame;
    frame->first = cc_json_names_within(frame - 1);
    frame->next = frame->first;
    frame->marks = 0;

    token->escaped = 0;
    token->raw.data = json->p;
    token->raw.len = 0;

    if (*json->p++ == '[') {
        frame->object = 0;
        json->want = CC_JSON_WANT_VALUE_OR_END;
        return token->type = CC_JSON_ARRAY;
    }

    cc_json_names_object(&json->names, frame);
    json->want = CC_JSON_WANT_NAME_OR_END;

    return token->type = CC_JSON_OBJECT;
}


cc_json_type_e
cc_json_close(cc_json_t *json)
{
    cc_json_frame_t  *frame;

    frame = json->frame;

    if (*json->p != (frame->object ? '}' : ']')) {
        return cc_json_fail(json, "no JSON: a comma or an end is missing");
    }

    json->p++;
    json->frame--;
    json->want = cc_json_behind_value(json);

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

    token->raw.len = len;
    json->p += len;
    json->want = cc_json_behind_value(json);

    return token->type = type;
}


unsigned
cc_json_depth(const cc_json_t *json)
{
    return (unsigned) (json->frame - json->frames);
}


int
cc_json_leave(cc_json_t *json, unsigned depth)
{
    cc_json_type_e   type;
    cc_json_token_t  name, value;

    while (cc_json_depth(json) > depth) {

        /* a name whose value was not read yet leaves an object in its middle */

        type = json->frame->object && json->want != CC_JSON_WANT_VALUE
               ? cc_json_member(json, NULL, &name, &value)
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
    if (cc_json_leave(json, cc_json_depth(json) - 1) != 0) {
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


/* CC_JSON_ERROR and "no" are both 0 */
int
cc_json_fail(cc_json_t *json, const char *error)
{
    json->error = error;

    return 0;
}

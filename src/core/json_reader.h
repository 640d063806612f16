/*
 * The reader's state, and what json.c, which reads token by token, and
 * json_member.c, which reads member by member, share.
 */

#ifndef CC_JSON_READER_H
#define CC_JSON_READER_H

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
    cc_json_frame_t      *frame;
    cc_json_frame_t       frames[CC_JSON_DEPTH + 1];   /* first: the text's */
    cc_json_names_t       names;
};


extern const char  cc_json_too_early[];


/* json.c: what begins at json->p, which is no blank; its end is not yet seen */
cc_json_type_e cc_json_scalar(cc_json_t *json, cc_json_token_t *token);
cc_json_type_e cc_json_begin(cc_json_t *json, cc_json_token_t *token);
cc_json_type_e cc_json_close(cc_json_t *json);

/* json.c: ends the reading with this error; returns CC_JSON_ERROR */
int cc_json_fail(cc_json_t *json, const char *error);


static inline cc_json_type_e
cc_json_value(cc_json_t *json, cc_json_token_t *token)
{
    return (*json->p | 0x20) == '{' ? cc_json_begin(json, token)
                                    : cc_json_scalar(json, token);
}


/*
 * A number, or a string without anything special in it: sets the token and
 * returns where it ends.  Returns NULL for whatever else, and where something
 * is wrong: the token then has no type, and begins at p.
 */
static inline const unsigned char *
cc_json_plain(cc_json_token_t *token, const unsigned char *p,
    const unsigned char *end)
{
    const unsigned char  *start = p;

    token->type = CC_JSON_ERROR;
    token->escaped = 0;
    token->raw.data = p;
    token->raw.len = 0;

    if (*p == '"') {
        p = cc_json_plain_end(p + 1, end);

        if (p == end || *p != '"') {
            return NULL;
        }

        token->type = CC_JSON_STRING;
        token->raw.data = start + 1;
        token->raw.len = (size_t) (p - start) - 1;

        return p + 1;
    }

    if (*p > '9') {
        return NULL;
    }

    p = cc_json_number_end(p, end);

    if (p != NULL) {
        token->type = CC_JSON_NUMBER;
        token->raw.len = (size_t) (p - start);
    }

    return p;
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


static inline cc_json_want_e
cc_json_behind_value(const cc_json_t *json)
{
    return json->frame > json->frames ? CC_JSON_WANT_NEXT
                                      : CC_JSON_WANT_NOTHING;
}


#endif /* CC_JSON_READER_H */

/*
 * The one reader of JSON text: strict, one pass, no tree.
 *
 * Every JSON text that comes from outside passes here first.  It takes RFC 8259
 * and nothing else, and refuses what parsers are known to read in two ways: a
 * byte order mark, bad UTF-8, NUL and \u0000, lone surrogates, a name twice in
 * one object, more than CC_JSON_DEPTH levels, anything but white space behind
 * the value.  Its cost is linear in the length; a wide object needs a table,
 * which the reader keeps and uses again, so that nothing is allocated per node.
 *
 * It is a pull reader: the caller asks for the next token and thereby walks
 * the text the way its own grammar goes.  A shape check written as such a walk
 * costs one pass in all.  A text is proven valid only at CC_JSON_END.
 */

#ifndef CC_JSON_H
#define CC_JSON_H

#include "core.h"


#define CC_JSON_DEPTH  64

typedef enum {
    CC_JSON_ERROR = 0,          /* for good; reader->error says why */
    CC_JSON_END,                /* the text was valid and is finished */
    CC_JSON_OBJECT,             /* { */
    CC_JSON_OBJECT_END,         /* } */
    CC_JSON_ARRAY,              /* [ */
    CC_JSON_ARRAY_END,          /* ] */
    CC_JSON_NAME,               /* a member's name; its value comes next */
    CC_JSON_STRING,
    CC_JSON_NUMBER,
    CC_JSON_TRUE,
    CC_JSON_FALSE,
    CC_JSON_NULL
} cc_json_type_e;


typedef struct {
    cc_json_type_e  type;
    unsigned        escaped;    /* a name or string with a backslash in it */
    unsigned        which;      /* of the names wanted; see cc_json_member() */
    cc_str_t        raw;        /* as written; strings without quotes */
} cc_json_token_t;


typedef struct cc_json_s  cc_json_t;


/*
 * A reader, to be used for any number of texts one after the other.  The seed,
 * best a random one, keeps a sender from choosing names that collide in the
 * table.  NULL without memory.
 */
cc_json_t *cc_json_create(uint64_t seed);
void cc_json_destroy(cc_json_t *json);

/* begins a text, which must outlive the reading */
void cc_json_open(cc_json_t *json, cc_str_t text);

/*
 * The next token.  After CC_JSON_ERROR and CC_JSON_END the same again.
 * token->raw points into the text.
 */
CC_MUST_USE cc_json_type_e cc_json_next(cc_json_t *json,
    cc_json_token_t *token);

/*
 * Inside an object, in front of a member or of the end: reads a name and what
 * its value begins with, and returns the value's type; CC_JSON_OBJECT_END: no
 * member is left, and *name is not set.
 *
 * wanted  names, behind the last a cc_str_t without data: members that have
 *         another are read and passed over, which is cheaper than to be told
 *         of them; name->which is where in the list the name is.  NULL: every
 *         member is told.  The list must outlive the reading of the text.
 */
CC_MUST_USE cc_json_type_e cc_json_member(cc_json_t *json,
    const cc_str_t *wanted, cc_json_token_t *name, cc_json_token_t *value);

/* cc_json_skip() of an object or array */
CC_MUST_USE int cc_json_skip_nested(cc_json_t *json,
    const cc_json_token_t *token, cc_str_t *raw);

/*
 * Reads to the end of the value that `token` began; a scalar is at its end
 * already.  *raw, if not NULL, becomes the whole value as it was written.
 * Returns -1 on an error in the text.
 */
CC_MUST_USE static inline int
cc_json_skip(cc_json_t *json, const cc_json_token_t *token, cc_str_t *raw)
{
    if (token->type == CC_JSON_OBJECT || token->type == CC_JSON_ARRAY) {
        return cc_json_skip_nested(json, token, raw);
    }

    if (raw != NULL) {
        *raw = token->raw;

        if (token->type == CC_JSON_STRING) {
            raw->data--;
            raw->len += 2;
        }
    }

    return 0;
}

/* how many objects and arrays are open */
unsigned cc_json_depth(const cc_json_t *json);

/*
 * Reads on until no more than `depth` objects and arrays are open: out of what
 * is not wanted any more.  Returns -1 on an error in the text.
 */
CC_MUST_USE int cc_json_leave(cc_json_t *json, unsigned depth);

/* the cc_json_error() that says nothing about the text */
extern const char  cc_json_no_memory[];

/*
 * Why the text was refused: a constant, "no JSON: …" where it breaks RFC 8259,
 * "JSON refused: …" where it breaks our stricter rule; and at which byte.
 */
const char *cc_json_error(const cc_json_t *json);
size_t cc_json_offset(const cc_json_t *json);

/*
 * A name or string with its escapes undone.  Without escapes *out points into
 * the text and buf is not touched.  Returns -1 if it does not fit size bytes.
 */
CC_MUST_USE int cc_json_decode(const cc_json_token_t *token, cc_str_t *out,
    unsigned char *buf, size_t size);

/* cc_json_is() of a token with a backslash in it */
int cc_json_spells(const cc_json_token_t *token, const char *text);

/* 1 if a name or string token spells this NUL-terminated ASCII text */
static inline int
cc_json_is(const cc_json_token_t *token, const char *text)
{
    return token->escaped ? cc_json_spells(token, text)
                          : cc_str_is(token->raw, text);
}


#endif /* CC_JSON_H */

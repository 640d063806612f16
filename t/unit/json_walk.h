/*
 * A whole text through the JSON reader, with everything json.h promises about
 * any text checked on the way: for the unit tests and for the fuzzer.
 *
 * The text is walked twice, token by token and with cc_json_skip() over the
 * value as a whole, which reads members with cc_json_member(); both must come
 * to one verdict, with the same words at the same byte.  A broken promise
 * aborts.
 */

#ifndef CC_JSON_WALK_H
#define CC_JSON_WALK_H

#include "json.h"
#include "unit.h"


#define must(condition)                                                       \
    do {                                                                      \
        if (!(condition)) {                                                   \
            (void) printf("Bail out! line %d: %s\n", __LINE__, #condition);   \
            (void) fflush(stdout);                                            \
            abort();                                                          \
        }                                                                     \
    } while (0)


/* what json_walk() found besides the verdict */
typedef struct {
    unsigned  tokens;
    unsigned  depth;                    /* the deepest level that was open */
    size_t    longest_number;
    size_t    used;
    char      dump[2048];               /* "{ a: 1 }", cut when it is full */
} json_walk_t;


static void TAP_UNUSED
json_dump(json_walk_t *walk, const char *before, cc_str_t s, const char *after)
{
    int     n;
    size_t  left = sizeof(walk->dump) - walk->used;

    n = snprintf(walk->dump + walk->used, left, "%s%s%.*s%s",
                 walk->used ? " " : "", before, (int) s.len,
                 (const char *) s.data, after);

    walk->used = (size_t) n < left ? walk->used + (size_t) n
                                   : sizeof(walk->dump) - 1;
}


static void TAP_UNUSED
json_dump_token(json_walk_t *walk, const cc_json_token_t *token)
{
    switch (token->type) {

    case CC_JSON_OBJECT:
        json_dump(walk, "{", unit_cstr(""), "");
        break;

    case CC_JSON_OBJECT_END:
        json_dump(walk, "}", unit_cstr(""), "");
        break;

    case CC_JSON_ARRAY:
        json_dump(walk, "[", unit_cstr(""), "");
        break;

    case CC_JSON_ARRAY_END:
        json_dump(walk, "]", unit_cstr(""), "");
        break;

    case CC_JSON_NAME:
        json_dump(walk, "", token->raw, ":");
        break;

    case CC_JSON_STRING:
        json_dump(walk, "\"", token->raw, "\"");
        break;

    case CC_JSON_NUMBER:
    case CC_JSON_TRUE:
    case CC_JSON_FALSE:
    case CC_JSON_NULL:
        json_dump(walk, "", token->raw, "");
        break;

    case CC_JSON_ERROR:
    case CC_JSON_END:
        break;
    }
}


/* what must hold of any token but the last */
static void TAP_UNUSED
json_check_token(const cc_json_token_t *token, cc_str_t text)
{
    int  is_text = token->type == CC_JSON_NAME || token->type == CC_JSON_STRING;

    if (is_text || token->type == CC_JSON_NUMBER
        || token->type == CC_JSON_TRUE || token->type == CC_JSON_FALSE
        || token->type == CC_JSON_NULL)
    {
        must(token->raw.data >= text.data);
        must(token->raw.data + token->raw.len <= text.data + text.len);
    }

    if (is_text) {
        must(token->raw.data > text.data && token->raw.data[-1] == '"');
        must(token->raw.data[token->raw.len] == '"');
        must(!token->escaped
             == (memchr(token->raw.data, '\\', token->raw.len) == NULL));
    }
}


/* the text as one value that is skipped; 1 if it is valid */
static int TAP_UNUSED
json_skip_all(cc_json_t *reader, cc_str_t text)
{
    size_t           before, behind;
    cc_str_t         raw;
    cc_json_token_t  token;

    cc_json_open(reader, text);

    if (cc_json_next(reader, &token) == CC_JSON_ERROR) {
        return 0;
    }

    if (cc_json_skip(reader, &token, &raw) != 0) {
        must(cc_json_next(reader, &token) == CC_JSON_ERROR);
        must(cc_json_error(reader) != NULL);
        return 0;
    }

    if (cc_json_next(reader, &token) != CC_JSON_END) {
        return 0;
    }

    /* the value is all of the text but the white space around it */

    before = (size_t) (raw.data - text.data);
    behind = text.len - before - raw.len;

    must(before + raw.len <= text.len && raw.len > 0);
    must(behind == 0 || strchr(" \t\r\n", raw.data[raw.len]) != NULL);
    must(before == 0 || strchr(" \t\r\n", raw.data[-1]) != NULL);
    must(strchr(" \t\r\n", raw.data[0]) == NULL);
    must(strchr(" \t\r\n", raw.data[raw.len - 1]) == NULL);

    return 1;
}


/* NULL if the text is valid, else the reader's sentence; walk may be NULL */
static TAP_UNUSED const char *
json_walk(cc_json_t *reader, cc_str_t text, json_walk_t *walk)
{
    int              i, valid;
    size_t           offset;
    unsigned         depth = 0;
    const char      *error, *skipping;
    json_walk_t      unused;
    cc_json_type_e   type;
    cc_json_token_t  token;

    valid = json_skip_all(reader, text);
    skipping = cc_json_error(reader);
    offset = cc_json_offset(reader);

    walk = walk ? walk : &unused;
    memset(walk, 0, sizeof(*walk));
    cc_json_open(reader, text);

    for ( ;; ) {
        type = cc_json_next(reader, &token);
        must(type == token.type);

        if (type == CC_JSON_ERROR || type == CC_JSON_END) {
            break;
        }

        json_check_token(&token, text);
        json_dump_token(walk, &token);
        walk->tokens++;

        depth += type == CC_JSON_OBJECT || type == CC_JSON_ARRAY;
        depth -= type == CC_JSON_OBJECT_END || type == CC_JSON_ARRAY_END;
        must(depth <= CC_JSON_DEPTH);
        walk->depth = depth > walk->depth ? depth : walk->depth;

        if (type == CC_JSON_NUMBER && token.raw.len > walk->longest_number) {
            walk->longest_number = token.raw.len;
        }
    }

    error = cc_json_error(reader);
    must(valid == (type == CC_JSON_END));
    must(skipping == error && offset == cc_json_offset(reader));
    must(type == CC_JSON_END ? error == NULL && depth == 0 : error != NULL);
    must(cc_json_offset(reader) <= text.len);
    must(type == CC_JSON_ERROR || cc_json_offset(reader) == text.len);

    /* both ends are for good */

    for (i = 0; i < 3; i++) {
        must(cc_json_next(reader, &token) == type && token.type == type);
        must(cc_json_error(reader) == error);
    }

    return error;
}


/* as json_walk(), on a copy that has not a byte behind it */
static TAP_UNUSED const char *
json_walk_exact(cc_json_t *reader, cc_str_t text, json_walk_t *walk)
{
    cc_str_t     exact = unit_exact(text);
    const char  *error;

    error = json_walk(reader, exact, walk);
    unit_free(exact);

    return error;
}


#endif /* CC_JSON_WALK_H */

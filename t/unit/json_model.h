/*
 * A second reader of JSON, to hold the first one against: written from RFC 8259
 * and the stricter rules of json.h, of nothing but recursion and comparing
 * every name with all others of its object.  It lists the tokens of a text in
 * which every byte is ASCII and no escape a surrogate; the last one is
 * CC_JSON_END or CC_JSON_ERROR.
 */

#ifndef CC_JSON_MODEL_H
#define CC_JSON_MODEL_H

#include "json.h"
#include "unit.h"


#define MODEL_TOKENS  8192
#define MODEL_NAMES   80            /* of one object */
#define MODEL_NAME    32            /* characters of a name, decoded */

typedef struct {
    size_t          len;
    int             text[MODEL_NAME];
} model_name_t;

typedef struct {
    cc_json_type_e  type;
    size_t          at;             /* of strings, behind the quote */
    size_t          len;
    size_t          last;           /* of { and [: the token that closes it */
} model_token_t;

typedef struct {
    cc_str_t        text;
    size_t          at;
    size_t          n;
    model_token_t   tokens[MODEL_TOKENS];
} model_t;


static int model_value(model_t *m, unsigned depth);


static TAP_UNUSED int
model_peek(const model_t *m)
{
    return m->at < m->text.len ? m->text.data[m->at] : -1;
}


static TAP_UNUSED void
model_blanks(model_t *m)
{
    while (model_peek(m) > 0 && strchr(" \t\r\n", model_peek(m))) {
        m->at++;
    }
}


/* 1 if this byte comes next, which is then read */
static TAP_UNUSED int
model_take(model_t *m, int c)
{
    return model_peek(m) == c ? (int) ++m->at : 0;
}


static TAP_UNUSED size_t
model_emit(model_t *m, cc_json_type_e type, size_t at, size_t len)
{
    model_token_t  *token = &m->tokens[m->n];

    if (m->n == MODEL_TOKENS - 1) {
        abort();
    }

    token->type = type;
    token->at = at;
    token->len = len;
    token->last = m->n;

    return m->n++;
}


/* \uXXXX or a short one; what it spells, or -1 */
static TAP_UNUSED int
model_escape(model_t *m)
{
    int          i, c = 0, digit;
    const char  *short_one;

    static const char  from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    static const char  hex[] = "0123456789abcdef0123456789ABCDEF";

    if (!model_take(m, 'u')) {
        short_one = model_peek(m) > 0 ? strchr(from, model_peek(m)) : NULL;
        m->at++;
        return short_one ? to[short_one - from] : -1;
    }

    for (i = 0; i < 4; i++) {
        short_one = model_peek(m) > 0 ? strchr(hex, model_peek(m)) : NULL;

        if (short_one == NULL) {
            return -1;
        }

        digit = (int) (short_one - hex) % 16;
        c = c * 16 + digit;
        m->at++;
    }

    return c != 0 && (c < 0xd800 || c > 0xdfff) ? c : -1;
}


/* from behind its quote; what does not fit a name is cut */
static TAP_UNUSED int
model_string(model_t *m, model_name_t *name)
{
    int  c;

    name->len = 0;

    while (model_peek(m) != '"') {
        c = model_peek(m);

        if (c < ' ' || c > 0x7f) {
            return 0;
        }

        m->at++;

        if (c == '\\' && (c = model_escape(m)) == -1) {
            return 0;
        }

        if (name->len < MODEL_NAME) {
            name->text[name->len++] = c;
        }
    }

    m->at++;

    return 1;
}


static TAP_UNUSED int
model_digits(model_t *m)
{
    size_t  begin = m->at;

    while (model_peek(m) >= '0' && model_peek(m) <= '9') {
        m->at++;
    }

    return m->at > begin;
}


static TAP_UNUSED int
model_number(model_t *m)
{
    (void) model_take(m, '-');

    if (!model_take(m, '0') && !model_digits(m)) {
        return 0;
    }

    if (model_take(m, '.') && !model_digits(m)) {
        return 0;
    }

    if (model_take(m, 'e') || model_take(m, 'E')) {
        (void) (model_take(m, '+') || model_take(m, '-'));
        return model_digits(m);
    }

    return 1;
}


/* one member and its name, which none of the n before it may have */
static TAP_UNUSED int
model_member(model_t *m, model_name_t *names, size_t n, unsigned depth)
{
    size_t  i, at, end;

    if (n == MODEL_NAMES) {
        abort();
    }

    at = m->at + 1;

    if (!model_take(m, '"') || !model_string(m, &names[n])) {
        return 0;
    }

    end = m->at - 1;

    for (i = 0; i < n; i++) {
        if (names[i].len == names[n].len
            && memcmp(names[i].text, names[n].text,
                      names[n].len * sizeof(int)) == 0)
        {
            return 0;
        }
    }

    model_blanks(m);

    if (!model_take(m, ':')) {
        return 0;
    }

    (void) model_emit(m, CC_JSON_NAME, at, end - at);

    return model_value(m, depth);
}


static TAP_UNUSED int
model_list(model_t *m, unsigned depth, int object)
{
    size_t        n, open;
    model_name_t  names[MODEL_NAMES];

    if (depth == CC_JSON_DEPTH) {
        return 0;
    }

    open = model_emit(m, object ? CC_JSON_OBJECT : CC_JSON_ARRAY, m->at - 1, 0);
    model_blanks(m);

    for (n = 0; !model_take(m, object ? '}' : ']'); n++) {

        if (n > 0 && !model_take(m, ',')) {
            return 0;
        }

        model_blanks(m);

        if (!(object ? model_member(m, names, n, depth + 1)
                     : model_value(m, depth + 1)))
        {
            return 0;
        }

        model_blanks(m);
    }

    m->tokens[open].last = model_emit(m, object ? CC_JSON_OBJECT_END
                                                : CC_JSON_ARRAY_END, m->at, 0);

    return 1;
}


static TAP_UNUSED int
model_word(model_t *m, const char *word, cc_json_type_e type)
{
    size_t  at = m->at;

    for ( /* void */ ; *word; word++) {
        if (!model_take(m, *word)) {
            return 0;
        }
    }

    (void) model_emit(m, type, at, m->at - at);

    return 1;
}


static int
model_value(model_t *m, unsigned depth)
{
    size_t        at;
    model_name_t  unused;

    model_blanks(m);
    at = m->at;

    switch (model_peek(m)) {

    case '{':
    case '[':
        m->at++;
        return model_list(m, depth, m->text.data[at] == '{');

    case '"':
        m->at++;

        if (!model_string(m, &unused)) {
            return 0;
        }

        (void) model_emit(m, CC_JSON_STRING, at + 1, m->at - at - 2);
        return 1;

    case 't':
        return model_word(m, "true", CC_JSON_TRUE);

    case 'f':
        return model_word(m, "false", CC_JSON_FALSE);

    case 'n':
        return model_word(m, "null", CC_JSON_NULL);
    }

    if (!model_number(m)) {
        return 0;
    }

    (void) model_emit(m, CC_JSON_NUMBER, at, m->at - at);

    return 1;
}


/* returns 1 if the text is valid */
static TAP_UNUSED int
model_read(model_t *m, cc_str_t text)
{
    int  valid;

    m->text = text;
    m->at = 0;
    m->n = 0;

    valid = model_value(m, 0);
    model_blanks(m);
    valid = valid && m->at == text.len;

    (void) model_emit(m, valid ? CC_JSON_END : CC_JSON_ERROR, m->at, 0);

    return valid;
}


#endif /* CC_JSON_MODEL_H */

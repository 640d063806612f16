/*
 * Lists of objects that are like their brothers, or nearly, read in every way
 * that json.h has at once: does the reader that knows an object by its brother
 * (json_internal.h) tell the same tokens and the same verdict as a plain one?
 *
 * The texts are made at random, of a few templates each, so that brothers are
 * found at every depth and behind every kind of value; then bytes of them are
 * changed.  The plain reader is json_model.h.  Ours goes through them by
 * cc_json_next(), cc_json_member(), of all names or of some, cc_json_skip() and
 * cc_json_leave(), thrown together anew for each text, and is used for many,
 * while every text is freed behind it: what it still has of an older one, the
 * sanitizer knows.  Some lists lie in objects of so many names that the
 * reader's memory grows among brothers.
 */

#include "json_model.h"


#define ROUNDS     60000
#define TEXT_MAX   8192
#define READER     200             /* … of them by one reader */
#define TEMPLATES  3
#define WIDEST     24

typedef struct {
    unsigned    n;
    unsigned    name[WIDEST];
    unsigned    spelling[WIDEST];
    unsigned    blanks[WIDEST];
} template_t;

typedef struct {
    char        text[TEXT_MAX];
    size_t      len;
    uint64_t   *seed;
    template_t  templates[TEMPLATES];
} made_t;

/* where our reader is, in the list of the plain one */
typedef struct {
    cc_json_t       *json;
    const model_t   *model;
    size_t           next;          /* the token that must come */
    unsigned         members;       /* names that were read by twos */
    size_t           open[CC_JSON_DEPTH + 1];
    const cc_str_t  *wanted;        /* what members are read by; or NULL */
    const char      *wrong;
} walk_t;


static model_t  model;


static unsigned
below(made_t *made, unsigned n)
{
    return (unsigned) unit_below(made->seed, n);
}


static void
put(made_t *made, const char *text)
{
    size_t  n = strlen(text);

    if (made->len + n < TEXT_MAX) {
        memcpy(made->text + made->len, text, n);
        made->len += n;
    }
}


static void
make_templates(made_t *made)
{
    unsigned     i, t;
    template_t  *template;

    for (t = 0; t < TEMPLATES; t++) {
        template = &made->templates[t];
        template->n = below(made, 4) ? below(made, 6) : 14 + below(made, 10);

        for (i = 0; i < template->n; i++) {
            template->name[i] = i + t;
            template->spelling[i] = below(made, 12) == 0;
            template->blanks[i] = below(made, 6) ? 0 : below(made, 8);
        }
    }
}


/* in front of a name, behind it and in front of the value */
static void
put_blanks(made_t *made, unsigned blanks, unsigned bit)
{
    if (blanks & 1u << bit) {
        put(made, bit == 1 ? "\t " : " ");
    }
}


/* from an empty one to a long one: leads of every length are compared */
static void
put_name(made_t *made, unsigned name, unsigned spelling)
{
    char  text[32];

    static const char *const  tails[] = { "", "-", "-tail", "-twelve-more" };

    if (name == 5 && !spelling) {
        put(made, "\"\"");
        return;
    }

    (void) snprintf(text, sizeof(text), spelling ? "\"\\u%04x%s\"" : "\"%c%s\"",
                    'a' + name, tails[name % 4]);
    put(made, text);
}


static void put_object(made_t *made, unsigned depth);


static void
put_value(made_t *made, unsigned depth)
{
    unsigned  n;

    static const char *const  scalars[] = {
        "1", "-0.5e3", "\"\"", "\"text\"", "\"a\\u0062\\n\"", "true", "null",
        "[]", "{}", "[{}, {}]"
    };

    if (depth == 0 || below(made, 5) != 0) {
        put(made, scalars[below(made, 10)]);
        return;
    }

    if (below(made, 2)) {
        put_object(made, depth - 1);
        return;
    }

    put(made, "[");

    for (n = below(made, 4); n; n--) {
        put_value(made, depth - 1);
        put(made, n > 1 ? "," : "");
    }

    put(made, "]");
}


static void
put_object(made_t *made, unsigned depth)
{
    unsigned           i, odd, more = 0;
    const template_t  *template = &made->templates[below(made, TEMPLATES)];

    put(made, below(made, 100) ? "{" : "{,");

    for (i = 0; i < template->n; i++) {
        odd = below(made, 200);

        if (odd == 0) {
            continue;
        }

        put(made, more++ ? "," : "");
        put_blanks(made, template->blanks[i], 0);
        put_name(made, odd == 1 ? below(made, WIDEST) : template->name[i],
                 template->spelling[i] ^ (odd == 2));
        put_blanks(made, template->blanks[i], 1);
        put(made, odd == 3 ? " :" : ":");
        put_blanks(made, template->blanks[i], 2);

        if (odd != 4) {
            put_value(made, depth);
        }
    }

    put(made, "}");
}


static void
put_outer(made_t *made)
{
    char      text[32];
    unsigned  i;

    put(made, "{");

    for (i = 56 + below(made, 9); i; i--) {
        (void) snprintf(text, sizeof(text), "\"o%u\":0,", i);
        put(made, text);
    }

    put(made, "\"in\":");
}


static void
make_text(made_t *made)
{
    size_t    at;
    unsigned  n, outer, levels;

    static const char  bytes[] = "{}[],:\"\\ 0-eab";

    made->len = 0;
    make_templates(made);
    levels = below(made, 12) ? 0 : 4;

    for (outer = 0; outer < levels; outer++) {
        put_outer(made);
    }

    put(made, "[");

    for (n = 2 + below(made, 5); n; n--) {
        put_object(made, 3);
        put(made, n > 1 ? "," : "]");
    }

    for (outer = 0; outer < levels; outer++) {
        put(made, "}");
    }

    for (n = below(made, 4) ? 0 : 1 + below(made, 2); n; n--) {
        at = below(made, (unsigned) made->len);

        if (below(made, 2)) {
            made->text[at] = bytes[below(made, sizeof(bytes) - 1)];

        } else {
            made->len--;
            memmove(made->text + at, made->text + at + 1, made->len - at);
        }
    }
}


/* is it the token that must come? */
static void
is_next(walk_t *walk, const cc_json_token_t *token)
{
    size_t                at;
    unsigned              depth = cc_json_depth(walk->json);
    const model_token_t  *wanted = &walk->model->tokens[walk->next];

    if (token->type != wanted->type) {
        walk->wrong = "a token is of another type";
        return;
    }

    if (token->type == CC_JSON_OBJECT || token->type == CC_JSON_ARRAY) {
        walk->open[depth] = walk->next;
    }

    if (token->type != CC_JSON_ERROR && token->type != CC_JSON_END) {
        walk->next++;
    }

    if (token->type >= CC_JSON_NAME) {
        at = (size_t) (token->raw.data - walk->model->text.data);

        if (at != wanted->at || token->raw.len != wanted->len) {
            walk->wrong = "a token is another part of the text";
        }
    }
}


static const cc_str_t *
any_list(uint64_t *seed)
{
    static const cc_str_t  none[] = { { NULL, 0 } };
    static const cc_str_t  some[] = {
        cc_str("c-tail"), cc_str(""), cc_str("a"), cc_str("h-twelve-more"),
        { NULL, 0 }
    };
    static const cc_str_t *const  lists[] = { NULL, none, some, some };

    return lists[unit_below(seed, 4)];
}


/* where the name is in the list; or -1 */
static int
place_of(const walk_t *walk, const model_token_t *name)
{
    int              i;
    cc_json_token_t  token;

    token.raw = unit_str(walk->model->text.data + name->at, name->len);
    token.escaped = memchr(token.raw.data, '\\', token.raw.len) != NULL;

    for (i = 0; walk->wanted[i].data != NULL; i++) {
        if (cc_json_is(&token, (const char *) walk->wanted[i].data)) {
            return i;
        }
    }

    return -1;
}


/* to the next member that is wanted, or to the end of them, or to an error */
static int
pass_over(walk_t *walk)
{
    int                   place;
    size_t                value;
    const model_token_t  *tokens = walk->model->tokens;

    while (tokens[walk->next].type == CC_JSON_NAME) {
        place = place_of(walk, &tokens[walk->next]);

        if (place >= 0) {
            return place;
        }

        value = walk->next + 1;
        walk->next = tokens[value].last + 1;

        if (tokens[value].type == CC_JSON_ERROR
            || ((tokens[value].type == CC_JSON_OBJECT
                 || tokens[value].type == CC_JSON_ARRAY)
                && tokens[value].last == value))
        {
            walk->next = walk->model->n - 1;
        }
    }

    return 0;
}


/* a name and its value at once; what is wrong in either is one error */
static cc_json_type_e
step_member(walk_t *walk)
{
    unsigned              place;
    cc_json_type_e        type;
    cc_json_token_t       name, value;
    const model_token_t  *next;

    walk->members++;
    place = walk->wanted != NULL ? (unsigned) pass_over(walk) : 0;
    next = &walk->model->tokens[walk->next];
    type = cc_json_member(walk->json, walk->wanted, &name, &value);

    if (type != value.type) {
        walk->wrong = "the value is of another type than was returned";

    } else if (type == CC_JSON_ERROR && next->type == CC_JSON_NAME) {
        walk->next++;

    } else if (type != CC_JSON_ERROR && type != CC_JSON_OBJECT_END) {
        is_next(walk, &name);

        if (name.which != place) {
            walk->wrong = "another name of those wanted";
        }
    }

    is_next(walk, &value);

    return type;
}


/* to the end of what lies `up` levels above, if there is one */
static cc_json_type_e
step_out(walk_t *walk, unsigned up, int skip)
{
    int                   rc;
    size_t                open;
    cc_str_t              raw;
    cc_json_token_t       token;
    const model_token_t  *wanted;

    open = walk->open[cc_json_depth(walk->json) - up];
    wanted = &walk->model->tokens[open];

    if (skip) {
        token.type = wanted->type;
        token.raw = unit_str(walk->model->text.data + wanted->at, 0);
        rc = cc_json_skip(walk->json, &token, &raw);

    } else {
        rc = cc_json_leave(walk->json, cc_json_depth(walk->json) - up - 1);
    }

    if (rc != 0) {
        walk->next = walk->model->n - 1;
        token.type = CC_JSON_ERROR;
        is_next(walk, &token);
        return CC_JSON_ERROR;
    }

    if (wanted->last == open) {
        walk->wrong = "left what has no end";

    } else if (skip && raw.len != walk->model->tokens[wanted->last].at
                                  - wanted->at)
    {
        walk->wrong = "skipped to another end";
    }

    walk->next = wanted->last + 1;

    return CC_JSON_NULL;
}


static cc_json_type_e
step(walk_t *walk, uint64_t *seed)
{
    unsigned              depth = cc_json_depth(walk->json);
    cc_json_type_e        before, type;
    cc_json_token_t       token;
    const model_token_t  *tokens = walk->model->tokens;

    before = walk->next ? tokens[walk->next - 1].type : CC_JSON_END;

    if ((before == CC_JSON_OBJECT || before == CC_JSON_ARRAY)
        && unit_below(seed, 8) == 0)
    {
        return step_out(walk, 0, 1);
    }

    if (depth != 0 && unit_below(seed, 40) == 0) {
        return step_out(walk, (unsigned) unit_below(seed, depth), 0);
    }

    if (depth != 0 && tokens[walk->open[depth]].type == CC_JSON_OBJECT
        && before != CC_JSON_NAME && unit_below(seed, 8) != 0)
    {
        walk->wanted = unit_below(seed, 32) ? walk->wanted : any_list(seed);

        return step_member(walk);
    }

    type = cc_json_next(walk->json, &token);
    is_next(walk, &token);

    return type;
}


static const char *
read_both(cc_json_t *json, const made_t *made, uint64_t *seed, unsigned *valid,
    unsigned *members)
{
    walk_t          walk;
    cc_str_t        text = unit_exact(unit_str(made->text, made->len));
    cc_json_type_e  type;

    memset(&walk, 0, sizeof(walk));
    walk.json = json;
    walk.model = &model;
    walk.wanted = any_list(seed);

    *valid += (unsigned) model_read(&model, text);
    cc_json_open(json, text);

    do {
        type = step(&walk, seed);
    } while (walk.wrong == NULL && type != CC_JSON_ERROR
             && type != CC_JSON_END);

    if (walk.wrong != NULL) {
        diag("%s, token %zu", walk.wrong, walk.next);
        diag_bytes("text ", text);
    }

    *members += walk.members;
    unit_free(text);

    return walk.wrong;
}


int
main(void)
{
    uint64_t       seed = unit_seed();
    unsigned       i, valid = 0, wrong = 0, members = 0;
    cc_json_t     *json = NULL;
    static made_t  made;

    made.seed = &seed;

    for (i = 0; i < ROUNDS && wrong < 5; i++) {

        if (i % READER == 0) {
            cc_json_destroy(json);
            json = cc_json_create(unit_random(&seed));
        }

        if (json == NULL) {
            abort();
        }

        make_text(&made);
        wrong += read_both(json, &made, &seed, &valid, &members) != NULL;
    }

    is_int(wrong, 0, "both readers say the same of every text");
    ok(valid > ROUNDS / 4 && valid < ROUNDS / 10 * 9, "%u of %u were valid",
       valid, ROUNDS);
    ok(members > ROUNDS, "%u members were read by twos", members);

    cc_json_destroy(json);

    return done_testing();
}

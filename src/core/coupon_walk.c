/*
 * The walk over coupons and their bets; see coupon_walk.h.
 *
 * Every function returns NULL or the sentence that says what is wrong; what is
 * wrong with the JSON itself comes from the reader.  Members may come in any
 * order, so that what depends on two of them is checked when their object is
 * closed.
 */

#include "coupon_event.h"


const char  cc_coupons_stopped[] = "stopped by the reader's caller";


typedef struct {
    cc_coupon_t                 coupon;
    unsigned                    code_seen;
    unsigned                    status_seen;
    unsigned                    win_seen;
    unsigned char               code[CC_ID_MAX];
} cc_coupon_walk_t;


/* an array, and who reads one of its values from its first token on */
typedef struct {
    const char  *no_array;
    const char *(*walk)(cc_coupons_t *w, const cc_json_token_t *open);
} cc_list_t;


/* the names that are looked for, and where they are in this list */

typedef enum {
    CC_COUPON_CODE = 0,
    CC_COUPON_STATUS,
    CC_COUPON_REAL_WIN,
    CC_COUPON_REALWIN,
    CC_COUPON_EVENTS
} cc_coupon_name_e;

static const cc_str_t  cc_coupon_names[] = {
    cc_str("coupon_code"),
    cc_str("status"),
    cc_str("real_win"),
    cc_str("realWin"),
    cc_str("events_data"),
    { NULL, 0 }
};


static const char *cc_walk_list(cc_coupons_t *w, const cc_json_token_t *open,
    const cc_list_t *list);
static const char *cc_walk_coupon(cc_coupons_t *w, cc_coupon_walk_t *c,
    const cc_json_token_t *open);
static const char *cc_walk_malformed(cc_coupons_t *w, cc_coupon_walk_t *c,
    const cc_json_token_t *open, unsigned depth, const char *reason);
static const char *cc_walk_find_code(cc_coupons_t *w, cc_coupon_walk_t *c,
    unsigned depth);
static const char *cc_walk_coupon_member(cc_coupons_t *w, cc_coupon_walk_t *c,
    cc_coupon_name_e name, const cc_json_token_t *value);
static const char *cc_walk_code(cc_coupons_t *w, cc_coupon_walk_t *c,
    const cc_json_token_t *t);
static const char *cc_walk_real_win(cc_coupon_walk_t *c,
    const cc_json_token_t *t);


static const cc_list_t  cc_coupons = {
    "coupons is not an array",
    cc_coupon_walk
};

static const cc_list_t  cc_events = {
    "events_data is not an array",
    cc_walk_event
};


const char *
cc_coupons_walk(cc_coupons_t *w, const cc_json_token_t *open)
{
    return cc_walk_list(w, open, &cc_coupons);
}


static const char *
cc_walk_list(cc_coupons_t *w, const cc_json_token_t *open,
    const cc_list_t *list)
{
    const char       *error;
    cc_json_type_e    type;
    cc_json_token_t   t;

    if (open->type != CC_JSON_ARRAY) {
        return list->no_array;
    }

    for ( ;; ) {
        type = cc_json_next(w->json, &t);

        if (type == CC_JSON_ARRAY_END) {
            return NULL;
        }

        if (type == CC_JSON_ERROR) {
            return cc_json_error(w->json);
        }

        error = list->walk(w, &t);

        if (error != NULL) {
            return error;
        }
    }
}


const char *
cc_coupon_walk(cc_coupons_t *w, const cc_json_token_t *open)
{
    unsigned           depth;
    const char        *error;
    cc_coupon_walk_t   c;

    if (w->length == w->max) {
        return "more coupons than are allowed";
    }

    w->length++;

    memset(&c.coupon, 0, sizeof(cc_coupon_t));
    c.code_seen = 0;
    c.status_seen = 0;
    c.win_seen = 0;

    depth = cc_json_depth(w->json);
    error = cc_walk_coupon(w, &c, open);

    if (error == NULL || !w->pass_over || error == cc_coupons_stopped
        || error == cc_json_no_memory || cc_json_error(w->json) != NULL)
    {
        return error;
    }

    return cc_walk_malformed(w, &c, open, depth, error);
}


static const char *
cc_walk_coupon(cc_coupons_t *w, cc_coupon_walk_t *c,
    const cc_json_token_t *open)
{
    const char       *error;
    cc_json_type_e    type;
    cc_json_token_t   name, value;

    if (open->type != CC_JSON_OBJECT) {
        return "a coupon is not an object";
    }

    for ( ;; ) {
        type = cc_json_member(w->json, cc_coupon_names, &name, &value);

        if (type == CC_JSON_OBJECT_END) {
            break;
        }

        if (type == CC_JSON_ERROR) {
            return cc_json_error(w->json);
        }

        error = cc_walk_coupon_member(w, c, name.which, &value);

        if (error != NULL) {
            return error;
        }
    }

    if (!c->code_seen) {
        return "a coupon has no coupon_code";
    }

    if (!c->status_seen) {
        return "a coupon has no status";
    }

    if (w->sink != NULL) {
        c->coupon.raw = cc_walk_raw(w, open);

        if (w->sink->coupon(w->sink->ctx, &c->coupon) != 0) {
            return cc_coupons_stopped;
        }
    }

    return NULL;
}


/*
 * What is wrong may stand anywhere in it: reads on to its end, depth being that
 * of the reader when it began.
 */
static const char *
cc_walk_malformed(cc_coupons_t *w, cc_coupon_walk_t *c,
    const cc_json_token_t *open, unsigned depth, const char *reason)
{
    const char   *error;
    cc_coupon_t   coupon;

    w->malformed++;
    memset(&coupon, 0, sizeof(cc_coupon_t));

    if (open->type == CC_JSON_OBJECT) {
        error = cc_walk_find_code(w, c, depth);

        if (error != NULL) {
            return error;
        }

        coupon.coupon_code = c->coupon.coupon_code;
        coupon.raw = cc_walk_raw(w, open);

    } else if (cc_json_skip(w->json, open, &coupon.raw) != 0) {
        return cc_json_error(w->json);
    }

    if (w->sink == NULL || w->sink->malformed == NULL) {
        return NULL;
    }

    return w->sink->malformed(w->sink->ctx, &coupon, reason) != 0
           ? cc_coupons_stopped : NULL;
}


/* through the rest of a coupon, if there is one: its code may be there */
static const char *
cc_walk_find_code(cc_coupons_t *w, cc_coupon_walk_t *c, unsigned depth)
{
    const char       *ignored;
    cc_json_token_t   name, value;

    if (cc_json_leave(w->json, depth) != 0) {
        return cc_json_error(w->json);
    }

    if (cc_json_depth(w->json) < depth) {
        return NULL;
    }

    while (cc_json_member(w->json, cc_coupon_names, &name, &value)
           != CC_JSON_OBJECT_END)
    {
        if (value.type == CC_JSON_ERROR) {
            break;
        }

        if (name.which == CC_COUPON_CODE) {
            ignored = cc_walk_code(w, c, &value);
            (void) ignored;
        }

        if (cc_json_skip(w->json, &value, NULL) != 0) {
            break;
        }
    }

    return cc_json_error(w->json);
}


static const char *
cc_walk_coupon_member(cc_coupons_t *w, cc_coupon_walk_t *c,
    cc_coupon_name_e name, const cc_json_token_t *value)
{
    switch (name) {

    case CC_COUPON_CODE:
        return cc_walk_code(w, c, value);

    case CC_COUPON_STATUS:
        c->status_seen = 1;

        if (value->type != CC_JSON_NUMBER
            || cc_money_whole(&c->coupon.status, value->raw) != 0)
        {
            return "a coupon's status is not a whole number";
        }

        return NULL;

    case CC_COUPON_REAL_WIN:
    case CC_COUPON_REALWIN:
        return cc_walk_real_win(c, value);

    case CC_COUPON_EVENTS:
        return cc_walk_list(w, value, &cc_events);
    }

    return NULL;
}


static const char *
cc_walk_code(cc_coupons_t *w, cc_coupon_walk_t *c, const cc_json_token_t *t)
{
    cc_str_t  *code;

    code = &c->coupon.coupon_code;
    c->code_seen = 1;

    /* a number has lost its leading zeros: nobody can tell which it is */

    if (t->type != CC_JSON_STRING) {
        return "a coupon_code is not a string";
    }

    if (cc_json_decode(t, code, c->code, sizeof(c->code)) != 0
        || !cc_shaped(w->shape, w->pattern, *code))
    {
        code->len = 0;
        return "a coupon_code has not the configured shape";
    }

    return NULL;
}


/* both spellings may stand in one coupon: then they say the same */
static const char *
cc_walk_real_win(cc_coupon_walk_t *c, const cc_json_token_t *t)
{
    int            rc;
    unsigned       has;
    cc_str_t       text;
    cc_money_t     m;
    unsigned char  buf[64];

    has = 1;
    rc = -1;
    memset(&m, 0, sizeof(cc_money_t));

    if (t->type == CC_JSON_NULL) {
        has = 0;
        rc = 0;

    } else if (t->type == CC_JSON_NUMBER) {
        rc = cc_money_parse(&m, t->raw, CC_MONEY_NUMBER_DIGITS);

    } else if (t->type == CC_JSON_STRING
               && cc_json_decode(t, &text, buf, sizeof(buf)) == 0)
    {
        rc = cc_money_parse(&m, text, CC_MONEY_STRING_DIGITS);
    }

    if (rc != 0) {
        return "a real_win is not an exact decimal";
    }

    if (m.coefficient < 0) {
        return "a real_win is negative";
    }

    if (c->win_seen
        && (c->coupon.has_real_win != has
            || cc_money_compare(c->coupon.real_win, m) != 0))
    {
        return "real_win and realWin of a coupon do not agree";
    }

    c->win_seen = 1;
    c->coupon.has_real_win = has;
    c->coupon.real_win = m;

    return NULL;
}


int
cc_shaped(cc_shape_pt shape, void *pattern, cc_str_t text)
{
    if (text.len == 0 || text.len > CC_ID_MAX) {
        return 0;
    }

    return shape == NULL || shape(pattern, text);
}

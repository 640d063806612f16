/*
 * The shape of a SportAPI callback, checked while the JSON is read.
 *
 * The walk follows the body: envelope, coupons, coupon, events, event.  Every
 * function returns NULL or the sentence that says what is wrong; what is wrong
 * with the JSON itself comes from the reader.  Members may come in any order,
 * so that what depends on two of them is checked when their object is closed.
 */

#include <stdlib.h>

#include "envelope.h"


/* ends the reading although nothing is wrong; never shown */
static const char  cc_envelope_stopped[] = "stopped by the reader's caller";


typedef struct {
    cc_envelope_t              *out;
    cc_json_t                  *json;
    const cc_envelope_rules_t  *rules;
    const cc_envelope_sink_t   *sink;
    const unsigned char        *text;
    int64_t                     count;      /* couponCount; -1: not seen */
    unsigned                    listed;     /* coupons was seen … */
    unsigned                    length;     /* … and has this many */
} cc_walk_t;

typedef struct {
    cc_coupon_t                 coupon;
    unsigned                    code_seen;
    unsigned                    status_seen;
    unsigned                    win_seen;
    unsigned char               code[CC_ID_MAX];
} cc_coupon_walk_t;


/* an array of objects, and who reads one of them from its brace on */
typedef struct {
    const char  *no_array;
    const char  *no_object;
    const char *(*walk)(cc_walk_t *w, const cc_json_token_t *open);
} cc_list_t;


static const char *cc_walk_envelope(cc_walk_t *w);
static const char *cc_walk_member(cc_walk_t *w, const cc_json_token_t *name);
static const char *cc_walk_batch_id(cc_walk_t *w, const cc_json_token_t *t);
static const char *cc_walk_list(cc_walk_t *w, const cc_json_token_t *open,
    const cc_list_t *list);
static const char *cc_walk_coupon(cc_walk_t *w, const cc_json_token_t *open);
static const char *cc_walk_coupon_member(cc_walk_t *w, cc_coupon_walk_t *c,
    const cc_json_token_t *name);
static const char *cc_walk_code(cc_walk_t *w, cc_coupon_walk_t *c,
    const cc_json_token_t *t);
static const char *cc_walk_real_win(cc_coupon_walk_t *c,
    const cc_json_token_t *t);
static const char *cc_walk_event(cc_walk_t *w, const cc_json_token_t *open);
static const char *cc_walk_uuid(const cc_json_token_t *t, cc_str_t *uuid,
    unsigned char **heap);
static int cc_walk_shaped(cc_walk_t *w, void *pattern, cc_str_t text);
static cc_str_t cc_walk_raw(cc_walk_t *w, const cc_json_token_t *open);


static const cc_list_t  cc_coupons = {
    "coupons is not an array",
    "a coupon is not an object",
    cc_walk_coupon
};

static const cc_list_t  cc_events = {
    "events_data is not an array",
    "a bet in events_data is not an object",
    cc_walk_event
};


cc_envelope_status_e
cc_envelope_read(cc_envelope_t *envelope, cc_json_t *json, cc_str_t text,
    const cc_envelope_rules_t *rules, const cc_envelope_sink_t *sink)
{
    cc_walk_t  w;

    w.out = envelope;
    w.json = json;
    w.rules = rules;
    w.sink = sink;
    w.text = text.data;
    w.count = -1;
    w.listed = 0;
    w.length = 0;

    envelope->id_len = 0;
    envelope->count = 0;

    cc_json_open(json, text);

    envelope->reason = cc_walk_envelope(&w);
    envelope->offset = cc_json_offset(json);

    if (envelope->reason == NULL) {
        return CC_ENVELOPE_OK;
    }

    if (envelope->reason == cc_envelope_stopped) {
        return CC_ENVELOPE_STOPPED;
    }

    return envelope->reason == cc_json_no_memory ? CC_ENVELOPE_NO_MEMORY
                                                 : CC_ENVELOPE_REFUSED;
}


static const char *
cc_walk_envelope(cc_walk_t *w)
{
    const char       *error;
    cc_json_type_e    type;
    cc_json_token_t   t;

    type = cc_json_next(w->json, &t);

    if (type == CC_JSON_ERROR) {
        return cc_json_error(w->json);
    }

    if (type != CC_JSON_OBJECT) {
        return "the body is not one JSON object";
    }

    while (cc_json_next(w->json, &t) == CC_JSON_NAME) {
        error = cc_walk_member(w, &t);

        if (error != NULL) {
            return error;
        }
    }

    if (cc_json_next(w->json, &t) != CC_JSON_END) {
        return cc_json_error(w->json);
    }

    if (w->out->id_len == 0) {
        return "batchId is missing";
    }

    if (w->count < 0) {
        return "couponCount is missing";
    }

    if (!w->listed) {
        return "coupons is missing";
    }

    if (w->count != w->length) {
        return "couponCount is not the length of coupons";
    }

    if (w->length == 0) {
        return "coupons is empty";
    }

    w->out->count = w->length;

    return NULL;
}


static const char *
cc_walk_member(cc_walk_t *w, const cc_json_token_t *name)
{
    cc_json_type_e   type;
    cc_json_token_t  value;

    type = cc_json_next(w->json, &value);

    if (type == CC_JSON_ERROR) {
        return cc_json_error(w->json);
    }

    if (cc_json_is(name, "batchId")) {
        return cc_walk_batch_id(w, &value);
    }

    if (cc_json_is(name, "couponCount")) {

        if (type != CC_JSON_NUMBER
            || cc_money_whole(&w->count, value.raw) != 0 || w->count < 0)
        {
            return "couponCount is not a whole number";
        }

        return NULL;
    }

    if (cc_json_is(name, "coupons")) {
        w->listed = 1;
        return cc_walk_list(w, &value, &cc_coupons);
    }

    if (cc_json_skip(w->json, &value, NULL) != 0) {
        return cc_json_error(w->json);
    }

    return NULL;
}


static const char *
cc_walk_batch_id(cc_walk_t *w, const cc_json_token_t *t)
{
    cc_str_t       id;
    unsigned char  buf[CC_ID_MAX];

    if (t->type != CC_JSON_STRING) {
        return "batchId is not a string";
    }

    if (cc_json_decode(t, &id, buf, sizeof(buf)) != 0
        || !cc_walk_shaped(w, w->rules->batch_id, id))
    {
        return "batchId has not the configured shape";
    }

    memcpy(w->out->id, id.data, id.len);
    w->out->id_len = id.len;

    return NULL;
}


static const char *
cc_walk_list(cc_walk_t *w, const cc_json_token_t *open, const cc_list_t *list)
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

        if (type != CC_JSON_OBJECT) {
            return list->no_object;
        }

        error = list->walk(w, &t);

        if (error != NULL) {
            return error;
        }
    }
}


static const char *
cc_walk_coupon(cc_walk_t *w, const cc_json_token_t *open)
{
    const char        *error;
    cc_json_token_t    name;
    cc_coupon_walk_t   c;

    if (w->length == w->rules->max_coupons) {
        return "more coupons than are allowed";
    }

    w->length++;

    memset(&c.coupon, 0, sizeof(cc_coupon_t));
    c.code_seen = 0;
    c.status_seen = 0;
    c.win_seen = 0;

    while (cc_json_next(w->json, &name) == CC_JSON_NAME) {

        error = cc_walk_coupon_member(w, &c, &name);

        if (error != NULL) {
            return error;
        }
    }

    if (name.type != CC_JSON_OBJECT_END) {
        return cc_json_error(w->json);
    }

    if (!c.code_seen) {
        return "a coupon has no coupon_code";
    }

    if (!c.status_seen) {
        return "a coupon has no status";
    }

    if (w->sink != NULL) {
        c.coupon.raw = cc_walk_raw(w, open);

        if (w->sink->coupon(w->sink->ctx, &c.coupon) != 0) {
            return cc_envelope_stopped;
        }
    }

    return NULL;
}


static const char *
cc_walk_coupon_member(cc_walk_t *w, cc_coupon_walk_t *c,
    const cc_json_token_t *name)
{
    cc_json_type_e   type;
    cc_json_token_t  value;

    type = cc_json_next(w->json, &value);

    if (type == CC_JSON_ERROR) {
        return cc_json_error(w->json);
    }

    if (cc_json_is(name, "coupon_code")) {
        return cc_walk_code(w, c, &value);
    }

    if (cc_json_is(name, "status")) {
        c->status_seen = 1;

        if (type != CC_JSON_NUMBER
            || cc_money_whole(&c->coupon.status, value.raw) != 0)
        {
            return "a coupon's status is not a whole number";
        }

        return NULL;
    }

    if (cc_json_is(name, "real_win") || cc_json_is(name, "realWin")) {
        return cc_walk_real_win(c, &value);
    }

    if (cc_json_is(name, "events_data")) {
        return cc_walk_list(w, &value, &cc_events);
    }

    if (cc_json_skip(w->json, &value, NULL) != 0) {
        return cc_json_error(w->json);
    }

    return NULL;
}


static const char *
cc_walk_code(cc_walk_t *w, cc_coupon_walk_t *c, const cc_json_token_t *t)
{
    cc_str_t  *code;

    code = &c->coupon.coupon_code;
    c->code_seen = 1;

    /* a number has lost its leading zeros: nobody can tell which it is */

    if (t->type != CC_JSON_STRING) {
        return "a coupon_code is not a string";
    }

    if (cc_json_decode(t, code, c->code, sizeof(c->code)) != 0
        || !cc_walk_shaped(w, w->rules->coupon_code, *code))
    {
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


static const char *
cc_walk_event(cc_walk_t *w, const cc_json_token_t *open)
{
    int               stop;
    const char       *error;
    cc_event_t        event;
    unsigned char    *heap;
    cc_json_type_e    type;
    cc_json_token_t   name, value, uuid;

    memset(&event, 0, sizeof(cc_event_t));
    uuid.type = CC_JSON_ERROR;

    while (cc_json_next(w->json, &name) == CC_JSON_NAME) {

        type = cc_json_next(w->json, &value);

        if (cc_json_is(&name, "uuid")) {
            uuid = value;

        } else if (type == CC_JSON_NUMBER && cc_json_is(&name, "status")) {
            event.has_status = (cc_money_whole(&event.status, value.raw) == 0);
        }

        if (type == CC_JSON_ERROR
            || cc_json_skip(w->json, &value, NULL) != 0)
        {
            break;
        }
    }

    if (name.type != CC_JSON_OBJECT_END) {
        return cc_json_error(w->json);
    }

    heap = NULL;
    error = cc_walk_uuid(&uuid, &event.uuid, w->sink ? &heap : NULL);

    if (error != NULL || w->sink == NULL) {
        return error;
    }

    event.raw = cc_walk_raw(w, open);
    stop = w->sink->event(w->sink->ctx, &event);
    free(heap);

    return stop ? cc_envelope_stopped : NULL;
}


/* heap is NULL where nobody wants the text, only its shape */
static const char *
cc_walk_uuid(const cc_json_token_t *t, cc_str_t *uuid, unsigned char **heap)
{
    size_t  i;

    *uuid = t->raw;

    if (t->type == CC_JSON_STRING) {

        if (t->raw.len == 0) {
            return "a bet's uuid is empty";
        }

        if (!t->escaped || heap == NULL) {
            return NULL;
        }

        *heap = malloc(t->raw.len);

        if (*heap == NULL
            || cc_json_decode(t, uuid, *heap, t->raw.len) != 0)
        {
            free(*heap);
            *heap = NULL;
            return cc_json_no_memory;
        }

        return NULL;
    }

    if (t->type != CC_JSON_NUMBER) {
        return "a bet has no uuid that is a string or a whole number";
    }

    for (i = 0; i < t->raw.len; i++) {
        if (t->raw.data[i] < '0' || t->raw.data[i] > '9') {
            return "a bet has no uuid that is a string or a whole number";
        }
    }

    return NULL;
}


static int
cc_walk_shaped(cc_walk_t *w, void *pattern, cc_str_t text)
{
    if (text.len == 0 || text.len > CC_ID_MAX) {
        return 0;
    }

    return w->rules->shape == NULL || w->rules->shape(pattern, text);
}


/* from the brace that opened the object to where the reader stands */
static cc_str_t
cc_walk_raw(cc_walk_t *w, const cc_json_token_t *open)
{
    cc_str_t  raw;

    raw.data = open->raw.data;
    raw.len = cc_json_offset(w->json) - (size_t) (raw.data - w->text);

    return raw;
}

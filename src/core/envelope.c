/*
 * The shape of a SportAPI callback, checked while the JSON is read.
 *
 * The envelope is walked here, coupons and bets in coupon_walk.c.  Members may
 * come in any order, so that what depends on two of them is checked when the
 * object is closed.
 */

#include "coupon_walk.h"


typedef struct {
    cc_envelope_t              *out;
    cc_json_t                  *json;
    const cc_envelope_rules_t  *rules;
    int64_t                     count;      /* couponCount; -1: not seen */
    unsigned                    listed;     /* coupons was seen */
    cc_coupons_t                coupons;
} cc_walk_t;


/* the names that are looked for, and where they are in this list */

typedef enum {
    CC_ENVELOPE_BATCH_ID = 0,
    CC_ENVELOPE_COUNT,
    CC_ENVELOPE_COUPONS
} cc_envelope_name_e;

static const cc_str_t  cc_envelope_names[] = {
    cc_str("batchId"),
    cc_str("couponCount"),
    cc_str("coupons"),
    { NULL, 0 }
};


static const char *cc_walk_envelope(cc_walk_t *w);
static const char *cc_walk_member(cc_walk_t *w, cc_envelope_name_e name,
    const cc_json_token_t *value);
static const char *cc_walk_batch_id(cc_walk_t *w, const cc_json_token_t *t);


cc_envelope_status_e
cc_envelope_read(cc_envelope_t *envelope, cc_json_t *json, cc_str_t text,
    const cc_envelope_rules_t *rules, const cc_envelope_sink_t *sink)
{
    cc_walk_t  w;

    w.out = envelope;
    w.json = json;
    w.rules = rules;
    w.count = -1;
    w.listed = 0;

    w.coupons.json = json;
    w.coupons.text = text.data;
    w.coupons.sink = sink;
    w.coupons.shape = rules->shape;
    w.coupons.pattern = rules->coupon_code;
    w.coupons.max = rules->max_coupons;
    w.coupons.by_id = 0;
    w.coupons.pass_over = 0;
    w.coupons.length = 0;
    w.coupons.malformed = 0;

    envelope->id_len = 0;
    envelope->count = 0;

    cc_json_open(json, text);

    envelope->reason = cc_walk_envelope(&w);
    envelope->offset = cc_json_offset(json);

    if (envelope->reason == NULL) {
        return CC_ENVELOPE_OK;
    }

    if (envelope->reason == cc_coupons_stopped) {
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
    cc_json_token_t   t, name;

    type = cc_json_next(w->json, &t);

    if (type == CC_JSON_ERROR) {
        return cc_json_error(w->json);
    }

    if (type != CC_JSON_OBJECT) {
        return "the body is not one JSON object";
    }

    while (cc_json_member(w->json, cc_envelope_names, &name, &t)
           != CC_JSON_OBJECT_END)
    {
        if (t.type == CC_JSON_ERROR) {
            return cc_json_error(w->json);
        }

        error = cc_walk_member(w, name.which, &t);

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

    if (w->count != w->coupons.length) {
        return "couponCount is not the length of coupons";
    }

    if (w->coupons.length == 0) {
        return "coupons is empty";
    }

    w->out->count = w->coupons.length;

    return NULL;
}


static const char *
cc_walk_member(cc_walk_t *w, cc_envelope_name_e name,
    const cc_json_token_t *value)
{
    switch (name) {

    case CC_ENVELOPE_BATCH_ID:
        return cc_walk_batch_id(w, value);

    case CC_ENVELOPE_COUNT:
        if (value->type != CC_JSON_NUMBER
            || cc_money_whole(&w->count, value->raw) != 0 || w->count < 0)
        {
            return "couponCount is not a whole number";
        }

        return NULL;

    case CC_ENVELOPE_COUPONS:
        w->listed = 1;
        return cc_coupons_walk(&w->coupons, value);
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
        || !cc_shaped(w->rules->shape, w->rules->batch_id, id))
    {
        return "batchId has not the configured shape";
    }

    memcpy(w->out->id, id.data, id.len);
    w->out->id_len = id.len;

    return NULL;
}

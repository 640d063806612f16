/*
 * The provider's answers; see snapshot.h.
 *
 * The members of an answer may come in any order, so code may stand behind the
 * coupons that it decides about.  Therefore the top level is read first, to its
 * end, and only remembers where the body is; then the body is opened as a text
 * of its own.
 */

#include <limits.h>

#include "coupon_walk.h"
#include "snapshot.h"


typedef struct {
    cc_answer_t     *out;
    cc_json_t       *json;
    const char      *failed;        /* a sentence, never shown */
    unsigned         coded;         /* code was seen */
    cc_json_type_e   type;          /* of the body; ERROR: there is none */
    cc_str_t         body;
    cc_coupons_t     coupons;
} cc_reading_t;


static const char *cc_read_answer(cc_reading_t *r);
static const char *cc_read_top(cc_reading_t *r);
static const char *cc_read_member(cc_reading_t *r, const cc_json_token_t *name);
static const char *cc_read_error_code(cc_reading_t *r,
    const cc_json_token_t *value);
static const char *cc_read_body(cc_reading_t *r, unsigned one);
static const char *cc_read_object(cc_reading_t *r, unsigned *listed,
    unsigned *coupon);


static const char  cc_answer_failed[] = "the API reports an error";


cc_snapshot_status_e
cc_snapshot_read(cc_answer_t *answer, cc_json_t *json, cc_str_t text,
    unsigned one, const cc_envelope_sink_t *sink)
{
    cc_reading_t  r;

    memset(answer, 0, sizeof(cc_answer_t));
    memset(&r, 0, sizeof(cc_reading_t));

    r.out = answer;
    r.json = json;
    r.coupons.json = json;
    r.coupons.sink = sink;
    r.coupons.max = UINT_MAX;
    r.coupons.by_id = 1;
    r.coupons.pass_over = !one;

    cc_json_open(json, text);

    answer->reason = cc_read_answer(&r);
    answer->offset = cc_json_offset(json);

    if (answer->reason == NULL) {
        answer->reason = cc_read_body(&r, one);
        answer->offset = (size_t) (r.body.data - text.data)
                         + cc_json_offset(json);
    }

    answer->count = r.coupons.length;
    answer->malformed = r.coupons.malformed;

    if (answer->reason == NULL) {
        return CC_SNAPSHOT_OK;
    }

    if (answer->reason == cc_answer_failed) {
        return CC_SNAPSHOT_FAILED;
    }

    if (answer->reason == cc_coupons_stopped) {
        return CC_SNAPSHOT_STOPPED;
    }

    return answer->reason == cc_json_no_memory ? CC_SNAPSHOT_NO_MEMORY
                                               : CC_SNAPSHOT_REFUSED;
}


static const char *
cc_read_answer(cc_reading_t *r)
{
    const char  *error;

    error = cc_read_top(r);

    if (error != NULL) {
        return error;
    }

    if (!r->coded) {
        return "code is missing";
    }

    if (r->out->code != 1) {
        return cc_answer_failed;
    }

    if (r->out->error_code != 0) {
        return "code is 1, and yet there is an error_code";
    }

    if (r->type != CC_JSON_OBJECT && r->type != CC_JSON_ARRAY) {
        return "body is neither an object nor an array";
    }

    return NULL;
}


static const char *
cc_read_top(cc_reading_t *r)
{
    const char       *error;
    cc_json_type_e    type;
    cc_json_token_t   t;

    type = cc_json_next(r->json, &t);

    if (type == CC_JSON_ERROR) {
        return cc_json_error(r->json);
    }

    if (type != CC_JSON_OBJECT) {
        return "the answer is not one JSON object";
    }

    while (cc_json_next(r->json, &t) == CC_JSON_NAME) {
        error = cc_read_member(r, &t);

        if (error != NULL) {
            return error;
        }
    }

    if (cc_json_next(r->json, &t) != CC_JSON_END) {
        return cc_json_error(r->json);
    }

    return NULL;
}


static const char *
cc_read_member(cc_reading_t *r, const cc_json_token_t *name)
{
    cc_str_t          raw;
    cc_json_token_t   value;

    if (cc_json_next(r->json, &value) == CC_JSON_ERROR
        || cc_json_skip(r->json, &value, &raw) != 0)
    {
        return cc_json_error(r->json);
    }

    if (cc_json_is(name, "code")) {
        r->coded = 1;

        if (value.type != CC_JSON_NUMBER
            || cc_money_whole(&r->out->code, value.raw) != 0)
        {
            return "code is not a whole number";
        }

    } else if (cc_json_is(name, "body")) {
        r->type = value.type;
        r->body = raw;

    } else if (cc_json_is(name, "error_code")) {
        return cc_read_error_code(r, &value);

    } else if (cc_json_is(name, "error_message")
               && value.type == CC_JSON_STRING)
    {
        r->out->error_message = value.raw;
    }

    return NULL;
}


/* a number, or its digits in a string */
static const char *
cc_read_error_code(cc_reading_t *r, const cc_json_token_t *value)
{
    if (value->type == CC_JSON_NULL) {
        return NULL;
    }

    if ((value->type != CC_JSON_NUMBER && value->type != CC_JSON_STRING)
        || cc_money_whole(&r->out->error_code, value->raw) != 0)
    {
        return "error_code is not a whole number";
    }

    return NULL;
}


static const char *
cc_read_body(cc_reading_t *r, unsigned one)
{
    unsigned          listed, coupon;
    const char       *error;
    cc_json_token_t   t;

    r->coupons.text = r->body.data;

    if (r->type == CC_JSON_OBJECT) {

        error = cc_read_object(r, &listed, &coupon);

        if (error != NULL) {
            return error;
        }

        if (listed) {
            return coupon ? "body is a coupon and has coupons, too" : NULL;
        }

        if (!coupon) {
            return "body has no coupons";
        }

        if (!one) {
            return "body is one coupon, where a list was asked for";
        }
    }

    /* it has been read before: what follows is about its shape only */

    cc_json_open(r->json, r->body);

    if (cc_json_next(r->json, &t) == CC_JSON_OBJECT) {
        return cc_coupon_walk(&r->coupons, &t);
    }

    return cc_coupons_walk(&r->coupons, &t);
}


/* walks body.coupons, if it is there, and tells a coupon by its coupon_code */
static const char *
cc_read_object(cc_reading_t *r, unsigned *listed, unsigned *coupon)
{
    const char       *error;
    cc_json_token_t   t, value;

    *listed = 0;
    *coupon = 0;
    error = NULL;

    cc_json_open(r->json, r->body);

    if (cc_json_next(r->json, &t) != CC_JSON_OBJECT) {
        return cc_json_error(r->json);
    }

    while (error == NULL && cc_json_next(r->json, &t) == CC_JSON_NAME) {

        if (cc_json_next(r->json, &value) == CC_JSON_ERROR) {
            return cc_json_error(r->json);
        }

        if (cc_json_is(&t, "coupons")) {
            *listed = 1;
            error = cc_coupons_walk(&r->coupons, &value);
            continue;
        }

        *coupon |= (unsigned) cc_json_is(&t, "coupon_code");

        if (cc_json_skip(r->json, &value, NULL) != 0) {
            return cc_json_error(r->json);
        }
    }

    return error;
}

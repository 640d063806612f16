/*
 * The walk over a bet of a coupon; see coupon_event.h.
 */

#include <stdlib.h>

#include "coupon_event.h"


/* the names that are looked for, and where they are in these lists */

typedef enum {
    CC_EVENT_UUID = 0,
    CC_EVENT_STATUS,
    CC_EVENT_ID
} cc_event_name_e;

static const cc_str_t  cc_event_names[] = {
    cc_str("uuid"),
    cc_str("status"),
    { NULL, 0 }
};

static const cc_str_t  cc_event_names_by_id[] = {
    cc_str("uuid"),
    cc_str("status"),
    cc_str("id"),
    { NULL, 0 }
};

/* … where nobody wants more than the shape */
static const cc_str_t  cc_event_names_of_shape[] = {
    cc_str("uuid"),
    { NULL, 0 }
};


static const char *cc_walk_event_members(cc_coupons_t *w, cc_event_t *event,
    cc_json_token_t *uuid);
static const char *cc_walk_uuid(const cc_coupons_t *w,
    const cc_json_token_t *t, cc_str_t *uuid, unsigned char **heap);


const char *
cc_walk_event(cc_coupons_t *w, const cc_json_token_t *open)
{
    int               stop;
    const char       *error;
    cc_event_t        event;
    unsigned char    *heap;
    cc_json_token_t   uuid;

    if (open->type != CC_JSON_OBJECT) {
        return "a bet in events_data is not an object";
    }

    memset(&event, 0, sizeof(cc_event_t));
    error = cc_walk_event_members(w, &event, &uuid);

    if (error != NULL) {
        return error;
    }

    heap = NULL;
    error = cc_walk_uuid(w, &uuid, &event.uuid, w->sink ? &heap : NULL);

    if (error != NULL || w->sink == NULL) {
        return error;
    }

    event.raw = cc_walk_raw(w, open);
    stop = w->sink->event(w->sink->ctx, &event);
    free(heap);

    return stop ? cc_coupons_stopped : NULL;
}


/* *uuid is uuid, or, where the API speaks, id and only without it uuid */
static const char *
cc_walk_event_members(cc_coupons_t *w, cc_event_t *event, cc_json_token_t *uuid)
{
    const cc_str_t   *wanted;
    cc_json_type_e    type;
    cc_json_token_t   name, value;

    wanted = w->by_id ? cc_event_names_by_id
             : w->sink ? cc_event_names : cc_event_names_of_shape;
    uuid->type = CC_JSON_ERROR;

    for ( ;; ) {
        type = cc_json_member(w->json, wanted, &name, &value);

        if (type == CC_JSON_OBJECT_END) {
            return NULL;
        }

        if (type == CC_JSON_ERROR) {
            return cc_json_error(w->json);
        }

        if (name.which == CC_EVENT_ID
            || (name.which == CC_EVENT_UUID && uuid->type == CC_JSON_ERROR))
        {
            *uuid = value;

        } else if (name.which == CC_EVENT_STATUS && type == CC_JSON_NUMBER) {
            event->has_status = (cc_money_whole(&event->status, value.raw)
                                 == 0);
        }

        if (cc_json_skip(w->json, &value, NULL) != 0) {
            return cc_json_error(w->json);
        }
    }
}


/* heap is NULL where nobody wants the text, only its shape */
static const char *
cc_walk_uuid(const cc_coupons_t *w, const cc_json_token_t *t, cc_str_t *uuid,
    unsigned char **heap)
{
    size_t       i;
    const char  *none;

    none = w->by_id ? "a bet has no id that is a string or a whole number"
                    : "a bet has no uuid that is a string or a whole number";

    *uuid = t->raw;

    if (t->type == CC_JSON_STRING) {

        if (t->raw.len == 0) {
            return w->by_id ? "a bet's id is empty" : "a bet's uuid is empty";
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
        return none;
    }

    for (i = 0; i < t->raw.len; i++) {
        if (t->raw.data[i] < '0' || t->raw.data[i] > '9') {
            return none;
        }
    }

    return NULL;
}

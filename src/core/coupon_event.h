/*
 * A bet of a coupon, for the walk over coupons.
 */

#ifndef CC_COUPON_EVENT_H
#define CC_COUPON_EVENT_H

#include "coupon_walk.h"


/*
 * Reads a bet from its first token on, and tells the sink of it.  Returns NULL,
 * or the sentence that says what is wrong.
 */
const char *cc_walk_event(cc_coupons_t *w, const cc_json_token_t *open);


/* from the brace that opened the object to where the reader stands */
static inline cc_str_t
cc_walk_raw(cc_coupons_t *w, const cc_json_token_t *open)
{
    cc_str_t  raw;

    raw.data = open->raw.data;
    raw.len = cc_json_offset(w->json) - (size_t) (raw.data - w->text);

    return raw;
}


#endif /* CC_COUPON_EVENT_H */

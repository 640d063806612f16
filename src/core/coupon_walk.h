/*
 * What the two readers of bodies share (envelope.c reads callbacks, snapshot.c
 * the answers of the provider's API): the walk over an array of coupons, or one
 * coupon, with the shape of README, "Body shape", while the JSON is read.
 *
 * Both tell coupons in the same words, so that there is one coupon, one row,
 * wherever it was seen.
 */

#ifndef CC_COUPON_WALK_H
#define CC_COUPON_WALK_H

#include "envelope.h"


typedef struct {
    cc_json_t                  *json;
    const unsigned char        *text;      /* what json was opened with */
    const cc_envelope_sink_t   *sink;      /* may be NULL */
    cc_shape_pt                 shape;     /* of a coupon_code; as in */
    void                       *pattern;   /* cc_envelope_rules_t */
    unsigned                    max;       /* coupons allowed */
    unsigned                    by_id;     /* a bet is named id, not uuid */
    unsigned                    pass_over; /* malformed coupons, to the next */
    unsigned                    length;    /* coupons so far, … */
    unsigned                    malformed; /* … and those passed over */
} cc_coupons_t;


/* an array of coupons, from the token that opened it to its end */
CC_MUST_USE const char *cc_coupons_walk(cc_coupons_t *w,
    const cc_json_token_t *open);

/* one coupon, from the token that began it to its end */
CC_MUST_USE const char *cc_coupon_walk(cc_coupons_t *w,
    const cc_json_token_t *open);

/* 1 if it is not empty, fits CC_ID_MAX and has the shape */
int cc_shaped(cc_shape_pt shape, void *pattern, cc_str_t text);

/* ends the reading although nothing is wrong; never shown */
extern const char  cc_coupons_stopped[];


#endif /* CC_COUPON_WALK_H */

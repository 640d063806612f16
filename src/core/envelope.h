/*
 * The body of a SportAPI coupon callback: is it one, which batch is it, how
 * many coupons, and (for who wants them) the coupons and bets one by one.
 *
 * Contract: README, "Body shape"; the body is
 *   {"batchId": "…", "couponCount": N, "coupons": [{"coupon_code": "…",
 *    "status": 2, "real_win": 1.5, "events_data": [{"uuid": "…"}]}]}
 * Names are matched exactly.  Unknown members are kept in `raw` and are never
 * a reason to refuse.
 *
 * The module reads with it to decide, coupon-settle to settle: what the one
 * has acknowledged the other can read, because it is the same code.
 */

#ifndef CC_ENVELOPE_H
#define CC_ENVELOPE_H

#include "core.h"
#include "json.h"
#include "money.h"


#define CC_ID_MAX  256          /* longest batch id and coupon code, in bytes */


/* 1 if the text has the wanted shape, 0 if not */
typedef int (*cc_shape_pt)(void *pattern, cc_str_t text);

typedef struct {
    cc_shape_pt   shape;        /* NULL: any non-empty text of ≤ CC_ID_MAX */
    void         *batch_id;     /* patterns, passed on to shape */
    void         *coupon_code;
    unsigned      max_coupons;
} cc_envelope_rules_t;


typedef struct {
    cc_str_t      uuid;         /* not empty; a whole number as its digits */
    int64_t       status;
    unsigned      has_status;   /* a whole-number status was there */
    cc_str_t      raw;          /* the bet's object as it was written */
} cc_event_t;

typedef struct {
    cc_str_t      coupon_code;
    int64_t       status;
    unsigned      has_real_win;
    cc_money_t    real_win;
    cc_str_t      raw;          /* the coupon's object as it was written */
} cc_coupon_t;

/*
 * Receives what is read: the events of a coupon first, then the coupon itself.
 * The strings are only good for the length of the call.  A return other than 0
 * ends the reading with CC_ENVELOPE_STOPPED.
 *
 * malformed, which may be NULL, is called only by cc_snapshot_read(), in the
 * place of coupon, for what has not the shape of one: the events before it are
 * void, and of the coupon only raw is set, and coupon_code if it can be read.
 */
typedef struct {
    int  (*event)(void *ctx, const cc_event_t *event);
    int  (*coupon)(void *ctx, const cc_coupon_t *coupon);
    void  *ctx;
    int  (*malformed)(void *ctx, const cc_coupon_t *coupon,
        const char *reason);
} cc_envelope_sink_t;


typedef enum {
    CC_ENVELOPE_OK = 0,
    CC_ENVELOPE_REFUSED,        /* envelope->reason says why */
    CC_ENVELOPE_STOPPED,        /* the sink asked for it */
    CC_ENVELOPE_NO_MEMORY       /* says nothing about the text */
} cc_envelope_status_e;

typedef struct {
    unsigned char  id[CC_ID_MAX];
    size_t         id_len;      /* 0 while the batch id is not known */
    unsigned       count;
    const char    *reason;      /* constant, without data of the body */
    size_t         offset;      /* the byte at which it was refused */
} cc_envelope_t;


/*
 * Reads the whole text.  With CC_ENVELOPE_OK id and count are set and the text
 * is valid JSON to its last byte.  With CC_ENVELOPE_REFUSED the id is set if it
 * was read and well shaped before.  sink may be NULL.
 */
CC_MUST_USE cc_envelope_status_e cc_envelope_read(cc_envelope_t *envelope,
    cc_json_t *json, cc_str_t text, const cc_envelope_rules_t *rules,
    const cc_envelope_sink_t *sink);


#endif /* CC_ENVELOPE_H */

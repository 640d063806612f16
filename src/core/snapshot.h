/*
 * An answer of the provider's coupon API: did it succeed, and which coupons are
 * in it?
 *
 * Contract: README, "The provider's API"; the answer is
 *   {"code": 1, "body": {"coupons": [...]}, "error_code": null,
 *    "error_message": null}
 * with the coupons in body.coupons, in body itself if that is an array, or, for
 * the call that asks for one, as the one object that body is.  Coupons are read
 * by the same walk as those of a callback, only that here a bet is named by its
 * id (without one by its uuid), which is the uuid of the callback.
 *
 * HTTP 200 says nothing: an answer counts only with code 1.  In a list a coupon
 * without the shape of one does not keep the others from being read.
 */

#ifndef CC_SNAPSHOT_H
#define CC_SNAPSHOT_H

#include "envelope.h"


typedef enum {
    CC_SNAPSHOT_OK = 0,
    CC_SNAPSHOT_FAILED,         /* the API says that it could not: code is
                                   not 1, error_code and error_message */
    CC_SNAPSHOT_REFUSED,        /* no such answer: reason says why */
    CC_SNAPSHOT_STOPPED,        /* the sink asked for it */
    CC_SNAPSHOT_NO_MEMORY       /* says nothing about the text */
} cc_snapshot_status_e;

typedef struct {
    int64_t        code;
    int64_t        error_code;      /* 0: none, or none that is a number */
    cc_str_t       error_message;   /* in the text, as written; may be empty */
    unsigned       count;           /* coupons, … */
    unsigned       malformed;       /* … and how many of them are none */
    const char    *reason;          /* constant, without data of the answer */
    size_t         offset;          /* the byte at which it was refused */
} cc_answer_t;


/*
 * Reads the whole text.  one: a single coupon was asked for, the body may be
 * that, and it has to have the shape of one; else what has not is passed over,
 * counted, and handed to sink->malformed.  sink, which may be NULL, only gets
 * coupons of an answer that is valid JSON to its last byte and has code 1.
 */
CC_MUST_USE cc_snapshot_status_e cc_snapshot_read(cc_answer_t *answer,
    cc_json_t *json, cc_str_t text, unsigned one,
    const cc_envelope_sink_t *sink);


#endif /* CC_SNAPSHOT_H */

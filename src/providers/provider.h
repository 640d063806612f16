/*
 * What a receiving location asks of the system whose callbacks it takes: are
 * these bytes from you, and are they a delivery of yours?
 *
 * A provider is synchronous and pure: no I/O, no clock of its own.  It looks at
 * the signature first, and only then at the body.
 */

#ifndef CC_PROVIDER_H
#define CC_PROVIDER_H

#include "core.h"


#define CC_DELIVERY_ID_MAX  256     /* of one name; an id may hold two */


typedef enum {
    CC_VERDICT_ACCEPTED = 0,
    CC_VERDICT_UNREADABLE,          /* nothing of a kind that could be judged */
    CC_VERDICT_UNSIGNED,            /* not from there, as far as we can see */
    CC_VERDICT_FOREIGN,             /* from there, but for somebody else */
    CC_VERDICT_MALFORMED,           /* from there, but no delivery */
    CC_VERDICT_UNUSABLE,            /* one, but of no use, now or ever */
    CC_VERDICT_FAILED               /* cannot be judged now: a fault of ours */
} cc_verdict_e;


/* what came in; the values are those the configuration asks for, else empty */
typedef struct {
    cc_str_t        body;           /* raw */
    cc_str_t        signature;      /* or the Authorization line */
    cc_str_t        signed_prefix;
    cc_str_t        timestamp;
    cc_str_t        message_id;     /* lines of the head, where they stand in */
    cc_str_t        subscription;   /* it exactly once */
    cc_str_t        publish_time;
    int64_t         now_ms;
} cc_callback_t;

typedef struct {
    unsigned char   id[2 * CC_DELIVERY_ID_MAX + 1];
    size_t          id_len;         /* 0: not known */
    unsigned char   scope[CC_DELIVERY_ID_MAX];
    size_t          scope_len;      /* ids are unique in it; 0: everywhere */
    unsigned        count;
    const char     *reason;         /* unless accepted: one constant sentence */
    size_t          offset;         /* malformed: at this byte of the body */
} cc_delivery_t;


typedef struct {
    const char     *source;         /* as it stands in the stream entry */

    /* one delivery may come again in other bytes: the id alone tells */
    unsigned        rewritten;

    /* fills the delivery as far as it is known, whatever the verdict */
    cc_verdict_e  (*verify)(void *conf, const cc_callback_t *callback,
                            cc_delivery_t *delivery);
} cc_provider_t;


#endif /* CC_PROVIDER_H */

/*
 * The inbox stream as a source of deliveries: the consumer group, what this
 * consumer has taken and not acknowledged, what dead consumers have left, and
 * what is new.
 *
 * Deliveries and their strings live in the last reply; the next read or
 * cs_stream_release() ends them.  Knows nothing of what is in a body.
 */

#ifndef CS_STREAM_H
#define CS_STREAM_H

#include "config.h"
#include "redis.h"
#include "worker.h"


/*
 * Deliveries that share a transaction: what a commit costs is divided among
 * them.  Long ones are many coupons already, and are read in smaller groups.
 */
#define CS_STREAM_GROUP        512    /* at most */
#define CS_STREAM_GROUP_LEAST  64     /* whatever their size */
#define CS_STREAM_GROUP_BYTES  (1024 * 1024)

#define CS_STREAM_GONE         10
#define CS_STREAM_BLOCK_MS     500    /* so soon is a wish to stop noticed */

typedef enum {
    CS_STREAM_OWN = 0,        /* taken by this consumer, not acknowledged */
    CS_STREAM_CLAIM,          /* taken by another, claim_after ago */
    CS_STREAM_NEW             /* waits up to CS_STREAM_BLOCK_MS for them */
} cs_stream_part_e;

typedef struct {
    /* set by the owner */
    cs_redis_t       *redis;
    const cs_conf_t  *conf;

    /* the result of a read */
    cs_delivery_t     deliveries[CS_STREAM_GROUP];
    size_t            n;
    size_t            asked;          /* for so many at most */
    unsigned          more;           /* the part may hold more than this */

    redisReply       *reply;
    size_t            bytes;          /* of the deliveries in it */
    const char       *ids[CS_STREAM_GROUP];    /* to acknowledge */
    size_t            nids;           /* >= n: entries without a body too */
    char              cursor[48];     /* of the claiming */
} cs_stream_t;


/*
 * Makes the group, and the stream; it begins with the oldest entry.
 */
CC_MUST_USE cs_status_e cs_stream_create_group(cs_stream_t *stream);

/*
 * Reads a group of deliveries.  CS_NONE: the consumer group is gone.
 * CS_AGAIN: redis->error says why.
 */
CC_MUST_USE cs_status_e cs_stream_read(cs_stream_t *stream,
    cs_stream_part_e part);

/*
 * Takes the held deliveries out of what is acknowledged, and returns how many
 * they are.
 */
size_t cs_stream_hold(cs_stream_t *stream);

/* acknowledges and deletes all that was read, but what is held */
CC_MUST_USE cs_status_e cs_stream_ack(cs_stream_t *stream);

/*
 * Takes consumers out of the group that have nothing pending and have not been
 * heard of for CS_STREAM_GONE times claim_after: where names are those of hosts
 * that come and go, they would become more for ever.
 */
CC_MUST_USE cs_status_e cs_stream_tidy(cs_stream_t *stream);

void cs_stream_release(cs_stream_t *stream);


#endif /* CS_STREAM_H */

/*
 * The stream PREFIX:operations: money operations for a system that is not ours.
 *
 * The id of an entry is NUMBER-0, the number being that of the outbox.  So the
 * stream itself knows how far the relay has come, by the last id it ever had,
 * whatever its consumers have deleted since; and nobody has to write that down
 * anywhere else, where it could be wrong.
 *
 * Entries are added in one step of Redis that looks at the last id first: if it
 * is not the one that the sender knew, nothing is added.  Two relays, or a
 * Redis that has lost its end, can then neither double an entry nor leave one
 * out.  Knows nothing of the database.
 */

#ifndef CS_OUTBOX_STREAM_H
#define CS_OUTBOX_STREAM_H

#include "buffer.h"
#include "redis.h"
#include "store.h"


#define CS_OUTBOX_GROUP  256      /* operations that are sent together */
#define CS_OUTBOX_WORDS  8        /* of each: its id and seven values */

typedef struct {
    /* set by the owner */
    cs_redis_t   *redis;
    const char   *key;

    /* as of the last answer */
    int64_t       last;           /* the last number; 0: none; -1: an id that
                                     is none of ours */
    int64_t       length;
    cs_buffer_t   own;            /* operation_key of that entry; empty if it
                                     is deleted */

    /* to be sent */
    cs_buffer_t   words;          /* one behind the other, each with its NUL */
    size_t        n;              /* operations */
    int64_t       number;         /* of the last of them */
} cs_outbox_stream_t;


/* how far it is; CS_AGAIN: redis->error says why that is not known */
CC_MUST_USE cs_status_e cs_outbox_stream_look(cs_outbox_stream_t *stream);

/* takes a copy; more than CS_OUTBOX_GROUP may not be put */
void cs_outbox_stream_put(cs_outbox_stream_t *stream, int64_t number,
    const cs_operation_t *operation);

/*
 * Adds what was put, if the stream is as the last answer said.  CS_NONE: it is
 * not, nothing was added, and now it is known how it is.  CS_AGAIN: some, in
 * their order from the first on, may have been added; redis->error says why.
 */
CC_MUST_USE cs_status_e cs_outbox_stream_send(cs_outbox_stream_t *stream);

/* 1 if the last entry is there, and is of another operation than this */
unsigned cs_outbox_stream_differs(const cs_outbox_stream_t *stream,
    const cs_operation_t *operation);

/* forgets what was put and not sent */
void cs_outbox_stream_clear(cs_outbox_stream_t *stream);

void cs_outbox_stream_free(cs_outbox_stream_t *stream);


#endif /* CS_OUTBOX_STREAM_H */

/*
 * What was kept aside, wherever it lies: in the stream PREFIX:rejected, where
 * the module puts bodies that it refused (ids like 1700000000000-0), or in the
 * table `rejected`, where the worker puts batches that can never be settled
 * (ids like 7).
 *
 * Every function that returns other than CS_OK has put into q->error why.
 */

#ifndef CS_QUARANTINE_H
#define CS_QUARANTINE_H

#include "config.h"
#include "redis.h"
#include "store.h"


typedef struct {
    cc_str_t        id;
    cs_rejected_t   kept;         /* kept.id is not used */
} cs_quarantined_t;

/* good for the length of the call */
typedef void (*cs_quarantined_pt)(void *ctx, const cs_quarantined_t *item);

typedef struct {
    const cs_conf_t  *conf;
    cs_store_t       *store;      /* NULL: there is none yet */
    cs_redis_t        redis;
    char              error[320];
} cs_quarantine_t;


/* all of it, oldest first, the table before the stream */
CC_MUST_USE cs_status_e cs_quarantine_list(cs_quarantine_t *q,
    cs_quarantined_pt call, void *ctx);

/* CS_NONE: there is nothing of this id */
CC_MUST_USE cs_status_e cs_quarantine_find(cs_quarantine_t *q, const char *id,
    cs_quarantined_pt call, void *ctx);
CC_MUST_USE cs_status_e cs_quarantine_drop(cs_quarantine_t *q, const char *id);

/* 1 if it is the id of an entry of the stream */
unsigned cs_quarantine_in_stream(const char *id);


#endif /* CS_QUARANTINE_H */

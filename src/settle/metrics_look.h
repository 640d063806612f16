/*
 * What has to be asked for the page of metrics, at the moment in which somebody
 * wants to see it: the inbox in Redis, and the totals of the store.
 *
 * Over connections that nobody else uses; a failure closes them, is not logged,
 * and leaves its part of the page out.  Every wait is at most CS_LOOK_MS.
 */

#ifndef CS_METRICS_LOOK_H
#define CS_METRICS_LOOK_H

#include "config.h"
#include "metrics_page.h"
#include "outbox.h"


#define CS_LOOK_MS  1000

typedef struct {
    const cs_conf_t      *conf;
    cs_redis_t            redis;
    cs_store_t           *store;
    unsigned              opened;     /* … and it was good the last time */
    cs_outbox_t           outbox;
    redisReply           *reply;      /* the names of consumers are in it, … */
    cs_page_consumer_t   *consumers;  /* … and in this list */
} cs_look_t;


/* conf outlives it */
void cs_look_init(cs_look_t *look, const cs_conf_t *conf);
void cs_look_free(cs_look_t *look);

/* fills in what it learns; its strings are good until the next time */
void cs_look(cs_look_t *look, cs_page_t *page);


#endif /* CS_METRICS_LOOK_H */

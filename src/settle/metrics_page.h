/*
 * The page of metrics, in the text format of Prometheus, out of numbers that
 * somebody else has gathered.  Pure: no clock, no connection, no global.
 *
 * What could not be had is left out, line by line, and is never a 0.
 */

#ifndef CS_METRICS_PAGE_H
#define CS_METRICS_PAGE_H

#include "buffer.h"
#include "counters.h"
#include "store.h"


#define CS_PAGE_CONSUMERS  64        /* those with the most pending entries */

typedef struct {
    cc_str_t   name;
    int64_t    pending;
} cs_page_consumer_t;

typedef struct {
    cs_counts_t               counts;

    int64_t                   started;          /* Unix ms */
    unsigned                  ready;
    unsigned                  polls;            /* there is [api] */

    unsigned                  redis;            /* it has answered: */
    int64_t                   undelivered;      /* entries of the inbox */
    int64_t                   pending;
    int64_t                   oldest;           /* age in ms, 0 if none */
    int64_t                   stream_rejected;
    size_t                    consumers;        /* of the group */
    const cs_page_consumer_t *consumer;         /* the first of them … */
    size_t                    nconsumer;        /* … at CS_PAGE_CONSUMERS */

    unsigned                  store;            /* it has answered: */
    cs_totals_t               totals;
    int64_t                   polled_at;        /* Unix ms */
    unsigned                  recovering;

    unsigned                  relay;            /* both have answered: */
    int64_t                   unrelayed;        /* operations */
} cs_page_t;


void cs_metrics_page(cs_buffer_t *out, const cs_page_t *page);


#endif /* CS_METRICS_PAGE_H */

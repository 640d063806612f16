/*
 * The metrics and the health of `run` over HTTP, by libmicrohttpd.
 *
 * Whoever asks gets a thread of its own, with connections of its own to Redis
 * and the store, and every wait there is short: nobody who asks, or stays
 * connected, can delay the settling.  Who asks for nothing costs nothing.
 */

#ifndef CS_METRICS_H
#define CS_METRICS_H

#include "config.h"


typedef struct cs_metrics_s  cs_metrics_t;


/*
 * Serves until cs_metrics_stop().  *metrics is NULL where no address is set.
 * CS_REFUSED: it cannot listen there, and that was said.  conf outlives it.
 */
CC_MUST_USE cs_status_e cs_metrics_start(cs_metrics_t **metrics,
    const cs_conf_t *conf);

/* closes all connections, whatever is on them */
void cs_metrics_stop(cs_metrics_t *metrics);


#endif /* CS_METRICS_H */

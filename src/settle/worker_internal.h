/*
 * What worker.c, which knows transactions, and worker_batch.c, which knows what
 * is in a delivery, share.
 */

#ifndef CS_WORKER_INTERNAL_H
#define CS_WORKER_INTERNAL_H

#include "counters.h"
#include "settling.h"
#include "string_list.h"
#include "worker.h"


struct cs_worker_s {
    cs_store_t           *store;
    cc_json_t            *json;
    cc_envelope_rules_t   rules;
    cs_settling_t         settling;
    cs_strings_t          batches;       /* what deliveries speak of */
    cs_strings_t          codes;
    cs_status_e           stopped;       /* why a reading was, or CS_OK */
    cs_reject_e           reject;        /* why a delivery was, */
    char                  reason[320];   /* … and in words */
};


/* reads a body; what is wrong with it is refused */
CC_MUST_USE cs_status_e cs_worker_envelope(cs_worker_t *worker,
    cc_envelope_t *envelope, cc_str_t body, const cc_envelope_sink_t *sink);

/* CS_REFUSED, and why: what cs_worker_reason() says, and what is counted */
cs_status_e cs_worker_refuse(cs_worker_t *worker, cs_reject_e reject,
    const char *reason);


#endif /* CS_WORKER_INTERNAL_H */

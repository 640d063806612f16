/*
 * Comparing answers of the API with the ledger, coupon by coupon, without
 * touching either.  Whatever returns a status other than CS_OK has put into
 * audit->error why.
 */

#ifndef CS_AUDIT_H
#define CS_AUDIT_H

#include "api.h"
#include "store.h"
#include "string_list.h"


typedef struct {
    /* set by the owner */
    const cs_conf_t  *conf;
    cs_store_t       *store;
    cs_api_t         *api;

    unsigned          compared;
    unsigned          differ;         /* found and printed */
    const char       *error;

    cc_json_t        *json;
    cs_strings_t      suspects;       /* codes */
    unsigned          second;         /* suspects are read again: print them */
    cs_asked_t        asked;
    cs_status_e       status;
} cs_audit_t;


void cs_audit_init(cs_audit_t *audit);
void cs_audit_free(cs_audit_t *audit);

/* coupons that the API says were created in the period, at most a day */
CC_MUST_USE cs_status_e cs_audit_created(cs_audit_t *audit, int64_t from,
    int64_t to);

/* coupons that the ledger says had an operation since */
CC_MUST_USE cs_status_e cs_audit_paid(cs_audit_t *audit, int64_t since);

/* reads what differed so far again, and prints what differs still */
CC_MUST_USE cs_status_e cs_audit_suspects(cs_audit_t *audit);


#endif /* CS_AUDIT_H */

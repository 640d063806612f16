/*
 * coupon-settle reconcile: does the ledger say what the API says?
 *
 * Two ways lead to a coupon: the API lists those created since a time, and the
 * ledger those with a money operation since then.  What differs may only be on
 * its way (a callback in the inbox, a round of polling in a minute), so each
 * suspect is read once more by its code, at the end, and only what differs then
 * as well is printed.  Nothing is changed.
 */

#include <stdio.h>
#include <stdlib.h>

#include "audit.h"
#include "clock.h"
#include "command.h"


static int cs_reconcile(cs_audit_t *audit, int64_t since);
static int cs_reconcile_failed(const cs_audit_t *audit);


int
cs_cmd_reconcile(const cs_args_t *args)
{
    int           failed;
    int64_t       since;
    cs_audit_t    audit;

    if (args->since == NULL) {
        return cs_usage("--since TIME is missing");
    }

    if (cs_time_option(&since, "since", args->since) != 0) {
        return CS_USAGE;
    }

    if (cs_without_api(args)) {
        return 1;
    }

    memset(&audit, 0, sizeof(cs_audit_t));

    audit.conf = &args->conf;
    audit.store = cs_open_store(args);

    if (audit.store == NULL) {
        return 1;
    }

    audit.api = cs_api_create(&args->conf.api);
    cs_audit_init(&audit);

    failed = cs_reconcile(&audit, since);

    cs_audit_free(&audit);
    cs_api_destroy(audit.api);
    cs_store_destroy(audit.store);

    return failed;
}


static int
cs_reconcile(cs_audit_t *audit, int64_t since)
{
    int64_t  from, to, now;

    now = cs_now();

    for (from = since; from < now; from = to) {

        to = from + CS_API_SLICE < now ? from + CS_API_SLICE : now;

        if (cs_audit_created(audit, from, to) != CS_OK) {
            return cs_reconcile_failed(audit);
        }
    }

    if (cs_audit_paid(audit, since) != CS_OK
        || cs_audit_suspects(audit) != CS_OK)
    {
        return cs_reconcile_failed(audit);
    }

    (void) printf("%u coupons compared, %u differ\n", audit->compared,
                  audit->differ);

    return audit->differ ? 1 : 0;
}


static int
cs_reconcile_failed(const cs_audit_t *audit)
{
    return cs_fail("the comparison is not complete: %s", audit->error);
}

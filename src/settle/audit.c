/*
 * The comparison of one coupon, and the ways to get at coupons; see audit.h.
 *
 * What has to agree is money: a final coupon has been paid its real_win, and no
 * other coupon has been paid anything.
 */

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "audit.h"
#include "clock.h"
#include "settling.h"


/* what the ledger says of a coupon */
typedef struct {
    cc_settled_t   settled;
    unsigned       in_doubt;
    cc_money_t     paid;
    unsigned       overflow;
} cs_ledger_t;


static cs_status_e cs_audit_ask(cs_audit_t *audit);
static cs_status_e cs_audit_reply(cs_audit_t *audit);
static int cs_audit_coupon(void *ctx, const cc_coupon_t *seen);
static int cs_audit_malformed(void *ctx, const cc_coupon_t *seen,
    const char *reason);
static int cs_audit_event(void *ctx, const cc_event_t *event);
static cs_status_e cs_audit_load(cs_audit_t *audit, cs_ledger_t *ledger,
    cc_str_t code);
static void cs_audit_stored(void *ctx, const cs_coupon_t *coupon);
static void cs_audit_operation(void *ctx, const cs_operation_t *operation);
static int cs_audit_agrees(const cs_audit_t *audit, const cs_ledger_t *ledger,
    const cc_coupon_t *seen);
static void cs_audit_missing(cs_audit_t *audit);
static void cs_audit_print(const cs_ledger_t *ledger, cc_str_t code,
    const cc_coupon_t *seen);


void
cs_audit_init(cs_audit_t *audit)
{
    uint64_t  seed;

    if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed)) {
        seed = (uint64_t) cs_now();
    }

    audit->json = cc_json_create(seed);

    if (audit->json == NULL) {
        cs_no_memory();
    }
}


void
cs_audit_free(cs_audit_t *audit)
{
    cc_json_destroy(audit->json);
    cs_strings_free(&audit->suspects);
}


cs_status_e
cs_audit_created(cs_audit_t *audit, int64_t from, int64_t to)
{
    if (cs_api_created(audit->api, from, to) != CS_API_OK) {
        audit->error = cs_api_error(audit->api);
        return CS_AGAIN;
    }

    return cs_audit_reply(audit);
}


cs_status_e
cs_audit_paid(cs_audit_t *audit, int64_t since)
{
    cc_str_t      after;
    cs_buffer_t   last;
    cs_status_e   status;

    memset(&last, 0, sizeof(cs_buffer_t));

    do {
        after.data = last.data;
        after.len = last.len;
        audit->asked.n = 0;

        status = cs_store_paid(audit->store, after, since, CS_ASKED_MAX,
                               cs_asked_listed, &audit->asked);

        if (status != CS_OK) {
            break;
        }

        last.len = 0;
        cs_buffer_add(&last,
                      cs_asked_code(&audit->asked.items[audit->asked.n - 1]));

        status = cs_audit_ask(audit);

    } while (status == CS_OK);

    cs_buffer_free(&last);

    if (status != CS_NONE && audit->error == NULL) {
        audit->error = cs_store_error(audit->store);
    }

    return status == CS_NONE ? CS_OK : status;
}


cs_status_e
cs_audit_suspects(cs_audit_t *audit)
{
    size_t           i, n;
    cs_status_e      status;
    const cc_str_t  *codes;

    audit->second = 1;
    audit->asked.n = 0;
    status = CS_OK;

    codes = cs_strings_all(&audit->suspects, &n);

    for (i = 0; i < n && status == CS_OK; i++) {

        if (cs_asked_find(&audit->asked, codes[i]) == NULL) {
            cs_asked_add(&audit->asked, codes[i], 0);
        }

        if (audit->asked.n == CS_ASKED_MAX) {
            status = cs_audit_ask(audit);
            audit->asked.n = 0;
        }
    }

    if (status == CS_OK && audit->asked.n) {
        status = cs_audit_ask(audit);
    }

    return status;
}


/* the coupons of audit->asked */

static cs_status_e
cs_audit_ask(cs_audit_t *audit)
{
    cs_status_e  status;

    if (cs_api_results(audit->api, &audit->asked) != CS_API_OK) {
        audit->error = cs_api_error(audit->api);
        return CS_AGAIN;
    }

    status = cs_audit_reply(audit);

    if (status == CS_OK) {
        cs_audit_missing(audit);
    }

    return status;
}


static cs_status_e
cs_audit_reply(cs_audit_t *audit)
{
    cc_answer_t          answer;
    const cs_reply_t    *reply;
    cc_envelope_sink_t   sink;

    sink.event = cs_audit_event;
    sink.coupon = cs_audit_coupon;
    sink.ctx = audit;
    sink.malformed = cs_audit_malformed;

    reply = cs_api_reply(audit->api);
    audit->status = CS_OK;

    if (cc_snapshot_read(&answer, audit->json, reply->text, reply->one, &sink)
        == CC_SNAPSHOT_NO_MEMORY)
    {
        cs_no_memory();
    }

    if (audit->status != CS_OK) {
        audit->error = cs_store_error(audit->store);
    }

    return audit->status;
}


/* nobody can tell whether it agrees; one without a code cannot be asked for */

static int
cs_audit_malformed(void *ctx, const cc_coupon_t *seen, const char *reason)
{
    cs_audit_t       *audit = ctx;
    cs_asked_item_t  *item;

    item = cs_asked_find(&audit->asked, seen->coupon_code);

    if (item) {
        item->answered = 1;
    }

    audit->compared += audit->second ? 0 : 1;

    if (seen->coupon_code.len && !audit->second) {
        cs_strings_add(&audit->suspects, seen->coupon_code);
        return 0;
    }

    audit->differ++;

    cs_print(seen->coupon_code.len ? seen->coupon_code
                                   : cs_str_of("(no code)"));
    (void) printf("  API: cannot be used: %s\n", reason);

    return 0;
}


static int
cs_audit_event(void *ctx, const cc_event_t *event)
{
    (void) ctx;
    (void) event;

    return 0;
}


static int
cs_audit_coupon(void *ctx, const cc_coupon_t *seen)
{
    cs_audit_t       *audit = ctx;
    cs_ledger_t       ledger;
    cs_asked_item_t  *item;

    item = cs_asked_find(&audit->asked, seen->coupon_code);

    if (item) {
        item->answered = 1;
    }

    audit->status = cs_audit_load(audit, &ledger, seen->coupon_code);

    if (audit->status != CS_OK) {
        return 1;
    }

    audit->compared += audit->second ? 0 : 1;

    if (!cs_audit_agrees(audit, &ledger, seen)) {

        if (audit->second) {
            audit->differ++;
            cs_audit_print(&ledger, seen->coupon_code, seen);

        } else {
            cs_strings_add(&audit->suspects, seen->coupon_code);
        }
    }

    return 0;
}


static cs_status_e
cs_audit_load(cs_audit_t *audit, cs_ledger_t *ledger, cc_str_t code)
{
    cs_status_e  status;

    memset(ledger, 0, sizeof(cs_ledger_t));

    /* in one transaction, so that state and operations fit each other */

    status = cs_store_begin(audit->store, CS_READ);

    if (status == CS_OK) {
        status = cs_store_coupon(audit->store, code, cs_audit_stored, ledger);
    }

    if (status == CS_OK) {
        status = cs_store_operations(audit->store, code, cs_audit_operation,
                                     ledger);
    }

    if (status == CS_OK || status == CS_NONE) {
        status = cs_store_commit(audit->store);
    }

    return status;
}


static void
cs_audit_stored(void *ctx, const cs_coupon_t *coupon)
{
    cs_ledger_t  *ledger = ctx;

    ledger->settled = coupon->settled;
    ledger->settled.doubt = NULL;
    ledger->in_doubt = coupon->settled.doubt != NULL;
}


static void
cs_audit_operation(void *ctx, const cs_operation_t *operation)
{
    cs_ledger_t  *ledger = ctx;

    ledger->overflow |= cc_money_add(&ledger->paid, ledger->paid,
                                     operation->operation.amount)
                        != 0;
}


static int
cs_audit_agrees(const cs_audit_t *audit, const cs_ledger_t *ledger,
    const cc_coupon_t *seen)
{
    cc_seen_e   is;
    cc_money_t  due;

    is = cs_settle_seen(audit->conf, seen->status);
    memset(&due, 0, sizeof(cc_money_t));

    if (is == CC_SEEN_FINAL && seen->has_real_win) {
        due = seen->real_win;
    }

    return !ledger->in_doubt && !ledger->overflow
           && cc_money_compare(ledger->paid, due) == 0
           && (is == CC_SEEN_FINAL)
              == (ledger->settled.state == CC_STATE_FINAL);
}


/* asked for, and not answered: the API does not know them */

static void
cs_audit_missing(cs_audit_t *audit)
{
    size_t            i;
    cs_ledger_t       ledger;
    cs_asked_item_t  *item;

    for (i = 0; i < audit->asked.n; i++) {

        item = &audit->asked.items[i];

        if (item->answered) {
            continue;
        }

        if (!audit->second) {
            cs_strings_add(&audit->suspects, cs_asked_code(item));

        } else if (cs_audit_load(audit, &ledger, cs_asked_code(item))
                   == CS_OK)
        {
            audit->differ++;
            cs_audit_print(&ledger, cs_asked_code(item), NULL);
        }
    }
}


static void
cs_audit_print(const cs_ledger_t *ledger, cc_str_t code,
    const cc_coupon_t *seen)
{
    char  amount[CC_MONEY_TEXT];

    (void) cc_money_format(amount, ledger->paid);

    cs_print(code);

    (void) printf("  ledger: %s%s, paid %s  API: ",
                  cc_state_name(ledger->settled.state),
                  ledger->in_doubt ? " (in doubt)" : "",
                  ledger->overflow ? "too much to add up" : amount);

    if (seen == NULL) {
        (void) printf("does not know it\n");
        return;
    }

    (void) printf("status %lld", (long long) seen->status);

    if (seen->has_real_win) {
        (void) cc_money_format(amount, seen->real_win);
        (void) printf(", real_win %s", amount);
    }

    (void) printf("\n");
}

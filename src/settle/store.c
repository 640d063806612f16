/*
 * The ledger, whichever it is: which store a URL names, and the way from each
 * function of store.h to that of the store.  Counters are told here when a
 * transaction begins and ends.
 */

#include <stdio.h>
#include <stdlib.h>

#include "buffer.h"
#include "clock.h"
#include "counters.h"
#include "pg.h"
#include "schema.h"
#include "store_ops.h"


const char *
cs_store_url(cs_store_conf_t *conf, const char *url)
{
    memset(conf, 0, sizeof(cs_store_conf_t));

    if (strncmp(url, "postgresql://", 13) == 0) {

        if (!cs_pg_url(&conf->name, url)) {
            return "is no URL that libpq understands";
        }

        conf->ops = &cs_store_postgres;
        conf->address = cs_copy(url);

        return NULL;
    }

    if (strncmp(url, "sqlite:", 7) != 0) {
        return "must be sqlite:PATH or postgresql://user@host/database";
    }

    if (url[7] == '\0' || url[7] == ':') {
        return "the path of the SQLite file is missing";
    }

    conf->ops = &cs_store_sqlite;
    conf->address = cs_copy(url + 7);
    conf->name = cs_copy(url + 7);

    return NULL;
}


void
cs_store_conf_free(cs_store_conf_t *conf)
{
    free(conf->address);
    free(conf->name);
}


cs_status_e
cs_store_version(int64_t version, char *error, size_t size)
{
    if (version == CS_SCHEMA_VERSION) {
        return CS_OK;
    }

    if (version == 0) {
        (void) snprintf(error, size, "there are no tables yet: "
                        "\"coupon-settle migrate\" makes them");
        return CS_NONE;
    }

    (void) snprintf(error, size, "the tables are of version %lld, this program "
                    "knows version %d%s", (long long) version,
                    CS_SCHEMA_VERSION,
                    version < CS_SCHEMA_VERSION
                        ? ": \"coupon-settle migrate\" changes them" : "");

    return version < CS_SCHEMA_VERSION ? CS_AGAIN : CS_REFUSED;
}


unsigned
cs_store_coupon_row(cs_coupon_t *coupon, cc_str_t state, cc_str_t real_win,
    cc_str_t credit)
{
    cc_settled_t  *settled = &coupon->settled;

    coupon->has_real_win = real_win.data != NULL;
    settled->credited = credit.data != NULL;
    settled->confirmed = coupon->confirmed_at != 0;

    for (settled->state = CC_STATE_ACTIVE;
         !cc_str_is(state, cc_state_name(settled->state));
         settled->state++)
    {
        if (settled->state == CC_STATE_RECALCULATING) {
            return 0;
        }
    }

    if (settled->credited != (settled->state == CC_STATE_FINAL)) {
        return 0;
    }

    return (!coupon->has_real_win
            || cc_money_parse(&coupon->real_win, real_win,
                              CC_MONEY_STRING_DIGITS)
               == 0)
           && (!settled->credited
               || cc_money_parse(&settled->credit, credit,
                                 CC_MONEY_STRING_DIGITS)
                  == 0);
}


unsigned
cs_store_operation_row(cs_operation_t *operation, cc_str_t kind,
    cc_str_t amount)
{
    cc_operation_t  *o = &operation->operation;

    o->kind = cc_str_is(kind, cc_operation_name(CC_OPERATION_FINAL_CREDIT))
              ? CC_OPERATION_FINAL_CREDIT : CC_OPERATION_RECALCULATION_DEBIT;

    return cc_str_is(kind, cc_operation_name(o->kind))
           && cc_money_parse(&o->amount, amount, CC_MONEY_STRING_DIGITS) == 0;
}


cs_store_t *
cs_store_create(const cs_store_conf_t *conf, int patience_ms)
{
    return conf->ops->create(conf, patience_ms);
}


void
cs_store_destroy(cs_store_t *store)
{
    store->ops->destroy(store);
}


cs_status_e
cs_store_open(cs_store_t *store, unsigned migrate)
{
    return store->ops->open(store, migrate);
}


void
cs_store_close(cs_store_t *store)
{
    cs_count_rollback();
    store->ops->close(store);
}


void
cs_store_limit(cs_store_t *store, int ms)
{
    store->limit_ms = ms;
}


const char *
cs_store_error(const cs_store_t *store)
{
    return store->ops->error(store);
}


unsigned
cs_store_collided(const cs_store_t *store)
{
    return store->ops->collided(store);
}


unsigned
cs_store_held(const cs_store_t *store)
{
    return store->ops->held(store);
}


void
cs_store_check(cs_store_t *store, cs_fact_pt say, void *ctx)
{
    store->ops->check(store, say, ctx);
}


cs_status_e
cs_store_begin(cs_store_t *store, cs_access_e access)
{
    cs_count_begin();

    return store->ops->begin(store, access);
}


cs_status_e
cs_store_expect(cs_store_t *store, const cs_expected_t *expected)
{
    return store->ops->expect(store, expected);
}


cs_status_e
cs_store_commit(cs_store_t *store)
{
    int64_t      begun;
    cs_status_e  status;

    begun = cs_monotonic_us();

    status = store->ops->commit(store);

    if (status == CS_OK) {
        cs_count_commit_time(cs_monotonic_us() - begun);
        cs_count_commit();
    }

    return status;
}


void
cs_store_rollback(cs_store_t *store)
{
    cs_count_rollback();
    store->ops->rollback(store);
}


cs_status_e
cs_store_savepoint(cs_store_t *store)
{
    cs_count_savepoint();

    return store->ops->savepoint(store);
}


cs_status_e
cs_store_release(cs_store_t *store)
{
    return store->ops->release(store);
}


cs_status_e
cs_store_undo(cs_store_t *store)
{
    cs_count_undo();

    return store->ops->undo(store);
}


cs_status_e
cs_store_batch(cs_store_t *store, const cs_batch_t *batch, unsigned *same)
{
    return store->ops->batch(store, batch, same);
}


cs_status_e
cs_store_coupon(cs_store_t *store, cc_str_t code, cs_coupon_pt call, void *ctx)
{
    return store->ops->coupon(store, code, call, ctx);
}


cs_status_e
cs_store_doubts(cs_store_t *store, cs_coupon_pt call, void *ctx)
{
    return store->ops->doubts(store, call, ctx);
}


cs_status_e
cs_store_events(cs_store_t *store, cc_str_t code, cs_event_pt call, void *ctx)
{
    return store->ops->events(store, code, call, ctx);
}


cs_status_e
cs_store_operations(cs_store_t *store, cc_str_t code, cs_operation_pt call,
    void *ctx)
{
    return store->ops->operations(store, code, call, ctx);
}


cs_status_e
cs_store_coupon_save(cs_store_t *store, const cs_coupon_t *coupon)
{
    return store->ops->coupon_save(store, coupon);
}


cs_status_e
cs_store_event_save(cs_store_t *store, cc_str_t code, const cc_event_t *event)
{
    return store->ops->event_save(store, code, event);
}


cs_status_e
cs_store_operation_add(cs_store_t *store, const cs_operation_t *operation)
{
    return store->ops->operation_add(store, operation);
}


cs_status_e
cs_store_rejected(cs_store_t *store, int64_t id, cs_rejected_pt call, void *ctx)
{
    return store->ops->rejected(store, id, call, ctx);
}


cs_status_e
cs_store_rejected_add(cs_store_t *store, const cs_rejected_t *rejected)
{
    return store->ops->rejected_add(store, rejected);
}


cs_status_e
cs_store_rejected_drop(cs_store_t *store, int64_t id)
{
    return store->ops->rejected_drop(store, id);
}


cs_status_e
cs_store_mark(cs_store_t *store, const char *name, int64_t *value)
{
    return store->ops->mark(store, name, value);
}


cs_status_e
cs_store_mark_set(cs_store_t *store, const char *name, int64_t value)
{
    return store->ops->mark_set(store, name, value);
}


cs_status_e
cs_store_waiting(cs_store_t *store, cs_version_pt call, void *ctx)
{
    return store->ops->waiting(store, call, ctx);
}


cs_status_e
cs_store_unconfirmed(cs_store_t *store, cc_str_t after, int64_t since,
    unsigned limit, cs_version_pt call, void *ctx)
{
    return store->ops->unconfirmed(store, after, since, limit, call, ctx);
}


cs_status_e
cs_store_paid(cs_store_t *store, cc_str_t after, int64_t since, unsigned limit,
    cs_version_pt call, void *ctx)
{
    return store->ops->paid(store, after, since, limit, call, ctx);
}


cs_status_e
cs_store_outbox_number(cs_store_t *store, unsigned limit, unsigned *n)
{
    return store->ops->outbox_number(store, limit, n);
}


cs_status_e
cs_store_outbox(cs_store_t *store, int64_t from, unsigned limit,
    cs_outbox_pt call, void *ctx)
{
    return store->ops->outbox(store, from, limit, call, ctx);
}


cs_status_e
cs_store_outbox_waiting(cs_store_t *store, unsigned limit, int64_t *n)
{
    return store->ops->outbox_waiting(store, limit, n);
}


cs_status_e
cs_store_outbox_fill(cs_store_t *store, cc_str_t code, int64_t since,
    unsigned *n)
{
    return store->ops->outbox_fill(store, code, since, n);
}


cs_status_e
cs_store_totals(cs_store_t *store, cs_totals_t *totals)
{
    return store->ops->totals(store, totals);
}

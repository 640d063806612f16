/*
 * The ledger in SQLite: reading and writing rows.  The values of a question go
 * into its statement, and who reads is called back with the rows as they come.
 */

#include <stdio.h>

#include "buffer.h"
#include "store_sqlite.h"


/* a callback of store.h, on its way through a callback of sqlite.h */
typedef struct {
    cs_coupon_pt      coupon;
    cs_event_pt       event;
    cs_operation_pt   operation;
    cs_rejected_pt    rejected;
    cs_version_pt     version;
    cc_str_t          code;
    void             *ctx;
    unsigned          broken;         /* a row holds what we never wrote */
} cs_call_t;


static cs_status_e cs_lite_rows(cs_store_t *store, size_t statement,
    const cs_value_t *values, size_t n, cs_row_pt row, cs_call_t *call);
static void cs_lite_coupon_row(void *ctx, sqlite3_stmt *row);
static void cs_lite_event_row(void *ctx, sqlite3_stmt *row);
static void cs_lite_operation_row(void *ctx, sqlite3_stmt *row);
static void cs_lite_rejected_row(void *ctx, sqlite3_stmt *row);
static void cs_lite_mark_row(void *ctx, sqlite3_stmt *row);
static void cs_lite_version_row(void *ctx, sqlite3_stmt *row);
static void cs_lite_totals_row(void *ctx, sqlite3_stmt *row);
static cs_sqlite_t *cs_lite_db(cs_store_t *store);
static cs_value_t cs_lite_amount(char *buf, cc_money_t amount);


cs_status_e
cs_lite_batch(cs_store_t *store, const cs_batch_t *batch, unsigned *same)
{
    cs_status_e  status;

    status = cs_sqlite_run(cs_lite_db(store), CS_LITE_BATCH_ADD,
                           cs_values(cs_string(batch->id),
                                     cs_int(batch->received_at),
                                     cs_int(batch->coupon_count),
                                     cs_string(batch->digest)),
                           NULL, NULL);
    if (status != CS_NONE) {
        return status;
    }

    status = cs_sqlite_run(cs_lite_db(store), CS_LITE_BATCH_SAME,
                           cs_values(cs_string(batch->id),
                                     cs_string(batch->digest)),
                           NULL, NULL);

    *same = status == CS_OK;

    return status == CS_OK ? CS_NONE : status;
}


cs_status_e
cs_lite_coupon(cs_store_t *store, cc_str_t code, cs_coupon_pt coupon,
    void *ctx)
{
    cs_call_t  call = { .coupon = coupon, .ctx = ctx };

    return cs_lite_rows(store, CS_LITE_COUPON, cs_values(cs_string(code)),
                         cs_lite_coupon_row, &call);
}


cs_status_e
cs_lite_doubts(cs_store_t *store, cs_coupon_pt coupon, void *ctx)
{
    cs_call_t  call = { .coupon = coupon, .ctx = ctx };

    return cs_lite_rows(store, CS_LITE_DOUBTS, NULL, 0, cs_lite_coupon_row,
                         &call);
}


cs_status_e
cs_lite_events(cs_store_t *store, cc_str_t code, cs_event_pt event, void *ctx)
{
    cs_call_t  call = { .event = event, .ctx = ctx };

    return cs_lite_rows(store, CS_LITE_EVENTS, cs_values(cs_string(code)),
                         cs_lite_event_row, &call);
}


cs_status_e
cs_lite_operations(cs_store_t *store, cc_str_t code, cs_operation_pt operation,
    void *ctx)
{
    cs_call_t  call = { .operation = operation, .code = code, .ctx = ctx };

    return cs_lite_rows(store, CS_LITE_OPERATIONS, cs_values(cs_string(code)),
                         cs_lite_operation_row, &call);
}


cs_status_e
cs_lite_coupon_save(cs_store_t *store, const cs_coupon_t *coupon)
{
    char                 amount[CC_MONEY_TEXT];
    cs_status_e          status;
    const cc_settled_t  *settled = &coupon->settled;

    status = cs_sqlite_run(cs_lite_db(store), CS_LITE_COUPON_SAVE,
        cs_values(cs_string(coupon->code),
                  cs_int(coupon->status),
                  coupon->has_real_win
                      ? cs_lite_amount(amount, coupon->real_win) : cs_null(),
                  cs_string(cs_str_of(cc_state_name(settled->state))),
                  cs_int(settled->generation),
                  settled->doubt ? cs_string(cs_str_of(settled->doubt))
                                 : cs_null(),
                  coupon->confirmed_at ? cs_int(coupon->confirmed_at)
                                       : cs_null(),
                  coupon->raw.len ? cs_string(coupon->raw) : cs_null()),
        NULL, NULL);

    return status == CS_NONE ? CS_OK : status;
}


cs_status_e
cs_lite_event_save(cs_store_t *store, cc_str_t code, const cc_event_t *event)
{
    return cs_sqlite_run(cs_lite_db(store), CS_LITE_EVENT_SAVE,
        cs_values(cs_string(code),
                  cs_string(event->uuid),
                  event->has_status ? cs_int(event->status) : cs_null(),
                  cs_string(event->raw)),
        NULL, NULL);
}


cs_status_e
cs_lite_operation_add(cs_store_t *store, const cs_operation_t *operation)
{
    char                   amount[CC_MONEY_TEXT];
    cs_lite_t             *lite = (cs_lite_t *) store;
    cs_status_e            status;
    const cc_operation_t  *o = &operation->operation;

    status = cs_sqlite_run(&lite->db, CS_LITE_OPERATION_ADD,
        cs_values(cs_string(operation->code),
                  cs_int(o->generation),
                  cs_string(cs_str_of(cc_operation_name(o->kind))),
                  cs_lite_amount(amount, o->amount),
                  cs_int(operation->created_at),
                  cs_string(operation->batch_id)),
        NULL, NULL);

    if (status != CS_OK || !lite->outbox) {
        return status;
    }

    /* CS_NONE: there was one of this key, and somebody has dropped it */

    status = cs_sqlite_run(&lite->db, CS_LITE_OUTBOX_ADD,
        cs_values(cs_string(operation->code),
                  cs_int(o->generation),
                  cs_string(cs_str_of(cc_operation_name(o->kind)))),
        NULL, NULL);

    return status == CS_NONE ? CS_OK : status;
}


cs_status_e
cs_lite_rejected(cs_store_t *store, int64_t id, cs_rejected_pt rejected,
    void *ctx)
{
    cs_call_t  call = { .rejected = rejected, .ctx = ctx };

    if (id == 0) {
        return cs_lite_rows(store, CS_LITE_REJECTED_LIST, NULL, 0,
                             cs_lite_rejected_row, &call);
    }

    return cs_lite_rows(store, CS_LITE_REJECTED, cs_values(cs_int(id)),
                         cs_lite_rejected_row, &call);
}


cs_status_e
cs_lite_rejected_add(cs_store_t *store, const cs_rejected_t *rejected)
{
    return cs_sqlite_run(cs_lite_db(store), CS_LITE_REJECTED_ADD,
        cs_values(cs_string(rejected->source),
                  rejected->batch_id.len ? cs_string(rejected->batch_id)
                                         : cs_null(),
                  cs_string(rejected->reason),
                  cs_blob(rejected->body),
                  cs_int(rejected->received_at),
                  cs_int(rejected->rejected_at)),
        NULL, NULL);
}


cs_status_e
cs_lite_rejected_drop(cs_store_t *store, int64_t id)
{
    return cs_sqlite_run(cs_lite_db(store), CS_LITE_REJECTED_DROP,
                         cs_values(cs_int(id)), NULL, NULL);
}


cs_status_e
cs_lite_mark(cs_store_t *store, const char *name, int64_t *value)
{
    cs_status_e  status;

    *value = 0;

    status = cs_sqlite_run(cs_lite_db(store), CS_LITE_MARK,
                           cs_values(cs_string(cs_str_of(name))),
                           cs_lite_mark_row, value);

    return status == CS_NONE ? CS_OK : status;
}


static void
cs_lite_mark_row(void *ctx, sqlite3_stmt *row)
{
    *(int64_t *) ctx = sqlite3_column_int64(row, 0);
}


cs_status_e
cs_lite_mark_set(cs_store_t *store, const char *name, int64_t value)
{
    return cs_sqlite_run(cs_lite_db(store), CS_LITE_MARK_SET,
                         cs_values(cs_string(cs_str_of(name)), cs_int(value)),
                         NULL, NULL);
}


cs_status_e
cs_lite_waiting(cs_store_t *store, cs_version_pt version, void *ctx)
{
    cs_call_t  call = { .version = version, .ctx = ctx };

    return cs_lite_rows(store, CS_LITE_WAITING, NULL, 0, cs_lite_version_row,
                        &call);
}


cs_status_e
cs_lite_unconfirmed(cs_store_t *store, cc_str_t after, int64_t since,
    unsigned limit, cs_version_pt version, void *ctx)
{
    cs_call_t  call = { .version = version, .ctx = ctx };

    return cs_lite_rows(store, CS_LITE_UNCONFIRMED,
                        cs_values(cs_string(after), cs_int(since),
                                  cs_int(limit)),
                        cs_lite_version_row, &call);
}


cs_status_e
cs_lite_paid(cs_store_t *store, cc_str_t after, int64_t since, unsigned limit,
    cs_version_pt version, void *ctx)
{
    cs_call_t  call = { .version = version, .ctx = ctx };

    return cs_lite_rows(store, CS_LITE_PAID,
                        cs_values(cs_string(after), cs_int(since),
                                  cs_int(limit)),
                        cs_lite_version_row, &call);
}


static void
cs_lite_version_row(void *ctx, sqlite3_stmt *row)
{
    cs_call_t  *call = ctx;

    call->version(call->ctx, cs_column(row, 0), sqlite3_column_int64(row, 1));
}


cs_status_e
cs_lite_totals(cs_store_t *store, cs_totals_t *totals)
{
    return cs_sqlite_run(cs_lite_db(store), CS_LITE_TOTALS, NULL, 0,
                         cs_lite_totals_row, totals);
}


static void
cs_lite_totals_row(void *ctx, sqlite3_stmt *row)
{
    cs_totals_t  *totals = ctx;

    totals->doubts = sqlite3_column_int64(row, 0);
    totals->rejected = sqlite3_column_int64(row, 1);
    totals->requests = sqlite3_column_int64(row, 2);
    totals->deadline = sqlite3_column_int64(row, 3);
}


static cs_status_e
cs_lite_rows(cs_store_t *store, size_t statement, const cs_value_t *values,
    size_t n, cs_row_pt row, cs_call_t *call)
{
    cs_lite_t    *lite = (cs_lite_t *) store;
    cs_status_e   status;

    status = cs_sqlite_run(&lite->db, statement, values, n, row, call);

    if (status == CS_OK && call->broken) {
        (void) snprintf(lite->db.error, sizeof(lite->db.error), "%s",
                        CS_STORE_BROKEN);
        return CS_REFUSED;
    }

    return status;
}


static void
cs_lite_coupon_row(void *ctx, sqlite3_stmt *row)
{
    cs_call_t     *call = ctx;
    cs_coupon_t    coupon;

    memset(&coupon, 0, sizeof(cs_coupon_t));

    coupon.code = cs_column(row, 0);
    coupon.status = sqlite3_column_int64(row, 1);
    coupon.settled.generation = (unsigned) sqlite3_column_int64(row, 4);
    coupon.confirmed_at = sqlite3_column_int64(row, 6);
    coupon.version = sqlite3_column_int64(row, 7);
    coupon.raw = cs_column(row, 8);

    coupon.settled.doubt = (const char *) sqlite3_column_text(row, 5);

    if (!cs_store_coupon_row(&coupon, cs_column(row, 3), cs_column(row, 2),
                             cs_column(row, 9)))
    {
        call->broken = 1;
        return;
    }

    call->coupon(call->ctx, &coupon);
}


static void
cs_lite_event_row(void *ctx, sqlite3_stmt *row)
{
    cs_call_t   *call = ctx;
    cc_event_t   event;

    memset(&event, 0, sizeof(cc_event_t));

    event.uuid = cs_column(row, 0);
    event.has_status = !cs_column_null(row, 1);
    event.status = sqlite3_column_int64(row, 1);
    event.raw = cs_column(row, 2);

    call->event(call->ctx, &event);
}


static void
cs_lite_operation_row(void *ctx, sqlite3_stmt *row)
{
    cs_call_t       *call = ctx;
    cs_operation_t   operation;

    memset(&operation, 0, sizeof(cs_operation_t));

    operation.code = call->code;
    operation.operation.generation = (unsigned) sqlite3_column_int64(row, 0);
    operation.created_at = sqlite3_column_int64(row, 3);
    operation.batch_id = cs_column(row, 4);

    if (!cs_store_operation_row(&operation, cs_column(row, 1),
                                cs_column(row, 2)))
    {
        call->broken = 1;
        return;
    }

    call->operation(call->ctx, &operation);
}


static void
cs_lite_rejected_row(void *ctx, sqlite3_stmt *row)
{
    cs_call_t      *call = ctx;
    cs_rejected_t   rejected;

    memset(&rejected, 0, sizeof(cs_rejected_t));

    rejected.id = sqlite3_column_int64(row, 0);
    rejected.source = cs_column(row, 1);
    rejected.batch_id = cs_column(row, 2);
    rejected.reason = cs_column(row, 3);
    rejected.received_at = sqlite3_column_int64(row, 4);
    rejected.rejected_at = sqlite3_column_int64(row, 5);
    rejected.body = cs_column(row, 6);

    call->rejected(call->ctx, &rejected);
}


static cs_sqlite_t *
cs_lite_db(cs_store_t *store)
{
    return &((cs_lite_t *) store)->db;
}


static cs_value_t
cs_lite_amount(char *buf, cc_money_t amount)
{
    cc_str_t  text;

    text.data = (const unsigned char *) buf;
    text.len = cc_money_format(buf, amount);

    return cs_string(text);
}

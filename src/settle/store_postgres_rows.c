/*
 * The ledger in PostgreSQL: reading.  Who reads is called back with the rows as
 * they come.
 */

#include <stdio.h>

#include "store_postgres.h"


/* a callback of store.h, on its way through one of pg.h */
typedef struct {
    cs_coupon_pt      coupon;
    cs_event_pt       event;
    cs_operation_pt   operation;
    cs_rejected_pt    rejected;
    cs_version_pt     version;
    void             *ctx;
    unsigned          broken;         /* a row holds what we never wrote */
    int               rows;
} cs_post_call_t;


static cs_status_e cs_post_rows(cs_post_t *post, size_t statement,
    const cs_pg_array_t *params, size_t n, cs_pg_result_pt result,
    cs_post_call_t *call);
static cs_status_e cs_post_rows_of(cs_post_t *post, size_t statement,
    cc_str_t code, cs_pg_result_pt result, cs_post_call_t *call);
static void cs_post_coupons(void *ctx, const PGresult *result);
static void cs_post_event_rows(void *ctx, const PGresult *result);
static void cs_post_operation_rows(void *ctx, const PGresult *result);
static void cs_post_rejected_rows(void *ctx, const PGresult *result);
static cs_status_e cs_post_page(cs_store_t *store, size_t statement,
    cc_str_t after, int64_t since, unsigned limit, cs_post_call_t *call);
static void cs_post_versions(void *ctx, const PGresult *result);
static void cs_post_mark_row(void *ctx, const PGresult *result);
static void cs_post_totals_row(void *ctx, const PGresult *result);


cs_status_e
cs_post_coupon(cs_store_t *store, cc_str_t code, cs_coupon_pt coupon, void *ctx)
{
    cs_post_t         *post = (cs_post_t *) store;
    cs_status_e        status;
    cs_post_call_t     call = { .coupon = coupon, .ctx = ctx };
    cs_work_coupon_t  *row;

    if (!post->writing) {
        return cs_post_rows_of(post, CS_POST_COUPON, code, cs_post_coupons,
                               &call);
    }

    status = cs_post_fetch(post, code, &row);
    if (status != CS_OK) {
        return status;
    }

    if (!row->stored && !row->changed) {
        return CS_NONE;
    }

    coupon(ctx, &row->coupon);

    return CS_OK;
}


cs_status_e
cs_post_doubts(cs_store_t *store, cs_coupon_pt coupon, void *ctx)
{
    cs_post_call_t  call = { .coupon = coupon, .ctx = ctx };

    return cs_post_rows((cs_post_t *) store, CS_POST_DOUBTS, NULL, 0,
                        cs_post_coupons, &call);
}


cs_status_e
cs_post_events(cs_store_t *store, cc_str_t code, cs_event_pt event, void *ctx)
{
    cs_post_call_t  call = { .event = event, .ctx = ctx };

    return cs_post_rows_of((cs_post_t *) store, CS_POST_EVENTS, code,
                           cs_post_event_rows, &call);
}


cs_status_e
cs_post_operations(cs_store_t *store, cc_str_t code, cs_operation_pt operation,
    void *ctx)
{
    cs_post_call_t  call = { .operation = operation, .ctx = ctx };

    return cs_post_rows_of((cs_post_t *) store, CS_POST_OPERATIONS, code,
                           cs_post_operation_rows, &call);
}


cs_status_e
cs_post_rejected(cs_store_t *store, int64_t id, cs_rejected_pt rejected,
    void *ctx)
{
    cs_post_t       *post = (cs_post_t *) store;
    cs_status_e      status;
    cs_pg_array_t    param;
    cs_post_call_t   call = { .rejected = rejected, .ctx = ctx };

    if (id == 0) {
        return cs_post_rows(post, CS_POST_REJECTED_LIST, NULL, 0,
                            cs_post_rejected_rows, &call);
    }

    memset(&param, 0, sizeof(cs_pg_array_t));
    cs_pg_array_init(&param, CS_PG_INT8);
    cs_pg_array_int(&param, id);

    status = cs_post_rows(post, CS_POST_REJECTED, &param, 1,
                          cs_post_rejected_rows, &call);

    cs_pg_array_free(&param);

    return status;
}


cs_status_e
cs_post_mark(cs_store_t *store, const char *name, int64_t *value)
{
    cs_post_t             *post = (cs_post_t *) store;
    cs_status_e            status;
    cs_post_call_t         call = { .ctx = value };
    const cs_work_mark_t  *mark;

    *value = 0;

    mark = cs_work_mark(&post->work, cs_str_of(name));

    if (mark) {
        *value = mark->value;
        return CS_OK;
    }

    status = cs_post_rows_of(post, CS_POST_MARK, cs_str_of(name),
                             cs_post_mark_row, &call);

    return status == CS_NONE ? CS_OK : status;
}


cs_status_e
cs_post_waiting(cs_store_t *store, cs_version_pt version, void *ctx)
{
    cs_post_call_t  call = { .version = version, .ctx = ctx };

    return cs_post_rows((cs_post_t *) store, CS_POST_WAITING, NULL, 0,
                        cs_post_versions, &call);
}


cs_status_e
cs_post_unconfirmed(cs_store_t *store, cc_str_t after, int64_t since,
    unsigned limit, cs_version_pt version, void *ctx)
{
    cs_post_call_t  call = { .version = version, .ctx = ctx };

    return cs_post_page(store, CS_POST_UNCONFIRMED, after, since, limit, &call);
}


cs_status_e
cs_post_paid(cs_store_t *store, cc_str_t after, int64_t since, unsigned limit,
    cs_version_pt version, void *ctx)
{
    cs_post_call_t  call = { .version = version, .ctx = ctx };

    return cs_post_page(store, CS_POST_PAID, after, since, limit, &call);
}


cs_status_e
cs_post_totals(cs_store_t *store, cs_totals_t *totals)
{
    cs_post_call_t  call = { .ctx = totals };

    return cs_post_rows((cs_post_t *) store, CS_POST_TOTALS, NULL, 0,
                        cs_post_totals_row, &call);
}


static cs_status_e
cs_post_page(cs_store_t *store, size_t statement, cc_str_t after,
    int64_t since, unsigned limit, cs_post_call_t *call)
{
    size_t          i;
    cs_status_e     status;
    cs_pg_array_t   params[3];

    memset(params, 0, sizeof(params));

    cs_pg_array_init(&params[0], CS_PG_TEXT);
    cs_pg_array_text(&params[0], after);
    cs_pg_array_init(&params[1], CS_PG_INT8);
    cs_pg_array_int(&params[1], since);
    cs_pg_array_init(&params[2], CS_PG_INT8);
    cs_pg_array_int(&params[2], limit);

    status = cs_post_rows((cs_post_t *) store, statement, params, 3,
                          cs_post_versions, call);

    for (i = 0; i < 3; i++) {
        cs_pg_array_free(&params[i]);
    }

    return status;
}


static cs_status_e
cs_post_rows_of(cs_post_t *post, size_t statement, cc_str_t code,
    cs_pg_result_pt result, cs_post_call_t *call)
{
    cs_status_e     status;
    cs_pg_array_t   param;

    memset(&param, 0, sizeof(cs_pg_array_t));
    cs_pg_array_init(&param, CS_PG_TEXT);
    cs_pg_array_text(&param, code);

    status = cs_post_rows(post, statement, &param, 1, result, call);

    cs_pg_array_free(&param);

    return status;
}


static cs_status_e
cs_post_rows(cs_post_t *post, size_t statement, const cs_pg_array_t *params,
    size_t n, cs_pg_result_pt result, cs_post_call_t *call)
{
    cs_status_e  status;

    cs_pg_send(&post->db, statement, params, n, result, call);

    status = cs_post_wait(post);

    if (status == CS_OK && call->broken) {
        (void) snprintf(post->db.error, sizeof(post->db.error), "%s",
                        CS_STORE_BROKEN);
        return CS_REFUSED;
    }

    return status == CS_OK && call->rows == 0 ? CS_NONE : status;
}


/* the strings are the result's */

unsigned
cs_post_coupon_row(cs_coupon_t *coupon, const PGresult *result, int i)
{
    memset(coupon, 0, sizeof(cs_coupon_t));

    coupon->code = cs_pg_column(result, i, 0);
    coupon->status = cs_pg_number(result, i, 1);
    coupon->settled.generation = (unsigned) cs_pg_number(result, i, 4);
    coupon->settled.doubt = (const char *) cs_pg_column(result, i, 5).data;
    coupon->confirmed_at = cs_pg_number(result, i, 6);
    coupon->version = cs_pg_number(result, i, 7);
    coupon->raw = cs_pg_column(result, i, 8);

    return cs_store_coupon_row(coupon, cs_pg_column(result, i, 3),
                               cs_pg_column(result, i, 2),
                               cs_pg_column(result, i, 9));
}


static void
cs_post_coupons(void *ctx, const PGresult *result)
{
    int              i;
    cs_coupon_t      coupon;
    cs_post_call_t  *call = ctx;

    call->rows = PQntuples(result);

    for (i = 0; i < call->rows; i++) {

        if (!cs_post_coupon_row(&coupon, result, i)) {
            call->broken = 1;
            continue;
        }

        call->coupon(call->ctx, &coupon);
    }
}


static void
cs_post_event_rows(void *ctx, const PGresult *result)
{
    int              i;
    cc_event_t       event;
    cs_post_call_t  *call = ctx;

    call->rows = PQntuples(result);

    for (i = 0; i < call->rows; i++) {
        memset(&event, 0, sizeof(cc_event_t));

        event.uuid = cs_pg_column(result, i, 0);
        event.has_status = cs_pg_column(result, i, 1).data != NULL;
        event.status = cs_pg_number(result, i, 1);
        event.raw = cs_pg_column(result, i, 2);

        call->event(call->ctx, &event);
    }
}


static void
cs_post_operation_rows(void *ctx, const PGresult *result)
{
    int              i;
    cs_operation_t   operation;
    cs_post_call_t  *call = ctx;

    call->rows = PQntuples(result);

    for (i = 0; i < call->rows; i++) {
        memset(&operation, 0, sizeof(cs_operation_t));

        operation.operation.generation = (unsigned) cs_pg_number(result, i, 0);
        operation.created_at = cs_pg_number(result, i, 3);
        operation.batch_id = cs_pg_column(result, i, 4);
        operation.code = cs_pg_column(result, i, 5);

        if (!cs_store_operation_row(&operation, cs_pg_column(result, i, 1),
                                    cs_pg_column(result, i, 2)))
        {
            call->broken = 1;
            continue;
        }

        call->operation(call->ctx, &operation);
    }
}


static void
cs_post_rejected_rows(void *ctx, const PGresult *result)
{
    int              i;
    size_t           len;
    cs_rejected_t    rejected;
    unsigned char   *body;
    cs_post_call_t  *call = ctx;

    call->rows = PQntuples(result);

    for (i = 0; i < call->rows; i++) {

        body = PQunescapeBytea((unsigned char *) PQgetvalue(result, i, 6),
                               &len);
        if (body == NULL) {
            cs_no_memory();
        }

        rejected.id = cs_pg_number(result, i, 0);
        rejected.source = cs_pg_column(result, i, 1);
        rejected.batch_id = cs_pg_column(result, i, 2);
        rejected.reason = cs_pg_column(result, i, 3);
        rejected.received_at = cs_pg_number(result, i, 4);
        rejected.rejected_at = cs_pg_number(result, i, 5);
        rejected.body.data = body;
        rejected.body.len = len;

        call->rejected(call->ctx, &rejected);

        PQfreemem(body);
    }
}


static void
cs_post_versions(void *ctx, const PGresult *result)
{
    int              i;
    cs_post_call_t  *call = ctx;

    call->rows = PQntuples(result);

    for (i = 0; i < call->rows; i++) {
        call->version(call->ctx, cs_pg_column(result, i, 0),
                      cs_pg_number(result, i, 1));
    }
}


static void
cs_post_mark_row(void *ctx, const PGresult *result)
{
    cs_post_call_t  *call = ctx;
    int64_t         *value = call->ctx;

    call->rows = PQntuples(result);

    if (call->rows) {
        *value = cs_pg_number(result, 0, 0);
    }
}


static void
cs_post_totals_row(void *ctx, const PGresult *result)
{
    cs_post_call_t  *call = ctx;
    cs_totals_t     *totals = call->ctx;

    call->rows = PQntuples(result);

    totals->doubts = cs_pg_number(result, 0, 0);
    totals->rejected = cs_pg_number(result, 0, 1);
    totals->requests = cs_pg_number(result, 0, 2);
    totals->deadline = cs_pg_number(result, 0, 3);
}

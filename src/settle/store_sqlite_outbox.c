/*
 * The outbox in SQLite; see store.h.
 */

#include <stdio.h>

#include "store_sqlite.h"


typedef struct {
    cs_outbox_pt   call;
    void          *ctx;
    unsigned       broken;        /* a row holds what we never wrote */
} cs_lite_outbox_t;


static cs_status_e cs_lite_outbox_numbers(cs_lite_t *lite, unsigned limit,
    unsigned *n);
static void cs_lite_outbox_row(void *ctx, sqlite3_stmt *row);
static void cs_lite_outbox_count(void *ctx, sqlite3_stmt *row);


cs_status_e
cs_lite_outbox_number(cs_store_t *store, unsigned limit, unsigned *n)
{
    cs_lite_t    *lite = (cs_lite_t *) store;
    cs_status_e   status;

    status = cs_store_begin(store, CS_WRITE);

    if (status == CS_OK) {
        status = cs_lite_outbox_numbers(lite, limit, n);
    }

    if (status == CS_OK) {
        status = cs_store_commit(store);
    }

    if (status != CS_OK) {
        cs_store_rollback(store);
    }

    return status;
}


static cs_status_e
cs_lite_outbox_numbers(cs_lite_t *lite, unsigned limit, unsigned *n)
{
    cs_status_e  status;

    *n = 0;

    status = cs_sqlite_run(&lite->db, CS_LITE_OUTBOX + CS_OUTBOX_LOCK, NULL, 0,
                           NULL, NULL);

    if (status == CS_OK) {
        status = cs_sqlite_run(&lite->db, CS_LITE_OUTBOX + CS_OUTBOX_NUMBER,
                               cs_values(cs_int(limit)), NULL, NULL);
    }

    if (status == CS_OK) {
        *n = (unsigned) sqlite3_changes(lite->db.handle);
        status = cs_sqlite_run(&lite->db, CS_LITE_OUTBOX + CS_OUTBOX_LAST, NULL,
                               0, NULL, NULL);
    }

    return status == CS_NONE ? CS_OK : status;
}


cs_status_e
cs_lite_outbox(cs_store_t *store, int64_t from, unsigned limit,
    cs_outbox_pt call, void *ctx)
{
    cs_lite_t         *lite = (cs_lite_t *) store;
    cs_status_e        status;
    cs_lite_outbox_t   rows = { .call = call, .ctx = ctx };

    status = cs_sqlite_run(&lite->db, CS_LITE_OUTBOX + CS_OUTBOX_ROWS,
                           cs_values(cs_int(from), cs_int(limit)),
                           cs_lite_outbox_row, &rows);

    if (status == CS_OK && rows.broken) {
        (void) snprintf(lite->db.error, sizeof(lite->db.error), "%s",
                        CS_STORE_BROKEN);
        return CS_REFUSED;
    }

    return status;
}


static void
cs_lite_outbox_row(void *ctx, sqlite3_stmt *row)
{
    cs_operation_t     operation;
    cs_lite_outbox_t  *rows = ctx;

    memset(&operation, 0, sizeof(cs_operation_t));

    operation.operation.generation = (unsigned) sqlite3_column_int64(row, 1);
    operation.created_at = sqlite3_column_int64(row, 4);
    operation.batch_id = cs_column(row, 5);
    operation.code = cs_column(row, 6);

    if (!cs_store_operation_row(&operation, cs_column(row, 2),
                                cs_column(row, 3)))
    {
        rows->broken = 1;
    }

    if (!rows->broken) {
        rows->call(rows->ctx, sqlite3_column_int64(row, 0), &operation);
    }
}


cs_status_e
cs_lite_outbox_waiting(cs_store_t *store, unsigned limit, int64_t *n)
{
    return cs_sqlite_run(&((cs_lite_t *) store)->db,
                         CS_LITE_OUTBOX + CS_OUTBOX_WAITING,
                         cs_values(cs_int(limit)), cs_lite_outbox_count, n);
}


static void
cs_lite_outbox_count(void *ctx, sqlite3_stmt *row)
{
    *(int64_t *) ctx = sqlite3_column_int64(row, 0);
}


cs_status_e
cs_lite_outbox_fill(cs_store_t *store, cc_str_t code, int64_t since,
    unsigned *n)
{
    cs_lite_t    *lite = (cs_lite_t *) store;
    cs_status_e   status;

    status = cs_sqlite_run(&lite->db, CS_LITE_OUTBOX + CS_OUTBOX_FILL,
                           cs_values(cs_string(code), cs_int(since)), NULL,
                           NULL);

    *n = status == CS_OK ? (unsigned) sqlite3_changes(lite->db.handle) : 0;

    return status == CS_NONE ? CS_OK : status;
}

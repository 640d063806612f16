/*
 * The store_* tables in SQLite; see store_refund.h.
 */

#include "store_sqlite.h"


typedef struct {
    cs_refund_row_pt   row;
    void              *ctx;
} cs_lite_refund_t;


static void cs_lite_refund_row(void *ctx, sqlite3_stmt *row);


cs_status_e
cs_lite_refund(cs_store_t *store, cs_refund_sql_e statement,
    const cs_refund_value_t *values, size_t n, cs_refund_row_pt row, void *ctx)
{
    size_t             i;
    cs_lite_t         *lite = (cs_lite_t *) store;
    cs_value_t         bound[CS_REFUND_VALUES_MAX];
    cs_lite_refund_t   call;

    for (i = 0; i < n; i++) {
        bound[i] = values[i].null ? cs_null()
                   : values[i].text.data ? cs_string(values[i].text)
                   : cs_int(values[i].number);
    }

    call.row = row;
    call.ctx = ctx;

    return cs_sqlite_run(&lite->db, CS_LITE_REFUND + (size_t) statement, bound,
                         n, row ? cs_lite_refund_row : NULL, &call);
}


static void
cs_lite_refund_row(void *ctx, sqlite3_stmt *row)
{
    int                i;
    cc_str_t           columns[CS_REFUND_VALUES_MAX];
    cs_lite_refund_t  *call = ctx;

    for (i = 0; i < sqlite3_column_count(row); i++) {
        columns[i] = cs_column(row, i);

        /* what is empty has no data either */

        if (columns[i].data == NULL && !cs_column_null(row, i)) {
            columns[i].data = (const unsigned char *) "";
        }
    }

    call->row(call->ctx, columns);
}

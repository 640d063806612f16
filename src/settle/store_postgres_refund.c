/*
 * The store_* tables in PostgreSQL; see store_refund.h.  One statement, one
 * round trip: refunds are rare.
 */

#include <stdlib.h>

#include "store_postgres.h"


typedef struct {
    cs_refund_row_pt   row;
    void              *ctx;
    unsigned           rows;        /* given or changed */
} cs_post_refund_t;


static void cs_post_refund_rows(void *ctx, const PGresult *result);


cs_status_e
cs_post_refund(cs_store_t *store, cs_refund_sql_e statement,
    const cs_refund_value_t *values, size_t n, cs_refund_row_pt row, void *ctx)
{
    size_t             i;
    cs_post_t         *post = (cs_post_t *) store;
    cs_status_e        status;
    cs_pg_array_t      params[CS_REFUND_VALUES_MAX];
    cs_post_refund_t   call;

    memset(params, 0, sizeof(params));

    for (i = 0; i < n; i++) {
        cs_pg_array_init(&params[i], values[i].text.data || values[i].null
                                     ? CS_PG_TEXT : CS_PG_INT8);
        if (values[i].null) {
            cs_pg_array_null(&params[i]);

        } else if (values[i].text.data) {
            cs_pg_array_text(&params[i], values[i].text);

        } else {
            cs_pg_array_int(&params[i], values[i].number);
        }
    }

    call.row = row;
    call.ctx = ctx;
    call.rows = 0;

    cs_pg_send(&post->db, CS_POST_REFUND + (size_t) statement, params, n,
               cs_post_refund_rows, &call);
    status = cs_post_wait(post);

    for (i = 0; i < n; i++) {
        cs_pg_array_free(&params[i]);
    }

    return status == CS_OK && call.rows == 0 ? CS_NONE : status;
}


static void
cs_post_refund_rows(void *ctx, const PGresult *result)
{
    int                i, row;
    cc_str_t           columns[CS_REFUND_VALUES_MAX];
    cs_post_refund_t  *call = ctx;

    call->rows = (unsigned) strtoul(PQcmdTuples((PGresult *) result), NULL, 10);

    for (row = 0; call->row && row < PQntuples(result); row++) {

        for (i = 0; i < PQnfields(result); i++) {
            columns[i] = cs_pg_column(result, row, i);
        }

        call->row(call->ctx, columns);
    }
}

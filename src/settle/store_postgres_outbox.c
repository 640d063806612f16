/*
 * The outbox in PostgreSQL; see store.h.
 */

#include <stdio.h>
#include <stdlib.h>

#include "store_postgres.h"


typedef struct {
    cs_outbox_pt   call;
    void          *ctx;
    int            rows;
    unsigned       broken;        /* a row holds what we never wrote */
} cs_post_outbox_t;


static void cs_post_outbox_send(cs_post_t *post, size_t statement,
    int64_t a, int64_t b, size_t n, cs_pg_result_pt call, void *ctx);
static void cs_post_outbox_rows(void *ctx, const PGresult *result);
static void cs_post_outbox_count(void *ctx, const PGresult *result);
static void cs_post_outbox_changed(void *ctx, const PGresult *result);


cs_status_e
cs_post_outbox_number(cs_store_t *store, unsigned limit, unsigned *n)
{
    cs_post_t    *post = (cs_post_t *) store;
    cs_status_e   status;

    *n = 0;

    status = cs_store_begin(store, CS_WRITE);
    if (status != CS_OK) {
        return status;
    }

    /* each statement sees what was committed before it began */

    cs_post_outbox_send(post, CS_OUTBOX_LOCK, 0, 0, 0, NULL, NULL);
    cs_post_outbox_send(post, CS_OUTBOX_NUMBER, limit, 0, 1,
                        cs_post_outbox_changed, n);
    cs_post_outbox_send(post, CS_OUTBOX_LAST, 0, 0, 0, NULL, NULL);

    status = cs_store_commit(store);

    if (status != CS_OK) {
        cs_store_rollback(store);
    }

    return status;
}


cs_status_e
cs_post_outbox(cs_store_t *store, int64_t from, unsigned limit,
    cs_outbox_pt call, void *ctx)
{
    cs_post_t         *post = (cs_post_t *) store;
    cs_status_e        status;
    cs_post_outbox_t   rows = { .call = call, .ctx = ctx };

    cs_post_outbox_send(post, CS_OUTBOX_ROWS, from, limit, 2,
                        cs_post_outbox_rows, &rows);

    status = cs_post_wait(post);

    if (status == CS_OK && rows.broken) {
        (void) snprintf(post->db.error, sizeof(post->db.error), "%s",
                        CS_STORE_BROKEN);
        return CS_REFUSED;
    }

    return status == CS_OK && rows.rows == 0 ? CS_NONE : status;
}


static void
cs_post_outbox_rows(void *ctx, const PGresult *result)
{
    int                i;
    cs_operation_t     operation;
    cs_post_outbox_t  *rows = ctx;

    rows->rows = PQntuples(result);

    for (i = 0; i < rows->rows && !rows->broken; i++) {
        memset(&operation, 0, sizeof(cs_operation_t));

        operation.operation.generation = (unsigned) cs_pg_number(result, i, 1);
        operation.created_at = cs_pg_number(result, i, 4);
        operation.batch_id = cs_pg_column(result, i, 5);
        operation.code = cs_pg_column(result, i, 6);

        if (!cs_store_operation_row(&operation, cs_pg_column(result, i, 2),
                                    cs_pg_column(result, i, 3)))
        {
            rows->broken = 1;
            break;
        }

        rows->call(rows->ctx, cs_pg_number(result, i, 0), &operation);
    }
}


cs_status_e
cs_post_outbox_waiting(cs_store_t *store, unsigned limit, int64_t *n)
{
    cs_post_t  *post = (cs_post_t *) store;

    *n = 0;

    cs_post_outbox_send(post, CS_OUTBOX_WAITING, limit, 0, 1,
                        cs_post_outbox_count, n);

    return cs_post_wait(post);
}


static void
cs_post_outbox_count(void *ctx, const PGresult *result)
{
    *(int64_t *) ctx = cs_pg_number(result, 0, 0);
}


cs_status_e
cs_post_outbox_fill(cs_store_t *store, cc_str_t code, int64_t since,
    unsigned *n)
{
    cs_post_t      *post = (cs_post_t *) store;
    cs_status_e     status;
    cs_pg_array_t   params[2];

    *n = 0;

    memset(params, 0, sizeof(params));
    cs_pg_array_init(&params[0], CS_PG_TEXT);
    cs_pg_array_text(&params[0], code);
    cs_pg_array_init(&params[1], CS_PG_INT8);
    cs_pg_array_int(&params[1], since);

    cs_pg_send(&post->db, CS_POST_OUTBOX + CS_OUTBOX_FILL, params, 2,
               cs_post_outbox_changed, n);

    status = cs_post_wait(post);

    cs_pg_array_free(&params[0]);
    cs_pg_array_free(&params[1]);

    return status;
}


static void
cs_post_outbox_changed(void *ctx, const PGresult *result)
{
    *(unsigned *) ctx = (unsigned) strtoul(PQcmdTuples((PGresult *) result),
                                           NULL, 10);
}


/* a statement with n parameters, which are numbers */

static void
cs_post_outbox_send(cs_post_t *post, size_t statement, int64_t a, int64_t b,
    size_t n, cs_pg_result_pt call, void *ctx)
{
    cs_pg_array_t  params[2];

    memset(params, 0, sizeof(params));
    cs_pg_array_init(&params[0], CS_PG_INT8);
    cs_pg_array_int(&params[0], a);
    cs_pg_array_init(&params[1], CS_PG_INT8);
    cs_pg_array_int(&params[1], b);

    cs_pg_send(&post->db, CS_POST_OUTBOX + statement, params, n, call, ctx);

    cs_pg_array_free(&params[0]);
    cs_pg_array_free(&params[1]);
}

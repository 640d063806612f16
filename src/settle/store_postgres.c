/*
 * The ledger in PostgreSQL: its transactions, and what an error of the server
 * means for the data; see store.h.
 *
 * Writing is optimistic where nothing can be locked: what is not there yet is
 * inserted plainly, and if another consumer was quicker, the unique key says
 * so, and all of the transaction is done again.  The same key is what tells
 * after a connection was lost in COMMIT: the next try finds the batch, or waits
 * until it is known what became of it.
 */

#include <stdio.h>
#include <stdlib.h>

#include "store_postgres.h"


static cs_store_t *cs_post_create(const cs_store_conf_t *conf,
    int patience_ms);
static void cs_post_destroy(cs_store_t *store);
static const char *cs_post_error(const cs_store_t *store);
static unsigned cs_post_collided(const cs_store_t *store);
static unsigned cs_post_held(const cs_store_t *store);
static cs_status_e cs_post_begin(cs_store_t *store, cs_access_e access);
static cs_status_e cs_post_commit(cs_store_t *store);
static void cs_post_committed(void *ctx, const PGresult *result);
static void cs_post_rollback(cs_store_t *store);
static cs_status_e cs_post_savepoint(cs_store_t *store);
static cs_status_e cs_post_release(cs_store_t *store);
static cs_status_e cs_post_undo(cs_store_t *store);
static cs_status_e cs_post_verdict(cs_post_t *post);
static unsigned cs_post_ours(const char *table);
static unsigned cs_post_trouble(const char *sqlstate);


const cs_store_ops_t  cs_store_postgres = {
    cs_post_create,
    cs_post_destroy,
    cs_post_open,
    cs_post_close,
    cs_post_error,
    cs_post_collided,
    cs_post_held,
    cs_post_check,
    cs_post_begin,
    cs_post_expect,
    cs_post_commit,
    cs_post_rollback,
    cs_post_savepoint,
    cs_post_release,
    cs_post_undo,
    cs_post_batch,
    cs_post_coupon,
    cs_post_doubts,
    cs_post_events,
    cs_post_operations,
    cs_post_coupon_save,
    cs_post_event_save,
    cs_post_operation_add,
    cs_post_rejected,
    cs_post_rejected_add,
    cs_post_rejected_drop,
    cs_post_mark,
    cs_post_mark_set,
    cs_post_waiting,
    cs_post_unconfirmed,
    cs_post_paid,
    cs_post_totals,
    cs_post_refund,
    cs_post_outbox_number,
    cs_post_outbox,
    cs_post_outbox_waiting,
    cs_post_outbox_fill
};


static cs_store_t *
cs_post_create(const cs_store_conf_t *conf, int patience_ms)
{
    cs_post_t  *post;

    post = cs_alloc(sizeof(cs_post_t));
    post->base.ops = &cs_store_postgres;
    post->url = conf->address;
    post->patience_ms = patience_ms;
    post->outbox = conf->outbox;

    return &post->base;
}


static void
cs_post_destroy(cs_store_t *store)
{
    cs_post_close(store);
    free(store);
}


void
cs_post_close(cs_store_t *store)
{
    cs_post_t  *post = (cs_post_t *) store;

    cs_pg_close(&post->db);
    cs_work_clear(&post->work);

    post->writing = 0;
}


static const char *
cs_post_error(const cs_store_t *store)
{
    return ((const cs_post_t *) store)->db.error;
}


static unsigned
cs_post_collided(const cs_store_t *store)
{
    return ((const cs_post_t *) store)->collided;
}


static unsigned
cs_post_held(const cs_store_t *store)
{
    return ((const cs_post_t *) store)->held;
}


static cs_status_e
cs_post_begin(cs_store_t *store, cs_access_e access)
{
    cs_post_t  *post = (cs_post_t *) store;

    post->writing = access == CS_WRITE;
    post->spoiled = CS_OK;

    /* it goes with the first statement, and fails with it */

    cs_pg_send(&post->db, post->writing ? CS_POST_WRITE : CS_POST_READ, NULL, 0,
               NULL, NULL);

    return CS_OK;
}


static cs_status_e
cs_post_commit(cs_store_t *store)
{
    unsigned      committed;
    cs_post_t    *post = (cs_post_t *) store;
    cs_status_e   status;

    /* PostgreSQL takes nothing more after a failure */

    if (post->spoiled != CS_OK) {
        (void) snprintf(post->db.error, sizeof(post->db.error), "%s",
                        post->why);
        return post->spoiled;
    }

    committed = 0;

    cs_post_flush(post);
    cs_pg_send(&post->db, CS_POST_COMMIT, NULL, 0, cs_post_committed,
               &committed);

    status = cs_post_wait(post);

    if (status == CS_OK && committed) {
        cs_work_clear(&post->work);
        post->writing = 0;
        return CS_OK;
    }

    if (status == CS_OK) {
        (void) snprintf(post->db.error, sizeof(post->db.error),
                        "the server has rolled back");
        return CS_AGAIN;
    }

    if (post->db.conn == NULL) {
        (void) snprintf(post->db.error, sizeof(post->db.error),
                        "lost in COMMIT, to be looked up: %s", post->why);
    }

    return status;
}


/* COMMIT of a transaction that cannot be answers ROLLBACK, and is no error */

static void
cs_post_committed(void *ctx, const PGresult *result)
{
    unsigned  *committed = ctx;

    *committed = strcmp(PQcmdStatus((PGresult *) result), "COMMIT") == 0;
}


static void
cs_post_rollback(cs_store_t *store)
{
    char        why[sizeof(((cs_pg_t *) NULL)->error)];
    cs_post_t  *post = (cs_post_t *) store;

    /* why it is rolled back must survive this */

    memcpy(why, post->db.error, sizeof(why));

    if (cs_pg_busy(&post->db)) {
        cs_pg_send(&post->db, CS_POST_ROLLBACK, NULL, 0, NULL, NULL);
        if (cs_pg_wait(&post->db) != CS_OK) {
            cs_pg_close(&post->db);
        }
    }

    memcpy(post->db.error, why, sizeof(why));

    cs_work_clear(&post->work);
    post->writing = 0;
}


/* what is not written yet is undone in memory */

static cs_status_e
cs_post_savepoint(cs_store_t *store)
{
    cs_work_savepoint(&((cs_post_t *) store)->work);

    return CS_OK;
}


static cs_status_e
cs_post_release(cs_store_t *store)
{
    (void) store;

    return CS_OK;
}


static cs_status_e
cs_post_undo(cs_store_t *store)
{
    cs_work_undo(&((cs_post_t *) store)->work);

    return CS_OK;
}


cs_status_e
cs_post_wait(cs_post_t *post)
{
    cs_status_e  status;

    post->collided = 0;
    post->held = 0;

    status = cs_pg_wait(&post->db);

    if (status != CS_OK) {
        status = cs_post_verdict(post);

        post->spoiled = status;
        (void) snprintf(post->why, sizeof(post->why), "%.255s",
                        post->db.error);
    }

    return status;
}


/*
 * Whether it is the data that failed, or the world.  What somebody else has
 * hung on our operations (a trigger that moves a balance) may refuse today and
 * agree tomorrow: there only what our own table says is final.
 */

static cs_status_e
cs_post_verdict(cs_post_t *post)
{
    unsigned               constraint, theirs;
    const cs_pg_failed_t  *failed = &post->db.failed;

    theirs = failed->statement == CS_POST_OPERATION_ADD
             || failed->statement == CS_POST_COMMIT;

    if (strcmp(failed->sqlstate, "55P03") == 0) {      /* lock_timeout */

        /* whoever writes operations has our locks: it is one of the wallet */

        post->held = theirs;
        post->collided = !theirs;
        return CS_AGAIN;
    }

    if (strcmp(failed->constraint, "coupons_pkey") == 0
        || strcmp(failed->constraint, "coupon_callback_batches_pkey") == 0
        || strncmp(failed->sqlstate, "40", 2) == 0)    /* deadlock, … */
    {
        post->collided = 1;
        return CS_AGAIN;
    }

    if (cs_post_trouble(failed->sqlstate)) {
        return CS_AGAIN;
    }

    constraint = strncmp(failed->sqlstate, "23", 2) == 0;

    if (constraint && cs_post_ours(failed->table)) {
        return CS_REFUSED;
    }

    if (theirs) {
        post->held = 1;
        return CS_AGAIN;
    }

    /* data exception; program limit, such as a row of an index */

    return strncmp(failed->sqlstate, "22", 2) == 0
           || strncmp(failed->sqlstate, "54", 2) == 0
           ? CS_REFUSED : CS_AGAIN;
}


/* an error that says nothing about what was to be written */

static unsigned
cs_post_trouble(const char *sqlstate)
{
    size_t              i;
    static const char  *classes[] = {
        "08",                          /* connection */
        "25",                          /* state of the transaction, read-only */
        "53",                          /* resources */
        "55",                          /* object not in the right state */
        "57",                          /* operator: shutdown, cancelled */
        "58",                          /* the system under the server */
        "XX"                           /* internal error */
    };

    for (i = 0; i < sizeof(classes) / sizeof(char *); i++) {
        if (strncmp(sqlstate, classes[i], 2) == 0) {
            return 1;
        }
    }

    return sqlstate[0] == '\0';
}


static unsigned
cs_post_ours(const char *table)
{
    size_t              i;
    static const char  *tables[] = { "coupons", "coupon_callback_batches",
                                     "coupon_events", "coupon_operations",
                                     "rejected", "poll_marks",
                                     "store_operations", "store_requests" };

    for (i = 0; i < sizeof(tables) / sizeof(char *); i++) {
        if (strcmp(table, tables[i]) == 0) {
            return 1;
        }
    }

    return 0;
}

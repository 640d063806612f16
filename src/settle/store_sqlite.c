/*
 * The ledger in SQLite: the file, its tables and its transactions; see store.h.
 *
 * Once opened it has to stay the same file.  One that was moved, deleted or
 * replaced takes commits that nobody will find again, and what is there instead
 * does not know what has been paid: nothing is settled, nor acknowledged, until
 * it is back or somebody decides by a restart.
 */

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "buffer.h"
#include "schema.h"
#include "store_sqlite.h"


static cs_store_t *cs_lite_create(const cs_store_conf_t *conf,
    int patience_ms);
static void cs_lite_destroy(cs_store_t *store);
static cs_status_e cs_lite_open(cs_store_t *store, unsigned migrate);
static cs_status_e cs_lite_same_file(cs_lite_t *lite);
static cs_status_e cs_lite_tables(cs_lite_t *lite, unsigned migrate);
static cs_status_e cs_lite_migrate(cs_lite_t *lite);
static void cs_lite_close(cs_store_t *store);
static const char *cs_lite_error(const cs_store_t *store);
static unsigned cs_lite_collided(const cs_store_t *store);
static unsigned cs_lite_held(const cs_store_t *store);
static void cs_lite_check(cs_store_t *store, cs_fact_pt say, void *ctx);
static cs_status_e cs_lite_begin(cs_store_t *store, cs_access_e access);
static cs_status_e cs_lite_expect(cs_store_t *store,
    const cs_expected_t *expected);
static cs_status_e cs_lite_commit(cs_store_t *store);
static void cs_lite_rollback(cs_store_t *store);
static cs_status_e cs_lite_savepoint(cs_store_t *store);
static cs_status_e cs_lite_release(cs_store_t *store);
static cs_status_e cs_lite_undo(cs_store_t *store);


const cs_store_ops_t  cs_store_sqlite = {
    cs_lite_create,
    cs_lite_destroy,
    cs_lite_open,
    cs_lite_close,
    cs_lite_error,
    cs_lite_collided,
    cs_lite_held,
    cs_lite_check,
    cs_lite_begin,
    cs_lite_expect,
    cs_lite_commit,
    cs_lite_rollback,
    cs_lite_savepoint,
    cs_lite_release,
    cs_lite_undo,
    cs_lite_batch,
    cs_lite_coupon,
    cs_lite_doubts,
    cs_lite_events,
    cs_lite_operations,
    cs_lite_coupon_save,
    cs_lite_event_save,
    cs_lite_operation_add,
    cs_lite_rejected,
    cs_lite_rejected_add,
    cs_lite_rejected_drop,
    cs_lite_mark,
    cs_lite_mark_set,
    cs_lite_waiting,
    cs_lite_unconfirmed,
    cs_lite_paid,
    cs_lite_totals,
    cs_lite_refund,
    cs_lite_outbox_number,
    cs_lite_outbox,
    cs_lite_outbox_waiting,
    cs_lite_outbox_fill
};


static cs_store_t *
cs_lite_create(const cs_store_conf_t *conf, int patience_ms)
{
    cs_lite_t  *lite;

    lite = cs_alloc(sizeof(cs_lite_t));
    lite->base.ops = &cs_store_sqlite;
    lite->path = conf->address;
    lite->patience_ms = patience_ms;
    lite->outbox = conf->outbox;

    return &lite->base;
}


static void
cs_lite_destroy(cs_store_t *store)
{
    cs_lite_close(store);
    free(store);
}


static cs_status_e
cs_lite_open(cs_store_t *store, unsigned migrate)
{
    cs_lite_t    *lite = (cs_lite_t *) store;
    cs_status_e   status;

    if (lite->db.handle) {
        return CS_OK;
    }

    /* before a new one is made in its place */

    if (lite->file.st_ino && cs_lite_same_file(lite) != CS_OK) {
        return CS_AGAIN;
    }

    status = cs_sqlite_open(&lite->db, lite->path, migrate, lite->patience_ms);
    if (status != CS_OK) {
        return status;
    }

    if (lite->file.st_ino == 0) {
        (void) stat(lite->path, &lite->file);
    }

    status = cs_lite_tables(lite, migrate);

    if (status == CS_OK) {
        status = cs_sqlite_prepare(&lite->db, cs_lite_sql, CS_LITE_COUNT);
    }

    if (status != CS_OK) {
        cs_lite_close(store);
    }

    return status;
}


static cs_status_e
cs_lite_same_file(cs_lite_t *lite)
{
    struct stat  now;

    /* a database in memory, as tests have it, has none */

    if (lite->file.st_ino == 0) {
        return CS_OK;
    }

    if (stat(lite->path, &now) == 0 && now.st_dev == lite->file.st_dev
        && now.st_ino == lite->file.st_ino)
    {
        return CS_OK;
    }

    lite->db.raised = 0;

    (void) snprintf(lite->db.error, sizeof(lite->db.error),
                    "%s is not the file any more that was opened: put that "
                    "back, or restart to go on with what is there", lite->path);

    return CS_AGAIN;
}


static cs_status_e
cs_lite_tables(cs_lite_t *lite, unsigned migrate)
{
    int64_t       version;
    cs_status_e   status;
    cs_sqlite_t  *db = &lite->db;

    status = cs_sqlite_number(db, "PRAGMA user_version", &version);

    if (status == CS_OK && version < CS_SCHEMA_VERSION && migrate) {
        return cs_lite_migrate(lite);
    }

    return status == CS_OK
           ? cs_store_version(version, db->error, sizeof(db->error)) : status;
}


static cs_status_e
cs_lite_migrate(cs_lite_t *lite)
{
    char          pragma[64];
    int64_t       version;
    cs_status_e   status;
    cs_sqlite_t  *db = &lite->db;

    status = cs_lite_begin(&lite->base, CS_WRITE);

    /* another process may have had the same idea in the meantime */

    if (status == CS_OK) {
        status = cs_sqlite_number(db, "PRAGMA user_version", &version);
    }

    while (status == CS_OK && version < CS_SCHEMA_VERSION) {
        status = cs_sqlite_script(db, cs_schema_sqlite[version++]);
    }

    if (status == CS_OK) {
        (void) snprintf(pragma, sizeof(pragma), "PRAGMA user_version = %d",
                        (int) version);
        status = cs_sqlite_script(db, pragma);
    }

    if (status == CS_OK) {
        status = cs_lite_commit(&lite->base);
    }

    return status;
}


static void
cs_lite_close(cs_store_t *store)
{
    cs_sqlite_close(&((cs_lite_t *) store)->db);
}


static const char *
cs_lite_error(const cs_store_t *store)
{
    return ((const cs_lite_t *) store)->db.error;
}


/* there is one writer at a time, and the others wait */

static unsigned
cs_lite_collided(const cs_store_t *store)
{
    (void) store;

    return 0;
}


static unsigned
cs_lite_held(const cs_store_t *store)
{
    return ((const cs_lite_t *) store)->db.raised;
}


static void
cs_lite_check(cs_store_t *store, cs_fact_pt say, void *ctx)
{
    char         *copy, text[512];
    cs_lite_t    *lite = (cs_lite_t *) store;
    const char   *folder;
    cs_status_e   status;

    status = cs_lite_open(store, 0);

    if (status == CS_OK) {
        status = cs_lite_begin(store, CS_WRITE);
    }

    if (status == CS_OK) {
        cs_lite_rollback(store);
        say(ctx, CS_FACT_OK, "");
        return;
    }

    if (status != CS_NONE || access(lite->path, F_OK) == 0) {
        say(ctx, status == CS_NONE ? CS_FACT_NOTE : CS_FACT_WRONG,
            lite->db.error);
        return;
    }

    copy = cs_copy(lite->path);
    folder = dirname(copy);

    if (access(folder, W_OK | X_OK) == 0) {
        say(ctx, CS_FACT_NOTE, "not there yet, `run` or `migrate` makes it");

    } else {
        (void) snprintf(text, sizeof(text), "not there, and cannot be made in "
                        "%s: %s", folder, strerror(errno));
        say(ctx, CS_FACT_WRONG, text);
    }

    free(copy);
}


static cs_status_e
cs_lite_begin(cs_store_t *store, cs_access_e access)
{
    cs_lite_t    *lite = (cs_lite_t *) store;
    cs_status_e   status;

    status = cs_lite_same_file(lite);

    return status == CS_OK
           ? cs_sqlite_script(&lite->db, access == CS_WRITE ? "BEGIN IMMEDIATE"
                                                            : "BEGIN")
           : status;
}


/* the file is near, and the writer is alone */

static cs_status_e
cs_lite_expect(cs_store_t *store, const cs_expected_t *expected)
{
    (void) store;
    (void) expected;

    return CS_OK;
}


static cs_status_e
cs_lite_commit(cs_store_t *store)
{
    cs_lite_t    *lite = (cs_lite_t *) store;
    cs_status_e   status;

    status = cs_sqlite_script(&lite->db, "COMMIT");

    /* a commit that nobody will find again is not to be acknowledged */

    return status == CS_OK ? cs_lite_same_file(lite) : status;
}


static void
cs_lite_rollback(cs_store_t *store)
{
    sqlite3  *handle = ((cs_lite_t *) store)->db.handle;

    /* some errors have rolled back already; the reason must survive this */

    if (!sqlite3_get_autocommit(handle)) {
        (void) sqlite3_exec(handle, "ROLLBACK", NULL, NULL, NULL);
    }
}


static cs_status_e
cs_lite_savepoint(cs_store_t *store)
{
    return cs_sqlite_run(&((cs_lite_t *) store)->db, CS_LITE_SAVEPOINT, NULL, 0,
                         NULL, NULL);
}


static cs_status_e
cs_lite_release(cs_store_t *store)
{
    return cs_sqlite_run(&((cs_lite_t *) store)->db, CS_LITE_RELEASE, NULL, 0,
                         NULL, NULL);
}


static cs_status_e
cs_lite_undo(cs_store_t *store)
{
    return cs_sqlite_script(&((cs_lite_t *) store)->db,
                            "ROLLBACK TO batch; RELEASE batch");
}

/*
 * The ledger in SQLite: the file, its tables and its transactions; see store.h.
 */

#include <stdio.h>
#include <stdlib.h>

#include "buffer.h"
#include "schema.h"
#include "store_sqlite.h"


static cs_status_e cs_store_tables(cs_store_t *store);


cs_store_t *
cs_store_create(const char *path, int patience_ms)
{
    cs_store_t  *store;

    store = cs_alloc(sizeof(cs_store_t));
    store->path = cs_copy(path);
    store->patience_ms = patience_ms;

    return store;
}


void
cs_store_destroy(cs_store_t *store)
{
    cs_store_close(store);
    free(store->path);
    free(store);
}


cs_status_e
cs_store_open(cs_store_t *store, unsigned create)
{
    cs_status_e  status;

    if (store->db.handle) {
        return CS_OK;
    }

    status = cs_sqlite_open(&store->db, store->path, create,
                            store->patience_ms);
    if (status != CS_OK) {
        return status;
    }

    status = cs_store_tables(store);

    if (status == CS_OK) {
        status = cs_sqlite_prepare(&store->db, cs_store_sql, CS_SQL_COUNT);
    }

    if (status != CS_OK) {
        cs_store_close(store);
    }

    return status;
}


static cs_status_e
cs_store_tables(cs_store_t *store)
{
    int64_t       version;
    cs_status_e   status;
    cs_sqlite_t  *db = &store->db;

    status = cs_sqlite_number(db, "PRAGMA user_version", &version);

    if (status == CS_OK && version == 0) {

        /* another process may have had the same idea in the meantime */

        status = cs_store_begin(store, CS_WRITE);

        if (status == CS_OK) {
            status = cs_sqlite_number(db, "PRAGMA user_version", &version);
        }

        if (status == CS_OK && version == 0) {
            status = cs_sqlite_script(db, cs_schema);
            version = CS_SCHEMA_VERSION;
        }

        if (status == CS_OK) {
            status = cs_store_commit(store);
        }
    }

    if (status == CS_OK && version != CS_SCHEMA_VERSION) {
        (void) snprintf(db->error, sizeof(db->error), "%s: the tables are of "
                        "version %lld, this program knows version %d",
                        store->path, (long long) version, CS_SCHEMA_VERSION);
        return CS_REFUSED;
    }

    return status;
}


void
cs_store_close(cs_store_t *store)
{
    cs_sqlite_close(&store->db);
}


const char *
cs_store_error(const cs_store_t *store)
{
    return store->db.error;
}


cs_status_e
cs_store_begin(cs_store_t *store, cs_access_e access)
{
    return cs_sqlite_script(&store->db,
                            access == CS_WRITE ? "BEGIN IMMEDIATE" : "BEGIN");
}


cs_status_e
cs_store_commit(cs_store_t *store)
{
    return cs_sqlite_script(&store->db, "COMMIT");
}


void
cs_store_rollback(cs_store_t *store)
{
    /* some errors have rolled back already; the reason must survive this */

    if (!sqlite3_get_autocommit(store->db.handle)) {
        (void) sqlite3_exec(store->db.handle, "ROLLBACK", NULL, NULL, NULL);
    }
}


cs_status_e
cs_store_savepoint(cs_store_t *store)
{
    return cs_sqlite_script(&store->db, "SAVEPOINT batch");
}


cs_status_e
cs_store_release(cs_store_t *store)
{
    return cs_sqlite_script(&store->db, "RELEASE batch");
}


cs_status_e
cs_store_undo(cs_store_t *store)
{
    return cs_sqlite_script(&store->db, "ROLLBACK TO batch; RELEASE batch");
}

/*
 * The ledger in PostgreSQL: the connection with its settings, the tables and
 * their version, and what `check` has to say about the server.
 */

#include <stdio.h>

#include "schema.h"
#include "store_postgres.h"


static cs_status_e cs_post_connect(cs_post_t *post);
static cs_status_e cs_post_tables(cs_post_t *post, unsigned migrate);
static cs_status_e cs_post_version(cs_post_t *post, int64_t *version);
static cs_status_e cs_post_migrate(cs_post_t *post, int64_t *version);
static unsigned cs_post_check_server(cs_post_t *post, cs_fact_pt say,
    void *ctx);


cs_status_e
cs_post_open(cs_store_t *store, unsigned migrate)
{
    cs_post_t    *post = (cs_post_t *) store;
    cs_status_e   status;

    if (post->db.conn) {
        return CS_OK;
    }

    status = cs_post_connect(post);

    if (status == CS_OK) {
        status = cs_post_tables(post, migrate);
    }

    if (status == CS_OK) {
        status = cs_pg_prepare(&post->db, cs_post_sql, CS_POST_COUNT);
    }

    if (status != CS_OK) {
        cs_post_close(store);
    }

    return status;
}


static cs_status_e
cs_post_connect(cs_post_t *post)
{
    char         sql[512];
    cs_status_e  status;

    post->db.limit_ms = post->base.limit_ms;

    status = cs_pg_open(&post->db, post->url);
    if (status != CS_OK) {
        return status;
    }

    /*
     * What was answered must be on disk, whatever the database's default is.
     * A plan made for empty tables must not outlive them.  A consumer that was
     * stopped in the middle must not hold its locks for ever.
     */

    (void) snprintf(sql, sizeof(sql),
        "SET lock_timeout = %d; SET plan_cache_mode = force_custom_plan;"
        "SET idle_in_transaction_session_timeout = '60s';"
        "SELECT set_config('synchronous_commit', 'on', false)"
        " WHERE current_setting('synchronous_commit') = 'off'",
        post->patience_ms);

    return cs_pg_script(&post->db, sql, NULL);
}


static cs_status_e
cs_post_tables(cs_post_t *post, unsigned migrate)
{
    int64_t      version;
    cs_status_e  status;

    status = cs_post_version(post, &version);

    if (status == CS_OK && version < CS_SCHEMA_VERSION && migrate) {
        post->db.patient = 1;
        status = cs_post_migrate(post, &version);
        post->db.patient = 0;
    }

    return status == CS_OK
           ? cs_store_version(version, post->db.error, sizeof(post->db.error))
           : status;
}


static cs_status_e
cs_post_version(cs_post_t *post, int64_t *version)
{
    int64_t      there;
    cs_status_e  status;

    *version = 0;
    there = 0;

    status = cs_pg_script(&post->db, "SELECT (to_regclass("
                          "'coupon_schema_version') IS NOT NULL)::int",
                          &there);

    if (status == CS_OK && there) {
        status = cs_pg_script(&post->db,
                              "SELECT version FROM coupon_schema_version",
                              version);
    }

    return status;
}


static cs_status_e
cs_post_migrate(cs_post_t *post, int64_t *version)
{
    char         sql[128];
    cs_pg_t     *db = &post->db;
    cs_status_e  status;

    /* another process may have had the same idea in the meantime */

    status = cs_pg_script(db, "BEGIN; SELECT pg_advisory_xact_lock("
                          "hashtextextended('coupon-settle migrate', 0));"
                          "CREATE TABLE IF NOT EXISTS coupon_schema_version"
                          " (version bigint NOT NULL)", NULL);

    if (status == CS_OK) {
        status = cs_post_version(post, version);
    }

    while (status == CS_OK && *version < CS_SCHEMA_VERSION) {
        status = cs_pg_script(db, cs_schema_postgres[(*version)++], NULL);
    }

    if (status == CS_OK) {
        (void) snprintf(sql, sizeof(sql), "DELETE FROM coupon_schema_version;"
                        "INSERT INTO coupon_schema_version VALUES (%lld);"
                        "COMMIT", (long long) *version);
        status = cs_pg_script(db, sql, NULL);
    }

    return status;
}


void
cs_post_check(cs_store_t *store, cs_fact_pt say, void *ctx)
{
    int64_t       may;
    cs_post_t    *post = (cs_post_t *) store;
    cs_status_e   status;

    status = cs_post_connect(post);

    if (status == CS_OK && !cs_post_check_server(post, say, ctx)) {
        return;
    }

    if (status == CS_OK) {
        status = cs_post_tables(post, 0);
    }

    may = 0;

    if (status == CS_OK) {
        status = cs_pg_script(&post->db,
            "SELECT bool_and(has_table_privilege(t, 'SELECT')"
            " AND has_table_privilege(t, 'INSERT'))::int FROM unnest(ARRAY["
            "'coupon_callback_batches', 'coupons', 'coupon_events',"
            " 'coupon_operations', 'rejected', 'poll_marks',"
            " 'store_notifications', 'store_purchases', 'store_transactions',"
            " 'store_operations', 'store_requests', 'coupon_outbox']) AS t",
            &may);

        if (status == CS_OK) {
            say(ctx, may ? CS_FACT_OK : CS_FACT_WRONG,
                may ? "" : "this role may not read and write the tables");
            return;
        }

    } else if (status == CS_NONE
               && cs_pg_script(&post->db, "SELECT has_schema_privilege("
                               "current_schema(), 'CREATE')::int", &may)
                  == CS_OK)
    {
        say(ctx, may ? CS_FACT_NOTE : CS_FACT_WRONG,
            may ? "no tables yet, `run` or `migrate` makes them"
                : "no tables yet, and this role may not make them: give it a "
                  "schema of its own and name that in the search_path");
        return;
    }

    say(ctx, CS_FACT_WRONG, post->db.error);
}


/* 0 if it cannot be used, and that was said */

static unsigned
cs_post_check_server(cs_post_t *post, cs_fact_pt say, void *ctx)
{
    int64_t  version, utf8, fsync;

    version = utf8 = fsync = 0;

    if (cs_pg_script(&post->db, "SELECT current_setting('server_version_num')",
                     &version) != CS_OK
        || cs_pg_script(&post->db, "SELECT (current_setting('server_encoding')"
                        " = 'UTF8')::int", &utf8) != CS_OK
        || cs_pg_script(&post->db, "SELECT current_setting('fsync')::bool::int",
                        &fsync) != CS_OK)
    {
        say(ctx, CS_FACT_WRONG, post->db.error);
        return 0;
    }

    if (version < 120000) {
        say(ctx, CS_FACT_WRONG, "PostgreSQL 12 is the oldest that will do");
        return 0;
    }

    if (!utf8) {
        say(ctx, CS_FACT_NOTE, "the database's encoding is not UTF8: what it "
            "cannot hold is rejected");
    }

    if (!fsync) {
        say(ctx, CS_FACT_WRONG, "fsync is off: a crash loses what was "
            "acknowledged");
    }

    return 1;
}

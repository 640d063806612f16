/*
 * A thin layer over SQLite; see sqlite.h.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "buffer.h"
#include "sqlite.h"


static cs_status_e cs_sqlite_failed(cs_sqlite_t *db, int code);
static int cs_sqlite_bind(sqlite3_stmt *statement, int i,
    const cs_value_t *value);


cs_status_e
cs_sqlite_open(cs_sqlite_t *db, const char *path, unsigned create, int busy_ms)
{
    int  code, flags;

    if (!create && access(path, F_OK) != 0) {
        (void) snprintf(db->error, sizeof(db->error), "%s: %s", path,
                        strerror(errno));
        return errno == ENOENT ? CS_NONE : CS_AGAIN;
    }

    flags = SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0);

    code = sqlite3_open_v2(path, &db->handle, flags, NULL);
    if (code != SQLITE_OK) {
        (void) cs_sqlite_failed(db, code);
        cs_sqlite_close(db);
        return CS_AGAIN;
    }

    (void) sqlite3_busy_timeout(db->handle, busy_ms);

    if (cs_sqlite_script(db, "PRAGMA journal_mode = WAL;"
                             "PRAGMA synchronous = FULL;"
                             "PRAGMA foreign_keys = ON;")
        != CS_OK)
    {
        cs_sqlite_close(db);
        return CS_AGAIN;
    }

    return CS_OK;
}


cs_status_e
cs_sqlite_prepare(cs_sqlite_t *db, const char *const *sql, size_t n)
{
    int  code;

    db->statements = cs_alloc(n * sizeof(sqlite3_stmt *));

    for (db->n = 0; db->n < n; db->n++) {

        code = sqlite3_prepare_v3(db->handle, sql[db->n], -1,
                                  SQLITE_PREPARE_PERSISTENT,
                                  &db->statements[db->n], NULL);
        if (code != SQLITE_OK) {
            return cs_sqlite_failed(db, code);
        }
    }

    return CS_OK;
}


void
cs_sqlite_close(cs_sqlite_t *db)
{
    while (db->n) {
        (void) sqlite3_finalize(db->statements[--db->n]);
    }

    free(db->statements);
    db->statements = NULL;

    (void) sqlite3_close(db->handle);
    db->handle = NULL;
}


cs_status_e
cs_sqlite_script(cs_sqlite_t *db, const char *sql)
{
    int  code;

    code = sqlite3_exec(db->handle, sql, NULL, NULL, NULL);

    return code == SQLITE_OK ? CS_OK : cs_sqlite_failed(db, code);
}


cs_status_e
cs_sqlite_number(cs_sqlite_t *db, const char *sql, int64_t *number)
{
    int            code;
    sqlite3_stmt  *statement;

    code = sqlite3_prepare_v2(db->handle, sql, -1, &statement, NULL);
    if (code != SQLITE_OK) {
        return cs_sqlite_failed(db, code);
    }

    code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        *number = sqlite3_column_int64(statement, 0);
        code = SQLITE_OK;
    }

    (void) sqlite3_finalize(statement);

    return code == SQLITE_OK ? CS_OK : cs_sqlite_failed(db, code);
}


cs_status_e
cs_sqlite_run(cs_sqlite_t *db, size_t statement, const cs_value_t *values,
    size_t n, cs_row_pt row, void *ctx)
{
    int            code;
    size_t         i, rows;
    cs_status_e    status;
    sqlite3_stmt  *stmt;

    stmt = db->statements[statement];
    code = SQLITE_OK;
    rows = 0;

    for (i = 0; i < n && code == SQLITE_OK; i++) {
        code = cs_sqlite_bind(stmt, (int) i + 1, &values[i]);
    }

    while (code == SQLITE_OK || code == SQLITE_ROW) {

        code = sqlite3_step(stmt);

        if (code == SQLITE_ROW) {
            rows++;

            if (row) {
                row(ctx, stmt);
            }
        }
    }

    if (code != SQLITE_DONE) {
        status = cs_sqlite_failed(db, code);

    } else if (rows == 0 && sqlite3_column_count(stmt) > 0) {
        status = CS_NONE;

    } else if (rows == 0 && !sqlite3_stmt_readonly(stmt)
               && sqlite3_changes(db->handle) == 0)
    {
        status = CS_NONE;

    } else {
        status = CS_OK;
    }

    (void) sqlite3_reset(stmt);
    (void) sqlite3_clear_bindings(stmt);

    return status;
}


static int
cs_sqlite_bind(sqlite3_stmt *statement, int i, const cs_value_t *value)
{
    const char  *data;

    data = (const char *) value->bytes.data;

    switch (value->type) {

    case CS_VALUE_NULL:
        return sqlite3_bind_null(statement, i);

    case CS_VALUE_TEXT:
        return sqlite3_bind_text64(statement, i, data ? data : "",
                                   value->bytes.len, SQLITE_STATIC,
                                   SQLITE_UTF8);

    case CS_VALUE_BLOB:
        return sqlite3_bind_blob64(statement, i, data ? data : "",
                                   value->bytes.len, SQLITE_STATIC);

    case CS_VALUE_NUMBER:
        return sqlite3_bind_int64(statement, i, value->number);
    }

    return SQLITE_MISUSE;
}


static cs_status_e
cs_sqlite_failed(cs_sqlite_t *db, int code)
{
    (void) snprintf(db->error, sizeof(db->error), "%s",
                    db->handle ? sqlite3_errmsg(db->handle)
                               : sqlite3_errstr(code));

    db->raised = db->handle && sqlite3_extended_errcode(db->handle)
                               == SQLITE_CONSTRAINT_TRIGGER;

    if (db->raised) {
        return CS_AGAIN;
    }

    switch (code & 0xff) {

    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
        return CS_REFUSED;

    default:
        return CS_AGAIN;
    }
}


cs_value_t
cs_null(void)
{
    cs_value_t  value;

    memset(&value, 0, sizeof(cs_value_t));

    return value;
}


cs_value_t
cs_string(cc_str_t text)
{
    cs_value_t  value;

    value = cs_null();
    value.type = CS_VALUE_TEXT;
    value.bytes = text;

    return value;
}


cs_value_t
cs_blob(cc_str_t bytes)
{
    cs_value_t  value;

    value = cs_string(bytes);
    value.type = CS_VALUE_BLOB;

    return value;
}


cs_value_t
cs_int(int64_t number)
{
    cs_value_t  value;

    value = cs_null();
    value.type = CS_VALUE_NUMBER;
    value.number = number;

    return value;
}


cc_str_t
cs_column(sqlite3_stmt *row, int i)
{
    cc_str_t  s;

    /* the pointer first: it may convert, the length is that of the result */

    s.data = sqlite3_column_blob(row, i);
    s.len = s.data ? (size_t) sqlite3_column_bytes(row, i) : 0;

    return s;
}


unsigned
cs_column_null(sqlite3_stmt *row, int i)
{
    return sqlite3_column_type(row, i) == SQLITE_NULL;
}

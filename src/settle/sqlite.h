/*
 * SQLite, as little of it as we use: one connection, statements prepared once,
 * values in, rows out.  Knows nothing of coupons.
 *
 * Every function that returns other than CS_OK has put into db->error why.
 * CS_REFUSED: these values can never be stored (a constraint).  CS_AGAIN: the
 * values are fine, the database is locked, full, broken or away, or a trigger
 * that is not ours does not want them now.
 */

#ifndef CS_SQLITE_H
#define CS_SQLITE_H

#include <sqlite3.h>

#include "core.h"
#include "status.h"


typedef struct {
    sqlite3        *handle;         /* NULL while not open */
    sqlite3_stmt  **statements;
    size_t          n;
    char            error[256];
    unsigned        raised;         /* the last error was a trigger's RAISE() */
} cs_sqlite_t;

typedef enum {
    CS_VALUE_NULL = 0,
    CS_VALUE_TEXT,
    CS_VALUE_BLOB,
    CS_VALUE_NUMBER
} cs_value_type_e;

typedef struct {
    cs_value_type_e  type;
    cc_str_t         bytes;
    int64_t          number;
} cs_value_t;

/* one row; the columns are good for the length of the call */
typedef void (*cs_row_pt)(void *ctx, sqlite3_stmt *row);


/* the values ?1, ?2, … of a statement */
#define cs_values(...)                                                        \
    (cs_value_t[]) { __VA_ARGS__ },                                           \
    sizeof((cs_value_t[]) { __VA_ARGS__ }) / sizeof(cs_value_t)

cs_value_t cs_null(void);
cs_value_t cs_string(cc_str_t text);
cs_value_t cs_blob(cc_str_t bytes);
cs_value_t cs_int(int64_t number);

/*
 * Opens the file in WAL mode, every commit synced.  With create a missing file
 * is made, without it CS_NONE says that there is none.
 */
CC_MUST_USE cs_status_e cs_sqlite_open(cs_sqlite_t *db, const char *path,
    unsigned create, int busy_ms);
CC_MUST_USE cs_status_e cs_sqlite_prepare(cs_sqlite_t *db,
    const char *const *sql, size_t n);
void cs_sqlite_close(cs_sqlite_t *db);

/* statements without values and rows, parted by semicolons */
CC_MUST_USE cs_status_e cs_sqlite_script(cs_sqlite_t *db, const char *sql);

/* the number that a query of one row and column gives */
CC_MUST_USE cs_status_e cs_sqlite_number(cs_sqlite_t *db, const char *sql,
    int64_t *number);

/*
 * Runs a prepared statement and calls row, if given, for each row.  Returns
 * CS_NONE if it neither gave a row nor changed one.  In row other statements
 * may be run, but not the same.
 */
CC_MUST_USE cs_status_e cs_sqlite_run(cs_sqlite_t *db, size_t statement,
    const cs_value_t *values, size_t n, cs_row_pt row, void *ctx);

/* a column as bytes; empty if it is null */
cc_str_t cs_column(sqlite3_stmt *row, int i);
unsigned cs_column_null(sqlite3_stmt *row, int i);


#endif /* CS_SQLITE_H */

/*
 * PostgreSQL, as little of it as we use: one connection, statements prepared
 * once, sent in a pipeline and waited for together.  Knows nothing of coupons.
 *
 * Every parameter is an array: a statement takes n rows as well as one.
 * Everything that can be waited for has a deadline.
 *
 * A function that returns other than CS_OK has put into db->error why, without
 * secrets, and into db->failed what is known about it.
 */

#ifndef CS_PG_H
#define CS_PG_H

#include <libpq-fe.h>

#include "pg_array.h"
#include "status.h"


#define CS_PG_CONNECT_S  "5"          /* for one address of the server, */
#define CS_PG_HURRY_S    "2"          /* and with a limit: libpq's shortest */
#define CS_PG_ANSWER_MS  30000        /* for all that is waited for together */

typedef struct {
    size_t    statement;
    char      sqlstate[6];            /* empty: it was not PostgreSQL that said
                                         so; mostly the connection is lost */
    char      table[64];
    char      constraint[64];
} cs_pg_failed_t;

typedef struct {
    PGconn           *conn;           /* NULL while not open */
    int               limit_ms;       /* longest wait; 0: CS_PG_ANSWER_MS */
    unsigned          patient;        /* 1: a script may take any time */
    cs_buffer_t       sent;           /* what waits for its result */
    cs_pg_failed_t    failed;
    char              error[320];
} cs_pg_t;

/* the rows of one statement; the result is good for the length of the call */
typedef void (*cs_pg_result_pt)(void *ctx, const PGresult *result);


/* 1 if it is a URL that libpq understands; *name is one without secrets */
unsigned cs_pg_url(char **name, const char *url);

/* connects; before cs_pg_prepare() only cs_pg_script() may be called */
CC_MUST_USE cs_status_e cs_pg_open(cs_pg_t *db, const char *url);
void cs_pg_close(cs_pg_t *db);

/* statements without parameters, parted by semicolons; the first column of the
   last one's first row is *number, if both are there */
CC_MUST_USE cs_status_e cs_pg_script(cs_pg_t *db, const char *sql,
    int64_t *number);

/* the n statements that cs_pg_send() is then asked for */
CC_MUST_USE cs_status_e cs_pg_prepare(cs_pg_t *db, const char *const *sql,
    size_t n);

/*
 * Puts a statement into the pipeline; params may go afterwards.  cs_pg_wait()
 * calls call, if given, once all of the pipeline has succeeded.
 */
void cs_pg_send(cs_pg_t *db, size_t statement, const cs_pg_array_t *params,
    size_t n, cs_pg_result_pt call, void *ctx);

/*
 * Waits for all that was sent.  If one fails, the ones behind it are not run.
 * CS_AGAIN: one has failed, or there is no connection any more.
 */
CC_MUST_USE cs_status_e cs_pg_wait(cs_pg_t *db);

/* 1 if a transaction is open, or something is on its way */
unsigned cs_pg_busy(const cs_pg_t *db);

/* a column; data is NULL if it is null */
cc_str_t cs_pg_column(const PGresult *result, int row, int column);
int64_t cs_pg_number(const PGresult *result, int row, int column);


#endif /* CS_PG_H */

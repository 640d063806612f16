/*
 * A thin layer over libpq; see pg.h.
 *
 * libpq is used in its non-blocking pipeline mode, and this file waits with
 * poll(): two sides that both only write would wait for each other for ever,
 * and so would a client whose server has gone silent.
 */

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "pg.h"


#define CS_PG_PARAMS_MAX  16
#define CS_PG_NAP_MS      60000       /* longer waits are several */
#define CS_PG_NAME        24          /* "s0", the name of a statement */

typedef struct {
    size_t             statement;
    cs_pg_result_pt    call;
    void              *ctx;
    PGresult          *result;
} cs_pg_sent_t;


static void cs_pg_silent(void *ctx, const char *message);
static int64_t cs_pg_deadline(const cs_pg_t *db);
static cs_status_e cs_pg_results(cs_pg_t *db, cs_pg_sent_t *sent, size_t n);
static cs_status_e cs_pg_taken(cs_pg_t *db, const cs_pg_sent_t *sent);
static PGresult *cs_pg_next(cs_pg_t *db, int64_t deadline);
static int cs_pg_ready(cs_pg_t *db, int64_t deadline);
static void cs_pg_failed(cs_pg_t *db, size_t statement,
    const PGresult *result);
static void cs_pg_field(char *buf, size_t size, const PGresult *result,
    int field);
static void cs_pg_lost(cs_pg_t *db, const char *why);


unsigned
cs_pg_url(char **name, const char *url)
{
    cs_buffer_t        buffer;
    PQconninfoOption  *options, *o;

    options = PQconninfoParse(url, NULL);
    if (options == NULL) {
        return 0;
    }

    memset(&buffer, 0, sizeof(cs_buffer_t));
    cs_buffer_text(&buffer, "postgresql:");

    for (o = options; o->keyword; o++) {
        if (o->val && (strcmp(o->keyword, "host") == 0
                       || strcmp(o->keyword, "port") == 0
                       || strcmp(o->keyword, "user") == 0
                       || strcmp(o->keyword, "dbname") == 0))
        {
            cs_buffer_format(&buffer, " %s=%s", o->keyword, o->val);
        }
    }

    cs_buffer_format(&buffer, "%c", '\0');
    *name = (char *) buffer.data;

    PQconninfoFree(options);

    return 1;
}


cs_status_e
cs_pg_open(cs_pg_t *db, const char *url)
{
    /* what stands behind the URL overrides it, what stands before is default */

    static const char *const  keys[] = {
        "connect_timeout", "keepalives_idle", "tcp_user_timeout",
        "fallback_application_name", "target_session_attrs", "dbname",
        "client_encoding", NULL
    };
    const char *const  values[] = {
        db->limit_ms ? CS_PG_HURRY_S : CS_PG_CONNECT_S, "15", "15000",
        "coupon-settle", "read-write", url, "UTF8", NULL
    };

    db->conn = PQconnectdbParams(keys, values, 1);

    if (PQstatus(db->conn) != CONNECTION_OK) {
        cs_pg_lost(db, db->conn ? PQerrorMessage(db->conn) : "no memory");
        return CS_AGAIN;
    }

    (void) PQsetNoticeProcessor(db->conn, cs_pg_silent, NULL);

    return CS_OK;
}


void
cs_pg_close(cs_pg_t *db)
{
    PQfinish(db->conn);
    db->conn = NULL;

    cs_buffer_free(&db->sent);
}


/* what is not an error is not ours to print on standard error */

static void
cs_pg_silent(void *ctx, const char *message)
{
    (void) ctx;
    (void) message;
}


static int64_t
cs_pg_deadline(const cs_pg_t *db)
{
    return cs_monotonic() + (db->limit_ms ? db->limit_ms : CS_PG_ANSWER_MS);
}


cs_status_e
cs_pg_script(cs_pg_t *db, const char *sql, int64_t *number)
{
    int64_t          deadline;
    PGresult        *result, *next;
    cs_status_e      status;
    ExecStatusType   type;

    deadline = db->patient ? INT64_MAX : cs_pg_deadline(db);
    result = NULL;

    if (PQsendQuery(db->conn, sql) == 1) {
        while ((next = cs_pg_next(db, deadline)) != NULL) {
            PQclear(result);
            result = next;
        }
    }

    type = PQresultStatus(result);
    status = CS_OK;

    if (db->conn == NULL) {
        status = CS_AGAIN;

    } else if (type != PGRES_TUPLES_OK && type != PGRES_COMMAND_OK) {
        cs_pg_failed(db, 0, result);
        status = CS_AGAIN;

    } else if (number && PQntuples(result) > 0) {
        *number = cs_pg_number(result, 0, 0);
    }

    PQclear(result);

    return status;
}


cs_status_e
cs_pg_prepare(cs_pg_t *db, const char *const *sql, size_t n)
{
    char           name[CS_PG_NAME];
    size_t         i, started;
    cs_status_e    status;
    cs_pg_sent_t  *sent;

    if (PQsetnonblocking(db->conn, 1) != 0
        || PQenterPipelineMode(db->conn) != 1)
    {
        cs_pg_lost(db, PQerrorMessage(db->conn));
        return CS_AGAIN;
    }

    sent = cs_alloc(n * sizeof(cs_pg_sent_t));

    for (started = 0; started < n; started++) {
        (void) snprintf(name, sizeof(name), "s%zu", started);
        sent[started].statement = started;

        if (PQsendPrepare(db->conn, name, sql[started], 0, NULL) != 1) {
            break;
        }
    }

    status = cs_pg_results(db, sent, started);

    for (i = 0; i < started; i++) {
        PQclear(sent[i].result);
    }

    free(sent);

    return started < n ? CS_AGAIN : status;
}


void
cs_pg_send(cs_pg_t *db, size_t statement, const cs_pg_array_t *params, size_t n,
    cs_pg_result_pt call, void *ctx)
{
    int            lengths[CS_PG_PARAMS_MAX], formats[CS_PG_PARAMS_MAX];
    char           name[CS_PG_NAME];
    size_t         i;
    cc_str_t       bytes;
    const char    *values[CS_PG_PARAMS_MAX];
    cs_pg_sent_t   sent;

    for (i = 0; i < n; i++) {
        values[i] = (const char *) params[i].bytes.data;
        lengths[i] = (int) params[i].bytes.len;
        formats[i] = 1;
    }

    (void) snprintf(name, sizeof(name), "s%zu", statement);

    /* cs_pg_wait() sees that there is no connection any more */

    (void) PQsendQueryPrepared(db->conn, name, (int) n, values, lengths,
                               formats, 0);

    memset(&sent, 0, sizeof(cs_pg_sent_t));

    sent.statement = statement;
    sent.call = call;
    sent.ctx = ctx;

    bytes.data = (const unsigned char *) &sent;
    bytes.len = sizeof(cs_pg_sent_t);

    cs_buffer_add(&db->sent, bytes);
}


cs_status_e
cs_pg_wait(cs_pg_t *db)
{
    size_t         i, n;
    cs_buffer_t    queue;
    cs_status_e    status;
    cs_pg_sent_t  *sent;

    /* who is called back may send again */

    queue = db->sent;
    memset(&db->sent, 0, sizeof(cs_buffer_t));

    sent = (cs_pg_sent_t *) queue.data;
    n = queue.len / sizeof(cs_pg_sent_t);

    status = cs_pg_results(db, sent, n);

    for (i = 0; i < n; i++) {
        if (status == CS_OK && sent[i].call) {
            sent[i].call(sent[i].ctx, sent[i].result);
        }

        PQclear(sent[i].result);
    }

    cs_buffer_free(&queue);

    return status;
}


/* the results of all that is on its way, and the end of the pipeline */

static cs_status_e
cs_pg_results(cs_pg_t *db, cs_pg_sent_t *sent, size_t n)
{
    size_t       i;
    int64_t      deadline;
    PGresult    *end;
    cs_status_e  status;

    if (db->conn == NULL || PQpipelineSync(db->conn) != 1) {
        cs_pg_lost(db, db->conn ? PQerrorMessage(db->conn) : "not connected");
        return CS_AGAIN;
    }

    deadline = cs_pg_deadline(db);
    status = CS_OK;

    for (i = 0; i < n; i++) {

        /* the result, and the nothing behind it */

        sent[i].result = cs_pg_next(db, deadline);

        if (sent[i].result == NULL || cs_pg_next(db, deadline) != NULL) {
            cs_pg_lost(db, status == CS_OK && db->conn
                           ? PQerrorMessage(db->conn) : NULL);
            return CS_AGAIN;
        }

        if (status == CS_OK) {
            status = cs_pg_taken(db, &sent[i]);
        }
    }

    end = cs_pg_next(db, deadline);

    if (PQresultStatus(end) != PGRES_PIPELINE_SYNC) {
        cs_pg_lost(db, status == CS_OK && db->conn
                       ? PQerrorMessage(db->conn) : NULL);
        status = CS_AGAIN;
    }

    PQclear(end);

    return status;
}


static cs_status_e
cs_pg_taken(cs_pg_t *db, const cs_pg_sent_t *sent)
{
    ExecStatusType  type = PQresultStatus(sent->result);

    if (type == PGRES_TUPLES_OK || type == PGRES_COMMAND_OK) {
        return CS_OK;
    }

    cs_pg_failed(db, sent->statement, sent->result);

    return CS_AGAIN;
}


/* NULL also without a connection */

static PGresult *
cs_pg_next(cs_pg_t *db, int64_t deadline)
{
    while (db->conn && PQisBusy(db->conn)) {

        if (!cs_pg_ready(db, deadline)) {
            cs_pg_lost(db, "no answer in time");

        } else if (PQconsumeInput(db->conn) != 1) {
            cs_pg_lost(db, PQerrorMessage(db->conn));
        }
    }

    return db->conn ? PQgetResult(db->conn) : NULL;
}


/* sends what there is to send until there is something to read */

static int
cs_pg_ready(cs_pg_t *db, int64_t deadline)
{
    int             n, flushed;
    int64_t         left;
    struct pollfd   fd;

    for ( ;; ) {

        flushed = PQflush(db->conn);

        fd.fd = PQsocket(db->conn);
        fd.events = (short) (flushed == 1 ? POLLIN | POLLOUT : POLLIN);
        fd.revents = 0;

        left = deadline - cs_monotonic();

        if (left <= 0) {
            return 0;
        }

        n = poll(&fd, 1, left < CS_PG_NAP_MS ? (int) left : CS_PG_NAP_MS);

        if (n < 0 && errno != EINTR) {
            return 0;
        }

        if (n > 0 && (fd.revents & ~POLLOUT)) {
            return 1;
        }
    }
}


unsigned
cs_pg_busy(const cs_pg_t *db)
{
    return db->conn && (db->sent.len > 0
                        || PQtransactionStatus(db->conn) != PQTRANS_IDLE);
}


static void
cs_pg_failed(cs_pg_t *db, size_t statement, const PGresult *result)
{
    const char  *said;

    said = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

    db->failed.statement = statement;

    cs_pg_field(db->failed.sqlstate, sizeof(db->failed.sqlstate), result,
                PG_DIAG_SQLSTATE);
    cs_pg_field(db->failed.table, sizeof(db->failed.table), result,
                PG_DIAG_TABLE_NAME);
    cs_pg_field(db->failed.constraint, sizeof(db->failed.constraint), result,
                PG_DIAG_CONSTRAINT_NAME);

    if (said) {
        (void) snprintf(db->error, sizeof(db->error), "%s", said);

    } else {
        cs_pg_lost(db, PQerrorMessage(db->conn));
    }
}


static void
cs_pg_field(char *buf, size_t size, const PGresult *result, int field)
{
    const char  *value = PQresultErrorField(result, field);

    (void) snprintf(buf, size, "%s", value ? value : "");
}


/* why: NULL if that was said already; libpq's sentences end with a newline */

static void
cs_pg_lost(cs_pg_t *db, const char *why)
{
    if (why) {
        memset(&db->failed, 0, sizeof(cs_pg_failed_t));

        (void) snprintf(db->error, sizeof(db->error), "%.*s",
                        (int) strcspn(why, "\n"), why);
    }

    cs_pg_close(db);
}


cc_str_t
cs_pg_column(const PGresult *result, int row, int column)
{
    cc_str_t  s;

    memset(&s, 0, sizeof(cc_str_t));

    if (!PQgetisnull(result, row, column)) {
        s.data = (const unsigned char *) PQgetvalue(result, row, column);
        s.len = (size_t) PQgetlength(result, row, column);
    }

    return s;
}


int64_t
cs_pg_number(const PGresult *result, int row, int column)
{
    return strtoll(PQgetvalue(result, row, column), NULL, 10);
}

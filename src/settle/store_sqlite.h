/*
 * What the two files of the SQLite store share: the connection with its
 * transactions (store_sqlite.c), and the statements (store_rows.c).
 */

#ifndef CS_STORE_SQLITE_H
#define CS_STORE_SQLITE_H

#include "sqlite.h"
#include "store.h"


struct cs_store_s {
    cs_sqlite_t   db;
    char         *path;
    int           patience_ms;
};

enum {
    CS_SQL_BATCH_ADD = 0,
    CS_SQL_BATCH_SAME,
    CS_SQL_COUPON,
    CS_SQL_DOUBTS,
    CS_SQL_EVENTS,
    CS_SQL_OPERATIONS,
    CS_SQL_COUPON_SAVE,
    CS_SQL_EVENT_SAVE,
    CS_SQL_OPERATION_ADD,
    CS_SQL_REJECTED,
    CS_SQL_REJECTED_LIST,
    CS_SQL_REJECTED_ADD,
    CS_SQL_REJECTED_DROP,
    CS_SQL_COUNT
};

extern const char *const  cs_store_sql[CS_SQL_COUNT];


#endif /* CS_STORE_SQLITE_H */

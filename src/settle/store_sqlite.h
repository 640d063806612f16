/*
 * What the files of the SQLite store share: the connection with its
 * transactions (store_sqlite.c), rows (store_sqlite_rows.c), refunds
 * (store_sqlite_refund.c), the outbox (store_sqlite_outbox.c), and the
 * statements (store_sqlite_sql.c).
 */

#ifndef CS_STORE_SQLITE_H
#define CS_STORE_SQLITE_H

#include <sys/stat.h>

#include "sqlite.h"
#include "store_ops.h"


typedef struct {
    cs_store_t    base;
    cs_sqlite_t   db;
    const char   *path;
    struct stat   file;           /* the one that was opened; st_ino 0: none */
    int           patience_ms;
    unsigned      outbox;
} cs_lite_t;

enum {
    CS_LITE_SAVEPOINT = 0,
    CS_LITE_RELEASE,
    CS_LITE_BATCH_ADD,
    CS_LITE_BATCH_SAME,
    CS_LITE_COUPON,
    CS_LITE_DOUBTS,
    CS_LITE_EVENTS,
    CS_LITE_OPERATIONS,
    CS_LITE_COUPON_SAVE,
    CS_LITE_EVENT_SAVE,
    CS_LITE_OPERATION_ADD,
    CS_LITE_OUTBOX_ADD,
    CS_LITE_REJECTED,
    CS_LITE_REJECTED_LIST,
    CS_LITE_REJECTED_ADD,
    CS_LITE_REJECTED_DROP,
    CS_LITE_MARK,
    CS_LITE_MARK_SET,
    CS_LITE_WAITING,
    CS_LITE_UNCONFIRMED,
    CS_LITE_PAID,
    CS_LITE_TOTALS,
    CS_LITE_REFUND,
    CS_LITE_OUTBOX = CS_LITE_REFUND + CS_REFUND_COUNT,
    CS_LITE_COUNT = CS_LITE_OUTBOX + CS_OUTBOX_COUNT
};

extern const char *const  cs_lite_sql[CS_LITE_COUNT];


/* the methods of store_ops.h that are in store_sqlite_rows.c */
cs_status_e cs_lite_batch(cs_store_t *store, const cs_batch_t *batch,
    unsigned *same);
cs_status_e cs_lite_coupon(cs_store_t *store, cc_str_t code,
    cs_coupon_pt coupon, void *ctx);
cs_status_e cs_lite_doubts(cs_store_t *store, cs_coupon_pt coupon, void *ctx);
cs_status_e cs_lite_events(cs_store_t *store, cc_str_t code, cs_event_pt event,
    void *ctx);
cs_status_e cs_lite_operations(cs_store_t *store, cc_str_t code,
    cs_operation_pt operation, void *ctx);
cs_status_e cs_lite_coupon_save(cs_store_t *store, const cs_coupon_t *coupon);
cs_status_e cs_lite_event_save(cs_store_t *store, cc_str_t code,
    const cc_event_t *event);
cs_status_e cs_lite_operation_add(cs_store_t *store,
    const cs_operation_t *operation);
cs_status_e cs_lite_rejected(cs_store_t *store, int64_t id,
    cs_rejected_pt rejected, void *ctx);
cs_status_e cs_lite_rejected_add(cs_store_t *store,
    const cs_rejected_t *rejected);
cs_status_e cs_lite_rejected_drop(cs_store_t *store, int64_t id);
cs_status_e cs_lite_mark(cs_store_t *store, const char *name, int64_t *value);
cs_status_e cs_lite_mark_set(cs_store_t *store, const char *name,
    int64_t value);
cs_status_e cs_lite_waiting(cs_store_t *store, cs_version_pt version,
    void *ctx);
cs_status_e cs_lite_unconfirmed(cs_store_t *store, cc_str_t after,
    int64_t since, unsigned limit, cs_version_pt version, void *ctx);
cs_status_e cs_lite_paid(cs_store_t *store, cc_str_t after, int64_t since,
    unsigned limit, cs_version_pt version, void *ctx);
cs_status_e cs_lite_totals(cs_store_t *store, cs_totals_t *totals);

/* store_sqlite_refund.c */
cs_status_e cs_lite_refund(cs_store_t *store, cs_refund_sql_e statement,
    const cs_refund_value_t *values, size_t n, cs_refund_row_pt row,
    void *ctx);

/* store_sqlite_outbox.c */
cs_status_e cs_lite_outbox_number(cs_store_t *store, unsigned limit,
    unsigned *n);
cs_status_e cs_lite_outbox(cs_store_t *store, int64_t from, unsigned limit,
    cs_outbox_pt call, void *ctx);
cs_status_e cs_lite_outbox_waiting(cs_store_t *store, unsigned limit,
    int64_t *n);
cs_status_e cs_lite_outbox_fill(cs_store_t *store, cc_str_t code,
    int64_t since, unsigned *n);


#endif /* CS_STORE_SQLITE_H */

/*
 * What the files of the PostgreSQL store share: the connection and the tables
 * (store_postgres_open.c), transactions (store_postgres.c), what one fetches
 * before it writes (store_postgres_fetch.c), reading (store_postgres_rows.c),
 * saving (store_postgres_save.c), refunds (store_postgres_refund.c), the outbox
 * (store_postgres_outbox.c), and the statements (store_postgres_sql.c).
 */

#ifndef CS_STORE_POSTGRES_H
#define CS_STORE_POSTGRES_H

#include "pg.h"
#include "store_ops.h"
#include "work.h"


typedef struct {
    cs_store_t    base;
    cs_pg_t       db;
    cs_work_t     work;
    const char   *url;
    int           patience_ms;
    unsigned      outbox;
    unsigned      writing;        /* in a CS_WRITE transaction, */
    cs_status_e   spoiled;        /* whose first failure this was, */
    char          why[256];       /* and this its reason */
    unsigned      collided;
    unsigned      held;
} cs_post_t;

enum {
    CS_POST_READ = 0,
    CS_POST_WRITE,
    CS_POST_COMMIT,
    CS_POST_ROLLBACK,
    CS_POST_BATCHES,
    CS_POST_LOCK,
    CS_POST_FETCH,
    CS_POST_COUPON,
    CS_POST_DOUBTS,
    CS_POST_EVENTS,
    CS_POST_OPERATIONS,
    CS_POST_REJECTED,
    CS_POST_REJECTED_LIST,
    CS_POST_REJECTED_DROP,
    CS_POST_BATCH_ADD,
    CS_POST_COUPON_ADD,
    CS_POST_COUPON_SAVE,
    CS_POST_EVENT_SAVE,
    CS_POST_OPERATION_ADD,
    CS_POST_OUTBOX_ADD,
    CS_POST_REJECTED_ADD,
    CS_POST_MARK,
    CS_POST_MARK_SET,
    CS_POST_WAITING,
    CS_POST_UNCONFIRMED,
    CS_POST_PAID,
    CS_POST_TOTALS,
    CS_POST_REFUND,
    CS_POST_OUTBOX = CS_POST_REFUND + CS_REFUND_COUNT,
    CS_POST_COUNT = CS_POST_OUTBOX + CS_OUTBOX_COUNT
};

extern const char *const  cs_post_sql[CS_POST_COUNT];


/* waits for all that was sent, and says what a failure means */
CC_MUST_USE cs_status_e cs_post_wait(cs_post_t *post);

/* sends all that the transaction has to write */
void cs_post_flush(cs_post_t *post);

/* in a transaction that writes: the coupon as it is now, fetched if need be */
CC_MUST_USE cs_status_e cs_post_fetch(cs_post_t *post, cc_str_t code,
    cs_work_coupon_t **row);

/* a row of CS_POST_COUPON; its strings are the result's; 0 if it is broken */
CC_MUST_USE unsigned cs_post_coupon_row(cs_coupon_t *coupon,
    const PGresult *result, int i);


/* the methods of store_ops.h */

cs_status_e cs_post_open(cs_store_t *store, unsigned migrate);
void cs_post_close(cs_store_t *store);
void cs_post_check(cs_store_t *store, cs_fact_pt say, void *ctx);

cs_status_e cs_post_expect(cs_store_t *store, const cs_expected_t *expected);
cs_status_e cs_post_batch(cs_store_t *store, const cs_batch_t *batch,
    unsigned *same);
cs_status_e cs_post_coupon(cs_store_t *store, cc_str_t code,
    cs_coupon_pt coupon, void *ctx);
cs_status_e cs_post_doubts(cs_store_t *store, cs_coupon_pt coupon, void *ctx);
cs_status_e cs_post_events(cs_store_t *store, cc_str_t code, cs_event_pt event,
    void *ctx);
cs_status_e cs_post_operations(cs_store_t *store, cc_str_t code,
    cs_operation_pt operation, void *ctx);
cs_status_e cs_post_rejected(cs_store_t *store, int64_t id,
    cs_rejected_pt rejected, void *ctx);

cs_status_e cs_post_coupon_save(cs_store_t *store, const cs_coupon_t *coupon);
cs_status_e cs_post_event_save(cs_store_t *store, cc_str_t code,
    const cc_event_t *event);
cs_status_e cs_post_operation_add(cs_store_t *store,
    const cs_operation_t *operation);
cs_status_e cs_post_rejected_add(cs_store_t *store,
    const cs_rejected_t *rejected);
cs_status_e cs_post_rejected_drop(cs_store_t *store, int64_t id);

cs_status_e cs_post_mark(cs_store_t *store, const char *name, int64_t *value);
cs_status_e cs_post_mark_set(cs_store_t *store, const char *name,
    int64_t value);
cs_status_e cs_post_waiting(cs_store_t *store, cs_version_pt version,
    void *ctx);
cs_status_e cs_post_unconfirmed(cs_store_t *store, cc_str_t after,
    int64_t since, unsigned limit, cs_version_pt version, void *ctx);
cs_status_e cs_post_paid(cs_store_t *store, cc_str_t after, int64_t since,
    unsigned limit, cs_version_pt version, void *ctx);
cs_status_e cs_post_totals(cs_store_t *store, cs_totals_t *totals);

/* store_postgres_refund.c */
cs_status_e cs_post_refund(cs_store_t *store, cs_refund_sql_e statement,
    const cs_refund_value_t *values, size_t n, cs_refund_row_pt row,
    void *ctx);

/* store_postgres_outbox.c */
cs_status_e cs_post_outbox_number(cs_store_t *store, unsigned limit,
    unsigned *n);
cs_status_e cs_post_outbox(cs_store_t *store, int64_t from, unsigned limit,
    cs_outbox_pt call, void *ctx);
cs_status_e cs_post_outbox_waiting(cs_store_t *store, unsigned limit,
    int64_t *n);
cs_status_e cs_post_outbox_fill(cs_store_t *store, cc_str_t code,
    int64_t since, unsigned *n);


#endif /* CS_STORE_POSTGRES_H */

/*
 * What a store has to offer, for those who write one: the functions of store.h
 * as a table, and what all stores have in common.
 *
 * A store's own structure begins with cs_store_t.
 */

#ifndef CS_STORE_OPS_H
#define CS_STORE_OPS_H

#include "store.h"
#include "store_refund.h"


struct cs_store_ops_s {
    cs_store_t *(*create)(const cs_store_conf_t *conf, int patience_ms);
    void (*destroy)(cs_store_t *store);

    cs_status_e (*open)(cs_store_t *store, unsigned migrate);
    void (*close)(cs_store_t *store);
    const char *(*error)(const cs_store_t *store);
    unsigned (*collided)(const cs_store_t *store);
    unsigned (*held)(const cs_store_t *store);
    void (*check)(cs_store_t *store, cs_fact_pt say, void *ctx);

    cs_status_e (*begin)(cs_store_t *store, cs_access_e access);
    cs_status_e (*expect)(cs_store_t *store, const cs_expected_t *expected);
    cs_status_e (*commit)(cs_store_t *store);
    void (*rollback)(cs_store_t *store);
    cs_status_e (*savepoint)(cs_store_t *store);
    cs_status_e (*release)(cs_store_t *store);
    cs_status_e (*undo)(cs_store_t *store);

    cs_status_e (*batch)(cs_store_t *store, const cs_batch_t *batch,
        unsigned *same);
    cs_status_e (*coupon)(cs_store_t *store, cc_str_t code, cs_coupon_pt call,
        void *ctx);
    cs_status_e (*doubts)(cs_store_t *store, cs_coupon_pt call, void *ctx);
    cs_status_e (*events)(cs_store_t *store, cc_str_t code, cs_event_pt call,
        void *ctx);
    cs_status_e (*operations)(cs_store_t *store, cc_str_t code,
        cs_operation_pt call, void *ctx);
    cs_status_e (*coupon_save)(cs_store_t *store, const cs_coupon_t *coupon);
    cs_status_e (*event_save)(cs_store_t *store, cc_str_t code,
        const cc_event_t *event);
    cs_status_e (*operation_add)(cs_store_t *store,
        const cs_operation_t *operation);

    cs_status_e (*rejected)(cs_store_t *store, int64_t id, cs_rejected_pt call,
        void *ctx);
    cs_status_e (*rejected_add)(cs_store_t *store,
        const cs_rejected_t *rejected);
    cs_status_e (*rejected_drop)(cs_store_t *store, int64_t id);

    cs_status_e (*mark)(cs_store_t *store, const char *name, int64_t *value);
    cs_status_e (*mark_set)(cs_store_t *store, const char *name,
        int64_t value);
    cs_status_e (*waiting)(cs_store_t *store, cs_version_pt call, void *ctx);
    cs_status_e (*unconfirmed)(cs_store_t *store, cc_str_t after,
        int64_t since, unsigned limit, cs_version_pt call, void *ctx);
    cs_status_e (*paid)(cs_store_t *store, cc_str_t after, int64_t since,
        unsigned limit, cs_version_pt call, void *ctx);

    cs_status_e (*totals)(cs_store_t *store, cs_totals_t *totals);

    cs_status_e (*refund)(cs_store_t *store, cs_refund_sql_e statement,
        const cs_refund_value_t *values, size_t n, cs_refund_row_pt row,
        void *ctx);

    cs_status_e (*outbox_number)(cs_store_t *store, unsigned limit,
        unsigned *n);
    cs_status_e (*outbox)(cs_store_t *store, int64_t from, unsigned limit,
        cs_outbox_pt call, void *ctx);
    cs_status_e (*outbox_waiting)(cs_store_t *store, unsigned limit,
        int64_t *n);
    cs_status_e (*outbox_fill)(cs_store_t *store, cc_str_t code, int64_t since,
        unsigned *n);
};

struct cs_store_s {
    const cs_store_ops_t  *ops;
    int                    limit_ms;      /* 0: none */
};

/* the statements of store_outbox_sql.h */
enum {
    CS_OUTBOX_LOCK = 0,
    CS_OUTBOX_NUMBER,
    CS_OUTBOX_LAST,
    CS_OUTBOX_ROWS,
    CS_OUTBOX_WAITING,
    CS_OUTBOX_FILL,
    CS_OUTBOX_COUNT
};

extern const cs_store_ops_t  cs_store_sqlite;
extern const cs_store_ops_t  cs_store_postgres;


/*
 * What it means that the tables are of this version, 0 being none, and migrate
 * was not asked for or cannot help: the status of open(), and why.
 */
CC_MUST_USE cs_status_e cs_store_version(int64_t version, char *error,
    size_t size);

/* the columns of cs_totals_t, the same in both */
#define CS_STORE_TOTALS                                                        \
    "SELECT (SELECT count(*) FROM coupons WHERE doubt IS NOT NULL),"          \
    " (SELECT count(*) FROM rejected),"                                       \
    " (SELECT count(*) FROM store_requests WHERE closed_at IS NULL),"         \
    " (SELECT min(deadline) FROM store_requests WHERE closed_at IS NULL)"

/* a row whose state, kind or amount is none that was ever written */
#define CS_STORE_BROKEN  "the ledger holds a state, kind or amount that this " \
                         "program does not know"

/*
 * The columns of a coupon that are words and decimals.  real_win and credit
 * (the amount of the final_credit of its generation) are without data where
 * they are null.  Returns 0 if the row is broken.
 */
CC_MUST_USE unsigned cs_store_coupon_row(cs_coupon_t *coupon, cc_str_t state,
    cc_str_t real_win, cc_str_t credit);

/* the same for the columns of an operation */
CC_MUST_USE unsigned cs_store_operation_row(cs_operation_t *operation,
    cc_str_t kind, cc_str_t amount);


#endif /* CS_STORE_OPS_H */

/*
 * The store_* tables: what the stores told, and what was done about it.
 *
 * A statement is asked for by its name and given its values; which columns a
 * row has stands behind the name.  The text is one for both databases, see
 * store_refund_sql.h.  Works inside a transaction that somebody else began.
 *
 * Unlike the tables of coupons these are written at once, and are not covered
 * by a savepoint: what can be refused has to be refused before.
 */

#ifndef CS_STORE_REFUND_H
#define CS_STORE_REFUND_H

#include "store.h"


typedef enum {
    CS_REFUND_NOTE_ADD = 0,     /* CS_NONE: it is there already */
    CS_REFUND_NOTE_STALE,
    CS_REFUND_PURCHASE_ADD,     /* CS_NONE: it is there already */
    CS_REFUND_PURCHASE,         /* access, as_of; and holds the row */
    CS_REFUND_PURCHASE_SAVE,
    CS_REFUND_TRANSACTION_ADD,  /* CS_NONE: it is there already */
    CS_REFUND_TRANSACTION,      /* refunded, as_of, generation, purchase_key */
    CS_REFUND_TRANSACTION_SAVE,
    CS_REFUND_OPERATION_ADD,
    CS_REFUND_OPERATIONS,       /* operation_key, fraction_to, created_at */
    CS_REFUND_REQUEST_ADD,
    CS_REFUND_REQUESTS,         /* source, notification_id, kind,
                                   transaction_key, deadline or null */
    CS_REFUND_REQUEST_CLOSE,    /* CS_NONE: none of that id is open */
    CS_REFUND_UNITS_CLOSE,      /* CS_NONE: none of that transaction is */
    CS_REFUND_COUNT
} cs_refund_sql_e;

/* $1, $2, … of a statement */
typedef struct {
    cc_str_t   text;            /* without data: the number */
    int64_t    number;
    unsigned   null;
} cs_refund_value_t;

#define CS_REFUND_VALUES_MAX  9

/* one row; a column is text, good for the call, without data if it is null */
typedef void (*cs_refund_row_pt)(void *ctx, const cc_str_t *columns);

#define cs_refund_values(...)                                                 \
    (cs_refund_value_t[]) { __VA_ARGS__ },                                    \
    sizeof((cs_refund_value_t[]) { __VA_ARGS__ }) / sizeof(cs_refund_value_t)

cs_refund_value_t cs_refund_text(const char *text);
cs_refund_value_t cs_refund_bytes(cc_str_t text);
cs_refund_value_t cs_refund_number(int64_t number);
cs_refund_value_t cs_refund_null(void);

/* CS_NONE: it gave no row, and changed none */
CC_MUST_USE cs_status_e cs_store_refund(cs_store_t *store,
    cs_refund_sql_e statement, const cs_refund_value_t *values, size_t n,
    cs_refund_row_pt row, void *ctx);

/* a column that holds a whole number; 0 if it is null */
int64_t cs_refund_whole(cc_str_t column);


#endif /* CS_STORE_REFUND_H */

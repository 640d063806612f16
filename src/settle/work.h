/*
 * What a transaction is going to write, kept in memory until its end: then it
 * is sent with one statement for each table, however many batches it was.
 *
 * Knows the coupons and batches that were fetched for it, as they are after
 * what was written so far; who writes a coupon twice finds the first write.
 * Strings and rows live until cs_work_clear().
 */

#ifndef CS_WORK_H
#define CS_WORK_H

#include "buffer.h"
#include "store.h"


#define CS_WORK_UNDONE  6            /* lists that a savepoint covers */

typedef struct cs_work_chunk_s  cs_work_chunk_t;

typedef struct {
    cs_coupon_t    coupon;
    unsigned       locked;       /* nobody else changes its row */
    unsigned       stored;       /* there is a row */
    unsigned       broken;       /* that holds what we never wrote */
    unsigned       changed;      /* it is to be written */
} cs_work_coupon_t;

typedef struct {
    cc_str_t    code;
    cc_event_t  event;
    size_t      number;          /* counts up: the later of two stays */
} cs_work_event_t;

typedef struct {
    cc_str_t    name;
    int64_t     value;
} cs_work_mark_t;

typedef struct {
    cs_buffer_t        coupons;      /* of cs_work_coupon_t *, by code */
    cs_buffer_t        known;        /* of cs_batch_t, by id: asked for; without
                                        a digest if there is no such batch */
    cs_buffer_t        batches;      /* of cs_batch_t, to be written */
    cs_buffer_t        events;       /* of cs_work_event_t */
    cs_buffer_t        operations;   /* of cs_operation_t */
    cs_buffer_t        rejected;     /* of cs_rejected_t */
    cs_buffer_t        marks;        /* of cs_work_mark_t */

    cs_buffer_t        undo;         /* of cs_work_undo_t */
    size_t             mark[CS_WORK_UNDONE];      /* lengths at the savepoint */
    cs_work_chunk_t   *chunks;       /* of strings and coupons */
} cs_work_t;


void cs_work_clear(cs_work_t *work);

#define cs_work_count(list, type)  ((list)->len / sizeof(type))
#define cs_work_list(list, type)   ((type *) (void *) (list)->data)

/* a copy that ends with a NUL; without data if text is */
cc_str_t cs_work_keep(cs_work_t *work, cc_str_t text);

/* NULL: it was not fetched */
cs_work_coupon_t *cs_work_coupon(const cs_work_t *work, cc_str_t code);

/* a coupon that is not there yet, now fetched and not stored */
cs_work_coupon_t *cs_work_fetched(cs_work_t *work, cc_str_t code);

/* takes over what was saved; it was fetched before */
void cs_work_coupon_save(cs_work_t *work, const cs_coupon_t *coupon);
void cs_work_event_save(cs_work_t *work, cc_str_t code,
    const cc_event_t *event);
void cs_work_operation_add(cs_work_t *work, const cs_operation_t *operation);
void cs_work_rejected_add(cs_work_t *work, const cs_rejected_t *rejected);

/* the last value under the name, or NULL */
const cs_work_mark_t *cs_work_mark(const cs_work_t *work, cc_str_t name);
void cs_work_mark_set(cs_work_t *work, cc_str_t name, int64_t value);

/* the batch as it is known, or NULL; then it has to be fetched; then added */
const cs_batch_t *cs_work_batch(const cs_work_t *work, cc_str_t id);
void cs_work_batch_known(cs_work_t *work, cc_str_t id, cc_str_t digest);
void cs_work_batch_add(cs_work_t *work, const cs_batch_t *batch);

/* forgets all that was written since the savepoint */
void cs_work_savepoint(cs_work_t *work);
void cs_work_undo(cs_work_t *work);

/*
 * Puts what is to be written into the order in which everybody writes, and
 * leaves of two rows with the same key the later one.
 */
void cs_work_sort(cs_work_t *work);


#endif /* CS_WORK_H */

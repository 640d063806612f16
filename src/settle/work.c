/*
 * The unit of work of a transaction; see work.h.
 */

#include <stdlib.h>

#include "work.h"


#define CS_WORK_CHUNK  65536

struct cs_work_chunk_s {
    cs_work_chunk_t   *next;
    size_t             used;
    size_t             size;
    _Alignas(16) unsigned char  bytes[];
};

typedef struct {
    cs_work_coupon_t  *row;
    cs_work_coupon_t   before;
} cs_work_undo_t;

typedef cc_str_t (*cs_work_name_pt)(const cs_work_t *work, size_t i);


static void *cs_work_alloc(cs_work_t *work, size_t size);
static void cs_work_push(cs_buffer_t *list, const void *item, size_t size);
static cc_str_t cs_work_coupon_name(const cs_work_t *work, size_t i);
static cc_str_t cs_work_batch_name(const cs_work_t *work, size_t i);
static size_t cs_work_place(const cs_work_t *work, size_t n,
    cs_work_name_pt name_of, cc_str_t name);
static void cs_work_batch_unknown(cs_work_t *work, cc_str_t id);
static cs_buffer_t *cs_work_undone(cs_work_t *work, size_t i);
static int cs_work_order(cc_str_t a, cc_str_t b);
static int cs_work_order_batches(const void *a, const void *b);
static int cs_work_order_events(const void *a, const void *b);


void
cs_work_clear(cs_work_t *work)
{
    cs_work_chunk_t  *chunk;

    while ((chunk = work->chunks) != NULL) {
        work->chunks = chunk->next;
        free(chunk);
    }

    cs_buffer_free(&work->coupons);
    cs_buffer_free(&work->known);
    cs_buffer_free(&work->batches);
    cs_buffer_free(&work->events);
    cs_buffer_free(&work->operations);
    cs_buffer_free(&work->rejected);
    cs_buffer_free(&work->marks);
    cs_buffer_free(&work->undo);
}


static void *
cs_work_alloc(cs_work_t *work, size_t size)
{
    void             *p;
    size_t            room;
    cs_work_chunk_t  *chunk = work->chunks;

    size = (size + 15) / 16 * 16;

    if (chunk == NULL || chunk->size - chunk->used < size) {
        room = size > CS_WORK_CHUNK ? size : CS_WORK_CHUNK;

        chunk = cs_alloc(sizeof(cs_work_chunk_t) + room);
        chunk->size = room;
        chunk->next = work->chunks;
        work->chunks = chunk;
    }

    p = chunk->bytes + chunk->used;
    chunk->used += size;

    return p;
}


cc_str_t
cs_work_keep(cs_work_t *work, cc_str_t text)
{
    cc_str_t        kept = text;
    unsigned char  *p;

    if (text.data) {
        p = cs_work_alloc(work, text.len + 1);
        memcpy(p, text.data, text.len);
        kept.data = p;
    }

    return kept;
}


static void
cs_work_push(cs_buffer_t *list, const void *item, size_t size)
{
    cc_str_t  bytes;

    bytes.data = item;
    bytes.len = size;

    cs_buffer_add(list, bytes);
}


cs_work_coupon_t *
cs_work_coupon(const cs_work_t *work, cc_str_t code)
{
    size_t              i, n;
    cs_work_coupon_t  **rows;

    n = cs_work_count(&work->coupons, cs_work_coupon_t *);
    rows = cs_work_list(&work->coupons, cs_work_coupon_t *);
    i = cs_work_place(work, n, cs_work_coupon_name, code);

    return i < n && cs_work_order(rows[i]->coupon.code, code) == 0 ? rows[i]
                                                                   : NULL;
}


cs_work_coupon_t *
cs_work_fetched(cs_work_t *work, cc_str_t code)
{
    size_t              i, n;
    cs_work_coupon_t   *row, **rows;

    row = cs_work_alloc(work, sizeof(cs_work_coupon_t));
    row->coupon.code = cs_work_keep(work, code);

    n = cs_work_count(&work->coupons, cs_work_coupon_t *);
    i = cs_work_place(work, n, cs_work_coupon_name, code);

    cs_work_push(&work->coupons, &row, sizeof(cs_work_coupon_t *));

    rows = cs_work_list(&work->coupons, cs_work_coupon_t *);
    memmove(&rows[i + 1], &rows[i], (n - i) * sizeof(cs_work_coupon_t *));
    rows[i] = row;

    return row;
}


static cc_str_t
cs_work_coupon_name(const cs_work_t *work, size_t i)
{
    return cs_work_list(&work->coupons, cs_work_coupon_t *)[i]->coupon.code;
}


/* where, in a list of n in the order of their names, this one is or would be */

static size_t
cs_work_place(const cs_work_t *work, size_t n, cs_work_name_pt name_of,
    cc_str_t name)
{
    size_t  low, high, middle;

    low = 0;
    high = n;

    while (low < high) {
        middle = low + (high - low) / 2;

        if (cs_work_order(name_of(work, middle), name) < 0) {
            low = middle + 1;

        } else {
            high = middle;
        }
    }

    return low;
}


/* what credited and credit are, only the operations say */

void
cs_work_coupon_save(cs_work_t *work, const cs_coupon_t *coupon)
{
    cc_str_t           doubt;
    cs_coupon_t       *next;
    cs_work_undo_t     undo;
    cs_work_coupon_t  *row;

    row = cs_work_coupon(work, coupon->code);

    undo.row = row;
    undo.before = *row;
    cs_work_push(&work->undo, &undo, sizeof(cs_work_undo_t));

    next = &row->coupon;
    *next = *coupon;
    row->changed = 1;

    next->code = undo.before.coupon.code;
    next->version = undo.before.coupon.version;
    next->raw = coupon->raw.len ? cs_work_keep(work, coupon->raw)
                                : undo.before.coupon.raw;

    if (coupon->settled.doubt) {
        doubt = cs_work_keep(work, cs_str_of(coupon->settled.doubt));
        next->settled.doubt = (const char *) doubt.data;
    }

    if (coupon->settled.generation == undo.before.coupon.settled.generation) {
        next->settled.credited = undo.before.coupon.settled.credited;
        next->settled.credit = undo.before.coupon.settled.credit;

    } else {
        next->settled.credited = 0;
    }
}


void
cs_work_event_save(cs_work_t *work, cc_str_t code, const cc_event_t *event)
{
    cs_work_event_t  next;

    next.code = cs_work_keep(work, code);
    next.event = *event;
    next.event.uuid = cs_work_keep(work, event->uuid);
    next.event.raw = cs_work_keep(work, event->raw);
    next.number = work->events.len;

    cs_work_push(&work->events, &next, sizeof(cs_work_event_t));
}


void
cs_work_operation_add(cs_work_t *work, const cs_operation_t *operation)
{
    cs_operation_t         next = *operation;
    cc_settled_t          *settled;
    cs_work_coupon_t      *row;
    const cc_operation_t  *o = &operation->operation;

    next.code = cs_work_keep(work, operation->code);
    next.batch_id = cs_work_keep(work, operation->batch_id);

    cs_work_push(&work->operations, &next, sizeof(cs_operation_t));

    row = cs_work_coupon(work, operation->code);
    settled = &row->coupon.settled;

    if (o->kind == CC_OPERATION_FINAL_CREDIT
        && o->generation == settled->generation)
    {
        settled->credited = 1;
        settled->credit = o->amount;
    }
}


void
cs_work_rejected_add(cs_work_t *work, const cs_rejected_t *rejected)
{
    cs_rejected_t  next = *rejected;

    next.source = cs_work_keep(work, rejected->source);
    next.batch_id = cs_work_keep(work, rejected->batch_id);
    next.reason = cs_work_keep(work, rejected->reason);
    next.body = cs_work_keep(work, rejected->body);

    cs_work_push(&work->rejected, &next, sizeof(cs_rejected_t));
}


const cs_work_mark_t *
cs_work_mark(const cs_work_t *work, cc_str_t name)
{
    size_t                 i;
    const cs_work_mark_t  *marks;

    marks = cs_work_list(&work->marks, cs_work_mark_t);

    for (i = cs_work_count(&work->marks, cs_work_mark_t); i > 0; i--) {
        if (cs_work_order(marks[i - 1].name, name) == 0) {
            return &marks[i - 1];
        }
    }

    return NULL;
}


void
cs_work_mark_set(cs_work_t *work, cc_str_t name, int64_t value)
{
    cs_work_mark_t  next;

    next.name = cs_work_keep(work, name);
    next.value = value;

    cs_work_push(&work->marks, &next, sizeof(cs_work_mark_t));
}


const cs_batch_t *
cs_work_batch(const cs_work_t *work, cc_str_t id)
{
    size_t             i, n;
    const cs_batch_t  *known;

    n = cs_work_count(&work->known, cs_batch_t);
    known = cs_work_list(&work->known, cs_batch_t);
    i = cs_work_place(work, n, cs_work_batch_name, id);

    return i < n && cs_work_order(known[i].id, id) == 0 ? &known[i] : NULL;
}


static cc_str_t
cs_work_batch_name(const cs_work_t *work, size_t i)
{
    return cs_work_list(&work->known, cs_batch_t)[i].id;
}


void
cs_work_batch_known(cs_work_t *work, cc_str_t id, cc_str_t digest)
{
    size_t       i, n;
    cs_batch_t   batch, *known;

    n = cs_work_count(&work->known, cs_batch_t);
    i = cs_work_place(work, n, cs_work_batch_name, id);

    if (cs_work_batch(work, id) == NULL) {
        memset(&batch, 0, sizeof(cs_batch_t));
        batch.id = cs_work_keep(work, id);

        cs_work_push(&work->known, &batch, sizeof(cs_batch_t));

        known = cs_work_list(&work->known, cs_batch_t);
        memmove(&known[i + 1], &known[i], (n - i) * sizeof(cs_batch_t));
        known[i] = batch;
    }

    if (digest.len) {
        known = cs_work_list(&work->known, cs_batch_t);
        known[i].digest = cs_work_keep(work, digest);
    }
}


void
cs_work_batch_add(cs_work_t *work, const cs_batch_t *batch)
{
    cs_batch_t  next = *batch;

    next.id = cs_work_keep(work, batch->id);
    next.digest = cs_work_keep(work, batch->digest);

    cs_work_push(&work->batches, &next, sizeof(cs_batch_t));
    cs_work_batch_known(work, next.id, next.digest);
}


static void
cs_work_batch_unknown(cs_work_t *work, cc_str_t id)
{
    size_t  i;

    i = cs_work_place(work, cs_work_count(&work->known, cs_batch_t),
                      cs_work_batch_name, id);

    cs_work_list(&work->known, cs_batch_t)[i].digest.len = 0;
}


void
cs_work_savepoint(cs_work_t *work)
{
    size_t  i;

    for (i = 0; i < CS_WORK_UNDONE; i++) {
        work->mark[i] = cs_work_undone(work, i)->len;
    }
}


void
cs_work_undo(cs_work_t *work)
{
    size_t           i, n;
    cs_batch_t      *batches;
    cs_work_undo_t  *undo;

    batches = cs_work_list(&work->batches, cs_batch_t);
    n = work->mark[1] / sizeof(cs_batch_t);

    for (i = cs_work_count(&work->batches, cs_batch_t); i > n; i--) {
        cs_work_batch_unknown(work, batches[i - 1].id);
    }

    undo = cs_work_list(&work->undo, cs_work_undo_t);
    n = work->mark[0] / sizeof(cs_work_undo_t);

    for (i = cs_work_count(&work->undo, cs_work_undo_t); i > n; i--) {
        *undo[i - 1].row = undo[i - 1].before;
    }

    for (i = 0; i < CS_WORK_UNDONE; i++) {
        cs_work_undone(work, i)->len = work->mark[i];
    }
}


/* the i-th list that a savepoint covers */

static cs_buffer_t *
cs_work_undone(cs_work_t *work, size_t i)
{
    cs_buffer_t  *lists[] = { &work->undo, &work->batches, &work->events,
                              &work->operations, &work->rejected,
                              &work->marks };

    return lists[i];
}


void
cs_work_sort(cs_work_t *work)
{
    size_t            i, n, kept;
    cs_work_event_t  *events;

    n = cs_work_count(&work->batches, cs_batch_t);

    if (n) {
        qsort(work->batches.data, n, sizeof(cs_batch_t),
              cs_work_order_batches);
    }

    n = cs_work_count(&work->events, cs_work_event_t);
    if (n == 0) {
        return;
    }

    events = cs_work_list(&work->events, cs_work_event_t);
    qsort(events, n, sizeof(cs_work_event_t), cs_work_order_events);

    kept = 0;

    for (i = 1; i < n; i++) {
        if (cs_work_order(events[i].code, events[kept].code) != 0
            || cs_work_order(events[i].event.uuid, events[kept].event.uuid)
               != 0)
        {
            kept++;
        }

        events[kept] = events[i];
    }

    work->events.len = (kept + 1) * sizeof(cs_work_event_t);
}


/* as COLLATE "C" has it */

static int
cs_work_order(cc_str_t a, cc_str_t b)
{
    int     order;
    size_t  n;

    n = a.len < b.len ? a.len : b.len;
    order = n ? memcmp(a.data, b.data, n) : 0;

    return order ? order : (a.len > b.len) - (a.len < b.len);
}


static int
cs_work_order_batches(const void *a, const void *b)
{
    return cs_work_order(((const cs_batch_t *) a)->id,
                         ((const cs_batch_t *) b)->id);
}


static int
cs_work_order_events(const void *a, const void *b)
{
    int                     order;
    const cs_work_event_t  *x = a, *y = b;

    order = cs_work_order(x->code, y->code);

    if (order == 0) {
        order = cs_work_order(x->event.uuid, y->event.uuid);
    }

    return order ? order : (x->number > y->number) - (x->number < y->number);
}

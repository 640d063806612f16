/*
 * The ledger in PostgreSQL: saving.  What is saved goes into the work of the
 * transaction, and is sent at its end: one statement for each table, whatever
 * the number of rows.
 */

#include "store_postgres.h"


#define CS_POST_COLUMNS_MAX  8

/* the columns of one statement */
typedef struct {
    cs_pg_array_t   columns[CS_POST_COLUMNS_MAX];
    size_t          n;
} cs_post_columns_t;


static void cs_post_send_batches(cs_post_t *post);
static void cs_post_send_coupons(cs_post_t *post, unsigned stored);
static void cs_post_send_events(cs_post_t *post);
static void cs_post_send_operations(cs_post_t *post);
static void cs_post_send_outbox(cs_post_t *post);
static void cs_post_send_rejected(cs_post_t *post);
static void cs_post_send_marks(cs_post_t *post);
static void cs_post_columns(cs_post_columns_t *c, const char *types);
static void cs_post_send(cs_post_t *post, size_t statement,
    cs_post_columns_t *c);
static void cs_post_amount(cs_pg_array_t *column, cc_money_t amount);
static void cs_post_ascii(cs_pg_array_t *column, cc_str_t text);
static void cs_post_dropped(void *ctx, const PGresult *result);


cs_status_e
cs_post_event_save(cs_store_t *store, cc_str_t code, const cc_event_t *event)
{
    cs_work_event_save(&((cs_post_t *) store)->work, code, event);

    return CS_OK;
}


cs_status_e
cs_post_rejected_add(cs_store_t *store, const cs_rejected_t *rejected)
{
    cs_work_rejected_add(&((cs_post_t *) store)->work, rejected);

    return CS_OK;
}


cs_status_e
cs_post_rejected_drop(cs_store_t *store, int64_t id)
{
    int                 rows;
    cs_post_t          *post = (cs_post_t *) store;
    cs_status_e         status;
    cs_post_columns_t   c;

    rows = 0;

    cs_post_columns(&c, "i");
    cs_pg_array_int(&c.columns[0], id);

    cs_pg_send(&post->db, CS_POST_REJECTED_DROP, c.columns, c.n,
               cs_post_dropped, &rows);
    cs_pg_array_free(&c.columns[0]);

    status = cs_post_wait(post);

    return status == CS_OK && rows == 0 ? CS_NONE : status;
}


static void
cs_post_dropped(void *ctx, const PGresult *result)
{
    int  *rows = ctx;

    *rows = PQntuples(result);
}


cs_status_e
cs_post_mark_set(cs_store_t *store, const char *name, int64_t value)
{
    cs_work_mark_set(&((cs_post_t *) store)->work, cs_str_of(name), value);

    return CS_OK;
}


void
cs_post_flush(cs_post_t *post)
{
    cs_work_sort(&post->work);

    cs_post_send_batches(post);
    cs_post_send_coupons(post, 0);
    cs_post_send_coupons(post, 1);
    cs_post_send_events(post);
    cs_post_send_operations(post);
    cs_post_send_outbox(post);
    cs_post_send_rejected(post);
    cs_post_send_marks(post);
}


static void
cs_post_send_batches(cs_post_t *post)
{
    size_t              i;
    const cs_batch_t   *batch;
    cs_post_columns_t   c;

    cs_post_columns(&c, "tiit");

    for (i = 0; i < cs_work_count(&post->work.batches, cs_batch_t); i++) {
        batch = &cs_work_list(&post->work.batches, cs_batch_t)[i];

        cs_pg_array_text(&c.columns[0], batch->id);
        cs_pg_array_int(&c.columns[1], batch->received_at);
        cs_pg_array_int(&c.columns[2], batch->coupon_count);
        cs_pg_array_text(&c.columns[3], batch->digest);
    }

    cs_post_send(post, CS_POST_BATCH_ADD, &c);
}


/* the ones that are there, or the others */

static void
cs_post_send_coupons(cs_post_t *post, unsigned stored)
{
    size_t               i, n;
    cs_coupon_t         *coupon;
    cs_work_coupon_t   **rows;
    cs_post_columns_t    c;

    cs_post_columns(&c, "tittitit");

    rows = cs_work_list(&post->work.coupons, cs_work_coupon_t *);
    n = cs_work_count(&post->work.coupons, cs_work_coupon_t *);

    for (i = 0; i < n; i++) {

        if (!rows[i]->changed || rows[i]->stored != stored) {
            continue;
        }

        coupon = &rows[i]->coupon;

        cs_pg_array_text(&c.columns[0], coupon->code);
        cs_pg_array_int(&c.columns[1], coupon->status);

        if (coupon->has_real_win) {
            cs_post_amount(&c.columns[2], coupon->real_win);

        } else {
            cs_pg_array_null(&c.columns[2]);
        }

        cs_pg_array_text(&c.columns[3],
                         cs_str_of(cc_state_name(coupon->settled.state)));
        cs_pg_array_int(&c.columns[4], coupon->settled.generation);

        if (coupon->settled.doubt) {
            cs_pg_array_text(&c.columns[5], cs_str_of(coupon->settled.doubt));

        } else {
            cs_pg_array_null(&c.columns[5]);
        }

        if (coupon->confirmed_at) {
            cs_pg_array_int(&c.columns[6], coupon->confirmed_at);

        } else {
            cs_pg_array_null(&c.columns[6]);
        }

        if (coupon->raw.len) {
            cs_pg_array_text(&c.columns[7], coupon->raw);

        } else {
            cs_pg_array_null(&c.columns[7]);
        }
    }

    cs_post_send(post, stored ? CS_POST_COUPON_SAVE : CS_POST_COUPON_ADD, &c);
}


static void
cs_post_send_events(cs_post_t *post)
{
    size_t              i;
    cs_work_event_t    *row;
    cs_post_columns_t   c;

    cs_post_columns(&c, "ttit");

    for (i = 0; i < cs_work_count(&post->work.events, cs_work_event_t); i++) {
        row = &cs_work_list(&post->work.events, cs_work_event_t)[i];

        cs_pg_array_text(&c.columns[0], row->code);
        cs_pg_array_text(&c.columns[1], row->event.uuid);

        if (row->event.has_status) {
            cs_pg_array_int(&c.columns[2], row->event.status);

        } else {
            cs_pg_array_null(&c.columns[2]);
        }

        cs_pg_array_text(&c.columns[3], row->event.raw);
    }

    cs_post_send(post, CS_POST_EVENT_SAVE, &c);
}


static void
cs_post_send_operations(cs_post_t *post)
{
    size_t                 i;
    cs_operation_t        *row;
    cs_post_columns_t      c;
    const cc_operation_t  *o;

    cs_post_columns(&c, "tittit");

    for (i = 0; i < cs_work_count(&post->work.operations, cs_operation_t);
         i++)
    {
        row = &cs_work_list(&post->work.operations, cs_operation_t)[i];
        o = &row->operation;

        cs_pg_array_text(&c.columns[0], row->code);
        cs_pg_array_int(&c.columns[1], o->generation);
        cs_pg_array_text(&c.columns[2], cs_str_of(cc_operation_name(o->kind)));
        cs_post_amount(&c.columns[3], o->amount);
        cs_pg_array_int(&c.columns[4], row->created_at);
        cs_pg_array_text(&c.columns[5], row->batch_id);
    }

    cs_post_send(post, CS_POST_OPERATION_ADD, &c);
}


static void
cs_post_send_outbox(cs_post_t *post)
{
    size_t                 i;
    cs_operation_t        *row;
    cs_post_columns_t      c;
    const cc_operation_t  *o;

    if (!post->outbox) {
        return;
    }

    cs_post_columns(&c, "tit");

    for (i = 0; i < cs_work_count(&post->work.operations, cs_operation_t);
         i++)
    {
        row = &cs_work_list(&post->work.operations, cs_operation_t)[i];
        o = &row->operation;

        cs_pg_array_text(&c.columns[0], row->code);
        cs_pg_array_int(&c.columns[1], o->generation);
        cs_pg_array_text(&c.columns[2], cs_str_of(cc_operation_name(o->kind)));
    }

    cs_post_send(post, CS_POST_OUTBOX_ADD, &c);
}


static void
cs_post_send_rejected(cs_post_t *post)
{
    size_t              i;
    cs_rejected_t      *row;
    cs_post_columns_t   c;

    cs_post_columns(&c, "tttbii");

    for (i = 0; i < cs_work_count(&post->work.rejected, cs_rejected_t); i++) {
        row = &cs_work_list(&post->work.rejected, cs_rejected_t)[i];

        cs_post_ascii(&c.columns[0], row->source);

        if (row->batch_id.len) {
            cs_post_ascii(&c.columns[1], row->batch_id);

        } else {
            cs_pg_array_null(&c.columns[1]);
        }

        cs_post_ascii(&c.columns[2], row->reason);
        cs_pg_array_text(&c.columns[3], row->body);
        cs_pg_array_int(&c.columns[4], row->received_at);
        cs_pg_array_int(&c.columns[5], row->rejected_at);
    }

    cs_post_send(post, CS_POST_REJECTED_ADD, &c);
}


static void
cs_post_send_marks(cs_post_t *post)
{
    size_t              i;
    cs_work_mark_t     *mark;
    cs_post_columns_t   c;

    cs_post_columns(&c, "ti");

    for (i = 0; i < cs_work_count(&post->work.marks, cs_work_mark_t); i++) {
        mark = &cs_work_list(&post->work.marks, cs_work_mark_t)[i];

        /* only the last one of a name */

        if (cs_work_mark(&post->work, mark->name) == mark) {
            cs_pg_array_text(&c.columns[0], mark->name);
            cs_pg_array_int(&c.columns[1], mark->value);
        }
    }

    cs_post_send(post, CS_POST_MARK_SET, &c);
}


/* a letter for each: text, integer, bytes */

static void
cs_post_columns(cs_post_columns_t *c, const char *types)
{
    memset(c, 0, sizeof(cs_post_columns_t));

    for (c->n = 0; types[c->n]; c->n++) {
        cs_pg_array_init(&c->columns[c->n],
                         types[c->n] == 't' ? CS_PG_TEXT
                         : types[c->n] == 'i' ? CS_PG_INT8 : CS_PG_BYTEA);
    }
}


/* unless there are no rows */

static void
cs_post_send(cs_post_t *post, size_t statement, cs_post_columns_t *c)
{
    size_t  i;

    if (c->columns[0].n) {
        cs_pg_send(&post->db, statement, c->columns, c->n, NULL, NULL);
    }

    for (i = 0; i < c->n; i++) {
        cs_pg_array_free(&c->columns[i]);
    }
}


static void
cs_post_amount(cs_pg_array_t *column, cc_money_t amount)
{
    char      text[CC_MONEY_TEXT];
    cc_str_t  bytes;

    bytes.data = (const unsigned char *) text;
    bytes.len = cc_money_format(text, amount);

    cs_pg_array_text(column, bytes);
}


/*
 * What is rejected may come from anybody, and must not be refused once more:
 * text has to be UTF-8 without NUL.  So what is not ASCII becomes \xNN.
 */

static void
cs_post_ascii(cs_pg_array_t *column, cc_str_t text)
{
    cc_str_t      bytes;
    cs_buffer_t   buffer;

    memset(&buffer, 0, sizeof(cs_buffer_t));
    cs_buffer_escape(&buffer, text, 0);

    bytes.data = buffer.data;
    bytes.len = buffer.len;

    cs_pg_array_text(column, bytes);
    cs_buffer_free(&buffer);
}

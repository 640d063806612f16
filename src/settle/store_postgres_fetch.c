/*
 * The ledger in PostgreSQL: what a transaction that writes has to know first.
 * Batches are looked up, coupons locked and fetched into its work, all in one
 * round trip; what is not there is remembered as well.
 */

#include <stdio.h>
#include <stdlib.h>

#include "store_postgres.h"


static void cs_post_known(void *ctx, const PGresult *result);
static void cs_post_locked(void *ctx, const PGresult *result);
static void cs_post_fetched(void *ctx, const PGresult *result);
static int cs_post_by_code(const void *a, const void *b);


cs_status_e
cs_post_expect(cs_store_t *store, const cs_expected_t *expected)
{
    size_t          i;
    cc_str_t       *codes;
    cs_post_t      *post = (cs_post_t *) store;
    cs_status_e     status;
    cs_pg_array_t   params[2];

    memset(params, 0, sizeof(params));
    cs_pg_array_init(&params[0], CS_PG_TEXT);
    cs_pg_array_init(&params[1], CS_PG_TEXT);

    for (i = 0; i < expected->nbatches; i++) {
        cs_pg_array_text(&params[0], expected->batches[i]);
        cs_work_batch_known(&post->work, expected->batches[i],
                            cs_str_of(""));
    }

    /*
     * In order: the lock takes the rows in that of the array, and who took them
     * in another could wait for somebody who waits for him.  Besides, they are
     * only appended to what was fetched.
     */

    codes = cs_alloc(expected->ncodes * sizeof(cc_str_t));

    if (expected->ncodes) {
        memcpy(codes, expected->codes, expected->ncodes * sizeof(cc_str_t));
        qsort(codes, expected->ncodes, sizeof(cc_str_t), cs_post_by_code);
    }

    for (i = 0; i < expected->ncodes; i++) {
        if (cs_work_coupon(&post->work, codes[i]) == NULL) {
            cs_pg_array_text(&params[1], codes[i]);
            (void) cs_work_fetched(&post->work, codes[i]);
        }
    }

    free(codes);

    if (params[0].n) {
        cs_pg_send(&post->db, CS_POST_BATCHES, &params[0], 1, cs_post_known,
                   &post->work);
    }

    if (params[1].n) {
        cs_pg_send(&post->db, CS_POST_LOCK, &params[1], 1, cs_post_locked,
                   &post->work);
        cs_pg_send(&post->db, CS_POST_FETCH, &params[1], 1, cs_post_fetched,
                   &post->work);
    }

    status = cs_post_wait(post);

    cs_pg_array_free(&params[0]);
    cs_pg_array_free(&params[1]);

    return status;
}


static void
cs_post_known(void *ctx, const PGresult *result)
{
    int         i;
    cs_work_t  *work = ctx;

    for (i = 0; i < PQntuples(result); i++) {
        cs_work_batch_known(work, cs_pg_column(result, i, 0),
                            cs_pg_column(result, i, 1));
    }
}


static void
cs_post_locked(void *ctx, const PGresult *result)
{
    int         i;
    cs_work_t  *work = ctx;

    for (i = 0; i < PQntuples(result); i++) {
        cs_work_coupon(work, cs_pg_column(result, i, 0))->locked = 1;
    }
}


/*
 * A row that came between the lock and this is not ours to change: it stays one
 * that is not there, to be inserted, and the insertion collides.
 */

static void
cs_post_fetched(void *ctx, const PGresult *result)
{
    int                i;
    cc_str_t           doubt;
    cs_work_t         *work = ctx;
    cs_coupon_t        coupon;
    cs_work_coupon_t  *row;

    for (i = 0; i < PQntuples(result); i++) {
        row = cs_work_coupon(work, cs_pg_column(result, i, 0));

        if (!row->locked) {
            continue;
        }

        row->stored = 1;
        row->broken = !cs_post_coupon_row(&coupon, result, i);

        coupon.code = row->coupon.code;
        row->coupon = coupon;

        if (coupon.settled.doubt) {
            doubt = cs_work_keep(work, cs_str_of(coupon.settled.doubt));
            row->coupon.settled.doubt = (const char *) doubt.data;
        }
    }
}


cs_status_e
cs_post_fetch(cs_post_t *post, cc_str_t code, cs_work_coupon_t **row)
{
    cs_status_e     status;
    cs_expected_t   expected;

    if (cs_work_coupon(&post->work, code) == NULL) {
        memset(&expected, 0, sizeof(cs_expected_t));
        expected.codes = &code;
        expected.ncodes = 1;

        status = cs_post_expect(&post->base, &expected);
        if (status != CS_OK) {
            return status;
        }
    }

    *row = cs_work_coupon(&post->work, code);

    if ((*row)->broken) {
        (void) snprintf(post->db.error, sizeof(post->db.error), "%s",
                        CS_STORE_BROKEN);
        return CS_REFUSED;
    }

    return CS_OK;
}


cs_status_e
cs_post_batch(cs_store_t *store, const cs_batch_t *batch, unsigned *same)
{
    cs_post_t          *post = (cs_post_t *) store;
    cs_status_e         status;
    cs_expected_t       expected;
    const cs_batch_t   *known;

    known = cs_work_batch(&post->work, batch->id);

    if (known == NULL) {
        memset(&expected, 0, sizeof(cs_expected_t));
        expected.batches = &batch->id;
        expected.nbatches = 1;

        status = cs_post_expect(store, &expected);
        if (status != CS_OK) {
            return status;
        }

        known = cs_work_batch(&post->work, batch->id);
    }

    if (known->digest.len == 0) {
        cs_work_batch_add(&post->work, batch);
        return CS_OK;
    }

    *same = known->digest.len == batch->digest.len
            && memcmp(known->digest.data, batch->digest.data,
                      batch->digest.len) == 0;

    return CS_NONE;
}


cs_status_e
cs_post_coupon_save(cs_store_t *store, const cs_coupon_t *coupon)
{
    cs_post_t         *post = (cs_post_t *) store;
    cs_status_e        status;
    cs_work_coupon_t  *row;

    status = cs_post_fetch(post, coupon->code, &row);

    if (status == CS_OK) {
        cs_work_coupon_save(&post->work, coupon);
    }

    return status;
}


cs_status_e
cs_post_operation_add(cs_store_t *store, const cs_operation_t *operation)
{
    cs_post_t         *post = (cs_post_t *) store;
    cs_status_e        status;
    cs_work_coupon_t  *row;

    status = cs_post_fetch(post, operation->code, &row);

    if (status == CS_OK) {
        cs_work_operation_add(&post->work, operation);
    }

    return status;
}


/* by code, as cs_work_fetched() keeps them */

static int
cs_post_by_code(const void *a, const void *b)
{
    int              order;
    const cc_str_t  *x = a, *y = b;

    order = memcmp(x->data, y->data, x->len < y->len ? x->len : y->len);

    return order ? order : (x->len > y->len) - (x->len < y->len);
}

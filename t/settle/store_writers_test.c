/*
 * Two writers of one store at the same time: whatever they do to each other,
 * both come through and no write is lost; and who says before what he needs is
 * in nobody's way.  The first argument is the URL of the store.
 *
 * Run by t/220-store-contract.t on both.
 */

#include <pthread.h>

#include "store_unit.h"


/* one of two writers of the same coupons, in opposite order */

typedef struct {
    const char  *url;
    unsigned     which;
    unsigned     says;          /* what it will need, before */
    unsigned     done;
    unsigned     collisions;
} writer_t;

#define ROUNDS  40
#define SHARED  20


static void
write_code(char *code, const writer_t *w, unsigned i)
{
    (void) snprintf(code, 16, "w%u-%02u", w->says,
                    w->which ? SHARED - 1 - i : i);
}


static cs_status_e
write_expect(cs_store_t *store, const writer_t *w, const char *id)
{
    char            codes[SHARED][16];
    cc_str_t        ids[1], strings[SHARED];
    unsigned        i;
    cs_expected_t   expected;

    ids[0] = str(id);

    for (i = 0; i < SHARED; i++) {
        write_code(codes[i], w, i);
        strings[i] = str(codes[i]);
    }

    expected.batches = ids;
    expected.nbatches = 1;
    expected.codes = strings;
    expected.ncodes = SHARED;

    return cs_store_expect(store, &expected);
}


static cs_status_e
write_round(cs_store_t *store, const writer_t *w, unsigned round)
{
    char           code[16], id[32];
    seen_t         seen;
    unsigned       i, same;
    cs_coupon_t    c;
    cs_status_e    status;

    (void) snprintf(id, sizeof(id), "w%u-%u-%u", w->says, w->which, round);

    status = cs_store_begin(store, CS_WRITE);

    if (status == CS_OK && w->says) {
        status = write_expect(store, w, id);
    }

    if (status == CS_OK) {
        status = (cs_status_e) batch(store, id, "d", &same);
    }

    for (i = 0; i < SHARED && status == CS_OK; i++) {
        write_code(code, w, i);

        memset(&seen, 0, sizeof(seen_t));
        status = cs_store_coupon(store, str(code), see_coupon, &seen);

        if (status == CS_NONE) {
            status = CS_OK;
        }

        /* status counts how often it was written */

        c = coupon(code, CC_STATE_ACTIVE, NULL);
        c.status = seen.n ? seen.coupon.status + 1 : 1;

        if (status == CS_OK) {
            status = cs_store_coupon_save(store, &c);
        }
    }

    return status == CS_OK ? cs_store_commit(store) : status;
}


static void *
writer(void *arg)
{
    unsigned          round;
    writer_t         *w = arg;
    cs_store_t       *store;
    cs_status_e       status;
    cs_store_conf_t   conf;

    store = opened(&conf, w->url, 0);

    for (round = 0; round < ROUNDS; round++) {

        do {
            status = write_round(store, w, round);

            if (status != CS_OK) {
                w->collisions++;
                cs_store_rollback(store);
            }

        } while (status == CS_AGAIN && w->collisions < 10000);

        w->done += status == CS_OK;
    }

    cs_store_destroy(store);
    cs_store_conf_free(&conf);

    return NULL;
}


static void
test_writers(cs_store_t *store, const char *url, unsigned says)
{
    char       code[16];
    unsigned   i, right;
    writer_t   writers[2];
    pthread_t  threads[2];

    for (i = 0; i < 2; i++) {
        writers[i] = (writer_t) { .url = url, .which = i, .says = says };

        if (pthread_create(&threads[i], NULL, writer, &writers[i]) != 0) {
            exit(2);
        }
    }

    for (i = 0; i < 2; i++) {
        (void) pthread_join(threads[i], NULL);
    }

    is_int(writers[0].done + writers[1].done, 2 * ROUNDS,
           "two writers in opposite order both come through");
    diag("%u times in each other's way",
         writers[0].collisions + writers[1].collisions);

    /* only over who inserts the coupons at first */

    ok(!says || writers[0].collisions + writers[1].collisions <= 4,
       "... and who says what he needs is in nobody's way");

    for (i = 0, right = 0; i < SHARED; i++) {
        write_code(code, &writers[0], i);
        right += look(store, code).coupon.status == 2 * ROUNDS;
    }

    is_int(right, SHARED, "... and no write is lost");
}


int
main(int argc, char **argv)
{
    cs_store_t       *store;
    cs_store_conf_t   conf;

    if (argc != 2) {
        return 2;
    }

    store = opened(&conf, argv[1], 1);

    test_writers(store, argv[1], 0);
    test_writers(store, argv[1], 1);

    cs_store_destroy(store);
    cs_store_conf_free(&conf);

    return done_testing();
}

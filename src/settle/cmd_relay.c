/*
 * coupon-settle relay: the relay of operations without the inbox.
 *
 * It goes on until it is asked to stop, or until nothing is left.  With --since
 * operations that were made while no outbox was kept are put into it first.
 */

#include <stdio.h>

#include "clock.h"
#include "command.h"
#include "outbox.h"
#include "string_list.h"


#define CS_RELAY_PATIENCE_MS  10000
#define CS_RELAY_NAP_MS       500
#define CS_RELAY_PAGE         100        /* coupons in one transaction */
#define CS_RELAY_TRIES        10


static int cs_relay_fill(cs_store_t *store, int64_t since);
static cs_status_e cs_relay_page(cs_store_t *store, cs_strings_t *codes,
    int64_t since, uint64_t *total);
static void cs_relay_code(void *ctx, cc_str_t code, int64_t version);
static int cs_relay_once(cs_outbox_t *outbox);


int
cs_cmd_relay(const cs_args_t *args)
{
    int           failed;
    int64_t       since, wait;
    cs_store_t   *store;
    cs_outbox_t   outbox;

    if (args->since && cs_time_option(&since, "since", args->since) != 0) {
        return CS_USAGE;
    }

    if (!args->conf.relays) {
        return cs_fail("%s does not say [operations] stream = yes: nothing is "
                       "relayed", args->path);
    }

    cs_stop_init();

    store = cs_store_create(&args->conf.store, CS_RELAY_PATIENCE_MS);
    cs_outbox_init(&outbox, &args->conf, store);

    failed = 0;

    if (args->since) {
        failed = cs_store_open(store, args->conf.migrate) != CS_OK
                 ? cs_fail("the store cannot be opened: %s",
                           cs_store_error(store))
                 : cs_relay_fill(store, since);
    }

    if (!failed && args->once) {
        failed = cs_relay_once(&outbox);

    } else if (!failed) {
        wait = 0;

        while (!cs_stop_wait(wait < CS_RELAY_NAP_MS ? wait : CS_RELAY_NAP_MS)) {
            wait = cs_outbox_step(&outbox);
        }
    }

    cs_outbox_free(&outbox);
    cs_store_destroy(store);

    return failed;
}


/* all that is there now; the first failure ends it */

static int
cs_relay_once(cs_outbox_t *outbox)
{
    int64_t  wait;

    do {
        wait = cs_outbox_step(outbox);

        if (outbox->failed) {
            return cs_fail("%s", outbox->error);
        }

        if (cs_stop_wait(0)) {
            return cs_fail("interrupted; start it again");
        }

    } while (wait == 0);

    if (outbox->full) {
        return cs_fail("%s is full: its consumers have to be done with %lld "
                       "entries", outbox->stream.key,
                       (long long) outbox->stream.length);
    }

    (void) printf("%llu operations relayed\n",
                  (unsigned long long) outbox->sent);

    return 0;
}


/* coupon by coupon; whatever is in already stays as it is */

static int
cs_relay_fill(cs_store_t *store, int64_t since)
{
    size_t           n;
    unsigned         tries;
    uint64_t         total;
    cs_buffer_t      after;
    cs_status_e      status;
    cs_strings_t     codes;
    const cc_str_t  *all;

    memset(&after, 0, sizeof(cs_buffer_t));
    memset(&codes, 0, sizeof(cs_strings_t));

    total = 0;
    tries = 0;

    do {
        cs_strings_free(&codes);

        status = cs_store_paid(store, (cc_str_t) { .data = after.data,
                                                   .len = after.len },
                               since, CS_RELAY_PAGE, cs_relay_code, &codes);
        if (status != CS_OK) {
            break;
        }

        status = cs_relay_page(store, &codes, since, &total);

        if (status == CS_AGAIN && cs_store_collided(store)
            && ++tries < CS_RELAY_TRIES)
        {
            status = CS_OK;
            continue;
        }

        all = cs_strings_all(&codes, &n);
        after.len = 0;
        cs_buffer_add(&after, all[n - 1]);
        tries = 0;

    } while (status == CS_OK && !cs_stop_wait(0));

    cs_strings_free(&codes);
    cs_buffer_free(&after);

    (void) printf("%llu operations were missing in the outbox\n",
                  (unsigned long long) total);
    (void) fflush(stdout);

    if (status == CS_OK) {
        return cs_fail("interrupted; start it again");
    }

    return status == CS_NONE ? 0 : cs_fail("%s", cs_store_error(store));
}


static void
cs_relay_code(void *ctx, cc_str_t code, int64_t version)
{
    (void) version;

    cs_strings_add(ctx, code);
}


/* with their coupons held, so that nothing newer comes in before them */

static cs_status_e
cs_relay_page(cs_store_t *store, cs_strings_t *codes, int64_t since,
    uint64_t *total)
{
    size_t          i;
    unsigned        n, sum;
    cs_status_e     status;
    cs_expected_t   expected;

    memset(&expected, 0, sizeof(cs_expected_t));
    expected.codes = cs_strings_all(codes, &expected.ncodes);

    sum = 0;

    status = cs_store_begin(store, CS_WRITE);

    if (status == CS_OK) {
        status = cs_store_expect(store, &expected);
    }

    for (i = 0; i < expected.ncodes && status == CS_OK; i++) {
        status = cs_store_outbox_fill(store, expected.codes[i], since, &n);
        sum += n;
    }

    if (status == CS_OK) {
        status = cs_store_commit(store);
    }

    if (status != CS_OK) {
        cs_store_rollback(store);
        return status;
    }

    *total += sum;

    return CS_OK;
}

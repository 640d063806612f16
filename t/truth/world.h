/*
 * The world of a test of the poller: provider (provider.h), store, worker and
 * poller as they are, a database in memory, and callbacks that are delivered as
 * the stream would.  Everything is static, as in unit.h: a program is a file.
 */

#ifndef WORLD_H
#define WORLD_H

#include <fcntl.h>
#include <unistd.h>

#include "clock.h"
#include "polling.h"
#include "provider.h"
#include "worker.h"


#define START  1700000000000LL

typedef struct {
    int64_t         at;
    const truth_t  *truth;
    const turn_t   *turn;
    unsigned        id;              /* of its batch */
    unsigned        done;
} callback_t;

typedef struct {
    cc_money_t      sum;
    unsigned        found;
    unsigned        doubt;
    unsigned        final;
    unsigned        operations;
} ledger_t;


static cs_conf_t     conf;
static cs_store_t   *store;
static cs_worker_t  *worker;
static cs_api_t     *api;
static cs_poll_t     polling;
static unsigned      store_failed;


static unsigned TAP_UNUSED
chance(unsigned percent)
{
    return unit_below(&provider.random, 100) < percent;
}


static int64_t TAP_UNUSED
between(int64_t low, int64_t high)
{
    return low + (int64_t) unit_below(&provider.random,
                                      (size_t) (high - low + 1));
}


static turn_t * TAP_UNUSED
turn_make(truth_t *truth, int64_t at, int status, const char *win)
{
    turn_t  *turn = &truth->turns[truth->nturns++];

    turn->at = at;
    turn->status = status;
    turn->win = win;

    return turn;
}


/* the callback is done with, unless the wallet holds it */
static void TAP_UNUSED
callback_deliver(callback_t *c)
{
    char           id[32];
    cs_buffer_t    body;
    cs_delivery_t  delivery;

    memset(&body, 0, sizeof(body));
    memset(&delivery, 0, sizeof(delivery));

    (void) snprintf(id, sizeof(id), "batch-%u", c->id);

    cs_buffer_format(&body, "{\"batchId\":\"%s\",\"couponCount\":1,"
                     "\"coupons\":[", id);
    provider_coupon(&body, c->truth, c->turn, "uuid");
    cs_buffer_text(&body, "]}");

    delivery.message.source = cs_str_of(CC_SOURCE_SPORTAPI);
    delivery.message.id = cs_str_of(id);
    delivery.message.count = 1;
    delivery.message.digest = unit_text("00112233445566778899aabbccddeeff");
    delivery.message.received = provider.now;
    delivery.message.body = unit_str(body.data, body.len);

    if (cs_worker_deliveries(worker, &delivery, 1) != CS_OK) {
        store_failed = 1;
    }

    c->done = !delivery.held;

    cs_buffer_free(&body);
}


static void TAP_UNUSED
ledger_coupon(void *ctx, const cs_coupon_t *coupon)
{
    ledger_t  *ledger = ctx;

    ledger->found = 1;
    ledger->doubt = coupon->settled.doubt != NULL;
    ledger->final = coupon->settled.state == CC_STATE_FINAL;

    if (ledger->doubt) {
        diag("in doubt: %s", coupon->settled.doubt);
    }
}


static void TAP_UNUSED
ledger_operation(void *ctx, const cs_operation_t *operation)
{
    ledger_t  *ledger = ctx;

    ledger->operations++;

    if (cc_money_add(&ledger->sum, ledger->sum, operation->operation.amount)
        != 0)
    {
        abort();
    }
}


static void TAP_UNUSED
world_make(uint64_t seed, void (*under_way)(void))
{
    memset(&provider, 0, sizeof(provider));

    provider.random = seed;
    provider.now = START;
    provider.under_way = under_way;
    store_failed = 0;

    store = cs_store_create(&conf.store, 1000);

    if (cs_store_open(store, 1) != CS_OK) {
        abort();
    }

    worker = cs_worker_create(store, &conf);
    api = cs_api_create(&conf.api);
    cs_poll_init(&polling, &conf, store, api, 0);
}


static void TAP_UNUSED
world_clear(void)
{
    cs_poll_free(&polling);
    cs_api_destroy(api);
    cs_worker_destroy(worker);
    cs_store_destroy(store);
}


/* once in a program; 0: it cannot be.  WORLD_LOG shows what is logged */
static int TAP_UNUSED
world_begin(void)
{
    int  null;

    null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (null < 0 || (getenv("WORLD_LOG") == NULL && dup2(null, 2) < 0)) {
        return 0;
    }

    (void) close(null);

    if (cs_store_url(&conf.store, "sqlite:memory") != NULL) {
        return 0;
    }

    free(conf.store.address);
    conf.store.address = cs_copy(":memory:");
    conf.migrate = 1;
    conf.final_statuses.codes[0] = 2;
    conf.final_statuses.codes[1] = 3;
    conf.final_statuses.n = 2;
    conf.recalculation_status = 15;
    conf.api.interval = 5 * MINUTE;
    conf.api.window = 10 * MINUTE;
    conf.api.confirm_after = 30 * 1000;
    conf.api.recheck = 7 * 24 * HOUR;

    return 1;
}


#endif /* WORLD_H */

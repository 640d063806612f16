/*
 * Whatever becomes of the callbacks, the ledger ends at the API's truth.
 *
 * A history is a provider with some coupons, each with a few turns (active,
 * final, recalculation, final again …), and a callback for each turn that comes
 * late, early, twice or never; now and then the API is away, an answer is slow
 * and callbacks overtake it, the poller is started anew.  In the end, after
 * some quiet time, the sum of each coupon's operations is its real_win, nothing
 * is in doubt, and no operation was written that had to be written twice.
 *
 *   truth_test [HISTORIES [SEED]]       one seed is one history
 */

#include <fcntl.h>
#include <unistd.h>

#include "clock.h"
#include "polling.h"
#include "provider.h"
#include "worker.h"


#define START      1700000000000LL
#define CALLBACKS  (2 * PROVIDER_COUPONS * PROVIDER_TURNS)

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


static cs_conf_t      conf;
static cs_store_t    *store;
static cs_worker_t   *worker;
static cs_api_t      *api;
static cs_poll_t      polling;
static callback_t     callbacks[CALLBACKS];
static unsigned       ncallbacks;
static unsigned       store_failed;

static const char *const  wins[] = {
    "0", "10", "10.00", "\"10.0\"", "12.34", "0.01", "1e2", "999.99"
};


static unsigned
chance(unsigned percent)
{
    return unit_below(&provider.random, 100) < percent;
}


static int64_t
between(int64_t low, int64_t high)
{
    return low + (int64_t) unit_below(&provider.random,
                                      (size_t) (high - low + 1));
}


static turn_t *
turn_make(truth_t *truth, int64_t at, int status, const char *win)
{
    turn_t  *turn = &truth->turns[truth->nturns++];

    turn->at = at;
    turn->status = status;
    turn->win = win;

    return turn;
}


static void
turn_add(truth_t *truth, int64_t at, int status)
{
    const char  *win = wins[unit_below(&provider.random,
                                       sizeof(wins) / sizeof(wins[0]))];

    (void) turn_make(truth, at, status,
                     status == 1 || status == 15 ? NULL : win);
}


/* its last turn is final: what stays open at the end pays nothing */
static void
truth_make(truth_t *truth, unsigned number, int64_t from, int64_t until)
{
    int64_t   at, step;
    unsigned  rounds;

    memset(truth, 0, sizeof(truth_t));
    (void) snprintf(truth->code, sizeof(truth->code), "%06u", number);

    rounds = (unsigned) between(0, 3);
    step = (until - from) / (2 * (rounds + 1) + 1);

    at = between(from, from + step);
    truth->created = at;

    if (chance(80)) {
        turn_add(truth, at, 1);
        at += between(1, step);
    }

    turn_add(truth, at, (int) between(2, 3));

    while (rounds-- > 0) {
        at += between(1, step);
        turn_add(truth, at, 15);
        at += between(1, step);
        turn_add(truth, at, (int) between(2, 3));
    }
}


static void
callback_add(const truth_t *truth, const turn_t *turn, unsigned id)
{
    callback_t  *c = &callbacks[ncallbacks++];

    c->truth = truth;
    c->turn = turn;
    c->id = id;
    c->done = 0;

    /* at once, or by one of the provider's retries, or out of any order */

    c->at = turn->at + (chance(60) ? between(0, 2000)
                        : chance(50) ? between(0, 10 * MINUTE)
                                     : between(0, 90 * MINUTE));
}


static void
callbacks_make(unsigned lost)
{
    unsigned       i, j, id;
    const truth_t  *truth;

    ncallbacks = 0;
    id = 0;

    for (i = 0; i < provider.ncoupons; i++) {
        truth = &provider.coupons[i];

        for (j = 0; j < truth->nturns; j++) {
            id++;

            if (chance(lost)) {
                continue;
            }

            callback_add(truth, &truth->turns[j], id);

            if (chance(15)) {
                callback_add(truth, &truth->turns[j], id);
            }
        }
    }
}


static void
callback_deliver(const callback_t *c)
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

    cs_buffer_free(&body);
}


static void
callbacks_deliver(void)
{
    unsigned  i;

    for (i = 0; i < ncallbacks; i++) {
        if (!callbacks[i].done && callbacks[i].at <= provider.now) {
            callbacks[i].done = 1;
            callback_deliver(&callbacks[i]);
        }
    }
}


/* while an answer is on its way, callbacks overtake it */
static void
under_way(void)
{
    if (chance(30)) {
        provider.now += between(1, 20000);
        callbacks_deliver();
    }
}


static void
poller_restart(void)
{
    cs_poll_free(&polling);
    cs_poll_init(&polling, &conf, store, api, 0);
}


static void
history_run(int64_t until)
{
    int64_t  wait;

    while (provider.now < until) {

        callbacks_deliver();

        wait = cs_poll_step(&polling);

        if (polling.failed && strcmp(polling.error, "away") != 0) {
            store_failed = 1;
            return;
        }

        if (wait > 0) {
            provider.now += between(1, 30000);
        }

        if (chance(1)) {
            poller_restart();
        }
    }
}


static void
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


static void
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


static cc_money_t
win_of(const truth_t *truth)
{
    cc_money_t   win;
    cc_str_t     text = unit_cstr(truth->turns[truth->nturns - 1].win);

    if (text.data[0] == '"') {
        text.data++;
        text.len -= 2;
    }

    if (cc_money_parse(&win, text, CC_MONEY_STRING_DIGITS) != 0) {
        abort();
    }

    return win;
}


/* 1 if the ledger says of it what the API says */
static int
truth_holds(const truth_t *truth)
{
    char      sum[CC_MONEY_TEXT], win[CC_MONEY_TEXT];
    ledger_t  ledger;

    memset(&ledger, 0, sizeof(ledger));

    if (cs_store_coupon(store, unit_cstr(truth->code), ledger_coupon, &ledger)
        == CS_AGAIN
        || cs_store_operations(store, unit_cstr(truth->code),
                               ledger_operation, &ledger)
           == CS_AGAIN)
    {
        return 0;
    }

    if (ledger.found && ledger.final && !ledger.doubt
        && cc_money_compare(ledger.sum, win_of(truth)) == 0)
    {
        return 1;
    }

    (void) cc_money_format(sum, ledger.sum);
    (void) cc_money_format(win, win_of(truth));

    diag("%s: found %u, final %u, doubt %u, %u operations, paid %s, is %s",
         truth->code, ledger.found, ledger.final, ledger.doubt,
         ledger.operations, sum, win);

    return 0;
}


static void
history_begin(uint64_t seed)
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


/* 1 if all is as it should be */
static int
history_end(uint64_t seed)
{
    int       good;
    unsigned  i;

    good = !store_failed && provider.wrong[0] == '\0';

    if (!good) {
        diag("store failed: %u, against the contract: %s", store_failed,
             provider.wrong);
    }

    for (i = 0; i < provider.ncoupons; i++) {
        good &= truth_holds(&provider.coupons[i]);
    }

    if (!good) {
        diag("history %llu", (unsigned long long) seed);
    }

    cs_poll_free(&polling);
    cs_api_destroy(api);
    cs_worker_destroy(worker);
    cs_store_destroy(store);

    return good;
}


/* callbacks in any order, lost, twice; short absences of the API */
static int
history_any(uint64_t seed)
{
    unsigned  i;
    int64_t   length;

    history_begin(seed);

    length = between(10, 240) * MINUTE;
    provider.ncoupons = (unsigned) between(1, PROVIDER_COUPONS);

    for (i = 0; i < provider.ncoupons; i++) {
        truth_make(&provider.coupons[i], i, START, START + length);
    }

    callbacks_make((unsigned) unit_below(&provider.random, 4) * 30);

    if (chance(40)) {
        provider.away_from = START + between(0, length);
        provider.away_until = provider.away_from + between(1, 100) * MINUTE;
    }

    history_run(START + length + 5 * HOUR);

    return history_end(seed);
}


/*
 * A break of that length, poller and callbacks alike: what is created and
 * decided before, in and after it.
 */
static int
history_break(uint64_t seed, int64_t length)
{
    int64_t   from;
    unsigned  i;
    truth_t  *truth;

    history_begin(seed);

    from = START + 30 * MINUTE;
    provider.ncoupons = PROVIDER_COUPONS;

    for (i = 0; i < PROVIDER_COUPONS; i++) {
        truth = &provider.coupons[i];
        truth_make(truth, i, between(START, from), from + length + HOUR);
    }

    provider.away_from = from;
    provider.away_until = from + length;

    callbacks_make(30);

    for (i = 0; i < ncallbacks; i++) {
        if (callbacks[i].at >= from && callbacks[i].at < from + length) {
            callbacks[i].done = 1;
        }
    }

    history_run(from + length + 6 * HOUR);

    return history_end(seed);
}


/* --- single turns of fate: one coupon, and what overtakes an answer */

static void      (*overtake)(truth_t *truth);
static unsigned  overtaken;        /* an answer to what */


/* what happens is told by a callback at once */
static void
told(truth_t *truth, int status, const char *win)
{
    callback_t  c;

    memset(&c, 0, sizeof(c));
    c.truth = truth;
    c.turn = turn_make(truth, provider.now, status, win);
    c.id = ++ncallbacks;

    callback_deliver(&c);
}


static void
once_under_way(void)
{
    void  (*happens)(truth_t *truth) = overtake;

    if (happens && provider.last == overtaken) {
        overtake = NULL;
        provider.now += 1000;
        happens(&provider.coupons[0]);
    }
}


static truth_t *
single_begin(void)
{
    truth_t  *truth = &provider.coupons[0];

    history_begin(1);

    provider.under_way = once_under_way;
    provider.ncoupons = 1;
    ncallbacks = 0;
    overtake = NULL;
    overtaken = PROVIDER_CALCULATED;

    (void) snprintf(truth->code, sizeof(truth->code), "000007");
    truth->created = START;

    return truth;
}


static void
let_pass(int64_t ms)
{
    int64_t  wait, until = provider.now + ms;

    while (provider.now < until) {
        wait = cs_poll_step(&polling);
        provider.now += wait < 1000 ? wait : 1000;
    }
}


static ledger_t
single_ledger(void)
{
    ledger_t  ledger;

    memset(&ledger, 0, sizeof(ledger));

    if (cs_store_coupon(store, unit_text("000007"), ledger_coupon, &ledger)
        == CS_AGAIN
        || cs_store_operations(store, unit_text("000007"), ledger_operation,
                               &ledger)
           == CS_AGAIN)
    {
        abort();
    }

    return ledger;
}


static void
single_end(const char *what, const char *paid, unsigned operations)
{
    char      sum[CC_MONEY_TEXT];
    ledger_t  ledger = single_ledger();

    (void) cc_money_format(sum, ledger.sum);

    ok(strcmp(sum, paid) == 0 && ledger.operations == operations
       && !ledger.doubt && !store_failed && provider.wrong[0] == '\0',
       "%s: paid %s by %u operations", what, sum, ledger.operations);

    cs_poll_free(&polling);
    cs_api_destroy(api);
    cs_worker_destroy(worker);
    cs_store_destroy(store);
}


static void
recalculated(truth_t *truth)
{
    told(truth, 15, NULL);
}


/* the recalculation is not told, only its result */
static void
result_changed(truth_t *truth)
{
    (void) turn_make(truth, provider.now, 15, NULL);
    provider.now += 1000;
    told(truth, 2, "12");
}


static void
test_overtaken(void)
{
    truth_t  *truth;

    truth = single_begin();
    told(truth, 2, "10");
    overtake = recalculated;
    let_pass(HOUR);
    single_end("a recalculation overtakes a list with the result", "0", 2);

    truth = single_begin();
    told(truth, 2, "10");
    provider.now += 1000;
    told(truth, 15, NULL);
    let_pass(20 * MINUTE);
    (void) turn_make(truth, provider.now, 2, "12");
    overtake = recalculated;
    overtaken = PROVIDER_BY_CODE;
    provider.now += 1000;
    let_pass(3 * HOUR);
    single_end("a second one overtakes the answer by code", "0", 2);

    truth = single_begin();
    (void) turn_make(truth, provider.now, 2, "10");
    overtake = result_changed;
    let_pass(HOUR);
    single_end("another result overtakes a list", "12", 1);
}


static void
test_late(void)
{
    unsigned      asked;
    truth_t      *truth;

    truth = single_begin();
    told(truth, 15, NULL);
    let_pass(29 * 1000);
    is_int(provider.asked[PROVIDER_BY_CODE], 0,
           "a doubt is not read before confirm_after");
    let_pass(5 * 1000);
    is_int(provider.asked[PROVIDER_BY_CODE], 1, "but then");
    let_pass(24 * HOUR);
    asked = provider.asked[PROVIDER_BY_CODE];
    ok(asked > 20 && asked < 40, "and ever less often: %u times a day", asked);
    single_end("a recalculation goes on", "0", 0);

    truth = single_begin();
    truth->created = START - 30 * 24 * HOUR;
    told(truth, 2, "10");
    let_pass(HOUR);
    provider.away_from = provider.now;
    provider.away_until = provider.now + 72 * HOUR;
    (void) turn_make(truth, provider.now + HOUR, 15, NULL);
    (void) turn_make(truth, provider.now + 2 * HOUR, 2, "12");
    let_pass(73 * HOUR);
    single_end("old, confirmed, and recalculated in a break", "12", 3);

    truth = single_begin();
    told(truth, 1, NULL);
    (void) turn_make(truth, provider.now, 7, "10");
    let_pass(HOUR);
    ok(single_ledger().doubt, "a final status that we do not know is a doubt");
    let_pass(24 * HOUR);
    ok(single_ledger().doubt, "and stays one");
    conf.final_statuses.codes[conf.final_statuses.n++] = 7;
    let_pass(2 * HOUR);
    single_end("until the configuration has it", "10", 1);
    conf.final_statuses.n--;
}


static void
test_breaks(unsigned histories)
{
    size_t          i;
    unsigned        n, good;
    static const struct {
        int64_t     minutes;
        const char *name;
    } breaks[] = {
        { 5, "5 minutes" }, { 40, "40 minutes" }, { 119, "119 minutes" },
        { 121, "121 minutes" }, { 3 * 24 * 60, "3 days" }
    };

    for (i = 0; i < sizeof(breaks) / sizeof(breaks[0]); i++) {
        good = 0;

        for (n = 0; n < histories; n++) {
            good += history_break(n, breaks[i].minutes * MINUTE) ? 1 : 0;
        }

        ok(good == histories, "%u of %u breaks of %s end at the truth", good,
           histories, breaks[i].name);
    }
}


static void
test_any(unsigned histories, uint64_t seed)
{
    unsigned  n, good, calls;

    good = 0;
    calls = 0;

    for (n = 0; n < histories; n++) {
        good += history_any(seed + n) ? 1 : 0;
        calls += provider.asked[PROVIDER_BY_CODE];
    }

    ok(good == histories, "%u of %u histories end at the truth", good,
       histories);
    ok(histories == 1 || calls > histories / 2,
       "and the API was asked by code %u times on the way", calls);
}


static void
test_minutes(void)
{
    size_t  i;
    static const struct {
        int64_t   since_last;
        unsigned  minutes;
    } cases[] = {
        { 0, 10 }, { 5 * MINUTE, 10 }, { 5 * MINUTE + 3000, 10 },
        { 8 * MINUTE, 18 }, { 40 * MINUTE, 50 }, { 40 * MINUTE + 1, 51 },
        { 110 * MINUTE, 120 }, { 119 * MINUTE, 120 }, { 72 * HOUR, 120 },
        { -5000, 120 }
    };

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        is_int(cs_poll_minutes(&conf.api, cases[i].since_last),
               cases[i].minutes, "%lld s after the last success",
               (long long) cases[i].since_last / 1000);
    }

    ok(!cs_poll_is_gap(119 * MINUTE) && cs_poll_is_gap(119 * MINUTE + 1),
       "more than 119 minutes leave no margin in 120: that is a break");
}


int
main(int argc, char **argv)
{
    int       null;
    unsigned  histories;
    uint64_t  seed;

    histories = argc > 1 ? (unsigned) atoi(argv[1]) : 1000;
    seed = argc > 2 ? strtoull(argv[2], NULL, 0) : unit_seed();

    /* the log of some thousand histories */

    null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (null < 0 || (getenv("TRUTH_LOG") == NULL && dup2(null, 2) < 0)) {
        return 1;
    }

    if (cs_store_url(&conf.store, "sqlite:memory") != NULL) {
        return 1;
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

    test_minutes();
    test_any(histories, seed);

    if (argc <= 2) {
        test_overtaken();
        test_late();
        test_breaks(histories / 20 + 1);
    }

    cs_store_conf_free(&conf.store);
    (void) close(null);

    return done_testing();
}

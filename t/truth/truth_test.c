/*
 * Whatever becomes of the callbacks, the ledger ends at the API's truth.
 *
 * A history is a provider with some coupons, each with a few turns (active,
 * final, recalculation, final again …), and a callback for each turn that comes
 * late, early, twice or never; now and then the API is away, an answer is slow
 * and callbacks overtake it, the poller is started anew.  In some histories the
 * wallet does not let a coupon through, or the API gives one without its shape.
 * In the end, after some quiet time, the sum of each coupon's operations is its
 * real_win and nothing is in doubt.
 *
 *   truth_test [HISTORIES [SEED]]       one seed is one history
 */

#include "store_sqlite.h"
#include "world.h"


#define CALLBACKS  (2 * PROVIDER_COUPONS * PROVIDER_TURNS)


static callback_t  callbacks[CALLBACKS];
static unsigned    ncallbacks;

static int64_t     trouble_ends;  /* wallet and API are good from then on */
static unsigned    refused;       /* by the wallet, and … */
static unsigned    malformed;     /* … by us, in this history */

static const char *const  wins[] = {
    "0", "10", "10.00", "\"10.0\"", "12.34", "0.01", "1e2", "999.99"
};


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
callbacks_deliver(void)
{
    unsigned  i;

    for (i = 0; i < ncallbacks; i++) {
        if (!callbacks[i].done && callbacks[i].at <= provider.now) {
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
wallet_sql(const char *sql)
{
    if (cs_sqlite_script(&((cs_lite_t *) store)->db, sql) != CS_OK) {
        abort();
    }
}


/* a wallet that is closed for the coupons of a table, as conf/wallet.sql */
static void
wallet_make(int64_t ends)
{
    trouble_ends = ends;

    wallet_sql("CREATE TABLE closed (code TEXT PRIMARY KEY);"
               "CREATE TRIGGER wallet BEFORE INSERT ON coupon_operations"
               " WHEN new.coupon_code IN (SELECT code FROM closed)"
               " BEGIN SELECT RAISE(ABORT, 'closed'); END");
}


static void
trouble_turn(void)
{
    char           sql[128];
    const truth_t  *truth;

    if (trouble_ends == 0) {
        return;
    }

    if (provider.now >= trouble_ends) {
        trouble_ends = 0;
        provider.malformed = 0;
        wallet_sql("DELETE FROM closed");
        return;
    }

    truth = &provider.coupons[unit_below(&provider.random, provider.ncoupons)];

    (void) snprintf(sql, sizeof(sql), chance(50)
                    ? "INSERT OR IGNORE INTO closed VALUES ('%s')"
                    : "DELETE FROM closed WHERE code = '%s'", truth->code);
    wallet_sql(sql);

    provider.malformed = chance(50) ? 0 : 20;
}


static void
history_run(int64_t until)
{
    int64_t  wait;

    while (provider.now < until) {

        callbacks_deliver();

        wait = cs_poll_step(&polling);

        refused |= cs_answers_count(polling.answers)->held;
        malformed |= cs_answers_count(polling.answers)->malformed;

        if (polling.failed && strcmp(polling.error, "away") != 0) {
            store_failed = 1;
            return;
        }

        if (wait > 0) {
            provider.now += between(1, 30000);
        }

        if (chance(20)) {
            trouble_turn();
        }

        if (chance(1)) {
            poller_restart();
        }
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

    /* a store that has failed is closed, and this one was in memory */

    for (i = 0; i < provider.ncoupons && !store_failed; i++) {
        good &= truth_holds(&provider.coupons[i]);
    }

    if (!good) {
        diag("history %llu", (unsigned long long) seed);
    }

    world_clear();

    return good;
}


/*
 * Callbacks in any order, lost, twice; short absences of the API; and trouble
 * with single coupons.
 */
static int
history_any(uint64_t seed, unsigned trouble)
{
    unsigned  i;
    int64_t   length;

    world_make(seed, under_way);

    length = between(10, 240) * MINUTE;
    provider.ncoupons = (unsigned) between(1, PROVIDER_COUPONS);

    for (i = 0; i < provider.ncoupons; i++) {
        truth_make(&provider.coupons[i], i, START, START + length);
    }

    callbacks_make((unsigned) unit_below(&provider.random, 4) * 30);

    if (trouble) {
        wallet_make(START + length);
    }

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

    world_make(seed, under_way);

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
        good += history_any(seed + n, 0) ? 1 : 0;
        calls += provider.asked[PROVIDER_BY_CODE];
    }

    ok(good == histories, "%u of %u histories end at the truth", good,
       histories);
    ok(histories == 1 || calls > histories / 2,
       "and the API was asked by code %u times on the way", calls);
}


static void
test_trouble(unsigned histories, uint64_t seed)
{
    unsigned  n, good, held, none;

    good = 0;
    held = 0;
    none = 0;

    for (n = 0; n < histories; n++) {
        refused = 0;
        malformed = 0;

        good += history_any(seed + n, 1) ? 1 : 0;

        held += refused ? 1 : 0;
        none += malformed ? 1 : 0;
    }

    ok(good == histories, "%u of %u histories with trouble end at the truth",
       good, histories);
    ok(held >= histories / 2, "in %u of them the wallet held a coupon", held);
    ok(none >= histories / 2, "in %u of them a coupon was none", none);
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
    unsigned  histories;
    uint64_t  seed;

    histories = argc > 1 ? (unsigned) atoi(argv[1]) : 1000;
    seed = argc > 2 ? strtoull(argv[2], NULL, 0) : unit_seed();

    if (!world_begin()) {
        return 1;
    }

    test_minutes();
    test_any(histories, seed);
    test_trouble((histories + 1) / 2, seed);

    if (argc <= 2) {
        test_breaks(histories / 20 + 1);
    }

    cs_store_conf_free(&conf.store);

    return done_testing();
}

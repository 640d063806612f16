/*
 * Single turns of fate: one coupon, and a callback that overtakes an answer of
 * the API, or comes late.  A truth in the end would hide what was done on the
 * way; here the ledger is looked at while things stand.
 */

#include "world.h"


static void      (*overtake)(truth_t *truth);
static unsigned  overtaken;        /* an answer to what */
static unsigned  batches;


/* what happens is told by a callback at once */
static void
told(truth_t *truth, int status, const char *win)
{
    callback_t  c;

    memset(&c, 0, sizeof(c));
    c.truth = truth;
    c.turn = turn_make(truth, provider.now, status, win);
    c.id = ++batches;

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

    world_make(1, once_under_way);

    provider.ncoupons = 1;
    batches = 0;
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

    world_clear();
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
slowly(void)
{
    provider.now += 6 * MINUTE;
}


static void
test_eager(void)
{
    truth_t  *truth;

    truth = single_begin();
    told(truth, 15, NULL);
    provider.under_way = slowly;

    cs_poll_free(&polling);
    cs_poll_init(&polling, &conf, store, api, 1);

    while (cs_poll_step(&polling) == 0) { /* void */ }

    is_int(provider.asked[PROVIDER_BY_CODE], 1,
           "a round asks for who waits once, however slow the answers");
    single_end("a recalculation goes on", "0", 0);
}


int
main(void)
{
    if (!world_begin()) {
        return 1;
    }

    test_overtaken();
    test_late();
    test_eager();

    cs_store_conf_free(&conf.store);

    return done_testing();
}

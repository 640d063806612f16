/*
 * The outbox of store.h, on whichever store the URL of the first argument has:
 * what goes into it and what does not, the order of the numbers, and numbering
 * by several at once while others settle.
 *
 * The store must be empty.  Run by t/220-store-contract.t on both.
 */

#include <pthread.h>

#include "store_unit.h"


#define ROUNDS   60
#define COUPONS  5


static void
see_outbox(void *ctx, int64_t number, const cs_operation_t *o)
{
    char     amount[CC_MONEY_TEXT];
    seen_t  *seen = ctx;

    seen->n++;
    (void) cc_money_format(amount, o->operation.amount);

    (void) snprintf(seen->names + strlen(seen->names),
                    sizeof(seen->names) - strlen(seen->names),
                    "%d=%.*s:%u:%c:%s ", (int) number, (int) o->code.len,
                    (const char *) o->code.data, o->operation.generation,
                    cc_operation_name(o->operation.kind)[0], amount);
}


static const char *
outbox(cs_store_t *store, int64_t from, unsigned limit)
{
    static seen_t  seen;
    cs_status_e    status;

    memset(&seen, 0, sizeof(seen_t));

    status = cs_store_outbox(store, from, limit, see_outbox, &seen);

    if (status != (seen.n ? CS_OK : CS_NONE)) {
        ok(0, "outbox: %d %s", status, cs_store_error(store));
    }

    return seen.names;
}


static int
number(cs_store_t *store, unsigned limit)
{
    unsigned  n;

    if (cs_store_outbox_number(store, limit, &n) != CS_OK) {
        ok(0, "number: %s", cs_store_error(store));
        return -1;
    }

    return (int) n;
}


static int
waiting(cs_store_t *store, unsigned limit)
{
    int64_t  n;

    if (cs_store_outbox_waiting(store, limit, &n) != CS_OK) {
        ok(0, "waiting: %s", cs_store_error(store));
        return -1;
    }

    return (int) n;
}


static int
fill(cs_store_t *store, const char *code, int64_t since)
{
    unsigned       n;
    cc_str_t       codes[1];
    cs_expected_t  expected;

    codes[0] = str(code);

    memset(&expected, 0, sizeof(cs_expected_t));
    expected.codes = codes;
    expected.ncodes = 1;

    begin(store);

    if (cs_store_expect(store, &expected) != CS_OK
        || cs_store_outbox_fill(store, codes[0], since, &n) != CS_OK)
    {
        ok(0, "fill: %s", cs_store_error(store));
        cs_store_rollback(store);
        return -1;
    }

    commit(store);

    return (int) n;
}


static void
settle(cs_store_t *store, const char *code)
{
    begin(store);
    save(store, coupon(code, CC_STATE_FINAL, "1"));
    add(store, operation(code, CC_OPERATION_FINAL_CREDIT, 0, "1.50"));
    commit(store);
}


static void
recalculate(cs_store_t *store, const char *code, unsigned generation)
{
    cs_coupon_t  c;

    begin(store);
    c = coupon(code, CC_STATE_FINAL, "1");
    c.settled.generation = generation;
    save(store, c);
    add(store, operation(code, CC_OPERATION_RECALCULATION_DEBIT, generation,
                         "-1.50"));
    add(store, operation(code, CC_OPERATION_FINAL_CREDIT, generation, "2"));
    commit(store);
}


static void
test_order(cs_store_t *off, cs_store_t *store)
{
    int64_t  last;

    settle(off, "off");
    is_int(waiting(off, 10), 0, "where it is off nothing goes in");

    is_int(number(store, 10), 0, "nothing to number");
    is_str(str(outbox(store, 0, 10)), "", "... and nothing to send");

    settle(store, "b");
    begin(store);
    save(store, coupon("r", CC_STATE_FINAL, "1"));
    add(store, operation("r", CC_OPERATION_FINAL_CREDIT, 0, "1"));
    cs_store_rollback(store);
    recalculate(store, "b", 9);
    recalculate(store, "b", 10);
    settle(store, "a");

    is_int(waiting(store, 10), 6, "operations wait for a number");
    is_int(waiting(store, 2), 2, "... counted no further than asked");
    is_str(str(outbox(store, 0, 10)), "", "... and are not sent before");
    is_int(number(store, 3), 3, "numbered, up to a limit");
    is_int(waiting(store, 10), 3, "... the others wait");
    is_int(number(store, 10), 3, "... for the next time");
    is_int(number(store, 10), 0, "... once each");

    is_str(str(outbox(store, 0, 10)),
           "1=b:0:f:1.50 2=b:9:r:-1.50 3=b:9:f:2 4=b:10:r:-1.50 5=b:10:f:2 "
           "6=a:0:f:1.50 ", "as money moved, without what was rolled back");
    is_str(str(outbox(store, 3, 2)), "3=b:9:f:2 4=b:10:r:-1.50 ",
           "from a number on, up to a limit");
    is_str(str(outbox(store, 7, 2)), "", "behind the last there is nothing");

    is_int(cs_store_mark(store, CS_MARK_OUTBOX, &last), CS_OK, "the last");
    is_int(last, 6, "... number is remembered");
}


static void
test_undo(cs_store_t *store)
{
    begin(store);
    is_int(cs_store_savepoint(store), CS_OK, "a savepoint");
    save(store, coupon("u", CC_STATE_FINAL, "1"));
    add(store, operation("u", CC_OPERATION_FINAL_CREDIT, 0, "1"));
    is_int(cs_store_undo(store), CS_OK, "undone");
    commit(store);

    is_int(waiting(store, 10), 0, "what is undone does not go in");
}


static void
test_fill(cs_store_t *off, cs_store_t *store)
{
    recalculate(off, "off", 9);
    recalculate(off, "off", 10);

    is_int(fill(store, "off", 1700000000002), 0, "none was made since");
    is_int(fill(store, "off", 1700000000001), 5, "those made since");
    is_int(fill(store, "off", 0), 0, "... once");
    is_int(fill(store, "none", 0), 0, "of a coupon without any");
    is_int(number(store, 10), 5, "... get their numbers");
    is_str(str(outbox(store, 7, 10)), "7=off:0:f:1.50 8=off:9:r:-1.50 "
           "9=off:9:f:2 10=off:10:r:-1.50 11=off:10:f:2 ",
           "... as money moved");
}


/* some settle, others number */

typedef struct {
    const char  *url;
    unsigned     numbers;
    unsigned     tries;
} actor_t;

static _Atomic unsigned  settled;


static void *
actor(void *arg)
{
    char              code[16];
    unsigned          i, n;
    actor_t          *a = arg;
    cs_store_t       *store;
    cs_store_conf_t   conf;

    store = opened(&conf, a->url, 0);
    cs_store_destroy(store);
    conf.outbox = 1;
    store = cs_store_create(&conf, 10000);

    if (cs_store_open(store, 0) != CS_OK) {
        exit(2);
    }

    if (a->numbers) {

        while (!settled || waiting(store, 1)) {
            if (cs_store_outbox_number(store, 7, &n) != CS_OK) {
                a->tries++;
            }
        }

    } else {

        for (i = 0; i < ROUNDS; i++) {
            (void) snprintf(code, sizeof(code), "t%u", i % COUPONS);
            recalculate(store, code, i / COUPONS + 1);
        }

        settled = 1;
    }

    cs_store_destroy(store);
    cs_store_conf_free(&conf);

    return NULL;
}


/* what the numbers from a start on are, and whether each coupon is in order */

typedef struct {
    int64_t    next;
    unsigned   wrong;
    unsigned   n;
    unsigned   steps[COUPONS];
} order_t;


static void
see_order(void *ctx, int64_t number, const cs_operation_t *o)
{
    order_t   *order = ctx;
    unsigned   step, *last;

    last = &order->steps[o->code.data[1] - '0'];
    step = o->operation.generation * 2
           + (o->operation.kind == CC_OPERATION_FINAL_CREDIT);

    order->wrong += number != order->next || step <= *last;
    order->next = number + 1;
    order->n++;
    *last = step;
}


static void
test_together(cs_store_t *store, const char *url)
{
    size_t     i;
    order_t    order;
    actor_t    actors[3];
    pthread_t  threads[3];

    for (i = 0; i < 3; i++) {
        actors[i] = (actor_t) { .url = url, .numbers = i > 0 };

        if (pthread_create(&threads[i], NULL, actor, &actors[i]) != 0) {
            exit(2);
        }
    }

    for (i = 0; i < 3; i++) {
        (void) pthread_join(threads[i], NULL);
    }

    memset(&order, 0, sizeof(order_t));
    order.next = 12;

    is_int(cs_store_outbox(store, 12, 1000, see_order, &order), CS_OK,
           "two number while one settles");
    is_int(order.n, 2 * ROUNDS, "... all of them");
    is_int(order.wrong, 0, "... without a gap, in the order of each coupon");
    diag("%u tries in vain", actors[1].tries + actors[2].tries);
}


int
main(int argc, char **argv)
{
    cs_store_t       *off, *store;
    cs_store_conf_t   conf, plain;

    if (argc != 2) {
        return 2;
    }

    off = opened(&plain, argv[1], 1);

    conf = plain;
    conf.outbox = 1;
    store = cs_store_create(&conf, 2000);
    is_int(cs_store_open(store, 0), CS_OK, "a store with an outbox");

    test_order(off, store);
    test_undo(store);
    test_fill(off, store);
    test_together(store, argv[1]);

    cs_store_destroy(store);
    cs_store_destroy(off);
    cs_store_conf_free(&plain);

    return done_testing();
}

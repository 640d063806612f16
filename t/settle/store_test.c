/*
 * The contract of store.h, on whichever store the URL of the first argument
 * names: what is written is found, in the transaction and after it; what is
 * undone is not; who comes second is told.
 *
 * The store must be empty.  Run by t/220-store-contract.t on both.
 */

#include "store_unit.h"


#define CODE  "000000000272"


static void
test_batches(cs_store_t *store)
{
    unsigned  same = 7;

    begin(store);
    is_int(batch(store, "b1", "d1", &same), CS_OK, "a batch that is new");
    is_int(batch(store, "b1", "d1", &same), CS_NONE,
           "... once in a transaction");
    is_int(same, 1, "... with its digest");
    is_int(batch(store, "b1", "d2", &same), CS_NONE, "another body");
    is_int(same, 0, "... is told apart");
    commit(store);

    begin(store);
    is_int(batch(store, "b1", "d1", &same), CS_NONE, "... and once for good");
    is_int(same, 1, "... with its digest");
    is_int(batch(store, "b2", "d2", &same), CS_OK, "one that is rolled back");
    cs_store_rollback(store);

    begin(store);
    is_int(batch(store, "b2", "d2", &same), CS_OK, "... is new again");
    commit(store);
}


static void
test_coupon(cs_store_t *store)
{
    seen_t       seen;
    cs_coupon_t  c;

    begin(store);
    is_int(look(store, CODE).n, 0, "no coupon yet");

    c = coupon(CODE, CC_STATE_ACTIVE, NULL);
    c.settled.doubt = "because";
    save(store, c);

    seen = look(store, CODE);
    is_int(seen.n, 1, "it is there in its transaction");
    is_str(str(seen.texts[1]), "because", "... with its doubt");
    commit(store);

    seen = look(store, CODE);
    is_str(str(seen.texts[0]), CODE, "it is there after it, zeros and all");
    is_str(str(seen.texts[1]), "because", "... with its doubt");
    is_int(seen.coupon.settled.state, CC_STATE_ACTIVE, "... its state");
    is_int(seen.coupon.has_real_win, 0, "... and no real_win");
    is_int(seen.coupon.version, 1, "... in its first version");
    is_str(str(seen.texts[2]), "{\"status\": 1}", "... as it was received");

    begin(store);
    c = coupon(CODE, CC_STATE_FINAL, "125.50");
    c.raw = str("");
    c.confirmed_at = 1700000000002;
    save(store, c);
    add(store, operation(CODE, CC_OPERATION_FINAL_CREDIT, 0, "125.50"));

    seen = look(store, CODE);
    is_int(seen.coupon.settled.credited, 1, "a credit is known at once");
    ok(same_money(seen.coupon.settled.credit, "125.50"), "... and its amount");
    commit(store);

    seen = look(store, CODE);
    ok(same_money(seen.coupon.real_win, "125.50"), "a decimal keeps its zeros");
    ok(same_money(seen.coupon.settled.credit, "125.50"), "... the credit too");
    is_str(str(seen.texts[1]), "-", "the doubt is gone");
    is_int(seen.coupon.confirmed_at, 1700000000002, "the time is exact");
    is_int(seen.coupon.settled.confirmed, 1, "... and means confirmed");
    is_int(seen.coupon.version, 2, "the second version");
    is_str(str(seen.texts[2]), "{\"status\": 1}", "without raw the old stays");

    begin(store);
    save(store, c);
    commit(store);
    is_int(look(store, CODE).coupon.version, 2,
           "what is saved as it stands is no new version");

    begin(store);
    c.real_win = money("125.5");
    save(store, c);
    commit(store);
    seen = look(store, CODE);
    ok(same_money(seen.coupon.real_win, "125.5"), "as it was sent last");
    is_int(seen.coupon.version, 3, "... which is one");
}


static void
test_generations(cs_store_t *store)
{
    seen_t       seen;
    cs_coupon_t  c;

    begin(store);
    c = coupon(CODE, CC_STATE_RECALCULATING, NULL);
    c.settled.generation = 1;
    save(store, c);
    add(store, operation(CODE, CC_OPERATION_RECALCULATION_DEBIT, 1, "-125.50"));

    seen = look(store, CODE);
    is_int(seen.coupon.settled.credited, 0, "a new generation has no credit");

    c.settled.state = CC_STATE_FINAL;
    c.has_real_win = 1;
    c.real_win = money("0.00000001");
    save(store, c);
    add(store, operation(CODE, CC_OPERATION_FINAL_CREDIT, 1, "0.00000001"));

    seen = look(store, CODE);
    ok(same_money(seen.coupon.settled.credit, "0.00000001"),
       "... until it gets one");
    commit(store);

    seen = look(store, CODE);
    is_int(seen.coupon.settled.generation, 1, "the generation is stored");
    is_str(str(operations(store, CODE)),
           "0:final_credit:125.50:batch "
           "1:recalculation_debit:-125.50:batch "
           "1:final_credit:0.00000001:batch ",
           "the operations are in the order in which money moved");

    begin(store);
    c = coupon("18", CC_STATE_FINAL, "999999999999999999");
    save(store, c);
    add(store, operation("18", CC_OPERATION_FINAL_CREDIT, 0,
                         "999999999999999999"));
    commit(store);
    ok(same_money(look(store, "18").coupon.real_win, "999999999999999999"),
       "18 digits are 18 digits");
}


static void
test_twice(cs_store_t *store)
{
    cs_status_e     status;
    cs_operation_t  o;

    begin(store);
    save(store, coupon(CODE, CC_STATE_FINAL, "1"));
    o = operation(CODE, CC_OPERATION_FINAL_CREDIT, 0, "1");

    /* a store may say so at once, or at the end */

    status = cs_store_operation_add(store, &o);
    if (status == CS_OK) {
        status = cs_store_commit(store);
    }

    is_int(status, CS_REFUSED, "an operation that is there already");
    ok(cs_store_error(store)[0], "... is refused: %s", cs_store_error(store));
    cs_store_rollback(store);
    ok(same_money(look(store, CODE).coupon.real_win, "0.00000001"),
       "... and nothing of the transaction is left");
}


static void
test_events(cs_store_t *store)
{
    seen_t      seen;
    cc_event_t  event;

    begin(store);
    save(store, coupon("e", CC_STATE_ACTIVE, NULL));

    memset(&event, 0, sizeof(cc_event_t));
    event.uuid = str("b");
    event.raw = str("{\"uuid\": \"b\"}");
    is_int(cs_store_event_save(store, str("e"), &event), CS_OK, "a bet");

    event.uuid = str("a");
    event.has_status = 1;
    event.status = 1;
    is_int(cs_store_event_save(store, str("e"), &event), CS_OK, "another");
    event.status = 2;
    is_int(cs_store_event_save(store, str("e"), &event), CS_OK, "... again");
    commit(store);

    memset(&seen, 0, sizeof(seen_t));
    is_int(cs_store_events(store, str("e"), see_event, &seen), CS_OK, "bets");
    is_str(str(seen.names), "a=2 b=none0 ", "... by uuid, the last one stays");

    memset(&seen, 0, sizeof(seen_t));
    is_int(cs_store_events(store, str("none"), see_event, &seen), CS_NONE,
           "no bets");
}


static void
test_savepoint(cs_store_t *store)
{
    unsigned       same;
    cc_event_t     event;
    cs_rejected_t  rejected;

    memset(&event, 0, sizeof(cc_event_t));
    event.uuid = str("u");
    event.raw = str("{}");

    memset(&rejected, 0, sizeof(cs_rejected_t));
    rejected.source = rejected.reason = rejected.body = str("x");

    begin(store);
    save(store, coupon("s1", CC_STATE_FINAL, "1"));
    add(store, operation("s1", CC_OPERATION_FINAL_CREDIT, 0, "1"));
    is_int(cs_store_mark_set(store, "s", 1), CS_OK, "a mark");

    is_int(cs_store_savepoint(store), CS_OK, "a savepoint");
    save(store, coupon("s1", CC_STATE_FINAL, "2"));
    save(store, coupon("s2", CC_STATE_ACTIVE, NULL));
    is_int(batch(store, "s", "d", &same), CS_OK, "a batch behind it");
    is_int(cs_store_event_save(store, str("s1"), &event), CS_OK, "a bet");
    add(store, operation("s2", CC_OPERATION_FINAL_CREDIT, 0, "1"));
    is_int(cs_store_rejected_add(store, &rejected), CS_OK, "one rejected");
    is_int(cs_store_mark_set(store, "s", 2), CS_OK, "another mark");
    is_int(cs_store_undo(store), CS_OK, "undone");

    ok(same_money(look(store, "s1").coupon.real_win, "1"),
       "what was before it stays");
    is_int(look(store, "s2").n, 0, "what came behind it is not there");
    is_int(batch(store, "s", "d", &same), CS_OK, "the batch is new again");

    is_int(cs_store_savepoint(store), CS_OK, "a savepoint");
    save(store, coupon("s3", CC_STATE_ACTIVE, NULL));
    is_int(cs_store_release(store), CS_OK, "released");
    commit(store);

    ok(same_money(look(store, "s1").coupon.real_win, "1"), "so it is stored");
    is_int(look(store, "s2").n, 0, "... without what was undone");
    is_int(look(store, "s3").n, 1, "... with what was released");
    is_str(str(operations(store, "s2")), "", "... no operation");
    is_int(cs_store_events(store, str("s1"), see_event, &(seen_t) { 0 }),
           CS_NONE, "... no bet");
    is_int(cs_store_rejected(store, 0, see_rejected, &(seen_t) { 0 }), CS_NONE,
           "... nothing rejected");
}


static void
test_rejected(cs_store_t *store)
{
    seen_t         seen;
    int64_t        id;
    cs_rejected_t  r;

    memset(&r, 0, sizeof(cs_rejected_t));
    r.source = str("sportapi");
    r.reason = str("first");
    r.body.data = (const unsigned char *) "\0\xff\x80";
    r.body.len = 3;
    r.received_at = 1;
    r.rejected_at = 2;

    begin(store);
    is_int(cs_store_rejected_add(store, &r), CS_OK, "rejected: any bytes");
    r.batch_id = str("id");
    r.reason = str("second");
    is_int(cs_store_rejected_add(store, &r), CS_OK, "... and another");
    commit(store);

    memset(&seen, 0, sizeof(seen_t));
    is_int(cs_store_rejected(store, 0, see_rejected, &seen), CS_OK, "... list");
    is_str(str(seen.names), "sportapi,,first,3,128 sportapi,id,second,3,128 ",
           "... in their order, byte for byte");
    is_int(seen.rejected.received_at, 1, "... received");
    is_int(seen.rejected.rejected_at, 2, "... rejected");

    id = seen.rejected.id;
    memset(&seen, 0, sizeof(seen_t));
    is_int(cs_store_rejected(store, id, see_rejected, &seen), CS_OK,
           "one of them");
    is_str(str(seen.names), "sportapi,id,second,3,128 ", "... that one");
    is_int(cs_store_rejected_drop(store, id), CS_OK, "dropped");
    is_int(cs_store_rejected_drop(store, id), CS_NONE, "... once");
    is_int(cs_store_rejected(store, id, see_rejected, &seen), CS_NONE,
           "... and gone");

    /* what is rejected must never be refused, whatever it holds */

    begin(store);
    r.source.data = (const unsigned char *) "\xff\0\xc3";
    r.source.len = 3;
    r.batch_id = r.reason = r.source;
    is_int(cs_store_rejected_add(store, &r), CS_OK, "text that is none");
    is_int(cs_store_commit(store), CS_OK, "... is taken");
}


static void
test_poller(cs_store_t *store)
{
    seen_t       seen;
    int64_t      value;
    cs_coupon_t  c;

    is_int(cs_store_mark(store, "none", &value), CS_OK, "a mark not set");
    is_int(value, 0, "... is 0");

    begin(store);
    is_int(cs_store_mark_set(store, "m", 5), CS_OK, "a mark");
    is_int(cs_store_mark_set(store, "m", 6), CS_OK, "... is set");
    commit(store);
    is_int(cs_store_mark(store, "m", &value), CS_OK, "... is read");
    is_int(value, 6, "... as it was set last");

    begin(store);
    c = coupon("p-confirmed", CC_STATE_FINAL, "1");
    c.settled.generation = 1;
    c.confirmed_at = 1000;
    save(store, c);
    add(store, operation("p-confirmed", CC_OPERATION_FINAL_CREDIT, 1, "1"));

    c = coupon("p-waits", CC_STATE_FINAL, "1");
    c.settled.generation = 1;
    save(store, c);
    add(store, operation("p-waits", CC_OPERATION_FINAL_CREDIT, 1, "1"));

    c = coupon("p-recalculating", CC_STATE_RECALCULATING, NULL);
    save(store, c);
    commit(store);

    memset(&seen, 0, sizeof(seen_t));
    is_int(cs_store_waiting(store, see_version, &seen), CS_OK, "waiting");
    is_str(str(seen.names), CODE " p-recalculating p-waits ",
           "... what has to be asked about");

    memset(&seen, 0, sizeof(seen_t));
    is_int(cs_store_unconfirmed(store, str("p"), 1001, 10, see_version, &seen),
           CS_OK, "unconfirmed");
    is_str(str(seen.names), "p-recalculating p-waits s1 s3 ",
           "... behind a code");

    memset(&seen, 0, sizeof(seen_t));
    is_int(cs_store_unconfirmed(store, str(""), 1000, 2, see_version, &seen),
           CS_OK, "unconfirmed, or confirmed since");
    is_str(str(seen.names), CODE " 18 ", "... up to a limit");

    memset(&seen, 0, sizeof(seen_t));
    is_int(cs_store_paid(store, str("p-d"), 1700000000001, 9, see_version,
                         &seen),
           CS_OK, "paid");
    is_str(str(seen.names), "p-waits s1 ", "... since a time");
    is_int(cs_store_paid(store, str(""), 1700000000002, 9, see_version, &seen),
           CS_NONE, "... or none");

    memset(&seen, 0, sizeof(seen_t));
    begin(store);
    c = coupon("p-waits", CC_STATE_ACTIVE, NULL);
    c.settled.doubt = "why";
    save(store, c);
    commit(store);
    is_int(cs_store_doubts(store, see_coupon, &seen), CS_OK, "doubts");
    is_str(str(seen.names), "p-waits ", "... are listed");
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

    test_batches(store);
    test_coupon(store);
    test_generations(store);
    test_twice(store);
    test_events(store);
    test_savepoint(store);
    test_rejected(store);
    test_poller(store);

    cs_store_close(store);
    is_int(cs_store_open(store, 0), CS_OK, "closed, and opened as it is");
    is_int(look(store, CODE).n, 1, "... with all that is in it");

    cs_store_destroy(store);
    cs_store_conf_free(&conf);

    return done_testing();
}

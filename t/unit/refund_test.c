/*
 * The refund machine by itself: what an event changes, what it does not, and
 * that no order of any events ends differently.  Whole stories of deliveries
 * are in refund_scenarios_test.c.
 */

#include "refund.h"
#include "store_event.h"
#include "unit.h"


#define EVENTS  6


static cc_refund_event_t
event_of(int64_t time, int fraction, cc_access_e access)
{
    cc_refund_event_t  event;

    memset(&event, 0, sizeof(event));
    event.time = time;
    event.has_fraction = fraction >= 0;
    event.fraction = fraction >= 0 ? (unsigned) fraction : 0;
    event.access = access;

    return event;
}


/* applies it to *state and says which effects it had, "-" if it was stale */
static const char *
apply(cc_refund_state_t *state, cc_refund_event_t event)
{
    char         *p;
    unsigned      i;
    cc_refund_t   out;

    static char   text[400];

    cc_refund(&out, state, &event);
    *state = out.next;

    p = text + sprintf(text, "%s", out.stale ? "-" : "");

    for (i = 0; i < out.noperations; i++) {
        p += sprintf(p, "%s%s:%u:%u>%u", p == text ? "" : " ",
                     cc_effect_name(out.operations[i].effect),
                     out.operations[i].generation,
                     out.operations[i].fraction_from,
                     out.operations[i].fraction_to);
    }

    return text;
}


#define says(state, event, want)                                              \
    is_str(unit_cstr(apply(state, event)), want, "%s: %s", #event, want)


static void
test_history(void)
{
    cc_refund_state_t  state;

    memset(&state, 0, sizeof(state));

    says(&state, event_of(10, -1, CC_ACCESS_GRANTED), "");
    says(&state, event_of(20, 33333, CC_ACCESS_REVOKED),
         "revoke_access:1:0>33333 debit_balance:1:0>33333 "
         "reverse_payout:1:0>33333");
    says(&state, event_of(20, 33333, CC_ACCESS_REVOKED), "-");
    says(&state, event_of(30, 33333, CC_ACCESS_REVOKED), "");
    says(&state, event_of(25, 0, CC_ACCESS_GRANTED), "-");
    says(&state, event_of(40, 100000, CC_ACCESS_REVOKED),
         "debit_balance:2:33333>100000 reverse_payout:2:33333>100000");
    says(&state, event_of(50, 0, CC_ACCESS_GRANTED),
         "restore_access:3:100000>0 debit_balance:3:100000>0 "
         "reverse_payout:3:100000>0");
    says(&state, event_of(60, 100000, CC_ACCESS_UNKNOWN),
         "debit_balance:4:0>100000 reverse_payout:4:0>100000");
    says(&state, event_of(55, -1, CC_ACCESS_REVOKED),
         "revoke_access:5:100000>100000");
    says(&state, event_of(70, -1, CC_ACCESS_UNKNOWN), "");

    is_int(state.generation, 5, "its generation");
    is_int(state.refunded, 100000, "its refunded fraction");
    is_int(state.refunded_as_of, 60, "... as of then");
    is_int(state.access, CC_ACCESS_REVOKED, "its access");
    is_int(state.access_as_of, 55, "... as of then");
}


/* of two words said at once the one that takes more */
static void
test_ties(void)
{
    cc_refund_state_t  a, b;

    memset(&a, 0, sizeof(a));
    memset(&b, 0, sizeof(b));

    (void) apply(&a, event_of(5, 50000, CC_ACCESS_GRANTED));
    (void) apply(&a, event_of(5, 70000, CC_ACCESS_REVOKED));
    (void) apply(&b, event_of(5, 70000, CC_ACCESS_REVOKED));
    (void) apply(&b, event_of(5, 50000, CC_ACCESS_GRANTED));

    is_int(a.refunded, 70000, "the larger fraction");
    is_int(b.refunded, 70000, "... in either order");
    is_int(a.access, CC_ACCESS_REVOKED, "the revocation");
    is_int(b.access, CC_ACCESS_REVOKED, "... in either order");
}


/* all of them, twice over; returns how much was wrong about the effects */
static unsigned
play(const cc_refund_event_t *events, cc_refund_state_t *state)
{
    int          sum = 0, access = 0;
    size_t       i, k;
    unsigned     bad = 0;
    cc_refund_t  out;

    memset(state, 0, sizeof(cc_refund_state_t));

    for (i = 0; i < 2 * EVENTS; i++) {
        cc_refund(&out, state, &events[i % EVENTS]);

        for (k = 0; k < out.noperations; k++) {
            switch (out.operations[k].effect) {

            case CC_EFFECT_REVOKE_ACCESS:
                access--;
                break;

            case CC_EFFECT_RESTORE_ACCESS:
                access++;
                break;

            case CC_EFFECT_DEBIT_BALANCE:
                sum += (int) out.operations[k].fraction_to
                       - (int) out.operations[k].fraction_from;
                break;

            case CC_EFFECT_REVERSE_PAYOUT:
                break;
            }

            bad += out.operations[k].generation != out.next.generation;
        }

        /* a repetition has no effect, and an effect has its generation */

        bad += i >= EVENTS && out.noperations != 0;
        bad += out.next.generation
               != state->generation + (out.noperations != 0);
        *state = out.next;
    }

    bad += sum != (int) state->refunded;
    bad += access != -(state->access == CC_ACCESS_REVOKED);

    return bad;
}


/* random events, shuffled and repeated: one end, and the effects lead to it */
static void
test_orders(void)
{
    size_t              i, k;
    unsigned            round, order, bad;
    uint64_t            seed = unit_seed();
    cc_refund_event_t   events[EVENTS], swap;
    cc_refund_state_t   state, first;

    for (bad = 0, round = 0; round < 2000; round++) {

        for (i = 0; i < EVENTS; i++) {
            events[i] = event_of(1 + (int64_t) unit_below(&seed, 4),
                                 (int) unit_below(&seed, 5) * 25000 - 1,
                                 (cc_access_e) unit_below(&seed, 3));
        }

        bad += play(events, &first);

        for (order = 0; order < 20; order++) {
            for (i = EVENTS - 1; i > 0; i--) {
                k = unit_below(&seed, i + 1);
                swap = events[i];
                events[i] = events[k];
                events[k] = swap;
            }

            bad += play(events, &state);
            bad += state.refunded != first.refunded
                   || state.access != first.access
                   || state.refunded_as_of != first.refunded_as_of
                   || state.access_as_of != first.access_as_of;
        }
    }

    is_int(bad, 0, "every order ends the same, and the effects add up to it");
}


static void
test_amounts(void)
{
    char               text[CC_MONEY_TEXT];
    size_t             n;
    cc_refund_t        out;
    cc_refund_event_t  event = event_of(1, 33333, CC_ACCESS_REVOKED);
    cc_refund_state_t  state;

    memset(&state, 0, sizeof(state));
    event.has_price = 1;
    event.price_milli = 10479;

    cc_refund(&out, &state, &event);
    ok(!out.operations[0].has_amount, "access has no price");
    ok(out.operations[1].has_amount, "money has one");
    n = cc_money_format(text, out.operations[1].amount);
    is_str(unit_str(text, n), "3.493", "a third, half up");

    state = out.next;
    event.time = 2;
    event.fraction = 0;
    event.access = CC_ACCESS_GRANTED;
    cc_refund(&out, &state, &event);
    n = cc_money_format(text, out.operations[1].amount);
    is_str(unit_str(text, n), "-3.493", "the same back");

    is_int(cc_refund_share(500, 50000), 250, "half of 500");
    is_int(cc_refund_share(1, 50000), 1, "half of one, up");
    is_int(cc_refund_share(1, 49999), 0, "less than half of one");
    is_int(cc_refund_share(4611686018427387903, 100000), 4611686018427387903,
           "all of very much");
    is_int(cc_refund_share(0, 100000), 0, "all of nothing");
}


static void
test_deadlines(void)
{
    cc_refund_event_t  event = event_of(1000, -1, CC_ACCESS_UNKNOWN);

    is_int(cc_refund_deadline(&event, 5), 0, "no request, no deadline");
    event.request = CC_REQUEST_UNITS;
    is_int(cc_refund_deadline(&event, 5), 0, "units may wait");
    event.request = CC_REQUEST_CONSUMPTION;
    is_int(cc_refund_deadline(&event, 2000), 43201000, "12 h from the event");
    is_int(cc_refund_deadline(&event, 400), 43200400, "12 h from receipt");
    event.request = CC_REQUEST_REVIEW;
    is_int(cc_refund_deadline(&event, 2000), 86401000, "24 h");
}


static void
test_stated(void)
{
    cc_refund_event_t  event;

    cc_stated_event(&event, 7, 66667);
    ok(event.time == 7 && event.has_fraction && event.fraction == 66667
       && event.access == CC_ACCESS_UNKNOWN, "a part, and access stays");
    cc_stated_event(&event, 7, 200000);
    ok(event.fraction == CC_REFUND_ALL && event.access == CC_ACCESS_REVOKED,
       "all of it, and access goes");
}


int
main(void)
{
    test_history();
    test_ties();
    test_orders();
    test_amounts();
    test_deadlines();
    test_stated();

    is_str(unit_cstr(cc_access_name(CC_ACCESS_GRANTED)), "granted", "a name");
    is_str(unit_cstr(cc_request_name(CC_REQUEST_REVIEW)), "review", "a name");

    return done_testing();
}

/*
 * The refund state machine: what an event changes, and the effects of that.
 *
 * Money and access have a time each, and the newest word wins; of two that were
 * said at the very same time the one that takes more, so that the order of
 * arrival decides nothing here either.
 */

#include "refund.h"


#define CC_REFUND_HOUR_MS  (60 * 60 * 1000)


static void cc_refund_money(cc_refund_t *out, const cc_refund_event_t *event);
static void cc_refund_access(cc_refund_t *out, const cc_refund_event_t *event);
static void cc_refund_effects(cc_refund_t *out,
    const cc_refund_state_t *stored, const cc_refund_event_t *event);
static void cc_refund_operation(cc_refund_t *out,
    const cc_refund_state_t *stored, const cc_refund_event_t *event,
    cc_effect_e effect);


void
cc_refund(cc_refund_t *out, const cc_refund_state_t *stored,
    const cc_refund_event_t *event)
{
    memset(out, 0, sizeof(cc_refund_t));

    out->next = *stored;

    cc_refund_money(out, event);
    cc_refund_access(out, event);
    cc_refund_effects(out, stored, event);
}


static void
cc_refund_money(cc_refund_t *out, const cc_refund_event_t *event)
{
    cc_refund_state_t  *next;

    next = &out->next;

    if (!event->has_fraction) {
        return;
    }

    if (event->time < next->refunded_as_of
        || (event->time == next->refunded_as_of
            && event->fraction <= next->refunded))
    {
        out->stale = 1;
        return;
    }

    next->refunded_as_of = event->time;
    next->refunded = event->fraction;
}


static void
cc_refund_access(cc_refund_t *out, const cc_refund_event_t *event)
{
    cc_refund_state_t  *next;

    next = &out->next;

    if (event->access == CC_ACCESS_UNKNOWN) {
        return;
    }

    if (event->time < next->access_as_of
        || (event->time == next->access_as_of
            && event->access <= next->access))
    {
        out->stale = 1;
        return;
    }

    next->access_as_of = event->time;
    next->access = event->access;
}


/* an event that changes something opens a generation, another does not */
static void
cc_refund_effects(cc_refund_t *out, const cc_refund_state_t *stored,
    const cc_refund_event_t *event)
{
    unsigned            revoked, restored, moved;
    cc_refund_state_t  *next;

    next = &out->next;

    revoked = next->access == CC_ACCESS_REVOKED
              && stored->access != CC_ACCESS_REVOKED;
    restored = stored->access == CC_ACCESS_REVOKED
               && next->access == CC_ACCESS_GRANTED;
    moved = next->refunded != stored->refunded;

    if (revoked || restored || moved) {
        next->generation++;
    }

    if (revoked) {
        cc_refund_operation(out, stored, event, CC_EFFECT_REVOKE_ACCESS);
    }

    if (restored) {
        cc_refund_operation(out, stored, event, CC_EFFECT_RESTORE_ACCESS);
    }

    if (moved) {
        cc_refund_operation(out, stored, event, CC_EFFECT_DEBIT_BALANCE);
        cc_refund_operation(out, stored, event, CC_EFFECT_REVERSE_PAYOUT);
    }
}


static void
cc_refund_operation(cc_refund_t *out, const cc_refund_state_t *stored,
    const cc_refund_event_t *event, cc_effect_e effect)
{
    cc_refund_operation_t  *operation;

    operation = &out->operations[out->noperations++];

    operation->effect = effect;
    operation->generation = out->next.generation;
    operation->fraction_from = stored->refunded;
    operation->fraction_to = out->next.refunded;

    if (event->has_price && effect != CC_EFFECT_REVOKE_ACCESS
        && effect != CC_EFFECT_RESTORE_ACCESS)
    {
        operation->has_amount = 1;
        operation->amount.scale = 3;
        operation->amount.coefficient =
            cc_refund_share(event->price_milli, operation->fraction_to)
            - cc_refund_share(event->price_milli, operation->fraction_from);
    }
}


int64_t
cc_refund_deadline(const cc_refund_event_t *event, int64_t received)
{
    int64_t  first;

    first = received < event->time ? received : event->time;

    switch (event->request) {

    case CC_REQUEST_CONSUMPTION:
        return first + 12 * CC_REFUND_HOUR_MS;

    case CC_REQUEST_REVIEW:
        return first + 24 * CC_REFUND_HOUR_MS;

    case CC_REQUEST_NONE:
    case CC_REQUEST_UNITS:
        break;
    }

    return 0;
}


int64_t
cc_refund_share(int64_t n, unsigned fraction)
{
    return (int64_t) (((cc_int128_t) n * fraction + CC_REFUND_ALL / 2)
                      / CC_REFUND_ALL);
}


const char *
cc_effect_name(cc_effect_e effect)
{
    switch (effect) {

    case CC_EFFECT_REVOKE_ACCESS:
        return "revoke_access";

    case CC_EFFECT_RESTORE_ACCESS:
        return "restore_access";

    case CC_EFFECT_DEBIT_BALANCE:
        return "debit_balance";

    case CC_EFFECT_REVERSE_PAYOUT:
        return "reverse_payout";
    }

    return NULL;
}


const char *
cc_access_name(cc_access_e access)
{
    switch (access) {

    case CC_ACCESS_UNKNOWN:
        return "unknown";

    case CC_ACCESS_GRANTED:
        return "granted";

    case CC_ACCESS_REVOKED:
        return "revoked";
    }

    return NULL;
}


const char *
cc_request_name(cc_request_e request)
{
    switch (request) {

    case CC_REQUEST_NONE:
        return "none";

    case CC_REQUEST_CONSUMPTION:
        return "consumption";

    case CC_REQUEST_REVIEW:
        return "review";

    case CC_REQUEST_UNITS:
        return "units";
    }

    return NULL;
}

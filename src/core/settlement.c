/*
 * The settlement state machine: what becomes of a coupon when it is seen?
 *
 * One function per stored state, so that each reads like one line of the table
 * in the README.  A function begins with the stored coupon as the answer and
 * changes what the table says; what it does not name stays.  The two operations
 * of a generation are written by cc_credit() and cc_debit() alone.
 *
 * Nothing here knows time or storage, and nothing moves money on a doubt.
 */

#include "settlement.h"


static void cc_settle_active(cc_settlement_t *out, const cc_snapshot_t *seen);
static void cc_settle_final(cc_settlement_t *out, const cc_snapshot_t *seen);
static void cc_settle_final_again(cc_settlement_t *out,
    const cc_snapshot_t *seen);
static void cc_settle_recalculating(cc_settlement_t *out,
    const cc_snapshot_t *seen);
static void cc_recalculate(cc_settlement_t *out);
static void cc_credit(cc_settlement_t *out, const cc_snapshot_t *seen);
static void cc_debit(cc_settlement_t *out);
static void cc_operation(cc_settlement_t *out, cc_operation_kind_e kind,
    cc_money_t amount);


void
cc_settle(cc_settlement_t *out, const cc_settled_t *stored,
    const cc_snapshot_t *seen)
{
    memset(out, 0, sizeof(cc_settlement_t));

    out->next = *stored;

    if (stored->state == CC_STATE_NONE) {

        /* a row comes into being, and there is no older status to keep */

        out->next.state = CC_STATE_ACTIVE;
        out->adopt = 1;
    }

    if (stored->doubt != NULL && !seen->authoritative) {
        return;
    }

    out->next.doubt = NULL;

    if (seen->seen == CC_SEEN_FINAL && !seen->has_real_win) {
        out->next.doubt = "a final status without real_win";
        return;
    }

    switch (stored->state) {

    case CC_STATE_NONE:
    case CC_STATE_ACTIVE:
        cc_settle_active(out, seen);
        break;

    case CC_STATE_FINAL:
        cc_settle_final(out, seen);
        break;

    case CC_STATE_RECALCULATING:
        cc_settle_recalculating(out, seen);
        break;
    }
}


static void
cc_settle_active(cc_settlement_t *out, const cc_snapshot_t *seen)
{
    out->adopt = 1;

    switch (seen->seen) {

    case CC_SEEN_ACTIVE:
        break;

    case CC_SEEN_RECALCULATION:
        cc_recalculate(out);

        /* the final before it was missed, or is still on its way to us */

        if (!seen->authoritative) {
            out->next.doubt = "a recalculation before any final status";
        }

        break;

    case CC_SEEN_FINAL:
        cc_credit(out, seen);
        break;
    }
}


static void
cc_settle_final(cc_settlement_t *out, const cc_snapshot_t *seen)
{
    switch (seen->seen) {

    case CC_SEEN_ACTIVE:
        out->next.doubt = "not final any more, without a recalculation";
        break;

    case CC_SEEN_RECALCULATION:
        cc_recalculate(out);
        cc_debit(out);
        out->adopt = 1;
        break;

    case CC_SEEN_FINAL:
        cc_settle_final_again(out, seen);
        break;
    }
}


static void
cc_settle_final_again(cc_settlement_t *out, const cc_snapshot_t *seen)
{
    if (cc_money_compare(seen->real_win, out->next.credit) == 0) {

        if (seen->authoritative) {
            out->next.confirmed = 1;
            out->adopt = 1;
        }

        return;
    }

    if (!seen->authoritative) {
        out->next.doubt = "final with another real_win, "
                          "without a recalculation";
        return;
    }

    cc_recalculate(out);
    cc_debit(out);
    cc_credit(out, seen);
    out->adopt = 1;
}


static void
cc_settle_recalculating(cc_settlement_t *out, const cc_snapshot_t *seen)
{
    switch (seen->seen) {

    case CC_SEEN_ACTIVE:
    case CC_SEEN_RECALCULATION:
        break;

    case CC_SEEN_FINAL:
        cc_credit(out, seen);
        out->adopt = 1;
        break;
    }
}


/* opens a generation; next.credit is still what the one before has paid */

static void
cc_recalculate(cc_settlement_t *out)
{
    out->next.state = CC_STATE_RECALCULATING;
    out->next.generation++;
    out->next.credited = 0;
    out->next.confirmed = 0;
}


static void
cc_credit(cc_settlement_t *out, const cc_snapshot_t *seen)
{
    /* a result of 0 is written too: the key records that it was processed */

    cc_operation(out, CC_OPERATION_FINAL_CREDIT, seen->real_win);

    out->next.state = CC_STATE_FINAL;
    out->next.credited = 1;
    out->next.credit = seen->real_win;
    out->next.confirmed = seen->authoritative;
}


static void
cc_debit(cc_settlement_t *out)
{
    cc_operation(out, CC_OPERATION_RECALCULATION_DEBIT,
                 cc_money_negate(out->next.credit));

    memset(&out->next.credit, 0, sizeof(cc_money_t));
}


static void
cc_operation(cc_settlement_t *out, cc_operation_kind_e kind, cc_money_t amount)
{
    cc_operation_t  *operation;

    operation = &out->operations[out->noperations++];

    operation->kind = kind;
    operation->generation = out->next.generation;
    operation->amount = amount;
}


const char *
cc_state_name(cc_state_e state)
{
    switch (state) {

    case CC_STATE_NONE:
        return "none";

    case CC_STATE_ACTIVE:
        return "active";

    case CC_STATE_FINAL:
        return "final";

    case CC_STATE_RECALCULATING:
        return "recalculating";
    }

    return NULL;
}


const char *
cc_operation_name(cc_operation_kind_e kind)
{
    switch (kind) {

    case CC_OPERATION_FINAL_CREDIT:
        return "final_credit";

    case CC_OPERATION_RECALCULATION_DEBIT:
        return "recalculation_debit";
    }

    return NULL;
}

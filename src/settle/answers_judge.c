/*
 * What a coupon of an answer is worth; see answers.h.
 *
 * Why a list may settle what it may: between the moment in which the API made
 * its list and this one a newer callback can have come in.  A coupon that is
 * unknown, active, or final in generation 0 with the very amount of the list
 * shows by that that no such callback has touched its money.  For all others
 * the list is only the reason to ask for them by their code.
 */

#include "answers_internal.h"
#include "log.h"


static cs_trust_e cs_answers_asked(cs_answers_t *a, const cs_coupon_t *stored,
    const cc_coupon_t *seen, const char **doubt);
static cs_trust_e cs_answers_listed(cs_answers_t *a, const cs_coupon_t *stored,
    const cc_coupon_t *seen, const char **doubt);
static cs_trust_e cs_answers_final(cs_answers_t *a, const cs_coupon_t *stored,
    const cc_coupon_t *seen, const char **doubt);
static cs_trust_e cs_answers_malformed(const cs_coupon_t *stored,
    const char **doubt);
static cs_trust_e cs_answers_later(cs_answers_t *a, cc_str_t code);


static const char  cs_not_configured[] = "final for the API, but its status is "
                                         "not in final_statuses";

static const char  cs_otherwise[] = "the API lists it otherwise, to be read by "
                                    "its code";

static const char  cs_not_usable[] = "what the API says of it cannot be used";


cs_trust_e
cs_answers_judge(void *ctx, const cs_coupon_t *stored, const cc_coupon_t *seen,
    const char **doubt)
{
    cs_answers_t  *a = ctx;

    return a->answer->kind == CS_ANSWER_ASKED
           ? cs_answers_asked(a, stored, seen, doubt)
           : cs_answers_listed(a, stored, seen, doubt);
}


static cs_trust_e
cs_answers_asked(cs_answers_t *a, const cs_coupon_t *stored,
    const cc_coupon_t *seen, const char **doubt)
{
    cs_asked_item_t  *item;

    item = cs_asked_find(a->answer->asked, seen->coupon_code);

    if (item == NULL) {
        cs_log(CS_LOG_ERROR, cs_msg("the API answers with a coupon that was "
                                    "not asked for"),
               cs_bytes("coupon", seen->coupon_code));
        return CS_TRUST_NONE;
    }

    item->moved = stored->version != item->version;
    item->answered = !item->moved;

    if (item->moved) {
        a->count.moved++;
        return CS_TRUST_NONE;
    }

    if (a->settling.unread) {
        return cs_answers_malformed(stored, doubt);
    }

    /* read by its code it looks active: only the list says that it is final */

    if (stored->settled.doubt
        && strcmp(stored->settled.doubt, cs_not_configured) == 0
        && stored->status == seen->status
        && cs_settle_seen(a->conf, seen->status) == CC_SEEN_ACTIVE)
    {
        *doubt = cs_not_configured;
        return CS_TRUST_HELD;
    }

    return CS_TRUST_KNOWN;
}


static cs_trust_e
cs_answers_listed(cs_answers_t *a, const cs_coupon_t *stored,
    const cc_coupon_t *seen, const char **doubt)
{
    if (a->settling.unread) {
        return cs_answers_malformed(stored, doubt);
    }

    if (a->answer->kind == CS_ANSWER_CALCULATED
        && cs_settle_seen(a->conf, seen->status) == CC_SEEN_ACTIVE)
    {
        cs_log(CS_LOG_ERROR, cs_msg("the API calls a status final that is not "
                                    "in final_statuses: the configuration is "
                                    "wrong, money is held"),
               cs_bytes("coupon", seen->coupon_code),
               cs_number("status", seen->status));

        *doubt = cs_not_configured;
        return CS_TRUST_HELD;
    }

    if (stored->settled.doubt) {
        return cs_answers_later(a, seen->coupon_code);
    }

    switch (stored->settled.state) {

    case CC_STATE_NONE:
    case CC_STATE_ACTIVE:
        return CS_TRUST_KNOWN;

    case CC_STATE_RECALCULATING:
        return cs_answers_later(a, seen->coupon_code);

    case CC_STATE_FINAL:
        break;
    }

    return cs_answers_final(a, stored, seen, doubt);
}


static cs_trust_e
cs_answers_final(cs_answers_t *a, const cs_coupon_t *stored,
    const cc_coupon_t *seen, const char **doubt)
{
    const cc_settled_t  *settled = &stored->settled;

    if (cs_settle_seen(a->conf, seen->status) != CC_SEEN_FINAL
        || !seen->has_real_win
        || cc_money_compare(seen->real_win, settled->credit) != 0)
    {
        *doubt = cs_otherwise;
        return CS_TRUST_HELD;
    }

    if (settled->generation == 0) {
        return CS_TRUST_KNOWN;
    }

    return settled->confirmed ? CS_TRUST_NONE
                              : cs_answers_later(a, seen->coupon_code);
}


/* a doubt that is there already knows more */

static cs_trust_e
cs_answers_malformed(const cs_coupon_t *stored, const char **doubt)
{
    *doubt = stored->settled.doubt ? stored->settled.doubt : cs_not_usable;

    return CS_TRUST_HELD;
}


static cs_trust_e
cs_answers_later(cs_answers_t *a, cc_str_t code)
{
    cs_strings_add(&a->waiting, code);
    a->count.waiting++;

    return CS_TRUST_NONE;
}

/*
 * Coupons of the API that the ledger cannot hold, not even as a doubt: they go
 * to `rejected`, where a person sees them.
 *
 * The same coupon comes again with every round and every question, and is said
 * in the log each time, but kept once: a mark with the digest of what it is and
 * why it was refused stands in the store, and stays when it is dropped there.
 */

#include "answers_internal.h"
#include "clock.h"
#include "counters.h"
#include "log.h"
#include "message.h"


#define CS_REJECTED_MARK  "rejected:"


static cs_status_e cs_answers_put_aside(cs_answers_t *a,
    const cc_coupon_t *coupon, cc_str_t reason);


cs_status_e
cs_answers_reject(cs_answers_t *a, const cc_coupon_t *coupon, const char *why)
{
    int               len;
    cs_buffer_t       reason;
    cs_status_e       status;
    cs_asked_item_t  *item;

    item = a->answer->asked
           ? cs_asked_find(a->answer->asked, coupon->coupon_code) : NULL;

    if (item) {
        item->answered = 1;
    }

    a->count.rejected++;

    cs_log(CS_LOG_ERROR, cs_msg("a coupon of the API is rejected"),
           cs_bytes("coupon", coupon->coupon_code), cs_text("reason", why));

    memset(&reason, 0, sizeof(cs_buffer_t));
    len = (int) coupon->coupon_code.len;

    if (len) {
        cs_buffer_format(&reason, "coupon %.*s: ", len,
                         (const char *) coupon->coupon_code.data);
    }

    cs_buffer_text(&reason, why);

    status = cs_answers_put_aside(a, coupon,
                                  (cc_str_t) { reason.data, reason.len });
    cs_buffer_free(&reason);

    return status;
}


/* in the transaction that somebody else began */

static cs_status_e
cs_answers_put_aside(cs_answers_t *a, const cc_coupon_t *coupon,
    cc_str_t reason)
{
    char            mark[sizeof(CS_REJECTED_MARK) + CC_DIGEST_LEN];
    int64_t         before;
    cs_buffer_t     both;
    cs_status_e     status;
    cs_rejected_t   rejected;

    memset(&both, 0, sizeof(cs_buffer_t));
    cs_buffer_add(&both, reason);
    cs_buffer_add(&both, coupon->raw);

    memcpy(mark, CS_REJECTED_MARK, sizeof(CS_REJECTED_MARK));
    cc_message_digest((unsigned char *) mark + sizeof(CS_REJECTED_MARK) - 1,
                      (cc_str_t) { both.data, both.len });
    mark[sizeof(mark) - 1] = '\0';

    cs_buffer_free(&both);

    status = cs_store_mark(a->store, mark, &before);

    if (status != CS_OK || before) {
        return status;
    }

    memset(&rejected, 0, sizeof(cs_rejected_t));

    rejected.source = cs_str_of(CS_SOURCE_API);
    rejected.batch_id = a->settling.origin;
    rejected.reason = reason;
    rejected.body = coupon->raw;
    rejected.received_at = cs_now();
    rejected.rejected_at = rejected.received_at;

    cs_count(CS_COUNT_REJECTED + CS_REJECT_COUPON, 1);

    status = cs_store_rejected_add(a->store, &rejected);

    return status == CS_OK
           ? cs_store_mark_set(a->store, mark, rejected.rejected_at) : status;
}

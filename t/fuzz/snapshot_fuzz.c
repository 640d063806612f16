/*
 * Fuzzing the reader of the API's answers: it says the same with a sink and
 * without, hands out nothing of what has failed, counts what it hands out; and
 * where a list without malformed coupons is an answer, it is one too to who
 * would take a single coupon.
 */

#include "fuzz.h"
#include "json_walk.h"
#include "snapshot_unit.h"


static cc_json_t  *json;


static void
compare(cc_str_t text, unsigned one)
{
    seen_t                seen;
    cc_answer_t           answer, again;
    cc_snapshot_status_e  status;

    memset(&seen, 0, sizeof(seen));

    status = cc_snapshot_read(&answer, json, text, one, NULL);
    must(status == CC_SNAPSHOT_OK || status == CC_SNAPSHOT_FAILED
         || status == CC_SNAPSHOT_REFUSED);
    must(answer.offset <= text.len);

    must(seen_read(&seen, json, &again, text, one) == status);
    must(again.reason == answer.reason && again.count == answer.count);
    must(again.malformed == answer.malformed);

    if (status == CC_SNAPSHOT_OK) {
        must(answer.code == 1 && answer.error_code == 0);
        must(seen.coupons + seen.malformed == answer.count);
        must(seen.malformed == answer.malformed);

    } else {
        must(answer.reason != NULL);
    }

    if (status == CC_SNAPSHOT_FAILED) {
        must(answer.code != 1 && seen.coupons == 0);
    }

    if (status == CC_SNAPSHOT_OK && !one) {
        must((cc_snapshot_read(&again, json, text, 1, NULL) == CC_SNAPSHOT_OK)
             == (answer.malformed == 0));
    }

    if (status == CC_SNAPSHOT_OK && answer.malformed == 0) {
        must(again.count == answer.count);
    }
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cc_str_t  text = unit_str(data, size);

    if (json == NULL) {
        json = cc_json_create(1);
        must(json != NULL);
    }

    compare(text, 0);
    compare(text, 1);

    return 0;
}

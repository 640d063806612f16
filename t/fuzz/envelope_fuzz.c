/*
 * Fuzzing the reader of coupon callbacks: what it takes, cJSON reads with the
 * same batch id, count, codes, statuses, amounts and bets (envelope_twin.h).
 * And coupon-settle, which asks for no shape, takes whatever the module took.
 */

#include "envelope_twin.h"
#include "fuzz.h"


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    twin_e               result;
    cc_str_t             body = unit_str(data, size);
    const char          *what;
    cc_envelope_rules_t  any = { NULL, NULL, NULL, UINT32_MAX };

    if (json == NULL) {
        json = cc_json_create(1);
        must(json != NULL);
    }

    result = twin_read(json, body, &what);
    must(result != TWIN_DIFFERS);

    if (result == TWIN_AGREES) {
        must(cc_envelope_read(&envelope, json, body, &shape_rules, NULL)
             == CC_ENVELOPE_OK);
        must(cc_envelope_read(&envelope, json, body, &any, NULL)
             == CC_ENVELOPE_OK);
        must(envelope.count >= 1 && envelope.count <= 100);
        must(envelope.id_len >= 1 && envelope.id_len <= 64);

    } else if (result == TWIN_REFUSED) {
        must(cc_envelope_read(&envelope, json, body, &shape_rules, NULL)
             == CC_ENVELOPE_REFUSED);
        must(envelope.reason != NULL && envelope.offset <= size);
    }

    return 0;
}

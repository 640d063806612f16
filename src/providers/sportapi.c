/*
 * SportAPI: who sent it, then what it is.  The body is not looked at, not even
 * for its form, before the signature has been found good.
 */

#include <openssl/crypto.h>

#include "sportapi.h"


static cc_verdict_e cc_sportapi_verify(void *conf,
    const cc_callback_t *callback, cc_delivery_t *delivery);
static cc_verdict_e cc_sportapi_signed(const cc_sportapi_t *conf,
    const cc_callback_t *callback, cc_delivery_t *delivery);


const cc_provider_t  cc_sportapi = {
    "sportapi",
    0,
    cc_sportapi_verify
};


static cc_verdict_e
cc_sportapi_verify(void *conf, const cc_callback_t *callback,
    cc_delivery_t *delivery)
{
    cc_verdict_e           verdict;
    cc_sportapi_t         *sportapi;
    cc_envelope_t          envelope;
    cc_envelope_status_e   status;

    sportapi = conf;
    memset(delivery, 0, sizeof(cc_delivery_t));

    verdict = cc_sportapi_signed(sportapi, callback, delivery);

    if (verdict != CC_VERDICT_ACCEPTED) {
        return verdict;
    }

    status = cc_envelope_read(&envelope, sportapi->json, callback->body,
                              &sportapi->rules, NULL);

    memcpy(delivery->id, envelope.id, envelope.id_len);
    delivery->id_len = envelope.id_len;
    delivery->count = envelope.count;
    delivery->reason = envelope.reason;
    delivery->offset = envelope.offset;

    switch (status) {

    case CC_ENVELOPE_OK:
        return CC_VERDICT_ACCEPTED;

    case CC_ENVELOPE_REFUSED:
        return CC_VERDICT_MALFORMED;

    case CC_ENVELOPE_NO_MEMORY:
    case CC_ENVELOPE_STOPPED:
        break;
    }

    return CC_VERDICT_FAILED;
}


static cc_verdict_e
cc_sportapi_signed(const cc_sportapi_t *conf, const cc_callback_t *callback,
    cc_delivery_t *delivery)
{
    size_t         len;
    unsigned       i, matched;
    unsigned char  mac[CC_MAC_MAX];

    if (callback->signature.len == 0) {
        delivery->reason = "the signature is missing";
        return CC_VERDICT_UNSIGNED;
    }

    if (conf->tolerance_ms != 0
        && !cc_timestamp_fresh(callback->timestamp, callback->now_ms,
                               conf->tolerance_ms))
    {
        delivery->reason = "the timestamp is missing, or too far from now";
        return CC_VERDICT_UNSIGNED;
    }

    for (matched = 0, i = 0; i < conf->nhmacs; i++) {

        len = cc_hmac_compute(conf->hmacs[i], callback->signed_prefix,
                              callback->body, mac);

        if (len == 0) {
            delivery->reason = "the HMAC could not be computed";
            return CC_VERDICT_FAILED;
        }

        matched |= (unsigned) cc_signature_match(callback->signature,
                                                 conf->prefix, conf->encoding,
                                                 mac, len);

        /* it would be a signature for this body */

        OPENSSL_cleanse(mac, len);
    }

    if (!matched) {
        delivery->reason = "no signature matches";
        return CC_VERDICT_UNSIGNED;
    }

    return CC_VERDICT_ACCEPTED;
}

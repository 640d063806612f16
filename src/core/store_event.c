/*
 * Notifications to events: one table for each store says which type moves what.
 *
 * A type that is not in its table is kept and moves nothing.
 */

#include <stdio.h>
#include <stdlib.h>

#include "base64.h"
#include "claims.h"
#include "jws.h"
#include "rtdn.h"
#include "store_event.h"


/* of a notification of Apple's */
typedef enum {
    CC_APPLE_REFUND = 0,
    CC_APPLE_REVERSED,
    CC_APPLE_REVOKE,
    CC_APPLE_CONSUMPTION,
    CC_APPLE_BOUGHT,
    CC_APPLE_OTHER
} cc_apple_type_e;


static cc_apple_type_e cc_apple_type(const char *kind);
static const char *cc_apple_read(cc_store_event_t *out, cc_json_t *json,
    const cJSON *payload);
static const char *cc_apple_apply(cc_store_event_t *out,
    const cJSON *transaction);
static unsigned cc_apple_currency(const char *text);
static const char *cc_apple_refund(cc_refund_event_t *event,
    const cJSON *transaction);
static const char *cc_apple_payload(cc_json_t *json, cc_str_t text,
    cJSON **payload);
static const char *cc_google_wrapped(cc_store_event_t *out, cc_json_t *json,
    cc_str_t body);
static const char *cc_google_read(cc_store_event_t *out, cc_json_t *json,
    const cJSON *message);
static const char *cc_google_notification(cc_store_event_t *out,
    cc_json_t *json, cc_str_t text);
static void cc_google_apply(cc_store_event_t *out, const cc_rtdn_t *rtdn);
static void cc_google_voided(cc_store_event_t *out, const cc_rtdn_t *rtdn);
static void cc_store_copy(char *to, size_t size, cc_str_t text);


const char *
cc_apple_event(cc_store_event_t *out, cc_json_t *json, cc_str_t body)
{
    cJSON       *tree, *payload;
    cc_str_t     text;
    const char  *error;

    memset(out, 0, sizeof(cc_store_event_t));
    payload = NULL;

    tree = cc_claims_parse(json, body, &error);

    if (tree != NULL) {
        error = cc_claim_string(tree, "signedPayload", &text)
                ? cc_apple_payload(json, text, &payload)
                : "the body has no signedPayload";
    }

    if (error == NULL) {
        error = cc_apple_read(out, json, payload);
    }

    cJSON_Delete(payload);
    cJSON_Delete(tree);

    return error;
}


static const char *
cc_apple_read(cc_store_event_t *out, cc_json_t *json, const cJSON *payload)
{
    char         *p;
    cJSON        *transaction;
    cc_str_t      text;
    const char   *error;
    const cJSON  *data;

    (void) cc_claim_string(payload, "notificationUUID", &text);
    cc_store_copy(out->id, sizeof(out->id), text);

    for (p = out->id; *p != '\0'; p++) {
        *p = (char) ((*p >= 'A' && *p <= 'Z') ? *p | 0x20 : *p);
    }

    (void) cc_claim_string(payload, "notificationType", &text);
    cc_store_copy(out->kind, sizeof(out->kind), text);

    if (!cc_claim_whole(payload, "signedDate", &out->event.time)) {
        return "signedDate is not a time";
    }

    data = cc_claim_object(payload, "data");

    if (data == NULL
        || !cc_claim_string(data, "signedTransactionInfo", &text))
    {
        return cc_apple_type(out->kind) == CC_APPLE_OTHER
               || cc_apple_type(out->kind) == CC_APPLE_BOUGHT
               ? NULL : "signedTransactionInfo is missing";
    }

    transaction = NULL;
    error = cc_apple_payload(json, text, &transaction);

    if (error == NULL) {
        error = cc_apple_apply(out, transaction);
    }

    cJSON_Delete(transaction);

    return error;
}


static cc_apple_type_e
cc_apple_type(const char *kind)
{
    unsigned  i;

    static const struct {
        const char       *kind;
        cc_apple_type_e   type;
    } types[] = {
        { "REFUND", CC_APPLE_REFUND },
        { "REFUND_REVERSED", CC_APPLE_REVERSED },
        { "REVOKE", CC_APPLE_REVOKE },
        { "CONSUMPTION_REQUEST", CC_APPLE_CONSUMPTION },
        { "SUBSCRIBED", CC_APPLE_BOUGHT },
        { "DID_RENEW", CC_APPLE_BOUGHT },
        { "ONE_TIME_CHARGE", CC_APPLE_BOUGHT }
    };

    for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(kind, types[i].kind) == 0) {
            return types[i].type;
        }
    }

    return CC_APPLE_OTHER;
}


static const char *
cc_apple_apply(cc_store_event_t *out, const cJSON *transaction)
{
    cc_str_t            text;
    cc_apple_type_e     type;
    cc_refund_event_t  *event;

    event = &out->event;

    (void) cc_claim_string(transaction, "originalTransactionId", &text);
    cc_store_copy(out->purchase_key, sizeof(out->purchase_key), text);
    (void) cc_claim_string(transaction, "transactionId", &text);
    cc_store_copy(out->transaction_key, sizeof(out->transaction_key), text);
    (void) cc_claim_string(transaction, "currency", &text);
    cc_store_copy(out->currency, sizeof(out->currency), text);

    event->has_price = cc_claim_whole(transaction, "price",
                                      &event->price_milli)
                       && event->price_milli >= 0
                       && cc_apple_currency(out->currency);

    type = cc_apple_type(out->kind);

    if (out->purchase_key[0] == '\0' || out->transaction_key[0] == '\0') {
        return type == CC_APPLE_OTHER || type == CC_APPLE_BOUGHT
               ? NULL : "the transaction has no id";
    }

    switch (type) {

    case CC_APPLE_REFUND:
        return cc_apple_refund(event, transaction);

    case CC_APPLE_REVERSED:
        event->has_fraction = 1;
        event->access = CC_ACCESS_GRANTED;
        break;

    case CC_APPLE_REVOKE:
        event->access = CC_ACCESS_REVOKED;
        break;

    case CC_APPLE_CONSUMPTION:
        event->request = CC_REQUEST_CONSUMPTION;
        break;

    case CC_APPLE_BOUGHT:

        /* signed anew for a retry, it would be newer than its own refund */

        if (cc_claim_whole(transaction, "purchaseDate", &event->time)) {
            event->access = CC_ACCESS_GRANTED;
        }

        break;

    case CC_APPLE_OTHER:
        break;
    }

    return NULL;
}


/* ISO 4217 */
static unsigned
cc_apple_currency(const char *text)
{
    unsigned  i;

    for (i = 0; text[i] >= 'A' && text[i] <= 'Z'; i++) { /* void */ }

    return i == 3 && text[i] == '\0';
}


/* the percentage is of the whole transaction so far; without it: all of it */
static const char *
cc_apple_refund(cc_refund_event_t *event, const cJSON *transaction)
{
    int64_t  date, percentage;

    if (!cc_claim_whole(transaction, "revocationDate", &date)) {
        return "a refund without revocationDate";
    }

    percentage = CC_REFUND_ALL;

    if (cc_claim_exists(transaction, "revocationPercentage")) {

        if (!cc_claim_whole(transaction, "revocationPercentage", &percentage)
            || percentage < 0)
        {
            return "revocationPercentage is not a part of something";
        }

    } else if (cc_claim_exists(transaction, "advancedCommerceInfo")) {
        return "a refund whose parts are in advancedCommerceInfo";
    }

    event->has_fraction = 1;
    event->fraction = percentage > CC_REFUND_ALL ? CC_REFUND_ALL
                                                 : (unsigned) percentage;
    event->access = CC_ACCESS_REVOKED;

    return NULL;
}


static const char *
cc_apple_payload(cc_json_t *json, cc_str_t text, cJSON **payload)
{
    cc_jws_t     jws;
    const char  *error;

    error = cc_jws_open(&jws, json, CC_JWS_ES256, text);

    if (error == NULL) {
        *payload = cc_claims_parse(json, jws.payload, &error);
    }

    cc_jws_close(&jws);

    return error;
}


const char *
cc_google_event(cc_store_event_t *out, cc_json_t *json, cc_str_t id,
    cc_str_t body)
{
    cc_str_t  scope, message;

    memset(out, 0, sizeof(cc_store_event_t));

    scope.data = id.data;
    scope.len = cc_google_unwrapped_scope(id);

    if (scope.len == 0) {
        return cc_google_wrapped(out, json, body);
    }

    message.data = id.data + scope.len + 1;
    message.len = id.len - scope.len - 1;

    cc_store_copy(out->scope, sizeof(out->scope), scope);
    cc_store_copy(out->id, sizeof(out->id), message);

    return cc_google_notification(out, json, body);
}


size_t
cc_google_unwrapped_scope(cc_str_t id)
{
    size_t  len;

    for (len = id.len; len > 0; len--) {
        if (id.data[len - 1] == ':') {
            return len - 1;
        }
    }

    return 0;
}


static const char *
cc_google_wrapped(cc_store_event_t *out, cc_json_t *json, cc_str_t body)
{
    cJSON        *tree;
    cc_str_t      text;
    const char   *error;
    const cJSON  *message;

    tree = cc_claims_parse(json, body, &error);

    if (tree != NULL) {
        (void) cc_claim_string(tree, "subscription", &text);
        cc_store_copy(out->scope, sizeof(out->scope), text);

        message = cc_claim_object(tree, "message");
        error = message ? cc_google_read(out, json, message)
                        : "the body has no message";
    }

    cJSON_Delete(tree);

    return error;
}


static const char *
cc_google_read(cc_store_event_t *out, cc_json_t *json, const cJSON *message)
{
    cc_str_t        text, data;
    const char     *error;
    unsigned char  *buf;

    if (!cc_claim_string(message, "messageId", &text)) {
        (void) cc_claim_string(message, "message_id", &text);
    }

    cc_store_copy(out->id, sizeof(out->id), text);

    (void) cc_claim_string(message, "data", &text);

    buf = malloc(cc_base64_size(text.len));

    if (buf == NULL) {
        return cc_json_no_memory;
    }

    error = cc_base64_decode(CC_BASE64_STANDARD, text, buf,
                             cc_base64_size(text.len), &data)
            ? "the message's data is not base64"
            : cc_google_notification(out, json, data);

    free(buf);

    return error;
}


static const char *
cc_google_notification(cc_store_event_t *out, cc_json_t *json, cc_str_t text)
{
    cc_rtdn_t    rtdn;
    const char  *error;

    error = cc_rtdn_read(&rtdn, json, text);

    if (error == NULL) {
        cc_store_copy(out->package, sizeof(out->package), rtdn.package);
        cc_google_apply(out, &rtdn);
    }

    cc_rtdn_free(&rtdn);

    return error;
}


static void
cc_google_apply(cc_store_event_t *out, const cc_rtdn_t *rtdn)
{
    cc_str_t            key;
    cc_refund_event_t  *event;

    static const char *const  kinds[] = {
        "other", "test", "subscription", "one_time", "voided", "review"
    };

    event = &out->event;
    event->time = rtdn->event_ms;

    key = rtdn->order_id.len ? rtdn->order_id : rtdn->purchase_token;

    (void) snprintf(out->kind, sizeof(out->kind), "%s:%lld",
                    kinds[rtdn->kind], (long long) rtdn->type);
    cc_store_copy(out->purchase_key, sizeof(out->purchase_key),
                  rtdn->purchase_token);
    cc_store_copy(out->transaction_key, sizeof(out->transaction_key), key);

    switch (rtdn->kind) {

    case CC_RTDN_SUBSCRIPTION:

        /* recovered, renewed, purchased, restarted; revoked */

        if (rtdn->type == 1 || rtdn->type == 2 || rtdn->type == 4
            || rtdn->type == 7)
        {
            event->access = CC_ACCESS_GRANTED;

        } else if (rtdn->type == 12) {
            event->access = CC_ACCESS_REVOKED;
        }

        break;

    case CC_RTDN_ONE_TIME:

        /* 2 is a purchase that never came about */

        if (rtdn->type == 1) {
            event->access = CC_ACCESS_GRANTED;
        }

        break;

    case CC_RTDN_VOIDED:
        cc_google_voided(out, rtdn);
        break;

    case CC_RTDN_REVIEW:
        event->request = CC_REQUEST_REVIEW;
        break;

    case CC_RTDN_TEST:
    case CC_RTDN_OTHER:
        break;
    }
}


/* what becomes of a subscription is told by notifications of its own */
static void
cc_google_voided(cc_store_event_t *out, const cc_rtdn_t *rtdn)
{
    if (rtdn->product_type != 1 && rtdn->product_type != 2) {
        return;
    }

    if (rtdn->type == 1) {
        out->event.has_fraction = 1;
        out->event.fraction = CC_REFUND_ALL;

        if (rtdn->product_type == 2) {
            out->event.access = CC_ACCESS_REVOKED;
        }

    } else if (rtdn->type == 2) {
        out->event.request = CC_REQUEST_UNITS;
    }
}


void
cc_stated_event(cc_refund_event_t *event, int64_t time, unsigned fraction)
{
    memset(event, 0, sizeof(cc_refund_event_t));

    event->time = time;
    event->has_fraction = 1;
    event->fraction = fraction < CC_REFUND_ALL ? fraction : CC_REFUND_ALL;

    if (event->fraction == CC_REFUND_ALL) {
        event->access = CC_ACCESS_REVOKED;
    }
}


static void
cc_store_copy(char *to, size_t size, cc_str_t text)
{
    size_t  len;

    len = text.len < size ? text.len : size - 1;

    if (len != 0) {
        memcpy(to, text.data, len);
    }

    to[len] = '\0';
}

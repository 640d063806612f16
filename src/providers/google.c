/*
 * Google: the token, then the envelope, then what is in it.
 *
 * The order is the contract's.  An unknown kid is no verdict on the sender: a
 * key that Google began to use an hour ago may not have reached our file yet,
 * so that such a call is put off (CC_VERDICT_FAILED), not turned away.
 *
 * A token is used for many pushes of up to an hour; seeing it again means
 * nothing.
 */

#include <stdlib.h>

#include "base64.h"
#include "claims.h"
#include "google.h"
#include "jws.h"
#include "rtdn.h"


#define CC_GOOGLE_MESSAGE_ID  "._~+-"       /* beside letters and digits */


static cc_verdict_e cc_google_verify(void *conf,
    const cc_callback_t *callback, cc_delivery_t *delivery);
static cc_verdict_e cc_google_caller(const cc_google_t *conf,
    const cc_callback_t *callback, cc_delivery_t *delivery);
static int cc_google_bearer(cc_str_t line, cc_str_t *token);
static const char *cc_google_signed(const cc_google_t *conf, cc_jws_t *jws,
    int64_t now);
static const char *cc_google_claims(const cc_google_t *conf,
    const cJSON *claims, int64_t now);
static cc_verdict_e cc_google_envelope(const cc_google_t *conf,
    const cJSON *body, cc_delivery_t *delivery);
static int cc_google_subscription(const cc_google_t *conf,
    cc_str_t subscription, cc_delivery_t *delivery);
static int cc_google_message_id(const cJSON *message, cc_delivery_t *delivery);
static cc_verdict_e cc_google_data(const cc_google_t *conf,
    const cJSON *message, cc_delivery_t *delivery);
static cc_verdict_e cc_google_unwrapped(const cc_google_t *conf,
    const cc_callback_t *callback, cc_delivery_t *delivery);
static cc_verdict_e cc_google_notification(const cc_google_t *conf,
    cc_str_t text, cc_delivery_t *delivery);


static const char  cc_google_no_key[] = "the key of the token is not known";


const cc_provider_t  cc_google = {
    "google",
    1,
    cc_google_verify
};


static cc_verdict_e
cc_google_verify(void *conf, const cc_callback_t *callback,
    cc_delivery_t *delivery)
{
    cJSON         *body;
    cc_google_t   *google;
    cc_verdict_e   verdict;

    google = conf;
    memset(delivery, 0, sizeof(cc_delivery_t));

    verdict = cc_google_caller(google, callback, delivery);

    if (verdict != CC_VERDICT_ACCEPTED) {
        return verdict;
    }

    if (google->unwrapped) {
        return cc_google_unwrapped(google, callback, delivery);
    }

    body = cc_claims_parse(google->json, callback->body, &delivery->reason);

    if (body == NULL) {
        delivery->offset = cc_json_offset(google->json);
        return delivery->reason == cc_json_no_memory ? CC_VERDICT_FAILED
                                                     : CC_VERDICT_MALFORMED;
    }

    verdict = cc_google_envelope(google, body, delivery);
    cJSON_Delete(body);

    return verdict;
}


static cc_verdict_e
cc_google_caller(const cc_google_t *conf, const cc_callback_t *callback,
    cc_delivery_t *delivery)
{
    cc_str_t     token;
    cc_jws_t     jws;
    const char  *error;

    if (!cc_google_bearer(callback->signature, &token)) {
        delivery->reason = "there is no bearer token";
        return CC_VERDICT_UNSIGNED;
    }

    error = cc_jws_open(&jws, conf->json, CC_JWS_RS256, token);

    if (error == NULL) {
        error = cc_google_signed(conf, &jws, callback->now_ms / 1000);
    }

    cc_jws_close(&jws);
    delivery->reason = error;

    if (error == NULL) {
        return CC_VERDICT_ACCEPTED;
    }

    return error == cc_json_no_memory || error == cc_google_no_key
           ? CC_VERDICT_FAILED : CC_VERDICT_UNSIGNED;
}


/* "Bearer TOKEN", nothing else in the line */
static int
cc_google_bearer(cc_str_t line, cc_str_t *token)
{
    size_t  i;

    static const char  scheme[] = "bearer ";

    for (i = 0; i < sizeof(scheme) - 1; i++) {
        if (i == line.len
            || (line.data[i] | (scheme[i] == ' ' ? 0 : 0x20)) != scheme[i])
        {
            return 0;
        }
    }

    token->data = line.data + i;
    token->len = line.len - i;

    return cc_claim_shaped(*token, "-_.", CC_GOOGLE_TOKEN_MAX);
}


static const char *
cc_google_signed(const cc_google_t *conf, cc_jws_t *jws, int64_t now)
{
    cJSON       *claims;
    EVP_PKEY    *key;
    const char  *error;

    if (jws->typ_other) {
        return "the token is of another typ than JWT";
    }

    if (jws->kid.len == 0) {
        return "the token names no key";
    }

    key = cc_jwks_find(conf->keys, jws->kid);

    if (key == NULL) {
        return cc_google_no_key;
    }

    error = cc_jws_verify(jws, CC_JWS_RS256, key);

    if (error != NULL) {
        return error;
    }

    claims = cc_claims_parse(conf->json, jws->payload, &error);

    if (claims != NULL) {
        error = cc_google_claims(conf, claims, now);
    }

    cJSON_Delete(claims);

    return error;
}


static const char *
cc_google_claims(const cc_google_t *conf, const cJSON *claims, int64_t now)
{
    int64_t   exp, iat, nbf;
    cc_str_t  iss;

    (void) cc_claim_string(claims, "iss", &iss);

    if (!cc_str_is(iss, "https://accounts.google.com")
        && !cc_str_is(iss, "accounts.google.com"))
    {
        return "iss is not Google";
    }

    if (!cc_claim_is(claims, "aud", conf->audience)) {
        return "aud is another";
    }

    if (!cc_claim_is(claims, "email", conf->email)
        || !cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(claims,
                                                          "email_verified")))
    {
        return "email is another, or not verified";
    }

    if (!cc_claim_whole(claims, "exp", &exp)
        || !cc_claim_whole(claims, "iat", &iat))
    {
        return "exp or iat is not a time";
    }

    if (now > exp + CC_GOOGLE_SKEW) {
        return "the token has expired";
    }

    if (now < iat - CC_GOOGLE_SKEW || exp >= now + CC_GOOGLE_LIFETIME) {
        return "the token is not of this time";
    }

    if (cc_claim_exists(claims, "nbf")
        && (!cc_claim_whole(claims, "nbf", &nbf)
            || now < nbf - CC_GOOGLE_SKEW))
    {
        return "the token is not valid yet";
    }

    return NULL;
}


/* what Pub/Sub has put around the notification */
static cc_verdict_e
cc_google_envelope(const cc_google_t *conf, const cJSON *body,
    cc_delivery_t *delivery)
{
    cc_str_t      subscription;
    const cJSON  *message;

    message = cc_claim_object(body, "message");

    if (message == NULL) {
        delivery->reason = "the body has no message";
        return CC_VERDICT_MALFORMED;
    }

    (void) cc_claim_string(body, "subscription", &subscription);

    if (!cc_google_subscription(conf, subscription, delivery)) {
        return CC_VERDICT_FOREIGN;
    }

    memcpy(delivery->scope, subscription.data, subscription.len);
    delivery->scope_len = subscription.len;

    if (!cc_google_message_id(message, delivery)) {
        delivery->reason = "the message has no messageId, or two";
        return CC_VERDICT_MALFORMED;
    }

    delivery->count = 1;

    return cc_google_data(conf, message, delivery);
}


static int
cc_google_subscription(const cc_google_t *conf, cc_str_t subscription,
    cc_delivery_t *delivery)
{
    if (cc_claim_shaped(subscription, "-_.~+%/", CC_DELIVERY_ID_MAX)
        && (conf->subscription.len == 0
            || cc_str_equal(subscription, conf->subscription)))
    {
        return 1;
    }

    delivery->reason = "it is pushed for another subscription";
    return 0;
}


/* it comes in two spellings, or in one of them */
static int
cc_google_message_id(const cJSON *message, cc_delivery_t *delivery)
{
    unsigned  i, n;
    cc_str_t  id;

    static const char *const  names[] = { "messageId", "message_id" };

    for (n = 0, i = 0; i < 2; i++) {

        if (!cc_claim_exists(message, names[i])) {
            continue;
        }

        if (!cc_claim_string(message, names[i], &id)
            || !cc_claim_shaped(id, CC_GOOGLE_MESSAGE_ID, CC_DELIVERY_ID_MAX)
            || (n != 0 && (id.len != delivery->id_len
                           || memcmp(id.data, delivery->id, id.len) != 0)))
        {
            delivery->id_len = 0;
            return 0;
        }

        memcpy(delivery->id, id.data, id.len);
        delivery->id_len = id.len;
        n++;
    }

    return n != 0;
}


static cc_verdict_e
cc_google_data(const cc_google_t *conf, const cJSON *message,
    cc_delivery_t *delivery)
{
    cc_str_t        text, data;
    cc_verdict_e    verdict;
    unsigned char  *buf;

    if (!cc_claim_string(message, "data", &text) || text.len == 0) {
        delivery->reason = "the message has no data";
        return CC_VERDICT_UNUSABLE;
    }

    buf = malloc(cc_base64_size(text.len));

    if (buf == NULL) {
        delivery->reason = cc_json_no_memory;
        return CC_VERDICT_FAILED;
    }

    if (cc_base64_decode(CC_BASE64_STANDARD, text, buf,
                         cc_base64_size(text.len), &data) == 0)
    {
        verdict = cc_google_notification(conf, data, delivery);

    } else {
        delivery->reason = "the message's data is not base64";
        verdict = CC_VERDICT_UNUSABLE;
    }

    free(buf);

    return verdict;
}


/* the head says what else the envelope does */
static cc_verdict_e
cc_google_unwrapped(const cc_google_t *conf, const cc_callback_t *callback,
    cc_delivery_t *delivery)
{
    unsigned char  *p;
    const cc_str_t  id = callback->message_id;
    const cc_str_t  subscription = callback->subscription;

    if (!cc_claim_shaped(id, CC_GOOGLE_MESSAGE_ID, CC_DELIVERY_ID_MAX)
        || callback->publish_time.len == 0)
    {
        delivery->reason = "the head does not say which message it is";
        return CC_VERDICT_MALFORMED;
    }

    if (!cc_google_subscription(conf, subscription, delivery)) {
        return CC_VERDICT_FOREIGN;
    }

    p = delivery->id;
    memcpy(p, subscription.data, subscription.len);
    p += subscription.len;
    *p++ = ':';
    memcpy(p, id.data, id.len);

    delivery->id_len = subscription.len + 1 + id.len;
    delivery->count = 1;

    return cc_google_notification(conf, callback->body, delivery);
}


static cc_verdict_e
cc_google_notification(const cc_google_t *conf, cc_str_t text,
    cc_delivery_t *delivery)
{
    cc_rtdn_t  rtdn;

    delivery->reason = cc_rtdn_read(&rtdn, conf->json, text);

    if (delivery->reason == NULL && conf->package.len != 0
        && !cc_str_equal(rtdn.package, conf->package))
    {
        delivery->reason = "packageName is of another app";
    }

    cc_rtdn_free(&rtdn);

    if (delivery->reason == NULL) {
        return CC_VERDICT_ACCEPTED;
    }

    return delivery->reason == cc_json_no_memory ? CC_VERDICT_FAILED
                                                 : CC_VERDICT_UNUSABLE;
}

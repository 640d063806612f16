/*
 * Apple: who signed it, for whom it is, and whether it can be acted on.
 *
 * The order is the contract's: body, JWS, chain, signature, payload, app,
 * transaction.  Nothing of a payload is read before the signature over it has
 * been found good, its chain apart from the dates, which the payload's own
 * signedDate decides.  What fails before the app is known to be ours is not
 * from Apple, or a signed thing that any owner of a device can obtain: it is
 * never kept.
 */

#include "apple.h"
#include "claims.h"
#include "jws.h"


#define CC_APPLE_UUID_MAX  64
#define CC_APPLE_TYPE_MAX  64
#define CC_APPLE_ID_MAX    64       /* of a transaction */


/* one notification on its way through the checks */
typedef struct {
    const cc_apple_t        *conf;
    const cc_callback_t     *callback;
    cc_delivery_t           *delivery;
    cJSON                   *payload;
    const cJSON             *container;
    cc_str_t                 kind;          /* name of the container */
    cc_str_t                 type;          /* notificationType */
    cc_apple_environment_e   environment;
} cc_apple_walk_t;


static cc_verdict_e cc_apple_verify(void *conf, const cc_callback_t *callback,
    cc_delivery_t *delivery);
static cc_verdict_e cc_apple_body(cc_apple_walk_t *w, cJSON *body);
static cc_verdict_e cc_apple_open(cc_apple_walk_t *w, cc_str_t text,
    const char *date, cJSON **payload);
static const char *cc_apple_signed(cc_apple_walk_t *w, cc_jws_t *jws,
    const char *date, cJSON **payload);
static cc_verdict_e cc_apple_judge(cc_apple_walk_t *w);
static const char *cc_apple_payload(cc_apple_walk_t *w);
static int cc_apple_type(cc_str_t type);
static void cc_apple_identify(cc_apple_walk_t *w, cc_str_t uuid);
static const char *cc_apple_ours(cc_apple_walk_t *w);
static cc_apple_environment_e cc_apple_environment(const cJSON *claims,
    const char *name);
static cc_verdict_e cc_apple_nested(cc_apple_walk_t *w);
static const char *cc_apple_transaction(cc_apple_walk_t *w,
    const cJSON *claims);
static int cc_apple_needs_transaction(cc_str_t type);


const cc_provider_t  cc_apple = {
    "apple",
    1,
    cc_apple_verify
};


static cc_verdict_e
cc_apple_verify(void *conf, const cc_callback_t *callback,
    cc_delivery_t *delivery)
{
    cJSON            *body;
    cc_verdict_e      verdict;
    cc_apple_walk_t   w;

    memset(delivery, 0, sizeof(cc_delivery_t));
    memset(&w, 0, sizeof(cc_apple_walk_t));

    w.conf = conf;
    w.callback = callback;
    w.delivery = delivery;

    body = cc_claims_parse(w.conf->json, callback->body, &delivery->reason);

    if (body == NULL) {
        delivery->offset = cc_json_offset(w.conf->json);
        return delivery->reason == cc_json_no_memory ? CC_VERDICT_FAILED
                                                     : CC_VERDICT_UNREADABLE;
    }

    verdict = cc_apple_body(&w, body);

    cJSON_Delete(w.payload);
    cJSON_Delete(body);

    return verdict;
}


static cc_verdict_e
cc_apple_body(cc_apple_walk_t *w, cJSON *body)
{
    cc_str_t      text;
    cc_verdict_e  verdict;

    if (!cc_claim_string(body, "signedPayload", &text)) {
        w->delivery->reason = "the body has no signedPayload";
        return CC_VERDICT_UNREADABLE;
    }

    verdict = cc_apple_open(w, text, "signedDate", &w->payload);

    if (verdict != CC_VERDICT_ACCEPTED) {
        return verdict;
    }

    return cc_apple_judge(w);
}


/*
 * The payload of a JWS that Apple has signed, at the time that its member
 * `date` says; else UNSIGNED, or FAILED
 */
static cc_verdict_e
cc_apple_open(cc_apple_walk_t *w, cc_str_t text, const char *date,
    cJSON **payload)
{
    cc_jws_t     jws;
    const char  *error;

    error = cc_jws_open(&jws, w->conf->json, CC_JWS_ES256, text);

    if (error == NULL) {
        error = cc_apple_signed(w, &jws, date, payload);
    }

    cc_jws_close(&jws);

    if (error == NULL) {
        return CC_VERDICT_ACCEPTED;
    }

    w->delivery->reason = error;

    return error == cc_json_no_memory ? CC_VERDICT_FAILED : CC_VERDICT_UNSIGNED;
}


static const char *
cc_apple_signed(cc_apple_walk_t *w, cc_jws_t *jws, const char *date,
    cJSON **payload)
{
    int64_t         ms;
    const char     *error;
    cc_x5c_leaf_t   leaf;

    if (jws->nx5c == 0) {
        return "the header has no x5c";
    }

    /* the third is what they lead to, and that is ours already */

    error = cc_x5c_verify(w->conf->roots, jws->x5c[0], jws->x5c[1], &leaf);

    if (error == NULL) {
        error = cc_jws_verify(jws, CC_JWS_ES256, leaf.key);
    }

    if (error != NULL) {
        return error;
    }

    *payload = cc_claims_parse(w->conf->json, jws->payload, &error);

    if (*payload == NULL) {
        return error;
    }

    if (!cc_claim_whole(*payload, date, &ms) || ms <= 0) {
        return "signedDate is not a time";
    }

    if (ms > w->callback->now_ms + CC_APPLE_AHEAD_MS) {
        return "signedDate lies in the future";
    }

    if (ms / 1000 < leaf.not_before || ms / 1000 > leaf.not_after) {
        return "the certificates were not valid at signedDate";
    }

    return NULL;
}


static cc_verdict_e
cc_apple_judge(cc_apple_walk_t *w)
{
    w->delivery->reason = cc_apple_payload(w);

    if (w->delivery->reason != NULL) {
        w->delivery->id_len = 0;
        return CC_VERDICT_UNSIGNED;
    }

    w->delivery->reason = cc_apple_ours(w);

    if (w->delivery->reason != NULL) {
        return CC_VERDICT_FOREIGN;
    }

    w->delivery->count = 1;

    return cc_apple_nested(w);
}


/* is it a notification, and which? */
static const char *
cc_apple_payload(cc_apple_walk_t *w)
{
    unsigned     i, n;
    cc_str_t     uuid;
    const char  *kind;

    static const char *const  kinds[] = {
        "data", "summary", "externalPurchaseToken", "appData"
    };

    if (!cc_claim_string(w->payload, "notificationUUID", &uuid)
        || !cc_claim_shaped(uuid, "-", CC_APPLE_UUID_MAX))
    {
        return "it is no notification: it has no notificationUUID";
    }

    if (!cc_claim_string(w->payload, "notificationType", &w->type)
        || !cc_apple_type(w->type))
    {
        return "it is no notification: it has no notificationType";
    }

    for (n = 0, i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        kind = kinds[i];

        if (cc_claim_exists(w->payload, kind)) {
            w->container = cc_claim_object(w->payload, kind);
            w->kind.data = (const unsigned char *) kind;
            w->kind.len = strlen(kind);
            n++;
        }
    }

    if (n != 1 || w->container == NULL) {
        return "it is no notification: it is not about exactly one thing";
    }

    cc_apple_identify(w, uuid);

    return NULL;
}


/* [A-Z][A-Z0-9_]* */
static int
cc_apple_type(cc_str_t type)
{
    size_t         i;
    unsigned char  c;

    for (i = 0; i < type.len; i++) {
        c = type.data[i];

        if (!((c >= 'A' && c <= 'Z')
              || (i > 0 && (c == '_' || (c >= '0' && c <= '9')))))
        {
            return 0;
        }
    }

    return type.len >= 1 && type.len <= CC_APPLE_TYPE_MAX;
}


static void
cc_apple_identify(cc_apple_walk_t *w, cc_str_t uuid)
{
    size_t         i;
    unsigned char  c;

    for (i = 0; i < uuid.len; i++) {
        c = uuid.data[i];
        w->delivery->id[i] = (c >= 'A' && c <= 'Z') ? (c | 0x20) : c;
    }

    w->delivery->id_len = uuid.len;
}


/* is it for this app, in an environment that this location takes? */
static const char *
cc_apple_ours(cc_apple_walk_t *w)
{
    int64_t      id;
    cc_str_t     token, sandbox = cc_str("SANDBOX");
    const char  *name;

    if (!cc_claim_is(w->container, "bundleId", w->conf->bundle_id)) {
        return "bundleId is of another app";
    }

    if (cc_str_is(w->kind, "externalPurchaseToken")) {

        /* the only one that names no environment */

        (void) cc_claim_string(w->container, "externalPurchaseId", &token);

        w->environment = token.len >= sandbox.len
                         && memcmp(token.data, sandbox.data, sandbox.len) == 0
                         ? CC_APPLE_SANDBOX : CC_APPLE_PRODUCTION;
    } else {
        w->environment = cc_apple_environment(w->container, "environment");
    }

    if ((w->environment & w->conf->environment) == 0) {
        return "environment is another";
    }

    if (w->environment == CC_APPLE_PRODUCTION
        && (!cc_claim_whole(w->container, "appAppleId", &id)
            || id != w->conf->app_apple_id))
    {
        return "appAppleId is of another app";
    }

    name = (w->environment == CC_APPLE_PRODUCTION) ? "Production" : "Sandbox";

    w->delivery->scope_len = strlen(name);
    memcpy(w->delivery->scope, name, w->delivery->scope_len);

    return NULL;
}


/* 0: another, Xcode's among them, which Apple has not signed */
static cc_apple_environment_e
cc_apple_environment(const cJSON *claims, const char *name)
{
    cc_str_t  text;

    (void) cc_claim_string(claims, name, &text);

    if (cc_str_is(text, "Production")) {
        return CC_APPLE_PRODUCTION;
    }

    return cc_str_is(text, "Sandbox") ? CC_APPLE_SANDBOX : 0;
}


/*
 * The signed things inside.  A renewal info says nothing that settles a refund
 * and is looked at by whoever wants it.
 */
static cc_verdict_e
cc_apple_nested(cc_apple_walk_t *w)
{
    cJSON         *claims;
    cc_str_t       text;
    const char    *name, *date;
    cc_verdict_e   verdict;

    name = "signedTransactionInfo";
    date = "signedDate";

    if (cc_str_is(w->kind, "appData")) {
        name = "signedAppTransactionInfo";
        date = "receiptCreationDate";
    }

    if (!cc_claim_exists(w->container, name)) {

        if (cc_apple_needs_transaction(w->type)) {
            w->delivery->reason = "signedTransactionInfo is missing";
            return CC_VERDICT_UNUSABLE;
        }

        return CC_VERDICT_ACCEPTED;
    }

    claims = NULL;
    (void) cc_claim_string(w->container, name, &text);

    verdict = cc_apple_open(w, text, date, &claims);

    if (verdict == CC_VERDICT_ACCEPTED) {
        w->delivery->reason = cc_apple_transaction(w, claims);

        if (w->delivery->reason != NULL) {
            verdict = CC_VERDICT_UNUSABLE;
        }

    } else if (verdict == CC_VERDICT_UNSIGNED) {

        /* the notification around it is Apple's all the same */

        verdict = CC_VERDICT_UNUSABLE;
    }

    cJSON_Delete(claims);

    return verdict;
}


static const char *
cc_apple_transaction(cc_apple_walk_t *w, const cJSON *claims)
{
    unsigned     i;
    cc_str_t     id;
    const char  *environment;

    static const char *const  ids[] = {
        "transactionId", "originalTransactionId"
    };

    if (!cc_claim_is(claims, "bundleId", w->conf->bundle_id)) {
        return "the transaction's bundleId is of another app";
    }

    environment = cc_str_is(w->kind, "appData") ? "receiptType" : "environment";

    if (cc_apple_environment(claims, environment) != w->environment) {
        return "the transaction's environment is another";
    }

    if (!cc_apple_needs_transaction(w->type)) {
        return NULL;
    }

    for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {

        if (!cc_claim_string(claims, ids[i], &id)
            || !cc_claim_shaped(id, "-_", CC_APPLE_ID_MAX))
        {
            return "the transaction has no transactionId or "
                   "originalTransactionId";
        }
    }

    return NULL;
}


static int
cc_apple_needs_transaction(cc_str_t type)
{
    unsigned  i;

    static const char *const  types[] = {
        "REFUND", "REFUND_DECLINED", "REFUND_REVERSED", "REVOKE",
        "CONSUMPTION_REQUEST"
    };

    for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (cc_str_is(type, types[i])) {
            return 1;
        }
    }

    return 0;
}

/*
 * The DeveloperNotification: one of several members says what it is about, and
 * each of them has fields without which it is of no use.
 */

#include "claims.h"
#include "rtdn.h"


#define CC_RTDN_TOKEN_MAX  1024     /* characters of a purchaseToken */
#define CC_RTDN_ORDER_MAX  128      /* of an orderId */
#define CC_RTDN_TIME_MAX   15       /* digits of eventTimeMillis */


/* what must be in it; a NULL is not asked for */
typedef struct {
    const char      *name;
    cc_rtdn_kind_e   kind;
    unsigned         token;         /* purchaseToken */
    unsigned         order;         /* orderId */
    const char      *type;
    const char      *product;
} cc_rtdn_member_t;


static const cJSON *cc_rtdn_find(cc_rtdn_t *rtdn);
static int cc_rtdn_time(cc_rtdn_t *rtdn);
static const char *cc_rtdn_fields(cc_rtdn_t *rtdn, const cJSON *fields,
    const cc_rtdn_member_t *member);


static const cc_rtdn_member_t  cc_rtdn_members[] = {
    { "testNotification", CC_RTDN_TEST, 0, 0, NULL, NULL },
    { "subscriptionNotification", CC_RTDN_SUBSCRIPTION, 1, 0,
      "notificationType", NULL },
    { "oneTimeProductNotification", CC_RTDN_ONE_TIME, 1, 0,
      "notificationType", NULL },
    { "voidedPurchaseNotification", CC_RTDN_VOIDED, 1, 1,
      "refundType", "productType" },
    { "pendingRefundReviewNotification", CC_RTDN_REVIEW, 0, 1, NULL, NULL },
    { NULL, CC_RTDN_OTHER, 0, 0, NULL, NULL }
};


const char *
cc_rtdn_read(cc_rtdn_t *rtdn, cc_json_t *json, cc_str_t text)
{
    const char              *error;
    const cJSON             *fields;
    const cc_rtdn_member_t  *member;

    memset(rtdn, 0, sizeof(cc_rtdn_t));

    rtdn->tree = cc_claims_parse(json, text, &error);

    if (rtdn->tree == NULL) {
        return error == cc_json_no_memory
               ? error : "the notification is not a JSON object";
    }

    if (!cc_claim_string(rtdn->tree, "packageName", &rtdn->package)) {
        return "the notification names no package";
    }

    if (!cc_rtdn_time(rtdn)) {
        return "eventTimeMillis is not a time";
    }

    fields = cc_rtdn_find(rtdn);

    if (fields == NULL) {
        return "the notification is not about exactly one thing";
    }

    for (member = cc_rtdn_members; member->name != NULL; member++) {
        if (strcmp(member->name, fields->string) == 0) {
            break;
        }
    }

    rtdn->kind = member->kind;

    return cc_rtdn_fields(rtdn, fields, member);
}


void
cc_rtdn_free(cc_rtdn_t *rtdn)
{
    cJSON_Delete(rtdn->tree);
    rtdn->tree = NULL;
}


/* the one member that is called a notification, whichever; else NULL */
static const cJSON *
cc_rtdn_find(cc_rtdn_t *rtdn)
{
    size_t        len;
    const cJSON  *item, *found;

    static const char  suffix[] = "Notification";

    found = NULL;

    cJSON_ArrayForEach(item, rtdn->tree) {
        len = strlen(item->string);

        if (len < sizeof(suffix) - 1
            || strcmp(item->string + len - (sizeof(suffix) - 1), suffix) != 0)
        {
            continue;
        }

        if (found != NULL || !cJSON_IsObject(item)) {
            return NULL;
        }

        found = item;
    }

    return found;
}


/* documented as a number, sent as a string */
static int
cc_rtdn_time(cc_rtdn_t *rtdn)
{
    size_t    i;
    cc_str_t  text;

    if (cc_claim_whole(rtdn->tree, "eventTimeMillis", &rtdn->event_ms)) {
        return rtdn->event_ms > 0;
    }

    (void) cc_claim_string(rtdn->tree, "eventTimeMillis", &text);

    if (text.len > CC_RTDN_TIME_MAX) {
        return 0;
    }

    for (i = 0; i < text.len; i++) {

        if (text.data[i] < '0' || text.data[i] > '9') {
            return 0;
        }

        rtdn->event_ms = rtdn->event_ms * 10 + (text.data[i] - '0');
    }

    return rtdn->event_ms > 0;
}


static const char *
cc_rtdn_fields(cc_rtdn_t *rtdn, const cJSON *fields,
    const cc_rtdn_member_t *member)
{
    if (member->token
        && (!cc_claim_string(fields, "purchaseToken", &rtdn->purchase_token)
            || !cc_claim_shaped(rtdn->purchase_token, "-_.~+/=",
                                CC_RTDN_TOKEN_MAX)))
    {
        return "the notification has no purchaseToken";
    }

    if (member->order
        && (!cc_claim_string(fields, "orderId", &rtdn->order_id)
            || !cc_claim_shaped(rtdn->order_id, "-_.", CC_RTDN_ORDER_MAX)))
    {
        return "the notification has no orderId";
    }

    if ((member->type != NULL
         && !cc_claim_whole(fields, member->type, &rtdn->type))
        || (member->product != NULL
            && !cc_claim_whole(fields, member->product, &rtdn->product_type)))
    {
        return "the notification does not say of which type it is";
    }

    return NULL;
}

/*
 * Do our reader and cJSON read one body the same way?
 *
 * cJSON builds the tree first; then our reader hands out bets and coupons one
 * by one, and each is looked up in the tree.  The sentence of the first
 * difference is kept, and counts only if our reader takes the body in the end:
 * of what it refuses nothing is promised.
 */

#ifndef CC_ENVELOPE_TWIN_H
#define CC_ENVELOPE_TWIN_H

#include "envelope_unit.h"
#include "json_walk.h"


/* without the fix of CVE-2023-26819 cJSON refuses longer numbers, if valid */
#define TWIN_NUMBER_MAX  63

typedef struct {
    cJSON        *coupons;
    int           coupon;       /* index of the coupon being read */
    int           event;        /* index of its next bet */
    const char   *difference;
} twin_t;

typedef enum {
    TWIN_REFUSED = 0,
    TWIN_AGREES,
    TWIN_DIFFERS,
    TWIN_UNKNOWN                /* beyond what cJSON can read */
} twin_e;


static TAP_UNUSED cJSON *
twin_get(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}


static int TAP_UNUSED
twin_same_text(cc_str_t s, const cJSON *item)
{
    return cJSON_IsString(item) && cc_str_is(s, item->valuestring);
}


/* a slice of the body must be the object that stands in the tree */
static int TAP_UNUSED
twin_same_object(cc_str_t raw, const cJSON *object)
{
    int     same;
    char   *a, *b;
    cJSON  *again = cJSON_ParseWithLength((const char *) raw.data, raw.len);

    a = cJSON_PrintUnformatted(again);
    b = cJSON_PrintUnformatted(object);

    same = a && b && strcmp(a, b) == 0 && raw.data[0] == '{'
           && raw.data[raw.len - 1] == '}';

    cJSON_free(a);
    cJSON_free(b);
    cJSON_Delete(again);

    return same;
}


static int TAP_UNUSED
twin_same_money(cc_money_t m, const cJSON *item)
{
    char        buf[CC_MONEY_TEXT];
    cc_money_t  other;

    if (cJSON_IsNumber(item)) {
        (void) cc_money_format(buf, m);
        return strtod(buf, NULL) >= item->valuedouble
               && strtod(buf, NULL) <= item->valuedouble;
    }

    return cJSON_IsString(item)
           && cc_money_parse(&other, unit_cstr(item->valuestring),
                             CC_MONEY_STRING_DIGITS) == 0
           && cc_money_compare(m, other) == 0;
}


static int TAP_UNUSED
twin_same_whole(int64_t n, const cJSON *item)
{
    return cJSON_IsNumber(item) && (double) n >= item->valuedouble
           && (double) n <= item->valuedouble;
}


static int TAP_UNUSED
twin_same_uuid(cc_str_t uuid, const cJSON *item)
{
    char  digits[TWIN_NUMBER_MAX + 1];

    if (!cJSON_IsNumber(item)) {
        return twin_same_text(uuid, item);
    }

    (void) snprintf(digits, sizeof(digits), "%.*s", (int) uuid.len,
                    (const char *) uuid.data);

    return strtod(digits, NULL) >= item->valuedouble
           && strtod(digits, NULL) <= item->valuedouble;
}


static int TAP_UNUSED
twin_event(void *ctx, const cc_event_t *event)
{
    twin_t  *twin = ctx;
    cJSON   *coupon = cJSON_GetArrayItem(twin->coupons, twin->coupon);
    cJSON   *events = twin_get(coupon, "events_data");
    cJSON   *item = cJSON_GetArrayItem(events, twin->event++);

    if (!twin_same_uuid(event->uuid, twin_get(item, "uuid"))) {
        twin->difference = "the uuid of a bet";
    }

    if (event->has_status
        && !twin_same_whole(event->status, twin_get(item, "status")))
    {
        twin->difference = "the status of a bet";
    }

    if (!twin_same_object(event->raw, item)) {
        twin->difference = "the raw text of a bet";
    }

    return 0;
}


static int TAP_UNUSED
twin_coupon(void *ctx, const cc_coupon_t *coupon)
{
    int      events;
    twin_t  *twin = ctx;
    cJSON   *item = cJSON_GetArrayItem(twin->coupons, twin->coupon++);
    cJSON   *win = twin_get(item, "real_win");

    win = win && !cJSON_IsNull(win) ? win : twin_get(item, "realWin");
    events = cJSON_GetArraySize(twin_get(item, "events_data"));

    if (!twin_same_text(coupon->coupon_code, twin_get(item, "coupon_code"))) {
        twin->difference = "a coupon_code";
    }

    if (!twin_same_whole(coupon->status, twin_get(item, "status"))) {
        twin->difference = "the status of a coupon";
    }

    if (coupon->has_real_win ? !twin_same_money(coupon->real_win, win)
                             : win && !cJSON_IsNull(win))
    {
        twin->difference = "a real_win";
    }

    if (twin->event != events) {
        twin->difference = "the number of bets";
    }

    if (!twin_same_object(coupon->raw, item)) {
        twin->difference = "the raw text of a coupon";
    }

    twin->event = 0;

    return 0;
}


/* *what, if it differs, is the sentence that says in what */
static twin_e TAP_UNUSED
twin_read(cc_json_t *reader, cc_str_t text, const char **what)
{
    int                    unreadable;
    cJSON                 *tree;
    twin_t                 twin;
    json_walk_t            walk;
    const char            *error;
    cc_envelope_t          read;
    cc_envelope_sink_t     sink = { twin_event, twin_coupon, NULL, NULL };
    cc_envelope_status_e   status;

    error = json_walk(reader, text, &walk);
    tree = cJSON_ParseWithLength((const char *) text.data, text.len);

    memset(&twin, 0, sizeof(twin));
    twin.coupons = twin_get(tree, "coupons");
    sink.ctx = &twin;

    status = cc_envelope_read(&read, reader, text, &shape_rules, &sink);

    if (status == CC_ENVELOPE_OK) {

        if (error != NULL) {
            twin.difference = "text that is no JSON";

        } else if (tree == NULL) {
            twin.difference = "text that cJSON refuses";

        } else if (!twin_same_text(unit_str(read.id, read.id_len),
                                   twin_get(tree, "batchId")))
        {
            twin.difference = "the batch id";

        } else if (!twin_same_whole(read.count, twin_get(tree, "couponCount"))
                   || cJSON_GetArraySize(twin.coupons) != (int) read.count
                   || twin.coupon != (int) read.count)
        {
            twin.difference = "the number of coupons";
        }
    }

    unreadable = error == NULL && tree == NULL
                 && walk.longest_number > TWIN_NUMBER_MAX;

    cJSON_Delete(tree);
    *what = twin.difference;

    return unreadable ? TWIN_UNKNOWN
           : status != CC_ENVELOPE_OK ? TWIN_REFUSED
           : twin.difference ? TWIN_DIFFERS : TWIN_AGREES;
}


#endif /* CC_ENVELOPE_TWIN_H */

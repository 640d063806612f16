/*
 * Whole stories: what Apple and Google deliver, verified by their providers,
 * known again by their ids, read and settled, with the tables in memory.  Where
 * a story may be told in any order it is told in every order, and ends the
 * same.
 */

#include "apple.h"
#include "google.h"
#include "refund.h"
#include "store_event.h"
#include "store_unit.h"


#define MOST  64                    /* rows of any table */
#define DELIVERIES  8


/* one delivery, as far as it can be prepared */
typedef struct {
    const cJSON      *json;
    const char       *source;
    cc_verdict_e      verdict;
    cc_delivery_t     delivery;
    cc_store_event_t  event;
} told_t;

typedef struct {
    const char       *source;
    const char       *key;
    cc_refund_state_t state;        /* the purchase's or the transaction's */
} row_t;

typedef struct {
    const told_t           *by;
    cc_refund_operation_t   operation;
} effect_t;

/* what the tables hold */
typedef struct {
    const told_t  *seen[MOST];
    unsigned       nseen;
    unsigned       quarantined;
    row_t          purchases[MOST];
    unsigned       npurchases;
    row_t          transactions[MOST];
    unsigned       ntransactions;
    effect_t       effects[MOST];
    unsigned       neffects;
    const told_t  *requests[MOST];
    unsigned       nrequests;
} world_t;


static cc_json_t   *json;
static cc_apple_t   apple;
static cc_google_t  google;
static char         bearer[2048];
static char         wrong[200];     /* the first thing that was */


static const cJSON *
item(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}


static int64_t
number(const cJSON *object, const char *name)
{
    int64_t  n;

    (void) cc_claim_whole(object, name, &n);

    return n;
}


static void
complain(const char *what, const char *about)
{
    if (wrong[0] == '\0') {
        (void) snprintf(wrong, sizeof(wrong), "%s: %s", about, what);
    }
}


/* --- the tables ---------------------------------------------------------- */


static int
same_event(const told_t *a, const told_t *b)
{
    return strcmp(a->source, b->source) == 0
           && a->delivery.id_len == b->delivery.id_len
           && memcmp(a->delivery.id, b->delivery.id, a->delivery.id_len) == 0
           && a->delivery.scope_len == b->delivery.scope_len
           && memcmp(a->delivery.scope, b->delivery.scope,
                     a->delivery.scope_len) == 0;
}


static row_t *
row_of(row_t *rows, unsigned *n, const char *source, const char *key)
{
    unsigned  i;

    for (i = 0; i < *n; i++) {
        if (strcmp(rows[i].source, source) == 0
            && strcmp(rows[i].key, key) == 0)
        {
            return &rows[i];
        }
    }

    memset(&rows[i], 0, sizeof(row_t));
    rows[i].source = source;
    rows[i].key = key;
    (*n)++;

    return &rows[i];
}


static void
add_effect(world_t *w, const told_t *by, const cc_refund_operation_t *operation)
{
    unsigned  i;

    for (i = 0; i < w->neffects; i++) {
        if (strcmp(w->effects[i].by->source, by->source) == 0
            && strcmp(w->effects[i].by->event.transaction_key,
                      by->event.transaction_key) == 0
            && w->effects[i].operation.effect == operation->effect
            && w->effects[i].operation.generation == operation->generation)
        {
            complain("one operation key twice", by->event.kind);
        }
    }

    w->effects[w->neffects].by = by;
    w->effects[w->neffects++].operation = *operation;
}


static void
settle(world_t *w, const told_t *told, const cc_refund_event_t *event)
{
    row_t              *purchase, *transaction;
    unsigned            i;
    cc_refund_t         out;
    cc_refund_state_t   state;

    purchase = row_of(w->purchases, &w->npurchases, told->source,
                      told->event.purchase_key);
    transaction = row_of(w->transactions, &w->ntransactions, told->source,
                         told->event.transaction_key);

    state = transaction->state;
    state.access = purchase->state.access;
    state.access_as_of = purchase->state.access_as_of;

    cc_refund(&out, &state, event);

    transaction->state = out.next;
    purchase->state = out.next;

    for (i = 0; i < out.noperations; i++) {
        add_effect(w, told, &out.operations[i]);
    }
}


/* --- telling a story ------------------------------------------------------ */


/* 1 if it was new */
static int
tell(world_t *w, const told_t *told, int64_t quantity, int64_t refundable)
{
    unsigned            i;
    cc_refund_event_t   stated;

    if (told->verdict == CC_VERDICT_UNUSABLE) {
        w->quarantined++;
        return 1;
    }

    if (told->verdict != CC_VERDICT_ACCEPTED) {
        return 0;
    }

    for (i = 0; i < w->nseen; i++) {
        if (same_event(w->seen[i], told)) {
            return 0;
        }
    }

    w->seen[w->nseen++] = told;
    settle(w, told, &told->event.event);

    if (told->event.event.request == CC_REQUEST_UNITS) {

        /* somebody asks the store how many are left, and states it */

        cc_stated_event(&stated, told->event.event.time, (unsigned)
            ((CC_REFUND_ALL * (quantity - refundable) + quantity / 2)
             / quantity));
        settle(w, told, &stated);

    } else if (told->event.event.request != CC_REQUEST_NONE) {
        w->requests[w->nrequests++] = told;
    }

    return 1;
}


static void
sums(const world_t *w, const cJSON *purchase, int64_t *coins, int64_t *payout)
{
    int64_t                       *sum, n;
    unsigned                       i;
    const cc_refund_operation_t   *o;

    *coins = 0;
    *payout = 0;

    for (i = 0; i < w->neffects; i++) {
        o = &w->effects[i].operation;

        if (!cc_claim_is(purchase, "provider",
                         unit_cstr(w->effects[i].by->source))
            || !cc_claim_is(purchase, "purchase_key",
                            unit_cstr(w->effects[i].by->event.transaction_key))
            || o->effect == CC_EFFECT_REVOKE_ACCESS
            || o->effect == CC_EFFECT_RESTORE_ACCESS)
        {
            continue;
        }

        sum = o->effect == CC_EFFECT_DEBIT_BALANCE ? coins : payout;
        n = o->effect == CC_EFFECT_DEBIT_BALANCE
            ? number(purchase, "granted_coins")
            : number(item(purchase, "payout"), "amount_milli");
        *sum -= cc_refund_share(n, o->fraction_to)
                - cc_refund_share(n, o->fraction_from);
    }
}


static void
check_purchase(world_t *w, const cJSON *story, const cJSON *want)
{
    int64_t       coins, payout;
    const char   *state;
    const cJSON  *purchase, *found = NULL;

    cJSON_ArrayForEach(purchase, item(story, "purchases")) {
        if (cc_claim_is(purchase, "purchase_key",
                        store_text(want, "purchase_key"))
            && cc_claim_is(purchase, "provider", store_text(want, "provider")))
        {
            found = purchase;
        }
    }

    sums(w, found, &coins, &payout);

    if (coins != number(want, "balance_delta")) {
        complain("the balance", unit_member(want, "purchase_key"));
    }

    if (payout != number(want, "payout_delta_milli")) {
        complain("the payout", unit_member(want, "purchase_key"));
    }

    if (cJSON_IsString(item(want, "entitlement"))) {
        state = row_of(w->purchases, &w->npurchases,
                       unit_member(found, "provider"),
                       unit_member(found, "group_key"))->state.access
                == CC_ACCESS_REVOKED ? "revoked" : "active";

        if (strcmp(state, unit_member(want, "entitlement")) != 0) {
            complain("access", unit_member(want, "purchase_key"));
        }
    }
}


static void
check_requests(const world_t *w, const cJSON *cases)
{
    unsigned      i;
    const cJSON  *want;

    if ((unsigned) cJSON_GetArraySize(cases) != w->nrequests) {
        complain("how many requests are open", "requests");
        return;
    }

    cJSON_ArrayForEach(want, cases) {
        for (i = 0; i < w->nrequests; i++) {
            if (cc_claim_is(want, "event_key",
                            unit_str(w->requests[i]->delivery.id,
                                     w->requests[i]->delivery.id_len))
                && cc_refund_deadline(&w->requests[i]->event.event, INT64_MAX)
                   == number(want, "deadline_ms"))
            {
                break;
            }
        }

        if (i == w->nrequests) {
            complain("its deadline", unit_member(want, "event_key"));
        }
    }
}


/* given: in the order of the story, where each step has its own expectations */
static void
play(const cJSON *story, told_t *told, const unsigned *order, unsigned n,
    int given)
{
    int           is_new;
    int64_t       coins, payout, quantity;
    world_t       w;
    unsigned      i;
    const cJSON  *want, *step, *purchase;

    memset(&w, 0, sizeof(w));
    purchase = cJSON_GetArrayItem(item(story, "purchases"), 0);
    quantity = number(purchase, "quantity");
    want = item(item(story, "expect"), "per_purchase");
    step = item(cJSON_GetArrayItem(want, 0), "after_each");

    for (i = 0; i < n; i++) {
        is_new = tell(&w, &told[order[i]], quantity,
                      number(cJSON_GetArrayItem(item(story, "store_api"),
                                                (int) i),
                             "refundableQuantity"));

        if (given && is_new != cJSON_IsTrue(item(told[order[i]].json,
                                                 "new_event")))
        {
            complain("whether it was new", told[order[i]].event.kind);
        }

        if (given && step != NULL) {
            sums(&w, purchase, &coins, &payout);

            if (coins != cJSON_GetArrayItem(cJSON_GetArrayItem(step, (int) i),
                                            0)->valueint
                || payout != cJSON_GetArrayItem(
                                 cJSON_GetArrayItem(step, (int) i),
                                 1)->valueint)
            {
                complain("a running total", told[order[i]].event.kind);
            }
        }
    }

    if (w.nseen + w.quarantined
        != (unsigned) number(item(story, "expect"), "events_stored"))
    {
        complain("how many are stored", "events");
    }

    cJSON_ArrayForEach(step, want) {
        check_purchase(&w, story, step);
    }

    check_requests(&w, item(item(story, "expect"), "cases"));
}


/* the next order of the deliveries, or 0 after the last one */
static int
next_order(unsigned *order, unsigned n)
{
    unsigned  i, k, swap;

    for (i = n - 1; i > 0 && order[i - 1] >= order[i]; i--) { /* void */ }

    if (i == 0) {
        return 0;
    }

    for (k = n - 1; order[k] <= order[i - 1]; k--) { /* void */ }

    swap = order[i - 1];
    order[i - 1] = order[k];
    order[k] = swap;

    for (k = n - 1; i < k; i++, k--) {
        swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }

    return 1;
}


/* --- a story out of its JSON ---------------------------------------------- */


static void
prepare(told_t *told, const cJSON *delivery, int64_t now)
{
    cc_str_t        body;
    const char     *error = NULL;
    cc_callback_t   callback;

    memset(told, 0, sizeof(told_t));
    told->json = delivery;
    body = unit_base64(unit_member(delivery, "body_b64"));

    memset(&callback, 0, sizeof(callback));
    callback.body = body;
    callback.signature = unit_cstr(bearer);
    callback.now_ms = now;

    if (strcmp(unit_member(delivery, "provider"), "apple") == 0) {
        told->source = "apple";

        if (number(delivery, "signed_ms") > now) {
            callback.now_ms = number(delivery, "signed_ms");
        }

        told->verdict = cc_apple.verify(&apple, &callback, &told->delivery);

        if (told->verdict == CC_VERDICT_ACCEPTED) {
            error = cc_apple_event(&told->event, json, body);
        }

    } else {
        told->source = "google";
        told->verdict = cc_google.verify(&google, &callback, &told->delivery);

        if (told->verdict == CC_VERDICT_ACCEPTED) {
            error = cc_google_event(&told->event, json,
                                    unit_str(told->delivery.id,
                                             told->delivery.id_len), body);
        }
    }

    if (error != NULL) {
        complain(error, "unreadable");
    }

    unit_free(body);
}


static void
check_story(const cJSON *story, int64_t now)
{
    told_t        told[DELIVERIES];
    unsigned      n = 0, orders = 1, order[DELIVERIES];
    const cJSON  *delivery;

    wrong[0] = '\0';

    cJSON_ArrayForEach(delivery, item(story, "deliveries")) {
        order[n] = n;
        prepare(&told[n++], delivery, now);
    }

    play(story, told, order, n, 1);

    if (cJSON_IsTrue(item(story, "any_order"))) {
        for ( /* void */ ; next_order(order, n); orders++) {
            play(story, told, order, n, 0);
        }
    }

    ok(wrong[0] == '\0', "%s, %u orders", unit_member(story, "id"), orders);

    if (wrong[0] != '\0') {
        diag("%s", wrong);
    }
}


/* what has no story: too little, too much, less than nothing */
static void
check_parked(void)
{
    cJSON             *tree = store_vectors("apple.json");
    cc_str_t           body;
    const char        *id, *error;
    const cJSON       *test;
    cc_store_event_t   event;

    cJSON_ArrayForEach(test, item(tree, "cases")) {
        id = unit_member(test, "id");
        body = unit_base64(unit_member(test, "body_b64"));

        if (strcmp(id, "nested-refund-no-revocation-date") == 0
            || strcmp(id, "nested-percentage-negative") == 0)
        {
            error = cc_apple_event(&event, json, body);
            ok(error != NULL && strstr(error, "revocation") != NULL,
               "%s waits for a person", id);

        } else if (strcmp(id, "nested-percentage-range") == 0) {
            ok(cc_apple_event(&event, json, body) == NULL
               && event.event.fraction == CC_REFUND_ALL,
               "%s is all of it", id);

        } else if (strcmp(id, "ok-refund-legacy") == 0) {
            ok(cc_apple_event(&event, json, body) == NULL
               && event.event.fraction == CC_REFUND_ALL
               && event.event.has_price && event.event.price_milli == 49990
               && strcmp(event.currency, "USD") == 0, "%s is all of it", id);

        } else if (strcmp(id, "ok-test") == 0
                   || strcmp(id, "ok-summary") == 0)
        {
            ok(cc_apple_event(&event, json, body) == NULL
               && !event.event.has_fraction
               && event.event.access == CC_ACCESS_UNKNOWN
               && event.transaction_key[0] == '\0', "%s moves nothing", id);
        }

        unit_free(body);
    }

    cJSON_Delete(tree);
}


static void
configure(const cJSON *stores, const cJSON *pushes, const cJSON *config)
{
    char         *text;
    const char   *reason;
    const cJSON  *c = item(config, "apple");

    apple.json = json;
    apple.roots = cc_x5c_create(store_text(cJSON_GetArrayItem(item(stores,
                                                      "roots"), 0), "pem"),
                                &reason);
    apple.bundle_id = store_text(c, "bundle_id");
    apple.app_apple_id = number(c, "app_apple_id");
    apple.environment = CC_APPLE_PRODUCTION;

    c = item(config, "google");
    text = cJSON_PrintUnformatted(item(pushes, "jwks"));
    google.json = json;
    google.keys = cc_jwks_create(json, unit_cstr(text), &reason);
    google.audience = store_text(c, "audience");
    google.email = store_text(c, "email");
    google.subscription = store_text(c, "subscription");
    google.package = store_text(c, "package_name");
    cJSON_free(text);

    (void) snprintf(bearer, sizeof(bearer), "Bearer %s",
                    unit_member(pushes, "good_token"));
}


int
main(void)
{
    cJSON        *stories = store_vectors("scenarios.json");
    cJSON        *stores = store_vectors("apple.json");
    cJSON        *pushes = store_vectors("google.json");
    const cJSON  *story;

    json = cc_json_create(1);
    configure(stores, pushes, item(stories, "config"));

    cJSON_ArrayForEach(story, item(stories, "scenarios")) {
        check_story(story, number(stories, "now_ms"));
    }

    check_parked();

    cc_x5c_destroy(apple.roots);
    cc_jwks_destroy(google.keys);
    cc_json_destroy(json);
    cJSON_Delete(stories);
    cJSON_Delete(stores);
    cJSON_Delete(pushes);

    return done_testing();
}

/*
 * One notification, its rows; see refunds.h.
 *
 * The notification's row comes first: its key makes a delivery that is taken
 * twice settle once, whatever Redis remembered.  Then purchase and transaction
 * are held, the machine says what becomes of them, and the operations are
 * written.  Everything that can be wrong with a notification is found before
 * the first row.
 */

#include <stdio.h>

#include "clock.h"
#include "counters.h"
#include "log.h"
#include "refunds.h"
#include "store_refund.h"


#define CS_REFUNDS_ID_MAX   (CC_STORE_KEY_MAX + 300)
#define CS_REFUNDS_KEY_MAX  (CC_STORE_KEY_MAX + 64)


typedef struct {
    cs_store_t                *store;
    const cs_conf_t           *conf;
    const char                *source;
    const cc_store_event_t    *event;
    cc_refund_state_t          state;
    char                       purchase[CC_STORE_KEY_MAX + 1];
    unsigned                   operations;
} cs_refunds_t;


static void cs_refunds_log(const cs_refunds_t *r, const char *id);
static cs_status_e cs_refunds_register(const cs_refunds_t *r, const char *id,
    const cc_message_t *message);
static cs_status_e cs_refunds_request(const cs_refunds_t *r, const char *id,
    int64_t received);
static cs_status_e cs_refunds_apply(cs_refunds_t *r, const char *id);
static cs_status_e cs_refunds_hold(cs_refunds_t *r);
static void cs_refunds_purchase(void *ctx, const cc_str_t *columns);
static void cs_refunds_transaction(void *ctx, const cc_str_t *columns);
static cs_status_e cs_refunds_save(cs_refunds_t *r, const cc_refund_t *out);
static cs_status_e cs_refunds_operation(cs_refunds_t *r,
    const cc_refund_operation_t *operation);
static void cs_refunds_copy(char *to, size_t size, cc_str_t text);


static const char *const  cs_refunds_sources[] = { "apple", "google" };


unsigned
cs_refunds_source(cc_str_t source)
{
    return cc_str_is(source, cs_refunds_sources[0])
           || cc_str_is(source, cs_refunds_sources[1]);
}


cs_status_e
cs_refunds_settle(cs_store_t *store, const cs_conf_t *conf, cc_json_t *json,
    const cc_message_t *message, const char **reason)
{
    char               id[CS_REFUNDS_ID_MAX];
    unsigned           google;
    cs_status_e        status;
    cs_refunds_t       r;
    cc_store_event_t   event;

    google = cc_str_is(message->source, cs_refunds_sources[1]);

    *reason = google ? cc_google_event(&event, json, message->id,
                                       message->body)
                     : cc_apple_event(&event, json, message->body);

    if (*reason == cc_json_no_memory) {
        cs_no_memory();
    }

    /* Google's are unique for a subscription, Apple's everywhere */

    (void) snprintf(id, sizeof(id), "%s%s%s", event.scope,
                    event.scope[0] ? ":" : "", event.id);

    /* an unwrapped push stands in the inbox under the whole of it */

    if (*reason == NULL
        && (event.id[0] == '\0'
            || (message->id.len && !cc_str_is(message->id, event.id)
                && !cc_str_is(message->id, id))))
    {
        *reason = "the id of the inbox entry is not that of the body";
    }

    if (*reason != NULL) {
        return CS_REFUSED;
    }

    memset(&r, 0, sizeof(cs_refunds_t));

    r.store = store;
    r.conf = conf;
    r.source = cs_refunds_sources[google];
    r.event = &event;

    status = cs_refunds_register(&r, id, message);

    if (status == CS_NONE) {
        cs_count(CS_COUNT_NOTE_REPEATED, 1);

        cs_log(CS_LOG_INFO, cs_msg("notification was settled already"),
               cs_text("source", r.source), cs_text("notification", id));
        return CS_OK;
    }

    if (status == CS_OK) {
        status = cs_refunds_request(&r, id, message->received);
    }

    if (status == CS_OK) {
        status = cs_refunds_apply(&r, id);
    }

    if (status == CS_OK) {
        cs_count(CS_COUNT_NOTE_SETTLED, 1);
        cs_refunds_log(&r, id);
    }

    return status;
}


/* without an order the key is the purchase's token, and none is in a log */

static void
cs_refunds_log(const cs_refunds_t *r, const char *id)
{
    unsigned                 token;
    const cc_store_event_t  *event = r->event;

    token = r->source == cs_refunds_sources[1]
            && strcmp(event->transaction_key, event->purchase_key) == 0;

    cs_log(CS_LOG_INFO, cs_msg("notification settled"),
           cs_text("source", r->source), cs_text("notification", id),
           cs_text("kind", event->kind),
           cs_text("transaction", token ? "" : event->transaction_key),
           cs_number("operations", r->operations));
}


static cs_status_e
cs_refunds_register(const cs_refunds_t *r, const char *id,
    const cc_message_t *message)
{
    return cs_store_refund(r->store, CS_REFUND_NOTE_ADD,
                           cs_refund_values(cs_refund_text(r->source),
                               cs_refund_text(id),
                               cs_refund_text(r->event->kind),
                               cs_refund_text(r->event->purchase_key),
                               cs_refund_text(r->event->transaction_key),
                               cs_refund_number(r->event->event.time),
                               cs_refund_number(message->received)),
                           NULL, NULL);
}


static cs_status_e
cs_refunds_request(const cs_refunds_t *r, const char *id, int64_t received)
{
    const cc_refund_event_t  *event = &r->event->event;

    if (event->request == CC_REQUEST_NONE) {
        return CS_OK;
    }

    return cs_store_refund(r->store, CS_REFUND_REQUEST_ADD,
                           cs_refund_values(cs_refund_text(r->source),
                               cs_refund_text(id),
                               cs_refund_text(cc_request_name(event->request)),
                               cs_refund_text(r->event->transaction_key),
                               cs_refund_number(cc_refund_deadline(event,
                                                                received))),
                           NULL, NULL);
}


static cs_status_e
cs_refunds_apply(cs_refunds_t *r, const char *id)
{
    cc_refund_t               out;
    cs_status_e               status;
    const cc_refund_event_t  *event = &r->event->event;

    /* a part whose size is still to be stated belongs to somebody already */

    if (!event->has_fraction && event->access == CC_ACCESS_UNKNOWN
        && event->request != CC_REQUEST_UNITS)
    {
        return CS_OK;
    }

    status = cs_refunds_hold(r);

    if (status != CS_OK) {
        return status;
    }

    cc_refund(&out, &r->state, event);

    if (out.stale && id != NULL) {
        status = cs_store_refund(r->store, CS_REFUND_NOTE_STALE,
                                 cs_refund_values(cs_refund_text(r->source),
                                     cs_refund_text(id)), NULL, NULL);
    }

    return status == CS_OK ? cs_refunds_save(r, &out) : status;
}


/* both rows, made where they are missing */

static cs_status_e
cs_refunds_hold(cs_refunds_t *r)
{
    cs_status_e         status;
    cs_refund_value_t   source, purchase, transaction;

    source = cs_refund_text(r->source);
    purchase = cs_refund_text(r->event->purchase_key);
    transaction = cs_refund_text(r->event->transaction_key);

    status = cs_store_refund(r->store, CS_REFUND_PURCHASE_ADD,
                             cs_refund_values(source, purchase), NULL, NULL);

    if (status == CS_OK || status == CS_NONE) {
        status = cs_store_refund(r->store, CS_REFUND_PURCHASE,
                                 cs_refund_values(source, purchase),
                                 cs_refunds_purchase, r);
    }

    if (status == CS_OK) {
        status = cs_store_refund(r->store, CS_REFUND_TRANSACTION_ADD,
                                 cs_refund_values(source, transaction,
                                                  purchase), NULL, NULL);
    }

    if (status == CS_OK || status == CS_NONE) {
        status = cs_store_refund(r->store, CS_REFUND_TRANSACTION,
                                 cs_refund_values(source, transaction),
                                 cs_refunds_transaction, r);
    }

    return status;
}


static void
cs_refunds_purchase(void *ctx, const cc_str_t *columns)
{
    cs_refunds_t  *r = ctx;

    r->state.access = cc_str_is(columns[0], "revoked") ? CC_ACCESS_REVOKED
                                                       : CC_ACCESS_GRANTED;
    r->state.access_as_of = cs_refund_whole(columns[1]);
}


static void
cs_refunds_transaction(void *ctx, const cc_str_t *columns)
{
    cs_refunds_t  *r = ctx;

    r->state.refunded = (unsigned) cs_refund_whole(columns[0]);
    r->state.refunded_as_of = cs_refund_whole(columns[1]);
    r->state.generation = (unsigned) cs_refund_whole(columns[2]);

    cs_refunds_copy(r->purchase, sizeof(r->purchase), columns[3]);
}


static cs_status_e
cs_refunds_save(cs_refunds_t *r, const cc_refund_t *out)
{
    unsigned           i;
    cs_status_e        status;
    cs_refund_value_t  source;

    source = cs_refund_text(r->source);

    status = cs_store_refund(r->store, CS_REFUND_PURCHASE_SAVE,
                             cs_refund_values(source,
                                 cs_refund_text(r->event->purchase_key),
                                 cs_refund_text(cc_access_name(
                                     out->next.access)),
                                 cs_refund_number(out->next.access_as_of)),
                             NULL, NULL);

    if (status == CS_OK) {
        status = cs_store_refund(r->store, CS_REFUND_TRANSACTION_SAVE,
                                 cs_refund_values(source,
                                     cs_refund_text(r->event->transaction_key),
                                     cs_refund_number(out->next.refunded),
                                     cs_refund_number(
                                         out->next.refunded_as_of),
                                     cs_refund_number(out->next.generation)),
                                 NULL, NULL);
    }

    for (i = 0; i < out->noperations && status == CS_OK; i++) {
        status = cs_refunds_operation(r, &out->operations[i]);
    }

    return status;
}


static cs_status_e
cs_refunds_operation(cs_refunds_t *r, const cc_refund_operation_t *operation)
{
    char               key[CS_REFUNDS_KEY_MAX], text[CC_MONEY_TEXT];
    const char        *kind;
    cs_refund_value_t  amount, currency;

    if ((r->conf->effects & 1u << operation->effect) == 0) {
        return CS_OK;
    }

    r->operations++;
    cs_count(CS_COUNT_REFUND + operation->effect, 1);

    kind = cc_effect_name(operation->effect);

    (void) snprintf(key, sizeof(key), "%s:%s:%s:%u", r->source,
                    r->event->transaction_key, kind, operation->generation);

    amount = cs_refund_null();
    currency = cs_refund_null();

    if (operation->has_amount) {
        (void) cc_money_format(text, operation->amount);
        amount = cs_refund_text(text);
        currency = cs_refund_text(r->event->currency);
    }

    return cs_store_refund(r->store, CS_REFUND_OPERATION_ADD,
                           cs_refund_values(cs_refund_text(key),
                               cs_refund_text(r->source),
                               cs_refund_text(r->event->transaction_key),
                               cs_refund_text(kind),
                               cs_refund_number(operation->fraction_from),
                               cs_refund_number(operation->fraction_to),
                               amount, currency,
                               cs_refund_number(cs_now())),
                           NULL, NULL);
}


cs_status_e
cs_refunds_state(cs_store_t *store, const cs_conf_t *conf, const char *source,
    const char *transaction, unsigned fraction)
{
    int64_t            now;
    cs_status_e        status;
    cs_refunds_t       r;
    cc_store_event_t   event;

    now = cs_now();

    memset(&event, 0, sizeof(cc_store_event_t));
    memset(&r, 0, sizeof(cs_refunds_t));

    r.store = store;
    r.conf = conf;
    r.source = source;
    r.event = &event;

    status = cs_store_refund(store, CS_REFUND_TRANSACTION,
                             cs_refund_values(cs_refund_text(source),
                                 cs_refund_text(transaction)),
                             cs_refunds_transaction, &r);

    if (status != CS_OK) {
        return status;
    }

    cc_stated_event(&event.event, now, fraction);
    cs_refunds_copy(event.purchase_key, sizeof(event.purchase_key),
                    cs_str_of(r.purchase));
    cs_refunds_copy(event.transaction_key, sizeof(event.transaction_key),
                    cs_str_of(transaction));

    status = cs_refunds_apply(&r, NULL);

    if (status == CS_OK) {
        status = cs_store_refund(store, CS_REFUND_UNITS_CLOSE,
                                 cs_refund_values(cs_refund_text(source),
                                     cs_refund_text(transaction),
                                     cs_refund_number(now)), NULL, NULL);
    }

    return status == CS_NONE ? CS_OK : status;
}


static void
cs_refunds_copy(char *to, size_t size, cc_str_t text)
{
    (void) snprintf(to, size, "%.*s", (int) text.len, text.data);
}

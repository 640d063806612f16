/*
 * What the tests of store.h share: opening a store, rows to write, and what was
 * seen of those that were read.  A failure of the world ends the program.
 */

#ifndef CS_STORE_TEST_UNIT_H
#define CS_STORE_TEST_UNIT_H

#include "store.h"
#include "tap.h"


typedef struct {
    unsigned           n;
    cs_coupon_t        coupon;
    char               texts[3][256];       /* code, doubt, raw */
    cc_event_t         event;
    cs_rejected_t      rejected;
    char               names[512];          /* one behind the other */
} seen_t;


static TAP_UNUSED cs_store_t *
opened(cs_store_conf_t *conf, const char *url, unsigned migrate)
{
    cs_store_t   *store;
    cs_status_e   status;

    if (cs_store_url(conf, url) != NULL) {
        diag("%s: no store", url);
        exit(2);
    }

    store = cs_store_create(conf, 2000);
    status = cs_store_open(store, migrate);

    if (status != CS_OK) {
        diag("%s: %d %s", url, status, cs_store_error(store));
        exit(2);
    }

    return store;
}


static cc_str_t TAP_UNUSED
str(const char *text)
{
    cc_str_t  s;

    s.data = (const unsigned char *) text;
    s.len = strlen(text);

    return s;
}


static cc_money_t TAP_UNUSED
money(const char *text)
{
    cc_money_t  m;

    if (cc_money_parse(&m, str(text), CC_MONEY_STRING_DIGITS) != 0) {
        exit(2);
    }

    return m;
}


static int TAP_UNUSED
same_money(cc_money_t m, const char *text)
{
    char  buf[CC_MONEY_TEXT];

    (void) cc_money_format(buf, m);

    return strcmp(buf, text) == 0;
}


static cs_coupon_t TAP_UNUSED
coupon(const char *code, cc_state_e state, const char *win)
{
    cs_coupon_t  c;

    memset(&c, 0, sizeof(cs_coupon_t));

    c.code = str(code);
    c.status = state == CC_STATE_FINAL ? 2 : 1;
    c.settled.state = state;
    c.raw = str("{\"status\": 1}");

    if (win) {
        c.has_real_win = 1;
        c.real_win = money(win);
    }

    return c;
}


static cs_operation_t TAP_UNUSED
operation(const char *code, cc_operation_kind_e kind, unsigned generation,
    const char *amount)
{
    cs_operation_t  o;

    memset(&o, 0, sizeof(cs_operation_t));

    o.code = str(code);
    o.operation.kind = kind;
    o.operation.generation = generation;
    o.operation.amount = money(amount);
    o.created_at = 1700000000001;
    o.batch_id = str("batch");

    return o;
}


static void TAP_UNUSED
see_coupon(void *ctx, const cs_coupon_t *c)
{
    seen_t  *seen = ctx;

    seen->n++;
    seen->coupon = *c;

    (void) snprintf(seen->texts[0], 256, "%.*s", (int) c->code.len,
                    (const char *) c->code.data);
    (void) snprintf(seen->texts[1], 256, "%s",
                    c->settled.doubt ? c->settled.doubt : "-");
    (void) snprintf(seen->texts[2], 256, "%.*s", (int) c->raw.len,
                    (const char *) c->raw.data);
    (void) snprintf(seen->names + strlen(seen->names),
                    sizeof(seen->names) - strlen(seen->names), "%s ",
                    seen->texts[0]);
}


static void TAP_UNUSED
see_event(void *ctx, const cc_event_t *event)
{
    seen_t  *seen = ctx;

    seen->n++;
    seen->event = *event;

    (void) snprintf(seen->names + strlen(seen->names),
                    sizeof(seen->names) - strlen(seen->names), "%.*s=%s%lld ",
                    (int) event->uuid.len, (const char *) event->uuid.data,
                    event->has_status ? "" : "none", (long long) event->status);
}


static void TAP_UNUSED
see_operation(void *ctx, const cs_operation_t *o)
{
    char     amount[CC_MONEY_TEXT];
    seen_t  *seen = ctx;

    seen->n++;
    (void) cc_money_format(amount, o->operation.amount);

    (void) snprintf(seen->names + strlen(seen->names),
                    sizeof(seen->names) - strlen(seen->names), "%u:%s:%s:%.*s ",
                    o->operation.generation,
                    cc_operation_name(o->operation.kind), amount,
                    (int) o->batch_id.len, (const char *) o->batch_id.data);
}


static void TAP_UNUSED
see_rejected(void *ctx, const cs_rejected_t *rejected)
{
    seen_t  *seen = ctx;

    seen->n++;
    seen->rejected = *rejected;

    (void) snprintf(seen->names + strlen(seen->names),
                    sizeof(seen->names) - strlen(seen->names),
                    "%.*s,%.*s,%.*s,%zu,%u ", (int) rejected->source.len,
                    (const char *) rejected->source.data,
                    (int) rejected->batch_id.len,
                    (const char *) rejected->batch_id.data,
                    (int) rejected->reason.len,
                    (const char *) rejected->reason.data,
                    rejected->body.len,
                    rejected->body.len > 2 ? rejected->body.data[2] : 0u);
}


static void TAP_UNUSED
see_version(void *ctx, cc_str_t code, int64_t version)
{
    seen_t  *seen = ctx;

    seen->n++;

    (void) snprintf(seen->names + strlen(seen->names),
                    sizeof(seen->names) - strlen(seen->names), "%.*s%s ",
                    (int) code.len, (const char *) code.data,
                    version > 0 ? "" : "?");
}


/* the coupon as it stands; n is 0 if there is none */

static seen_t TAP_UNUSED
look(cs_store_t *store, const char *code)
{
    seen_t       seen;
    cs_status_e  status;

    memset(&seen, 0, sizeof(seen_t));

    status = cs_store_coupon(store, str(code), see_coupon, &seen);

    if (status != (seen.n ? CS_OK : CS_NONE)) {
        ok(0, "coupon %s: %d %s", code, status, cs_store_error(store));
    }

    return seen;
}


static TAP_UNUSED const char *
operations(cs_store_t *store, const char *code)
{
    static seen_t  seen;
    cs_status_e    status;

    memset(&seen, 0, sizeof(seen_t));

    status = cs_store_operations(store, str(code), see_operation, &seen);

    if (status != (seen.n ? CS_OK : CS_NONE)) {
        ok(0, "operations of %s: %d %s", code, status, cs_store_error(store));
    }

    return seen.names;
}


static int TAP_UNUSED
batch(cs_store_t *store, const char *id, const char *digest, unsigned *same)
{
    cs_batch_t  b;

    b.id = str(id);
    b.received_at = 1700000000000;
    b.coupon_count = 1;
    b.digest = str(digest);

    return cs_store_batch(store, &b, same);
}


static void TAP_UNUSED
begin(cs_store_t *store)
{
    if (cs_store_begin(store, CS_WRITE) != CS_OK) {
        ok(0, "begin: %s", cs_store_error(store));
    }
}


static void TAP_UNUSED
commit(cs_store_t *store)
{
    if (cs_store_commit(store) != CS_OK) {
        ok(0, "commit: %s", cs_store_error(store));
        cs_store_rollback(store);
    }
}


static void TAP_UNUSED
save(cs_store_t *store, cs_coupon_t c)
{
    if (cs_store_coupon_save(store, &c) != CS_OK) {
        ok(0, "coupon_save: %s", cs_store_error(store));
    }
}


static void TAP_UNUSED
add(cs_store_t *store, cs_operation_t o)
{
    if (cs_store_operation_add(store, &o) != CS_OK) {
        ok(0, "operation_add: %s", cs_store_error(store));
    }
}


#endif /* CS_STORE_TEST_UNIT_H */

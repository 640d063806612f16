/*
 * coupon-settle rejected list|show|retry|drop: looks after what was kept aside.
 *
 * A retry settles the body through the worker, as if it had just arrived, and
 * takes it out of the quarantine only when it is settled: from the table in the
 * same transaction, from the stream after the commit.  A crash in between
 * leaves an entry whose next retry finds the batch settled.
 *
 * Of the stores nginx puts aside what it has found genuine, but of no use.  A
 * retry has to judge the rest of it as nginx would, and never settles what
 * nobody has verified; see cs_rejected_ours().
 */

#include <stdio.h>

#include "answers.h"
#include "buffer.h"
#include "clock.h"
#include "command.h"
#include "log.h"
#include "quarantine.h"
#include "refunds.h"
#include "worker.h"


typedef struct {
    const char  *name;
    unsigned     id;                 /* wants one */
    int        (*run)(cs_quarantine_t *q, const char *id);
} cs_rejected_command_t;

/* one delivery, copied out of the quarantine */
typedef struct {
    cc_message_t    message;
    cs_buffer_t     source;
    cs_buffer_t     id;
    cs_buffer_t     body;
    unsigned char   digest[CC_DIGEST_LEN];
} cs_retry_delivery_t;


static int cs_rejected_list(cs_quarantine_t *q, const char *id);
static int cs_rejected_show(cs_quarantine_t *q, const char *id);
static int cs_rejected_retry(cs_quarantine_t *q, const char *id);
static int cs_rejected_drop(cs_quarantine_t *q, const char *id);
static cs_status_e cs_rejected_settle(cs_quarantine_t *q, cs_worker_t *worker,
    const char *id);
static const char *cs_rejected_ours(const cs_quarantine_t *q,
    const cs_retry_delivery_t *d);
static unsigned cs_rejected_word(const char *words, const char *word);
static void cs_rejected_line(void *ctx, const cs_quarantined_t *item);
static void cs_rejected_column(cc_str_t value);
static void cs_rejected_all(void *ctx, const cs_quarantined_t *item);
static void cs_rejected_copy(void *ctx, const cs_quarantined_t *item);
static void cs_rejected_label(const char *label, cc_str_t value);


static const cs_rejected_command_t  cs_rejected_commands[] = {
    { "list", 0, cs_rejected_list },
    { "show", 1, cs_rejected_show },
    { "retry", 1, cs_rejected_retry },
    { "drop", 1, cs_rejected_drop },
    { NULL, 0, NULL }
};


int
cs_cmd_rejected(const cs_args_t *args)
{
    int                           failed;
    cs_status_e                   status;
    cs_quarantine_t               q;
    const cs_rejected_command_t  *command;

    for (command = cs_rejected_commands; command->name; command++) {
        if (strcmp(command->name, args->argv[0]) == 0) {
            break;
        }
    }

    if (command->name == NULL || args->argc != 1 + (int) command->id) {
        return cs_usage("usage: coupon-settle rejected list | show ID | "
                        "retry ID | drop ID -c FILE");
    }

    memset(&q, 0, sizeof(cs_quarantine_t));

    q.conf = &args->conf;
    q.redis.conf = &args->conf.redis;

    /* before the first run there is only the stream to look at */

    status = cs_find_store(args, &q.store);

    if (status != CS_OK && status != CS_NONE) {
        return 1;
    }

    failed = command->run(&q, args->argv[1]);

    cs_redis_close(&q.redis);

    if (q.store) {
        cs_store_destroy(q.store);
    }

    return failed;
}


static int
cs_rejected_list(cs_quarantine_t *q, const char *id)
{
    (void) id;

    if (cs_quarantine_list(q, cs_rejected_line, NULL) != CS_OK) {
        return cs_fail("%s", q->error);
    }

    return 0;
}


static int
cs_rejected_show(cs_quarantine_t *q, const char *id)
{
    if (cs_quarantine_find(q, id, cs_rejected_all, NULL) != CS_OK) {
        return cs_fail("%s", q->error);
    }

    return 0;
}


static int
cs_rejected_drop(cs_quarantine_t *q, const char *id)
{
    if (cs_quarantine_drop(q, id) != CS_OK) {
        return cs_fail("%s", q->error);
    }

    (void) printf("%s is dropped\n", id);

    return 0;
}


static int
cs_rejected_retry(cs_quarantine_t *q, const char *id)
{
    cs_status_e   status;
    cs_worker_t  *worker;

    if (q->store == NULL) {
        return cs_fail("there is no store yet (%s): \"run\" makes it",
                       q->conf->store.name);
    }

    worker = cs_worker_create(q->store, q->conf);

    cs_log_hold();

    status = cs_store_begin(q->store, CS_WRITE);

    if (status == CS_AGAIN) {
        (void) cs_fail("the store: %s", cs_store_error(q->store));

    } else {
        status = cs_rejected_settle(q, worker, id);
    }

    if (status == CS_OK) {
        cs_log_release();

    } else {
        cs_store_rollback(q->store);
        cs_log_discard();
    }

    cs_worker_destroy(worker);

    if (status != CS_OK) {
        return 1;
    }

    if (cs_quarantine_in_stream(id) && cs_quarantine_drop(q, id) != CS_OK) {
        return cs_fail("%s is settled, but still in the quarantine: %s", id,
                       q->error);
    }

    (void) printf("%s is settled, and no longer in the quarantine\n", id);

    return 0;
}


/* the part of a retry that is one transaction; says itself what is wrong */

static cs_status_e
cs_rejected_settle(cs_quarantine_t *q, cs_worker_t *worker, const char *id)
{
    const char          *reason;
    cs_status_e          status;
    cs_retry_delivery_t  d;

    memset(&d, 0, sizeof(cs_retry_delivery_t));

    status = cs_quarantine_find(q, id, cs_rejected_copy, &d);

    if (status != CS_OK) {
        (void) cs_fail("%s", q->error);
        return status;
    }

    reason = NULL;

    if (cc_str_is(d.message.source, CS_SOURCE_API)) {
        reason = "it is a coupon of the API, \"resolve CODE\" asks for it anew";

    } else if (cs_quarantine_in_stream(id)
               && cs_refunds_source(d.message.source))
    {
        reason = cs_rejected_ours(q, &d);
    }

    if (reason != NULL) {
        (void) cs_fail("%s stays in the quarantine: %s", id, reason);
        status = CS_NONE;

    } else {
        status = cs_worker_batch(worker, &d.message, NULL);
    }

    if (status == CS_REFUSED) {
        (void) cs_fail("%s stays in the quarantine: %s", id,
                       cs_worker_reason(worker));
    }

    if (status == CS_OK && !cs_quarantine_in_stream(id)) {
        status = cs_quarantine_drop(q, id);
    }

    if (status == CS_OK) {
        status = cs_store_commit(q->store);

        if (status == CS_REFUSED) {
            (void) cs_fail("%s stays in the quarantine: %s", id,
                           cs_store_error(q->store));
        }
    }

    if (status == CS_AGAIN) {
        (void) cs_fail("the store: %s", cs_store_error(q->store));
    }

    cs_buffer_free(&d.source);
    cs_buffer_free(&d.id);
    cs_buffer_free(&d.body);

    return status;
}


/*
 * NULL if an entry that nginx put aside may be settled: then Google has sent
 * it, for our subscription, with the id that it has, and it is about an app of
 * ours.  A notification of Apple's may be aside because what is signed inside
 * it is not: only nginx can tell, and as the body proves itself it can be asked
 * again at any time.
 */
static const char *
cs_rejected_ours(const cs_quarantine_t *q, const cs_retry_delivery_t *d)
{
    cc_json_t         *json;
    const char        *reason;
    cc_store_event_t   event;

    if (cc_str_is(d->message.source, "apple")) {
        return "send its body to nginx again, which alone can verify it";
    }

    if (d->message.id.len == 0) {
        return "it has no message id that nginx would take";
    }

    if (q->conf->package == NULL) {
        return "[google] package does not say which apps are yours";
    }

    json = cc_json_create((uint64_t) cs_now());
    if (json == NULL) {
        cs_no_memory();
    }

    reason = cc_google_event(&event, json, d->message.id, d->message.body);
    cc_json_destroy(json);

    if (reason == NULL && !cs_rejected_word(q->conf->package, event.package)) {
        reason = "it is of an app that [google] package does not name";
    }

    return reason;
}


/* 1 if it is one of the words, which are parted by spaces */
static unsigned
cs_rejected_word(const char *words, const char *word)
{
    size_t  n;

    for (words += strspn(words, " \t"); *words != '\0';
         words += n + strspn(words + n, " \t"))
    {
        n = strcspn(words, " \t");

        if (n == strlen(word) && strncmp(words, word, n) == 0) {
            return 1;
        }
    }

    return 0;
}


/*
 * Id and count are the body's own; a rejected entry may have had none.  Of the
 * stores nginx has vouched for the id of what it put aside, and of an unwrapped
 * push of Google's nothing else says which message it is.
 */
static void
cs_rejected_copy(void *ctx, const cs_quarantined_t *item)
{
    cs_retry_delivery_t  *d = ctx;

    cs_buffer_add(&d->source, item->kept.source);
    cs_buffer_add(&d->body, item->kept.body);

    d->message.source.data = d->source.data;
    d->message.source.len = d->source.len;
    d->message.body.data = d->body.data;
    d->message.body.len = d->body.len;
    d->message.received = item->kept.received_at;

    if (cs_refunds_source(d->message.source)
        && (memchr(item->id.data, '-', item->id.len) != NULL
            || cc_google_unwrapped_scope(item->kept.batch_id)))
    {
        cs_buffer_add(&d->id, item->kept.batch_id);
        d->message.id.data = d->id.data;
        d->message.id.len = d->id.len;
    }

    cc_message_digest(d->digest, d->message.body);

    d->message.digest.data = d->digest;
    d->message.digest.len = CC_DIGEST_LEN;
}


static void
cs_rejected_line(void *ctx, const cs_quarantined_t *item)
{
    char  time[CS_TIME_TEXT];

    (void) ctx;

    cs_time_format(time, item->kept.rejected_at);

    cs_print(item->id);
    (void) printf("  %s  ", time);
    cs_rejected_column(item->kept.source);
    (void) printf("  ");
    cs_rejected_column(item->kept.batch_id);
    (void) printf("  %zu bytes  ", item->kept.body.len);
    cs_print(item->kept.reason);
    (void) printf("\n");
}


/* one that an entry did not have is there all the same, for what reads lines */

static void
cs_rejected_column(cc_str_t value)
{
    cs_print(value.len ? value : cs_str_of("-"));
}


static void
cs_rejected_all(void *ctx, const cs_quarantined_t *item)
{
    char  time[CS_TIME_TEXT];

    (void) ctx;

    cs_rejected_label("id", item->id);
    cs_rejected_label("source", item->kept.source);
    cs_rejected_label("batch", item->kept.batch_id);
    cs_rejected_label("reason", item->kept.reason);

    cs_time_format(time, item->kept.received_at);
    cs_rejected_label("received", cs_str_of(time));

    cs_time_format(time, item->kept.rejected_at);
    cs_rejected_label("rejected", cs_str_of(time));

    /* the body byte for byte, so that it can be piped on */

    (void) printf("\n");
    if (item->kept.body.len) {
        (void) fwrite(item->kept.body.data, 1, item->kept.body.len, stdout);
    }

    (void) printf("\n");
}


static void
cs_rejected_label(const char *label, cc_str_t value)
{
    (void) printf("%-10s", label);
    cs_print(value);
    (void) printf("\n");
}

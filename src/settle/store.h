/*
 * The ledger: coupons, bets, money operations, settled batches, and what could
 * not be settled.  A store knows SQL and no rules.
 *
 * Tables and columns stand in the README, "Tables".  Times are Unix
 * milliseconds, amounts exact decimals as text.  Strings that a callback
 * receives are good for the length of the call; strings given to a store only
 * have to live as long.
 *
 * Whatever returns a status: CS_REFUSED means that this data can never be
 * stored, CS_AGAIN that the store is locked, full or away; cs_store_error()
 * says why.  After CS_AGAIN inside a transaction only cs_store_rollback() or
 * cs_store_close() may follow.
 *
 * There is one for SQLite and one for PostgreSQL (store_ops.h); which it is,
 * the URL says.  What a transaction saves is found by cs_store_batch() and
 * cs_store_coupon() at once, by the others maybe only after the commit.
 */

#ifndef CS_STORE_H
#define CS_STORE_H

#include "envelope.h"
#include "settlement.h"
#include "status.h"


typedef struct cs_store_s      cs_store_t;
typedef struct cs_store_ops_s  cs_store_ops_t;

/* where the store is; the strings are its own */
typedef struct {
    const cs_store_ops_t  *ops;
    char                  *address;   /* may hold a password */
    char                  *name;      /* for people: without it */
    unsigned               outbox;    /* operations go into the outbox, too */
} cs_store_conf_t;

typedef enum {
    CS_READ = 0,
    CS_WRITE                    /* no other writer until it ends */
} cs_access_e;

typedef struct {
    cc_str_t       code;
    int64_t        status;
    unsigned       has_real_win;
    cc_money_t     real_win;
    cc_settled_t   settled;     /* saving leaves out credited and credit: they
                                   stand in the operations */
    int64_t        confirmed_at;  /* 0: not confirmed */
    int64_t        version;     /* counts the changes; kept by the store */
    cc_str_t       raw;         /* as it was last received, adopted or not;
                                   saving an empty one keeps what is there;
                                   not always loaded in CS_WRITE */
} cs_coupon_t;

typedef struct {
    cc_str_t        code;
    cc_operation_t  operation;
    int64_t         created_at;
    cc_str_t        batch_id;   /* or "resolve:MS" */
} cs_operation_t;

typedef struct {
    cc_str_t   id;
    int64_t    received_at;
    unsigned   coupon_count;
    cc_str_t   digest;
} cs_batch_t;

typedef struct {
    int64_t    id;              /* given by the store */
    cc_str_t   source;
    cc_str_t   batch_id;        /* empty if it is not known */
    cc_str_t   reason;
    cc_str_t   body;
    int64_t    received_at;
    int64_t    rejected_at;
} cs_rejected_t;


/*
 * Reads sqlite:PATH or a URL of libpq, postgresql://….  Returns NULL or a
 * constant sentence that says what is wrong.  cs_store_conf_free() frees the
 * strings, and has to be called after a failure too.
 */
const char *cs_store_url(cs_store_conf_t *conf, const char *url);
void cs_store_conf_free(cs_store_conf_t *conf);

/*
 * A store that is not open yet; conf outlives it.  patience_ms: how long a lock
 * is waited for before it is CS_AGAIN.
 */
cs_store_t *cs_store_create(const cs_store_conf_t *conf, int patience_ms);
void cs_store_destroy(cs_store_t *store);

/*
 * Opens it if it is not open.  With migrate the tables are made where they are
 * missing (SQLite: the file too) and brought to the version of this program
 * where they are older; without it that is CS_NONE and CS_AGAIN.  CS_REFUSED:
 * they are of a newer version.
 */
CC_MUST_USE cs_status_e cs_store_open(cs_store_t *store, unsigned migrate);
void cs_store_close(cs_store_t *store);

/*
 * For who would rather do without: no answer of a server is waited for longer
 * than that, in ms.  To be said before it is opened.
 */
void cs_store_limit(cs_store_t *store, int ms);

const char *cs_store_error(const cs_store_t *store);

/* for `check`: says what it finds, in one call for each fact */
typedef enum {
    CS_FACT_OK = 0,
    CS_FACT_NOTE,               /* may be meant so */
    CS_FACT_WRONG
} cs_fact_e;

typedef void (*cs_fact_pt)(void *ctx, cs_fact_e fact, const char *text);

void cs_store_check(cs_store_t *store, cs_fact_pt say, void *ctx);


CC_MUST_USE cs_status_e cs_store_begin(cs_store_t *store, cs_access_e access);

/*
 * In a CS_WRITE transaction, before anything else: what will be asked for and
 * saved.  A store that is far away fetches all of it at once, and locks it in
 * one order, whoever asks.  Without it the rest works as well, only slower and
 * with more collisions.
 */
typedef struct {
    const cc_str_t  *batches;
    size_t           nbatches;
    const cc_str_t  *codes;     /* of coupons; may repeat */
    size_t           ncodes;
} cs_expected_t;

CC_MUST_USE cs_status_e cs_store_expect(cs_store_t *store,
    const cs_expected_t *expected);

/*
 * CS_REFUSED: something in this transaction can never be stored, and which
 * batch that was is not known.  CS_AGAIN may also mean that the connection was
 * lost in the middle, and that it is stored: whoever tries again finds the
 * batches there.
 */
CC_MUST_USE cs_status_e cs_store_commit(cs_store_t *store);
void cs_store_rollback(cs_store_t *store);

/* 1 if the last CS_AGAIN was only another writer's doing: try again at once */
unsigned cs_store_collided(const cs_store_t *store);

/*
 * 1 if the last CS_AGAIN was what somebody else hung on the operations, such
 * as a trigger that moves a balance, or waits for a lock of its own: other
 * batches may do.
 */
unsigned cs_store_held(const cs_store_t *store);

/* inside a transaction; they do not nest */
CC_MUST_USE cs_status_e cs_store_savepoint(cs_store_t *store);
CC_MUST_USE cs_status_e cs_store_release(cs_store_t *store);
CC_MUST_USE cs_status_e cs_store_undo(cs_store_t *store);


/* CS_NONE: the batch id is there already, and *same says if so is the digest */
CC_MUST_USE cs_status_e cs_store_batch(cs_store_t *store,
    const cs_batch_t *batch, unsigned *same);

typedef void (*cs_coupon_pt)(void *ctx, const cs_coupon_t *coupon);
typedef void (*cs_event_pt)(void *ctx, const cc_event_t *event);
typedef void (*cs_operation_pt)(void *ctx, const cs_operation_t *operation);
typedef void (*cs_rejected_pt)(void *ctx, const cs_rejected_t *rejected);
typedef void (*cs_version_pt)(void *ctx, cc_str_t code, int64_t version);

/* CS_NONE where there is nothing to call back for */
CC_MUST_USE cs_status_e cs_store_coupon(cs_store_t *store, cc_str_t code,
    cs_coupon_pt call, void *ctx);
CC_MUST_USE cs_status_e cs_store_doubts(cs_store_t *store, cs_coupon_pt call,
    void *ctx);
CC_MUST_USE cs_status_e cs_store_events(cs_store_t *store, cc_str_t code,
    cs_event_pt call, void *ctx);
CC_MUST_USE cs_status_e cs_store_operations(cs_store_t *store, cc_str_t code,
    cs_operation_pt call, void *ctx);

CC_MUST_USE cs_status_e cs_store_coupon_save(cs_store_t *store,
    const cs_coupon_t *coupon);
CC_MUST_USE cs_status_e cs_store_event_save(cs_store_t *store, cc_str_t code,
    const cc_event_t *event);
CC_MUST_USE cs_status_e cs_store_operation_add(cs_store_t *store,
    const cs_operation_t *operation);


/*
 * What the poller remembers: a number under a name, 0 where there is none.  Set
 * in the transaction of the coupons it speaks of.
 */
CC_MUST_USE cs_status_e cs_store_mark(cs_store_t *store, const char *name,
    int64_t *value);
CC_MUST_USE cs_status_e cs_store_mark_set(cs_store_t *store, const char *name,
    int64_t value);

/*
 * Coupons to ask the API about, in the byte order of their codes; CS_NONE where
 * there are none.
 *
 * waiting       in doubt, in recalculation, or final in a generation from 1 on
 *               and not confirmed
 * unconfirmed   without a confirmed final, in doubt, or confirmed since `since`
 * paid          with an operation since `since`
 *
 * The last two give up to `limit` of those whose code comes behind `after`.
 */
CC_MUST_USE cs_status_e cs_store_waiting(cs_store_t *store,
    cs_version_pt call, void *ctx);
CC_MUST_USE cs_status_e cs_store_unconfirmed(cs_store_t *store, cc_str_t after,
    int64_t since, unsigned limit, cs_version_pt call, void *ctx);
CC_MUST_USE cs_status_e cs_store_paid(cs_store_t *store, cc_str_t after,
    int64_t since, unsigned limit, cs_version_pt call, void *ctx);


/*
 * The outbox: keys of operations that are relayed to another system, in the
 * README under "The wallet".  If conf->outbox is set cs_store_operation_add()
 * puts the key in, with the operation and without a number.
 *
 * A serial would not do as the number: what a consumer reads behind the last
 * one must all have been committed later.  So the numbers are given here, to
 * what is committed, by one at a time.
 *
 * number        in a transaction that it makes: gives the next numbers to up to
 *               `limit` keys without one, in the order in which they came, for
 *               one coupon that in which its money moved.  *n: to how many
 * outbox        the operations of the numbers from `from` on, in their order
 * waiting       how many have no number, counting no further than `limit`
 * fill          in CS_WRITE, the coupon expected: puts in the operations of it
 *               that were made since `since` and are not in.  *n: how many
 *
 * The last number given is the mark CS_MARK_OUTBOX.
 */
#define CS_MARK_OUTBOX  "outbox_number"

typedef void (*cs_outbox_pt)(void *ctx, int64_t number,
    const cs_operation_t *operation);

CC_MUST_USE cs_status_e cs_store_outbox_number(cs_store_t *store,
    unsigned limit, unsigned *n);
CC_MUST_USE cs_status_e cs_store_outbox(cs_store_t *store, int64_t from,
    unsigned limit, cs_outbox_pt call, void *ctx);
CC_MUST_USE cs_status_e cs_store_outbox_waiting(cs_store_t *store,
    unsigned limit, int64_t *n);
CC_MUST_USE cs_status_e cs_store_outbox_fill(cs_store_t *store, cc_str_t code,
    int64_t since, unsigned *n);


/* what there is, for the metrics; all of it is looked up in an index */
typedef struct {
    int64_t    doubts;
    int64_t    rejected;
    int64_t    requests;        /* of Apple and Google, open */
    int64_t    deadline;        /* of the most urgent of them; 0: none has */
} cs_totals_t;

CC_MUST_USE cs_status_e cs_store_totals(cs_store_t *store,
    cs_totals_t *totals);


/* id 0: all of them */
CC_MUST_USE cs_status_e cs_store_rejected(cs_store_t *store, int64_t id,
    cs_rejected_pt call, void *ctx);
CC_MUST_USE cs_status_e cs_store_rejected_add(cs_store_t *store,
    const cs_rejected_t *rejected);
CC_MUST_USE cs_status_e cs_store_rejected_drop(cs_store_t *store, int64_t id);


#endif /* CS_STORE_H */

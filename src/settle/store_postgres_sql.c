/*
 * The statements of the PostgreSQL store.  Each parameter is an array, so that
 * each statement does for a whole transaction what has to be done once.
 *
 * Everybody takes locks in one order, and so waits for nobody who waits for
 * him: rows of coupons that are there, by code; then batches that are new, by
 * id; then coupons that are new, by code.  Bets and operations belong to a
 * coupon that is held.
 */

#include "store_postgres.h"


/*
 * Each key is looked up by itself, in the order of the array.  "= ANY" of some
 * hundreds of them looks dearer to the planner than to read a whole table that
 * has not become large yet, and takes ten times as long.
 */

#define CS_POST_EACH                                                          \
    " FROM unnest($1::text[]) AS u (name) CROSS JOIN LATERAL ("


/* what a coupon is, and the credit of its generation */

#define CS_POST_COUPON_COLUMNS(raw)                                           \
    "SELECT c.coupon_code, c.status, c.real_win, c.state,"                    \
    " c.settlement_generation, c.doubt, c.confirmed_at, c.version, " raw ","  \
    " o.amount FROM coupons c LEFT JOIN coupon_operations o"                  \
    " ON o.operation_key = c.coupon_code || ':' || c.settlement_generation"   \
    " || ':final_credit' "

#define CS_POST_COUPON_PARAMS                                                 \
    "unnest($1::text[], $2::int8[], $3::text[], $4::text[], $5::int8[],"      \
    " $6::text[], $7::int8[], $8::text[]) AS u (code, status, real_win,"      \
    " state, generation, doubt, confirmed_at, raw)"

#define CS_POST_REJECTED_COLUMNS                                              \
    "SELECT id, source, batch_id, reason, received_at, rejected_at, body"     \
    " FROM rejected "

const char *const  cs_post_sql[CS_POST_COUNT] = {

    /* what is read in one transaction fits together */

    [CS_POST_READ] =
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",

    /* a statement has to see what was committed while it waited for a lock */

    [CS_POST_WRITE] =
        "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",

    [CS_POST_COMMIT] =
        "COMMIT",

    [CS_POST_ROLLBACK] =
        "ROLLBACK",

    [CS_POST_BATCHES] =
        "SELECT b.*" CS_POST_EACH
        "SELECT batch_id, digest FROM coupon_callback_batches"
        " WHERE batch_id = u.name LIMIT 1) AS b",

    /* the array is in the order of the codes: see cs_post_expect() */

    [CS_POST_LOCK] =
        "SELECT c.*" CS_POST_EACH
        "SELECT coupon_code FROM coupons WHERE coupon_code = u.name LIMIT 1"
        " FOR NO KEY UPDATE) AS c",

    /* not in one with the lock: the join would see the operations as they were
       before the wait for it */

    [CS_POST_FETCH] =
        "SELECT c.*" CS_POST_EACH
        CS_POST_COUPON_COLUMNS("NULL") "WHERE c.coupon_code = u.name LIMIT 1)"
        " AS c",

    [CS_POST_COUPON] =
        CS_POST_COUPON_COLUMNS("c.raw") "WHERE c.coupon_code"
        " = ANY ($1::text[])",

    [CS_POST_DOUBTS] =
        CS_POST_COUPON_COLUMNS("c.raw") "WHERE c.doubt IS NOT NULL"
        " ORDER BY c.coupon_code",

    [CS_POST_EVENTS] =
        "SELECT uuid, status, raw FROM coupon_events"
        " WHERE coupon_code = ANY ($1::text[]) ORDER BY uuid",

    /* debit before credit: what is taken back comes before what is paid */

    [CS_POST_OPERATIONS] =
        "SELECT settlement_generation, kind, amount, created_at, batch_id,"
        " coupon_code FROM coupon_operations"
        " WHERE coupon_code = ANY ($1::text[])"
        " ORDER BY settlement_generation, kind DESC",

    [CS_POST_REJECTED] =
        CS_POST_REJECTED_COLUMNS "WHERE id = ANY ($1::int8[])",

    [CS_POST_REJECTED_LIST] =
        CS_POST_REJECTED_COLUMNS "ORDER BY id",

    [CS_POST_REJECTED_DROP] =
        "DELETE FROM rejected WHERE id = ANY ($1::int8[]) RETURNING id",

    /* no ON CONFLICT: if somebody else was quicker with what was not there, all
       that was computed from it has to be computed again */

    [CS_POST_BATCH_ADD] =
        "INSERT INTO coupon_callback_batches"
        " (batch_id, received_at, coupon_count, digest)"
        " SELECT * FROM unnest($1::text[], $2::int8[], $3::int8[], $4::text[])",

    [CS_POST_COUPON_ADD] =
        "INSERT INTO coupons (coupon_code, status, real_win, state,"
        " settlement_generation, doubt, confirmed_at, version, raw)"
        " SELECT code, status, real_win::numeric, state, generation, doubt,"
        " confirmed_at, 1, raw::jsonb FROM " CS_POST_COUPON_PARAMS,

    /* a coupon that is written as it stands has not changed; 10 and 10.00 are
       equal, but not the same */

    [CS_POST_COUPON_SAVE] =
        "UPDATE coupons c SET status = u.status,"
        " real_win = u.real_win::numeric, state = u.state,"
        " settlement_generation = u.generation, doubt = u.doubt,"
        " confirmed_at = u.confirmed_at, version = c.version + 1,"
        " raw = coalesce(u.raw::jsonb, c.raw) FROM " CS_POST_COUPON_PARAMS
        " WHERE c.coupon_code = u.code AND (c.status, c.real_win::text,"
        " c.state, c.settlement_generation, c.doubt, c.confirmed_at, c.raw)"
        " IS DISTINCT FROM (u.status, u.real_win, u.state, u.generation,"
        " u.doubt, u.confirmed_at, coalesce(u.raw::jsonb, c.raw))",

    [CS_POST_EVENT_SAVE] =
        "INSERT INTO coupon_events AS e (coupon_code, uuid, status, raw)"
        " SELECT code, uuid, status, raw::jsonb"
        " FROM unnest($1::text[], $2::text[], $3::int8[], $4::text[])"
        " AS u (code, uuid, status, raw)"
        " ON CONFLICT (coupon_code, uuid) DO UPDATE"
        " SET status = excluded.status, raw = excluded.raw"
        " WHERE (e.status, e.raw) IS DISTINCT FROM"
        " (excluded.status, excluded.raw)",

    [CS_POST_OPERATION_ADD] =
        "INSERT INTO coupon_operations (operation_key, coupon_code,"
        " settlement_generation, kind, amount, created_at, batch_id)"
        " SELECT code || ':' || generation || ':' || kind, code, generation,"
        " kind, amount::numeric, created_at, batch_id"
        " FROM unnest($1::text[], $2::int8[], $3::text[], $4::text[],"
        " $5::int8[], $6::text[]) AS u (code, generation, kind, amount,"
        " created_at, batch_id)",

    /* in the order of the rows, which is that of the money of a coupon */

    [CS_POST_OUTBOX_ADD] =
        "INSERT INTO coupon_outbox (operation_key)"
        " SELECT code || ':' || generation || ':' || kind"
        " FROM unnest($1::text[], $2::int8[], $3::text[])"
        " AS u (code, generation, kind)"
        " ON CONFLICT (operation_key) DO NOTHING",

    [CS_POST_REJECTED_ADD] =
        "INSERT INTO rejected"
        " (source, batch_id, reason, body, received_at, rejected_at)"
        " SELECT * FROM unnest($1::text[], $2::text[], $3::text[],"
        " $4::bytea[], $5::int8[], $6::int8[])",

    [CS_POST_MARK] =
        "SELECT value FROM poll_marks WHERE name = ANY ($1::text[])",

    [CS_POST_MARK_SET] =
        "INSERT INTO poll_marks (name, value)"
        " SELECT * FROM unnest($1::text[], $2::int8[])"
        " ON CONFLICT (name) DO UPDATE SET value = excluded.value",

    /* in the words of the index coupons_waiting */

    [CS_POST_WAITING] =
        "SELECT coupon_code, version FROM coupons WHERE (doubt IS NOT NULL"
        " OR state = 'recalculating' OR (state = 'final'"
        " AND settlement_generation > 0 AND confirmed_at IS NULL))"
        " ORDER BY coupon_code",

    [CS_POST_UNCONFIRMED] =
        "SELECT coupon_code, version FROM coupons"
        " WHERE coupon_code > ($1::text[])[1] AND (confirmed_at IS NULL"
        " OR confirmed_at >= ($2::int8[])[1] OR doubt IS NOT NULL)"
        " ORDER BY coupon_code LIMIT ($3::int8[])[1]",

    [CS_POST_PAID] =
        "SELECT c.coupon_code, c.version FROM coupons c"
        " WHERE c.coupon_code > ($1::text[])[1] AND EXISTS"
        " (SELECT 1 FROM coupon_operations o"
        " WHERE o.coupon_code = c.coupon_code"
        " AND o.created_at >= ($2::int8[])[1])"
        " ORDER BY c.coupon_code LIMIT ($3::int8[])[1]",

    [CS_POST_TOTALS] = CS_STORE_TOTALS,

#define STATEMENT(name)  [CS_POST_REFUND + (name)] =
#define TEXT(n)          "($" #n "::text[])[1]"
#define NUMBER(n)        "($" #n "::int8[])[1]"
#define DECIMAL(n)       "($" #n "::text[])[1]::numeric"
#define HOLD             " FOR NO KEY UPDATE"
#include "store_refund_sql.h"
#undef STATEMENT

#define STATEMENT(name)  [CS_POST_OUTBOX + (name)] =
#include "store_outbox_sql.h"
};

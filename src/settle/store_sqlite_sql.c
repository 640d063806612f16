/*
 * The statements of the SQLite store: one for each question of store.h.
 *
 * The order of operations within a generation is debit, credit: what is taken
 * back comes before what is paid anew.
 */

#include "store_sqlite.h"


#define CS_LITE_COUPON_COLUMNS                                                 \
    "SELECT c.coupon_code, c.status, c.real_win, c.state,"                    \
    " c.settlement_generation, c.doubt, c.confirmed_at, c.version, c.raw,"    \
    " o.amount FROM coupons c LEFT JOIN coupon_operations o"                  \
    " ON o.operation_key = c.coupon_code || ':' || c.settlement_generation"   \
    " || ':final_credit' "

const char *const  cs_lite_sql[CS_LITE_COUNT] = {

    [CS_LITE_SAVEPOINT] =
        "SAVEPOINT batch",

    [CS_LITE_RELEASE] =
        "RELEASE batch",

    [CS_LITE_BATCH_ADD] =
        "INSERT INTO coupon_callback_batches"
        " (batch_id, received_at, coupon_count, digest)"
        " VALUES (?1, ?2, ?3, ?4) ON CONFLICT (batch_id) DO NOTHING",

    [CS_LITE_BATCH_SAME] =
        "SELECT 1 FROM coupon_callback_batches"
        " WHERE batch_id = ?1 AND digest = ?2",

    [CS_LITE_COUPON] =
        CS_LITE_COUPON_COLUMNS "WHERE c.coupon_code = ?1",

    [CS_LITE_DOUBTS] =
        CS_LITE_COUPON_COLUMNS "WHERE c.doubt IS NOT NULL"
        " ORDER BY c.coupon_code",

    [CS_LITE_EVENTS] =
        "SELECT uuid, status, raw FROM coupon_events WHERE coupon_code = ?1"
        " ORDER BY uuid",

    [CS_LITE_OPERATIONS] =
        "SELECT settlement_generation, kind, amount, created_at, batch_id"
        " FROM coupon_operations WHERE coupon_code = ?1"
        " ORDER BY settlement_generation, kind DESC",

    /* a coupon that is written as it stands has not changed */

    [CS_LITE_COUPON_SAVE] =
        "INSERT INTO coupons (coupon_code, status, real_win, state,"
        " settlement_generation, doubt, confirmed_at, version, raw)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1, coalesce(?8,"
        " (SELECT raw FROM coupons WHERE coupon_code = ?1)))"
        " ON CONFLICT (coupon_code) DO UPDATE SET status = excluded.status,"
        " real_win = excluded.real_win, state = excluded.state,"
        " settlement_generation = excluded.settlement_generation,"
        " doubt = excluded.doubt, confirmed_at = excluded.confirmed_at,"
        " version = version + 1, raw = excluded.raw"
        " WHERE (status, real_win, state, settlement_generation, doubt,"
        " confirmed_at, raw) IS NOT (excluded.status, excluded.real_win,"
        " excluded.state, excluded.settlement_generation, excluded.doubt,"
        " excluded.confirmed_at, excluded.raw)",

    [CS_LITE_EVENT_SAVE] =
        "INSERT INTO coupon_events (coupon_code, uuid, status, raw)"
        " VALUES (?1, ?2, ?3, ?4) ON CONFLICT (coupon_code, uuid)"
        " DO UPDATE SET status = excluded.status, raw = excluded.raw",

    [CS_LITE_OPERATION_ADD] =
        "INSERT INTO coupon_operations (operation_key, coupon_code,"
        " settlement_generation, kind, amount, created_at, batch_id)"
        " VALUES (?1 || ':' || ?2 || ':' || ?3, ?1, ?2, ?3, ?4, ?5, ?6)",

    [CS_LITE_OUTBOX_ADD] =
        "INSERT INTO coupon_outbox (operation_key)"
        " VALUES (?1 || ':' || ?2 || ':' || ?3)"
        " ON CONFLICT (operation_key) DO NOTHING",

    [CS_LITE_REJECTED] =
        "SELECT id, source, batch_id, reason, received_at, rejected_at, body"
        " FROM rejected WHERE id = ?1",

    [CS_LITE_REJECTED_LIST] =
        "SELECT id, source, batch_id, reason, received_at, rejected_at, body"
        " FROM rejected ORDER BY id",

    [CS_LITE_REJECTED_ADD] =
        "INSERT INTO rejected"
        " (source, batch_id, reason, body, received_at, rejected_at)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6)",

    [CS_LITE_REJECTED_DROP] =
        "DELETE FROM rejected WHERE id = ?1",

    [CS_LITE_MARK] =
        "SELECT value FROM poll_marks WHERE name = ?1",

    [CS_LITE_MARK_SET] =
        "INSERT INTO poll_marks (name, value) VALUES (?1, ?2)"
        " ON CONFLICT (name) DO UPDATE SET value = excluded.value",

    /* in the words of the index coupons_waiting */

    [CS_LITE_WAITING] =
        "SELECT coupon_code, version FROM coupons WHERE (doubt IS NOT NULL"
        " OR state = 'recalculating' OR (state = 'final'"
        " AND settlement_generation > 0 AND confirmed_at IS NULL))"
        " ORDER BY coupon_code",

    [CS_LITE_UNCONFIRMED] =
        "SELECT coupon_code, version FROM coupons WHERE coupon_code > ?1"
        " AND (confirmed_at IS NULL OR confirmed_at >= ?2"
        " OR doubt IS NOT NULL) ORDER BY coupon_code LIMIT ?3",

    [CS_LITE_PAID] =
        "SELECT c.coupon_code, c.version FROM coupons c"
        " WHERE c.coupon_code > ?1 AND EXISTS"
        " (SELECT 1 FROM coupon_operations o"
        " WHERE o.coupon_code = c.coupon_code AND o.created_at >= ?2)"
        " ORDER BY c.coupon_code LIMIT ?3",

    [CS_LITE_TOTALS] = CS_STORE_TOTALS,

#define STATEMENT(name)  [CS_LITE_REFUND + (name)] =
#define TEXT(n)          "?" #n
#define NUMBER(n)        "?" #n
#define DECIMAL(n)       "?" #n
#define HOLD             ""
#include "store_refund_sql.h"
#undef STATEMENT

#define STATEMENT(name)  [CS_LITE_OUTBOX + (name)] =
#include "store_outbox_sql.h"
};

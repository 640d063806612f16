/*
 * The statements of the outbox, see store.h, for the table of statements of a
 * store that has said how it writes
 *
 *   STATEMENT(name)      their place in its table
 *   TEXT(n) NUMBER(n)    the n-th parameter
 *
 * The row of the last number is what one at a time holds: LOCK before NUMBER,
 * and NUMBER sees what was committed while LOCK was waiting.
 */

    STATEMENT(CS_OUTBOX_LOCK)
        "INSERT INTO poll_marks (name, value) VALUES ('" CS_MARK_OUTBOX "', 0)"
        " ON CONFLICT (name) DO UPDATE SET value = poll_marks.value",

    STATEMENT(CS_OUTBOX_NUMBER)
        "UPDATE coupon_outbox SET number = t.n + (SELECT value FROM poll_marks"
        " WHERE name = '" CS_MARK_OUTBOX "') FROM (SELECT key,"
        " row_number() OVER (ORDER BY queued) AS n FROM (SELECT operation_key"
        " AS key, queued FROM coupon_outbox WHERE number IS NULL"
        " ORDER BY queued LIMIT " NUMBER(1) ") AS w) AS t"
        " WHERE coupon_outbox.operation_key = t.key",

    STATEMENT(CS_OUTBOX_LAST)
        "UPDATE poll_marks SET value = (SELECT max(number) FROM coupon_outbox)"
        " WHERE name = '" CS_MARK_OUTBOX "' AND value"
        " < (SELECT max(number) FROM coupon_outbox)",

    STATEMENT(CS_OUTBOX_ROWS)
        "SELECT b.number, o.settlement_generation, o.kind, o.amount,"
        " o.created_at, o.batch_id, o.coupon_code FROM coupon_outbox b"
        " JOIN coupon_operations o ON o.operation_key = b.operation_key"
        " WHERE b.number >= " NUMBER(1) " ORDER BY b.number LIMIT " NUMBER(2),

    STATEMENT(CS_OUTBOX_WAITING)
        "SELECT count(*) FROM (SELECT 1 FROM coupon_outbox"
        " WHERE number IS NULL LIMIT " NUMBER(1) ") AS w",

    /* in the order of its money: debit before credit */

    STATEMENT(CS_OUTBOX_FILL)
        "INSERT INTO coupon_outbox (operation_key)"
        " SELECT operation_key FROM coupon_operations"
        " WHERE coupon_code = " TEXT(1) " AND created_at >= " NUMBER(2)
        " ORDER BY settlement_generation, kind DESC"
        " ON CONFLICT (operation_key) DO NOTHING",

/*
 * The statements of store_refund.h, for the table of statements of a store that
 * has said how it writes
 *
 *   STATEMENT(name)               their place in its table
 *   TEXT(n) NUMBER(n) DECIMAL(n)  the n-th parameter
 *   HOLD                          and keep the row from others
 *
 * Rows are held in one order: the notification, its purchase, its transaction.
 */

    STATEMENT(CS_REFUND_NOTE_ADD)
        "INSERT INTO store_notifications (source, notification_id, kind,"
        " purchase_key, transaction_key, event_time, received_at, stale)"
        " VALUES (" TEXT(1) ", " TEXT(2) ", " TEXT(3) ", " TEXT(4) ", " TEXT(5)
        ", " NUMBER(6) ", " NUMBER(7) ", 0)"
        " ON CONFLICT (source, notification_id) DO NOTHING",

    STATEMENT(CS_REFUND_NOTE_STALE)
        "UPDATE store_notifications SET stale = 1 WHERE source = " TEXT(1)
        " AND notification_id = " TEXT(2),

    STATEMENT(CS_REFUND_PURCHASE_ADD)
        "INSERT INTO store_purchases (source, purchase_key, access, as_of)"
        " VALUES (" TEXT(1) ", " TEXT(2) ", 'granted', 0)"
        " ON CONFLICT (source, purchase_key) DO NOTHING",

    STATEMENT(CS_REFUND_PURCHASE)
        "SELECT access, as_of FROM store_purchases WHERE source = " TEXT(1)
        " AND purchase_key = " TEXT(2) HOLD,

    STATEMENT(CS_REFUND_PURCHASE_SAVE)
        "UPDATE store_purchases SET access = " TEXT(3) ", as_of = " NUMBER(4)
        " WHERE source = " TEXT(1) " AND purchase_key = " TEXT(2),

    STATEMENT(CS_REFUND_TRANSACTION_ADD)
        "INSERT INTO store_transactions (source, transaction_key,"
        " purchase_key, refunded, as_of, generation)"
        " VALUES (" TEXT(1) ", " TEXT(2) ", " TEXT(3) ", 0, 0, 0)"
        " ON CONFLICT (source, transaction_key) DO NOTHING",

    STATEMENT(CS_REFUND_TRANSACTION)
        "SELECT refunded, as_of, generation, purchase_key"
        " FROM store_transactions WHERE source = " TEXT(1)
        " AND transaction_key = " TEXT(2) HOLD,

    STATEMENT(CS_REFUND_TRANSACTION_SAVE)
        "UPDATE store_transactions SET refunded = " NUMBER(3) ", as_of = "
        NUMBER(4) ", generation = " NUMBER(5) " WHERE source = " TEXT(1)
        " AND transaction_key = " TEXT(2),

    STATEMENT(CS_REFUND_OPERATION_ADD)
        "INSERT INTO store_operations (operation_key, source,"
        " transaction_key, kind, fraction_from, fraction_to, amount,"
        " currency, created_at) VALUES (" TEXT(1) ", " TEXT(2) ", " TEXT(3)
        ", " TEXT(4) ", " NUMBER(5) ", " NUMBER(6) ", " DECIMAL(7) ", " TEXT(8)
        ", " NUMBER(9) ")",

    STATEMENT(CS_REFUND_OPERATIONS)
        "SELECT operation_key, fraction_to, created_at FROM store_operations"
        " WHERE source = " TEXT(1) " AND transaction_key = " TEXT(2)
        " ORDER BY operation_key",

    STATEMENT(CS_REFUND_REQUEST_ADD)
        "INSERT INTO store_requests (source, notification_id, kind,"
        " transaction_key, deadline) VALUES (" TEXT(1) ", " TEXT(2) ", " TEXT(3)
        ", " TEXT(4) ", nullif(" NUMBER(5) ", 0))",

    STATEMENT(CS_REFUND_REQUESTS)
        "SELECT source, notification_id, kind, transaction_key, deadline"
        " FROM store_requests WHERE closed_at IS NULL"
        " ORDER BY deadline IS NULL, deadline, source, notification_id",

    STATEMENT(CS_REFUND_REQUEST_CLOSE)
        "UPDATE store_requests SET closed_at = " NUMBER(3) " WHERE source = "
        TEXT(1) " AND notification_id = " TEXT(2) " AND closed_at IS NULL",

    STATEMENT(CS_REFUND_UNITS_CLOSE)
        "UPDATE store_requests SET closed_at = " NUMBER(3) " WHERE source = "
        TEXT(1) " AND transaction_key = " TEXT(2) " AND kind = 'units'"
        " AND closed_at IS NULL",

/*
 * The tables in SQLite; see schema.h, and the README, "Tables".
 *
 * Times are Unix milliseconds.  Amounts are exact decimals as TEXT: SQLite's
 * numbers are binary floats as soon as they have a fraction, and then so is its
 * SUM(); who adds up does it with decimals.
 */

#include "schema.h"


const char *const  cs_schema_sqlite[CS_SCHEMA_VERSION] = {

    "CREATE TABLE coupon_callback_batches ("
    "  batch_id               TEXT NOT NULL PRIMARY KEY,"
    "  received_at            INTEGER NOT NULL,"
    "  coupon_count           INTEGER NOT NULL,"
    "  digest                 TEXT NOT NULL"
    ") STRICT, WITHOUT ROWID;"

    "CREATE TABLE coupons ("
    "  coupon_code            TEXT NOT NULL PRIMARY KEY,"
    "  status                 INTEGER NOT NULL,"
    "  real_win               TEXT,"
    "  state                  TEXT NOT NULL"
    "    CHECK (state IN ('active', 'final', 'recalculating')),"
    "  settlement_generation  INTEGER NOT NULL,"
    "  doubt                  TEXT,"
    "  confirmed_at           INTEGER,"
    "  version                INTEGER NOT NULL,"
    "  raw                    TEXT NOT NULL"
    ") STRICT;"

    "CREATE INDEX coupons_in_doubt ON coupons (coupon_code)"
    "  WHERE doubt IS NOT NULL;"

    "CREATE TABLE coupon_events ("
    "  coupon_code            TEXT NOT NULL REFERENCES coupons,"
    "  uuid                   TEXT NOT NULL,"
    "  status                 INTEGER,"
    "  raw                    TEXT NOT NULL,"
    "  PRIMARY KEY (coupon_code, uuid)"
    ") STRICT;"

    /* the key, CODE:GENERATION:KIND, keeps a coupon from being paid twice;
       batch_id names a batch or, by hand, "resolve:MS": no foreign key */

    "CREATE TABLE coupon_operations ("
    "  operation_key          TEXT NOT NULL PRIMARY KEY,"
    "  coupon_code            TEXT NOT NULL REFERENCES coupons,"
    "  settlement_generation  INTEGER NOT NULL,"
    "  kind                   TEXT NOT NULL"
    "    CHECK (kind IN ('final_credit', 'recalculation_debit')),"
    "  amount                 TEXT NOT NULL,"
    "  created_at             INTEGER NOT NULL,"
    "  batch_id               TEXT NOT NULL,"
    "  CHECK (operation_key"
    "         = coupon_code || ':' || settlement_generation || ':' || kind)"
    ") STRICT, WITHOUT ROWID;"

    "CREATE INDEX coupon_operations_by_coupon"
    "  ON coupon_operations (coupon_code, settlement_generation);"

    /* AUTOINCREMENT: the number of a dropped one never names another */

    "CREATE TABLE rejected ("
    "  id                     INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  source                 TEXT NOT NULL,"
    "  batch_id               TEXT,"
    "  reason                 TEXT NOT NULL,"
    "  body                   BLOB NOT NULL,"
    "  received_at            INTEGER NOT NULL,"
    "  rejected_at            INTEGER NOT NULL"
    ") STRICT;"

    /* what the poller has to remember, see polling.h */

    "CREATE TABLE poll_marks ("
    "  name                   TEXT NOT NULL PRIMARY KEY,"
    "  value                  INTEGER NOT NULL"
    ") STRICT, WITHOUT ROWID;"

    "CREATE INDEX coupons_waiting ON coupons (coupon_code, version)"
    "  WHERE (doubt IS NOT NULL OR state = 'recalculating'"
    "         OR (state = 'final' AND settlement_generation > 0"
    "             AND confirmed_at IS NULL));",

    /* 1 to 2: what Apple and Google tell of refunds */

    "CREATE TABLE store_notifications ("
    "  source                 TEXT NOT NULL,"
    "  notification_id        TEXT NOT NULL,"
    "  kind                   TEXT NOT NULL,"
    "  purchase_key           TEXT NOT NULL,"
    "  transaction_key        TEXT NOT NULL,"
    "  event_time             INTEGER NOT NULL,"
    "  received_at            INTEGER NOT NULL,"
    "  stale                  INTEGER NOT NULL,"
    "  PRIMARY KEY (source, notification_id)"
    ") STRICT, WITHOUT ROWID;"

    "CREATE TABLE store_purchases ("
    "  source                 TEXT NOT NULL,"
    "  purchase_key           TEXT NOT NULL,"
    "  access                 TEXT NOT NULL"
    "    CHECK (access IN ('granted', 'revoked')),"
    "  as_of                  INTEGER NOT NULL,"
    "  PRIMARY KEY (source, purchase_key)"
    ") STRICT, WITHOUT ROWID;"

    "CREATE TABLE store_transactions ("
    "  source                 TEXT NOT NULL,"
    "  transaction_key        TEXT NOT NULL,"
    "  purchase_key           TEXT NOT NULL,"
    "  refunded               INTEGER NOT NULL"
    "    CHECK (refunded BETWEEN 0 AND 100000),"
    "  as_of                  INTEGER NOT NULL,"
    "  generation             INTEGER NOT NULL,"
    "  PRIMARY KEY (source, transaction_key)"
    ") STRICT, WITHOUT ROWID;"

    /* the key, SOURCE:TRANSACTION:KIND:GENERATION, keeps an effect from
       happening twice */

    "CREATE TABLE store_operations ("
    "  operation_key          TEXT NOT NULL PRIMARY KEY,"
    "  source                 TEXT NOT NULL,"
    "  transaction_key        TEXT NOT NULL,"
    "  kind                   TEXT NOT NULL CHECK (kind IN ('revoke_access',"
    "    'restore_access', 'debit_balance', 'reverse_payout')),"
    "  fraction_from          INTEGER NOT NULL,"
    "  fraction_to            INTEGER NOT NULL,"
    "  amount                 TEXT,"
    "  currency               TEXT,"
    "  created_at             INTEGER NOT NULL"
    ") STRICT, WITHOUT ROWID;"

    "CREATE INDEX store_operations_by_transaction"
    "  ON store_operations (source, transaction_key);"

    "CREATE TABLE store_requests ("
    "  source                 TEXT NOT NULL,"
    "  notification_id        TEXT NOT NULL,"
    "  kind                   TEXT NOT NULL,"
    "  transaction_key        TEXT NOT NULL,"
    "  deadline               INTEGER,"
    "  closed_at              INTEGER,"
    "  PRIMARY KEY (source, notification_id)"
    ") STRICT, WITHOUT ROWID;"

    "CREATE INDEX store_requests_open ON store_requests (deadline)"
    "  WHERE closed_at IS NULL;",

    /* 2 to 3: operations on their way to another system; queued is the order
       in which they came, number the id of their entry in the stream */

    "CREATE TABLE coupon_outbox ("
    "  queued                 INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  operation_key          TEXT NOT NULL UNIQUE,"
    "  number                 INTEGER UNIQUE"
    ") STRICT;"

    "CREATE INDEX coupon_outbox_waiting ON coupon_outbox (queued)"
    "  WHERE number IS NULL;"
};

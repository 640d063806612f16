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

    /* what the poller has to remember, see poll.h */

    "CREATE TABLE poll_marks ("
    "  name                   TEXT NOT NULL PRIMARY KEY,"
    "  value                  INTEGER NOT NULL"
    ") STRICT, WITHOUT ROWID;"

    "CREATE INDEX coupons_waiting ON coupons (coupon_code, version)"
    "  WHERE (doubt IS NOT NULL OR state = 'recalculating'"
    "         OR (state = 'final' AND settlement_generation > 0"
    "             AND confirmed_at IS NULL));"
};

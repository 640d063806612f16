/*
 * The tables in PostgreSQL; see schema.h, and the README, "Tables".
 *
 * Times are Unix milliseconds, as in SQLite.  Amounts are numeric without a
 * precision: exact, and with the digits after the point that were sent.  Keys
 * are compared byte by byte, in every locale.
 *
 * Bets and operations have no foreign key to their coupon: it is written in the
 * same transaction before them, and to check each of them again was measured to
 * take more than half of the time.
 */

#include "schema.h"


const char *const  cs_schema_postgres[CS_SCHEMA_VERSION] = {

    "CREATE TABLE coupon_callback_batches ("
    "  batch_id               text COLLATE \"C\" PRIMARY KEY,"
    "  received_at            bigint NOT NULL,"
    "  coupon_count           bigint NOT NULL,"
    "  digest                 text NOT NULL"
    ");"

    "CREATE TABLE coupons ("
    "  coupon_code            text COLLATE \"C\" PRIMARY KEY,"
    "  status                 bigint NOT NULL,"
    "  real_win               numeric,"
    "  state                  text NOT NULL"
    "    CHECK (state IN ('active', 'final', 'recalculating')),"
    "  settlement_generation  bigint NOT NULL,"
    "  doubt                  text,"
    "  confirmed_at           bigint,"
    "  version                bigint NOT NULL,"
    "  raw                    jsonb NOT NULL"
    ");"

    "CREATE INDEX coupons_in_doubt ON coupons (coupon_code)"
    "  WHERE doubt IS NOT NULL;"

    "CREATE TABLE coupon_events ("
    "  coupon_code            text COLLATE \"C\" NOT NULL,"
    "  uuid                   text COLLATE \"C\" NOT NULL,"
    "  status                 bigint,"
    "  raw                    jsonb NOT NULL,"
    "  PRIMARY KEY (coupon_code, uuid)"
    ");"

    /* the key, CODE:GENERATION:KIND, keeps a coupon from being paid twice;
       batch_id names a batch or, by hand, "resolve:MS": no foreign key */

    "CREATE TABLE coupon_operations ("
    "  operation_key          text COLLATE \"C\" PRIMARY KEY,"
    "  coupon_code            text COLLATE \"C\" NOT NULL,"
    "  settlement_generation  bigint NOT NULL,"
    "  kind                   text NOT NULL"
    "    CHECK (kind IN ('final_credit', 'recalculation_debit')),"
    "  amount                 numeric NOT NULL,"
    "  created_at             bigint NOT NULL,"
    "  batch_id               text NOT NULL,"
    "  CHECK (operation_key"
    "         = coupon_code || ':' || settlement_generation || ':' || kind)"
    ");"

    "CREATE INDEX coupon_operations_by_coupon"
    "  ON coupon_operations (coupon_code, settlement_generation);"

    "CREATE TABLE rejected ("
    "  id                     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
    "  source                 text NOT NULL,"
    "  batch_id               text,"
    "  reason                 text NOT NULL,"
    "  body                   bytea NOT NULL,"
    "  received_at            bigint NOT NULL,"
    "  rejected_at            bigint NOT NULL"
    ");"

    /* what the poller has to remember, see polling.h */

    "CREATE TABLE poll_marks ("
    "  name                   text COLLATE \"C\" PRIMARY KEY,"
    "  value                  bigint NOT NULL"
    ");"

    "CREATE INDEX coupons_waiting ON coupons (coupon_code, version)"
    "  WHERE (doubt IS NOT NULL OR state = 'recalculating'"
    "         OR (state = 'final' AND settlement_generation > 0"
    "             AND confirmed_at IS NULL));",

    /* 1 to 2: what Apple and Google tell of refunds */

    "CREATE TABLE store_notifications ("
    "  source                 text COLLATE \"C\" NOT NULL,"
    "  notification_id        text COLLATE \"C\" NOT NULL,"
    "  kind                   text NOT NULL,"
    "  purchase_key           text COLLATE \"C\" NOT NULL,"
    "  transaction_key        text COLLATE \"C\" NOT NULL,"
    "  event_time             bigint NOT NULL,"
    "  received_at            bigint NOT NULL,"
    "  stale                  bigint NOT NULL,"
    "  PRIMARY KEY (source, notification_id)"
    ");"

    "CREATE TABLE store_purchases ("
    "  source                 text COLLATE \"C\" NOT NULL,"
    "  purchase_key           text COLLATE \"C\" NOT NULL,"
    "  access                 text NOT NULL"
    "    CHECK (access IN ('granted', 'revoked')),"
    "  as_of                  bigint NOT NULL,"
    "  PRIMARY KEY (source, purchase_key)"
    ");"

    "CREATE TABLE store_transactions ("
    "  source                 text COLLATE \"C\" NOT NULL,"
    "  transaction_key        text COLLATE \"C\" NOT NULL,"
    "  purchase_key           text COLLATE \"C\" NOT NULL,"
    "  refunded               bigint NOT NULL"
    "    CHECK (refunded BETWEEN 0 AND 100000),"
    "  as_of                  bigint NOT NULL,"
    "  generation             bigint NOT NULL,"
    "  PRIMARY KEY (source, transaction_key)"
    ");"

    /* the key, SOURCE:TRANSACTION:KIND:GENERATION, keeps an effect from
       happening twice */

    "CREATE TABLE store_operations ("
    "  operation_key          text COLLATE \"C\" PRIMARY KEY,"
    "  source                 text COLLATE \"C\" NOT NULL,"
    "  transaction_key        text COLLATE \"C\" NOT NULL,"
    "  kind                   text NOT NULL CHECK (kind IN ('revoke_access',"
    "    'restore_access', 'debit_balance', 'reverse_payout')),"
    "  fraction_from          bigint NOT NULL,"
    "  fraction_to            bigint NOT NULL,"
    "  amount                 numeric,"
    "  currency               text,"
    "  created_at             bigint NOT NULL"
    ");"

    "CREATE INDEX store_operations_by_transaction"
    "  ON store_operations (source, transaction_key);"

    "CREATE TABLE store_requests ("
    "  source                 text COLLATE \"C\" NOT NULL,"
    "  notification_id        text COLLATE \"C\" NOT NULL,"
    "  kind                   text NOT NULL,"
    "  transaction_key        text COLLATE \"C\" NOT NULL,"
    "  deadline               bigint,"
    "  closed_at              bigint,"
    "  PRIMARY KEY (source, notification_id)"
    ");"

    "CREATE INDEX store_requests_open ON store_requests (deadline)"
    "  WHERE closed_at IS NULL;",

    /* 2 to 3: operations on their way to another system; queued is the order
       in which they came, number the id of their entry in the stream */

    "CREATE TABLE coupon_outbox ("
    "  operation_key          text COLLATE \"C\" PRIMARY KEY,"
    "  queued                 bigint GENERATED ALWAYS AS IDENTITY,"
    "  number                 bigint UNIQUE"
    ");"

    "CREATE INDEX coupon_outbox_waiting ON coupon_outbox (queued)"
    "  WHERE number IS NULL;"
};

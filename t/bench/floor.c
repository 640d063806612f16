/*
 * The floor of settling in SQLite: the rows of one ledger written into another,
 * with prepared statements and as coupon-settle has to write them, upserts
 * where a coupon may be known, 64 batches a transaction; and nothing else.
 *
 *   floor FROM TO COUPONS_A_BATCH
 */

#include <stdio.h>
#include <stdlib.h>

#include <sqlite3.h>


#define BATCHES  64                 /* a transaction */
#define TABLES   4


typedef struct {
    const char    *read;
    const char    *write;
    int            rows;            /* for each batch; 0: one a batch */
    sqlite3_stmt  *from;
    sqlite3_stmt  *to;
} table_t;


static table_t  tables[TABLES] = {
    { "SELECT batch_id, received_at, coupon_count, digest"
      " FROM coupon_callback_batches ORDER BY received_at",
      "INSERT INTO coupon_callback_batches VALUES (?, ?, ?, ?)"
      " ON CONFLICT (batch_id) DO NOTHING", 0, NULL, NULL },

    { "SELECT * FROM coupons ORDER BY rowid",
      "INSERT INTO coupons VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
      " ON CONFLICT (coupon_code) DO UPDATE SET status = excluded.status,"
      " real_win = excluded.real_win, state = excluded.state,"
      " settlement_generation = excluded.settlement_generation,"
      " doubt = excluded.doubt, confirmed_at = excluded.confirmed_at,"
      " version = version + 1, raw = excluded.raw", 1, NULL, NULL },

    { "SELECT * FROM coupon_events ORDER BY rowid",
      "INSERT INTO coupon_events VALUES (?, ?, ?, ?)"
      " ON CONFLICT (coupon_code, uuid) DO UPDATE"
      " SET status = excluded.status, raw = excluded.raw", 3, NULL, NULL },

    { "SELECT o.* FROM coupons c JOIN coupon_operations o USING (coupon_code)"
      " ORDER BY c.rowid",
      "INSERT INTO coupon_operations VALUES (?, ?, ?, ?, ?, ?, ?)",
      1, NULL, NULL },
};

static sqlite3  *from, *to;


static void
must(int code, int wanted)
{
    if (code != wanted) {
        fprintf(stderr, "floor: %s; %s\n", sqlite3_errmsg(from),
                sqlite3_errmsg(to));
        exit(1);
    }
}


/* up to so many rows; 0 when the table is at its end */
static int
copy(table_t *table, int rows)
{
    int  i, code;

    while (rows-- > 0) {
        code = sqlite3_step(table->from);

        if (code == SQLITE_DONE) {
            return 0;
        }

        must(code, SQLITE_ROW);

        for (i = 0; i < sqlite3_column_count(table->from); i++) {
            must(sqlite3_bind_value(table->to, i + 1,
                                    sqlite3_column_value(table->from, i)),
                 SQLITE_OK);
        }

        must(sqlite3_step(table->to), SQLITE_DONE);
        must(sqlite3_reset(table->to), SQLITE_OK);
    }

    return 1;
}


static void
run(const char *sql)
{
    must(sqlite3_exec(to, sql, NULL, NULL, NULL), SQLITE_OK);
}


int
main(int argc, char **argv)
{
    int  i, size, more;

    if (argc != 4 || (size = atoi(argv[3])) < 1) {
        fprintf(stderr, "usage: floor FROM TO COUPONS_A_BATCH\n");
        return 2;
    }

    must(sqlite3_open(argv[1], &from), SQLITE_OK);
    must(sqlite3_open(argv[2], &to), SQLITE_OK);
    run("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON");

    for (i = 0; i < TABLES; i++) {
        must(sqlite3_prepare_v2(from, tables[i].read, -1, &tables[i].from,
                                NULL), SQLITE_OK);
        must(sqlite3_prepare_v2(to, tables[i].write, -1, &tables[i].to, NULL),
             SQLITE_OK);
    }

    do {
        run("BEGIN IMMEDIATE");

        for (i = 0, more = 0; i < TABLES; i++) {
            more |= copy(&tables[i], BATCHES * (tables[i].rows
                                                ? tables[i].rows * size : 1));
        }

        run("COMMIT");

    } while (more);

    for (i = 0; i < TABLES; i++) {
        sqlite3_finalize(tables[i].from);
        sqlite3_finalize(tables[i].to);
    }

    sqlite3_close(from);
    sqlite3_close(to);

    return 0;
}

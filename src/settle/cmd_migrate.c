/*
 * coupon-settle migrate: makes the tables, or brings them to the version of
 * this program.  What `run` does by itself, for those who do not let it.
 */

#include <stdio.h>

#include "command.h"
#include "schema.h"


#define CS_MIGRATE_PATIENCE_MS  10000


int
cs_cmd_migrate(const cs_args_t *args)
{
    int           failed;
    cs_store_t   *store;

    failed = 0;
    store = cs_store_create(&args->conf.store, CS_MIGRATE_PATIENCE_MS);

    if (cs_store_open(store, 1) != CS_OK) {
        failed = cs_fail("%s: %s", args->conf.store.name,
                         cs_store_error(store));

    } else {
        (void) printf("%s: the tables are of version %d\n",
                      args->conf.store.name, CS_SCHEMA_VERSION);
    }

    cs_store_destroy(store);

    return failed;
}

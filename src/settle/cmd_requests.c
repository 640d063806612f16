/*
 * coupon-settle requests list|close: what the stores have asked and wait for,
 * and parts of refunds whose size is not known.
 */

#include <stdio.h>

#include "buffer.h"
#include "clock.h"
#include "command.h"
#include "store_refund.h"


static int cs_requests_list(cs_store_t *store);
static void cs_requests_row(void *ctx, const cc_str_t *columns);
static void cs_requests_left(int64_t ms);
static int cs_requests_close(cs_store_t *store, const char *source,
    const char *id);


int
cs_cmd_requests(const cs_args_t *args)
{
    int          failed;
    unsigned     list;
    cs_store_t  *store;

    list = strcmp(args->argv[0], "list") == 0;

    if (args->argc != (list ? 1 : 3)
        || (!list && strcmp(args->argv[0], "close") != 0))
    {
        return cs_usage("usage: coupon-settle requests list | "
                        "close SOURCE ID -c FILE");
    }

    store = cs_open_store(args);
    if (store == NULL) {
        return 1;
    }

    failed = list ? cs_requests_list(store)
                  : cs_requests_close(store, args->argv[1], args->argv[2]);

    cs_store_destroy(store);

    return failed;
}


static int
cs_requests_list(cs_store_t *store)
{
    int64_t      now;
    cs_status_e  status;

    now = cs_now();

    status = cs_store_begin(store, CS_READ);

    if (status == CS_OK) {
        status = cs_store_refund(store, CS_REFUND_REQUESTS, NULL, 0,
                                 cs_requests_row, &now);
        if (status != CS_AGAIN) {
            status = cs_store_commit(store);
        }
    }

    return status == CS_OK ? 0 : cs_fail("%s", cs_store_error(store));
}


/* how long is left, then what it is about */

static void
cs_requests_row(void *ctx, const cc_str_t *columns)
{
    unsigned        i;
    const int64_t  *now = ctx;

    if (columns[4].data == NULL) {
        (void) printf("%9s", "-");

    } else {
        cs_requests_left(cs_refund_whole(columns[4]) - *now);
    }

    for (i = 0; i < 4; i++) {
        (void) putchar(' ');
        cs_print(columns[i]);
    }

    (void) putchar('\n');
}


static void
cs_requests_left(int64_t ms)
{
    long long  minutes;

    minutes = (ms < 0 ? -ms : ms) / 60000;

    (void) printf("%s%3lldh%02lldm", ms < 0 ? " -" : "  ", minutes / 60,
                  minutes % 60);
}


static int
cs_requests_close(cs_store_t *store, const char *source, const char *id)
{
    cs_status_e  status;

    status = cs_store_begin(store, CS_WRITE);

    if (status == CS_OK) {
        status = cs_store_refund(store, CS_REFUND_REQUEST_CLOSE,
                                 cs_refund_values(cs_refund_text(source),
                                     cs_refund_text(id),
                                     cs_refund_number(cs_now())),
                                 NULL, NULL);
    }

    if (status == CS_OK) {
        status = cs_store_commit(store);
    }

    if (status == CS_OK) {
        (void) printf("%s %s is closed\n", source, id);
        return 0;
    }

    cs_store_rollback(store);

    return status == CS_NONE
           ? cs_fail("there is no open request %s %s", source, id)
           : cs_fail("%s", cs_store_error(store));
}

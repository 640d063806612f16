/*
 * coupon-settle refunded: a person states how much of a transaction is
 * refunded, because the store did not say, or said it elsewhere.
 *
 * It is an event like those that the stores send, as of now, settled the same
 * way; and it closes what waited for the answer.
 */

#include <stdio.h>
#include <stdlib.h>

#include "buffer.h"
#include "command.h"
#include "refunds.h"


static int cs_refunded_fraction(const char *text, unsigned *fraction);
static unsigned cs_refunded_number(const char **text, unsigned long *number);


int
cs_cmd_refunded(const cs_args_t *args)
{
    unsigned      fraction;
    cs_store_t   *store;
    cs_status_e   status;

    if (!cs_refunds_source(cs_str_of(args->argv[0]))) {
        return cs_usage("the source is apple or google, not \"%s\"",
                        args->argv[0]);
    }

    if (cs_refunded_fraction(args->fraction, &fraction) != 0) {
        return cs_usage("--fraction wants 0 to 100000, thousandths of a "
                        "percent, or a part such as 1/3");
    }

    store = cs_open_store(args);
    if (store == NULL) {
        return 1;
    }

    status = cs_store_begin(store, CS_WRITE);

    if (status == CS_OK) {
        status = cs_refunds_state(store, &args->conf, args->argv[0],
                                  args->argv[1], fraction);
    }

    if (status == CS_OK) {
        status = cs_store_commit(store);
    }

    if (status == CS_OK) {
        (void) printf("%s %s is refunded to %u.%03u %%\n", args->argv[0],
                      args->argv[1], fraction / 1000, fraction % 1000);

    } else if (status == CS_NONE) {
        (void) cs_fail("there is no transaction %s %s", args->argv[0],
                       args->argv[1]);
    } else {
        (void) cs_fail("%s", cs_store_error(store));
    }

    if (status != CS_OK) {
        cs_store_rollback(store);
    }

    cs_store_destroy(store);

    return status == CS_OK ? 0 : 1;
}


/* N, or A/B of the units, half up */

static int
cs_refunded_fraction(const char *text, unsigned *fraction)
{
    unsigned long  n, of;

    if (text == NULL || !cs_refunded_number(&text, &n)) {
        return -1;
    }

    of = CC_REFUND_ALL;

    if (*text == '/') {
        text++;

        if (!cs_refunded_number(&text, &of) || of == 0) {
            return -1;
        }
    }

    if (*text != '\0' || n > of) {
        return -1;
    }

    *fraction = (unsigned) ((CC_REFUND_ALL * n + of / 2) / of);

    return 0;
}


/* up to nine digits, and where they end */

static unsigned
cs_refunded_number(const char **text, unsigned long *number)
{
    unsigned  digits;

    *number = 0;

    for (digits = 0; **text >= '0' && **text <= '9'; digits++, (*text)++) {

        if (digits == 9) {
            return 0;
        }

        *number = *number * 10 + (unsigned long) (**text - '0');
    }

    return digits != 0;
}

/*
 * Values and columns of the store_* tables; see store_refund.h.
 */

#include <stdlib.h>

#include "buffer.h"
#include "store_ops.h"
#include "store_refund.h"


cs_status_e
cs_store_refund(cs_store_t *store, cs_refund_sql_e statement,
    const cs_refund_value_t *values, size_t n, cs_refund_row_pt row, void *ctx)
{
    return store->ops->refund(store, statement, values, n, row, ctx);
}


cs_refund_value_t
cs_refund_text(const char *text)
{
    return cs_refund_bytes(cs_str_of(text));
}


cs_refund_value_t
cs_refund_bytes(cc_str_t text)
{
    cs_refund_value_t  value;

    value = cs_refund_number(0);
    value.text.data = text.len ? text.data : (const unsigned char *) "";
    value.text.len = text.len;

    return value;
}


cs_refund_value_t
cs_refund_number(int64_t number)
{
    cs_refund_value_t  value;

    memset(&value, 0, sizeof(cs_refund_value_t));
    value.number = number;

    return value;
}


cs_refund_value_t
cs_refund_null(void)
{
    cs_refund_value_t  value;

    value = cs_refund_number(0);
    value.null = 1;

    return value;
}


int64_t
cs_refund_whole(cc_str_t column)
{
    char  text[24];

    if (column.len == 0 || column.len >= sizeof(text)) {
        return 0;
    }

    memcpy(text, column.data, column.len);
    text[column.len] = '\0';

    return strtoll(text, NULL, 10);
}

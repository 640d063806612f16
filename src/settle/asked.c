/*
 * What was asked for; see asked.h.
 */

#include "asked.h"


void
cs_asked_add(cs_asked_t *asked, cc_str_t code, int64_t version)
{
    cs_asked_item_t  *item;

    if (asked->n == CS_ASKED_MAX || code.len > CC_ID_MAX) {
        return;
    }

    item = &asked->items[asked->n++];

    if (code.len) {
        memcpy(item->code, code.data, code.len);
    }

    item->len = code.len;
    item->version = version;
    item->answered = 0;
    item->moved = 0;
}


cc_str_t
cs_asked_code(const cs_asked_item_t *item)
{
    cc_str_t  code;

    code.data = item->code;
    code.len = item->len;

    return code;
}


cs_asked_item_t *
cs_asked_find(cs_asked_t *asked, cc_str_t code)
{
    size_t            i;
    cs_asked_item_t  *item;

    for (i = 0; i < asked->n; i++) {

        item = &asked->items[i];

        if (item->len == code.len
            && memcmp(item->code, code.data, code.len) == 0)
        {
            return item;
        }
    }

    return NULL;
}


void
cs_asked_listed(void *ctx, cc_str_t code, int64_t version)
{
    cs_asked_add(ctx, code, version);
}

/*
 * A list of strings; see string_list.h.
 */

#include "string_list.h"


void
cs_strings_add(cs_strings_t *list, cc_str_t text)
{
    cc_str_t  string, bytes;

    string.data = NULL;
    string.len = text.len;

    bytes.data = (const unsigned char *) &string;
    bytes.len = sizeof(cc_str_t);

    cs_buffer_add(&list->strings, bytes);
    cs_buffer_add(&list->text, text);
}


const cc_str_t *
cs_strings_all(cs_strings_t *list, size_t *n)
{
    size_t                i;
    cc_str_t             *strings;
    const unsigned char  *text;

    strings = (cc_str_t *) (void *) list->strings.data;
    text = list->text.data;

    *n = list->strings.len / sizeof(cc_str_t);

    for (i = 0; i < *n; i++) {
        strings[i].data = text;
        text += strings[i].len;
    }

    return strings;
}


void
cs_strings_free(cs_strings_t *list)
{
    cs_buffer_free(&list->text);
    cs_buffer_free(&list->strings);
}

/*
 * A list of strings that grows.  It keeps copies in one piece of memory that
 * moves while it grows, so they can be looked at only when all are there.
 */

#ifndef CS_STRING_LIST_H
#define CS_STRING_LIST_H

#include "buffer.h"


/* all zero is an empty list */
typedef struct {
    cs_buffer_t   text;
    cs_buffer_t   strings;           /* of cc_str_t; data comes last */
} cs_strings_t;


void cs_strings_add(cs_strings_t *list, cc_str_t text);

/* all of them, and how many; good until the next one is added */
const cc_str_t *cs_strings_all(cs_strings_t *list, size_t *n);

void cs_strings_free(cs_strings_t *list);


#endif /* CS_STRING_LIST_H */

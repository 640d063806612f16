/*
 * A column of parameters for PostgreSQL: an array in its binary format, so that
 * nothing has to be quoted.
 */

#ifndef CS_PG_ARRAY_H
#define CS_PG_ARRAY_H

#include "buffer.h"


typedef enum {                         /* pg_type.oid */
    CS_PG_BYTEA = 17,
    CS_PG_INT8 = 20,
    CS_PG_TEXT = 25
} cs_pg_type_e;

typedef struct {
    cs_buffer_t   bytes;               /* with its head */
    uint32_t      n;
    cs_pg_type_e  type;
} cs_pg_array_t;


/* the array is all zero, or was freed */
void cs_pg_array_init(cs_pg_array_t *array, cs_pg_type_e type);
void cs_pg_array_free(cs_pg_array_t *array);

void cs_pg_array_null(cs_pg_array_t *array);
void cs_pg_array_int(cs_pg_array_t *array, int64_t number);

/* for bytea as well */
void cs_pg_array_text(cs_pg_array_t *array, cc_str_t text);


#endif /* CS_PG_ARRAY_H */

/*
 * Arrays for PostgreSQL; see pg_array.h.
 *
 * The head: number of dimensions, "has nulls", type of the elements, length of
 * the dimension, its lowest index; then each element with its length in front
 * of it, -1 for a null.  All numbers are four bytes, most significant first.
 */

#include "pg_array.h"


#define CS_PG_ARRAY_LENGTH  12         /* where the length stands in the head */


static void cs_pg_array_word(cs_buffer_t *buffer, uint32_t word);
static void cs_pg_array_add(cs_pg_array_t *array, uint32_t len);


void
cs_pg_array_init(cs_pg_array_t *array, cs_pg_type_e type)
{
    array->type = type;
    array->n = 0;
    array->bytes.len = 0;

    cs_pg_array_word(&array->bytes, 1);
    cs_pg_array_word(&array->bytes, 1);
    cs_pg_array_word(&array->bytes, type);
    cs_pg_array_word(&array->bytes, 0);
    cs_pg_array_word(&array->bytes, 1);
}


void
cs_pg_array_free(cs_pg_array_t *array)
{
    cs_buffer_free(&array->bytes);
}


void
cs_pg_array_null(cs_pg_array_t *array)
{
    cs_pg_array_add(array, UINT32_MAX);
}


void
cs_pg_array_int(cs_pg_array_t *array, int64_t number)
{
    cs_pg_array_add(array, 8);
    cs_pg_array_word(&array->bytes, (uint32_t) ((uint64_t) number >> 32));
    cs_pg_array_word(&array->bytes, (uint32_t) number);
}


void
cs_pg_array_text(cs_pg_array_t *array, cc_str_t text)
{
    cs_pg_array_add(array, (uint32_t) text.len);
    cs_buffer_add(&array->bytes, text);
}


/* one element more, of this length */

static void
cs_pg_array_add(cs_pg_array_t *array, uint32_t len)
{
    unsigned        i;
    unsigned char  *length = array->bytes.data + CS_PG_ARRAY_LENGTH;

    array->n++;

    for (i = 0; i < 4; i++) {
        length[i] = (unsigned char) (array->n >> (24 - 8 * i));
    }

    cs_pg_array_word(&array->bytes, len);
}


static void
cs_pg_array_word(cs_buffer_t *buffer, uint32_t word)
{
    unsigned       i;
    cc_str_t       text;
    unsigned char  bytes[4];

    for (i = 0; i < 4; i++) {
        bytes[i] = (unsigned char) (word >> (24 - 8 * i));
    }

    text.data = bytes;
    text.len = 4;

    cs_buffer_add(buffer, text);
}

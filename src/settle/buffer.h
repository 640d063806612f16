/*
 * A buffer that grows, and text that is safe to show.
 *
 * Without memory the process ends, with one line that says so: everything here
 * is made to be killed at any moment, and a daemon that limps on without memory
 * helps nobody.  So nothing in this file can fail.
 */

#ifndef CS_BUFFER_H
#define CS_BUFFER_H

#include "core.h"


/* all zero is an empty buffer; the owner frees it with cs_buffer_free() */
typedef struct {
    unsigned char  *data;
    size_t          len;
    size_t          size;
} cs_buffer_t;


void *cs_alloc(size_t size);
char *cs_copy(const char *text);
void cs_no_memory(void) __attribute__((noreturn));

void cs_buffer_add(cs_buffer_t *buffer, cc_str_t bytes);
void cs_buffer_text(cs_buffer_t *buffer, const char *text);
void cs_buffer_format(cs_buffer_t *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void cs_buffer_free(cs_buffer_t *buffer);

/*
 * Adds bytes that a stranger wrote, fit for a terminal and a log: what is not
 * printable ASCII becomes \xNN.  With quoted, " and \ become \" and \\.
 */
void cs_buffer_escape(cs_buffer_t *buffer, cc_str_t bytes, unsigned quoted);

/* shows bytes that a stranger wrote, escaped, on standard output */
void cs_print(cc_str_t bytes);

cc_str_t cs_str_of(const char *text);


#endif /* CS_BUFFER_H */

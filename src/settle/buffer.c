/*
 * Growing buffers and escaped text; see buffer.h.
 */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "buffer.h"


#define CS_BUFFER_ROOM  64           /* for a formatted number or time */


static void cs_buffer_reserve(cs_buffer_t *buffer, size_t len);


void *
cs_alloc(size_t size)
{
    void  *p;

    p = calloc(1, size ? size : 1);
    if (p == NULL) {
        cs_no_memory();
    }

    return p;
}


char *
cs_copy(const char *text)
{
    char  *copy;

    copy = strdup(text);
    if (copy == NULL) {
        cs_no_memory();
    }

    return copy;
}


void
cs_buffer_add(cs_buffer_t *buffer, cc_str_t bytes)
{
    if (bytes.len == 0) {
        return;
    }

    cs_buffer_reserve(buffer, bytes.len);

    memcpy(buffer->data + buffer->len, bytes.data, bytes.len);
    buffer->len += bytes.len;
}


void
cs_buffer_text(cs_buffer_t *buffer, const char *text)
{
    cs_buffer_add(buffer, cs_str_of(text));
}


void
cs_buffer_format(cs_buffer_t *buffer, const char *format, ...)
{
    int      n;
    size_t   room;
    va_list  args;

    /* most of it is short and fits at once; its NUL does not count */

    for (room = CS_BUFFER_ROOM; ; room = (size_t) n + 1) {

        cs_buffer_reserve(buffer, room);

        va_start(args, format);
        n = vsnprintf((char *) buffer->data + buffer->len, room, format, args);
        va_end(args);

        if (n < 0) {
            return;
        }

        if ((size_t) n < room) {
            buffer->len += (size_t) n;
            return;
        }
    }
}


void
cs_buffer_escape(cs_buffer_t *buffer, cc_str_t bytes, unsigned quoted)
{
    size_t         i;
    cc_str_t       plain;
    unsigned char  ch;

    plain.data = bytes.data;
    plain.len = 0;

    for (i = 0; i < bytes.len; i++) {

        ch = bytes.data[i];

        if (ch >= 0x20 && ch < 0x7f && !(quoted && (ch == '"' || ch == '\\')))
        {
            plain.len++;
            continue;
        }

        cs_buffer_add(buffer, plain);
        cs_buffer_format(buffer, ch < 0x20 || ch >= 0x7f ? "\\x%02x" : "\\%c",
                         ch);

        plain.data = bytes.data + i + 1;
        plain.len = 0;
    }

    cs_buffer_add(buffer, plain);
}


void
cs_buffer_free(cs_buffer_t *buffer)
{
    free(buffer->data);
    memset(buffer, 0, sizeof(cs_buffer_t));
}


void
cs_print(cc_str_t bytes)
{
    cs_buffer_t  buffer;

    memset(&buffer, 0, sizeof(cs_buffer_t));

    cs_buffer_escape(&buffer, bytes, 0);
    if (buffer.len) {
        (void) fwrite(buffer.data, 1, buffer.len, stdout);
    }

    cs_buffer_free(&buffer);
}


cc_str_t
cs_str_of(const char *text)
{
    cc_str_t  s;

    s.data = (const unsigned char *) text;
    s.len = strlen(text);

    return s;
}


static void
cs_buffer_reserve(cs_buffer_t *buffer, size_t len)
{
    size_t          size;
    unsigned char  *data;

    if (buffer->size - buffer->len >= len) {
        return;
    }

    size = buffer->size ? buffer->size : 256;

    while (size - buffer->len < len) {
        size *= 2;
    }

    data = realloc(buffer->data, size);
    if (data == NULL) {
        cs_no_memory();
    }

    buffer->data = data;
    buffer->size = size;
}


void
cs_no_memory(void)
{
    static const char  line[] = "level=error msg=\"out of memory\"\n";

    (void) !write(STDERR_FILENO, line, sizeof(line) - 1);
    _exit(1);
}

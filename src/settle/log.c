/*
 * logfmt on standard error; see log.h.
 *
 * A line is built in memory and written with one write(2), so that the lines of
 * several processes that share a standard error do not tear each other apart.
 */

#include <errno.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"


static void cs_log_field(const cs_field_t *field);
static int cs_log_plain(cc_str_t text);
static void cs_log_flush(void);


static _Thread_local cs_buffer_t  cs_log_buffer;
static _Thread_local unsigned     cs_log_held;


void
cs_log_write(cs_log_level_e level, const cs_field_t *fields, size_t n)
{
    char                time[CS_TIME_TEXT];
    size_t              i;
    static const char  *levels[] = { "info", "warn", "error" };

    cs_time_format(time, cs_now());

    cs_buffer_text(&cs_log_buffer, "time=");
    cs_buffer_text(&cs_log_buffer, time);
    cs_buffer_text(&cs_log_buffer, " level=");
    cs_buffer_text(&cs_log_buffer, levels[level]);

    for (i = 0; i < n; i++) {
        cs_log_field(&fields[i]);
    }

    cs_buffer_text(&cs_log_buffer, "\n");

    if (!cs_log_held) {
        cs_log_flush();
    }
}


static void
cs_log_field(const cs_field_t *field)
{
    cs_buffer_text(&cs_log_buffer, " ");
    cs_buffer_text(&cs_log_buffer, field->key);
    cs_buffer_text(&cs_log_buffer, "=");

    if (field->text.data == NULL) {
        cs_buffer_format(&cs_log_buffer, "%lld", (long long) field->number);
        return;
    }

    if (cs_log_plain(field->text)) {
        cs_buffer_add(&cs_log_buffer, field->text);
        return;
    }

    cs_buffer_text(&cs_log_buffer, "\"");
    cs_buffer_escape(&cs_log_buffer, field->text, 1);
    cs_buffer_text(&cs_log_buffer, "\"");
}


static int
cs_log_plain(cc_str_t text)
{
    size_t         i;
    unsigned char  ch;

    for (i = 0; i < text.len; i++) {

        ch = text.data[i];

        if (ch <= 0x20 || ch >= 0x7f || ch == '=' || ch == '"' || ch == '\\') {
            return 0;
        }
    }

    return text.len > 0;
}


void
cs_log_hold(void)
{
    cs_log_held = 1;
}


void
cs_log_release(void)
{
    cs_log_held = 0;
    cs_log_flush();
}


void
cs_log_discard(void)
{
    cs_log_held = 0;
    cs_log_buffer.len = 0;
}


void
cs_log_free(void)
{
    cs_buffer_free(&cs_log_buffer);
}


size_t
cs_log_mark(void)
{
    return cs_log_buffer.len;
}


void
cs_log_rewind(size_t mark)
{
    cs_log_buffer.len = mark;
}


static void
cs_log_flush(void)
{
    size_t   done;
    ssize_t  n;

    for (done = 0; done < cs_log_buffer.len; done += (size_t) n) {

        n = write(STDERR_FILENO, cs_log_buffer.data + done,
                  cs_log_buffer.len - done);

        if (n < 0) {

            if (errno != EINTR) {
                break;
            }

            n = 0;
        }
    }

    cs_log_buffer.len = 0;
}


cs_field_t
cs_bytes(const char *key, cc_str_t bytes)
{
    cs_field_t  field;

    field.key = key;
    field.text = bytes;
    field.number = 0;

    if (bytes.data == NULL) {
        field.text = cs_str_of("");
    }

    return field;
}


cs_field_t
cs_text(const char *key, const char *text)
{
    return cs_bytes(key, cs_str_of(text));
}


cs_field_t
cs_number(const char *key, int64_t number)
{
    cs_field_t  field;

    memset(&field, 0, sizeof(cs_field_t));

    field.key = key;
    field.number = number;

    return field;
}

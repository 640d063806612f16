/*
 * The log: logfmt, one fact a line, on standard error.
 *
 *     cs_log(CS_LOG_INFO, cs_msg("batch settled"), cs_text("batch", id),
 *            cs_number("coupons", 2));
 *
 * Values are quoted and escaped where they need it.  Never give it a secret, a
 * token or a body.
 *
 * Each thread has a log of its own; only whole lines meet.
 *
 * What is said inside a database transaction is true only once that has been
 * committed.  So the worker holds the log, takes back what a failed batch said,
 * and lets go of the rest with the commit.
 */

#ifndef CS_LOG_H
#define CS_LOG_H

#include "buffer.h"


typedef enum {
    CS_LOG_INFO = 0,
    CS_LOG_WARN,
    CS_LOG_ERROR
} cs_log_level_e;

/* a text if text.data is set, else a number */
typedef struct {
    const char  *key;
    cc_str_t     text;
    int64_t      number;
} cs_field_t;


#define cs_log(level, ...)                                                    \
    cs_log_write(level, (cs_field_t[]) { __VA_ARGS__ },                       \
                 sizeof((cs_field_t[]) { __VA_ARGS__ }) / sizeof(cs_field_t))

cs_field_t cs_bytes(const char *key, cc_str_t bytes);
cs_field_t cs_text(const char *key, const char *text);
cs_field_t cs_number(const char *key, int64_t number);
#define cs_msg(text)  cs_text("msg", text)

void cs_log_write(cs_log_level_e level, const cs_field_t *fields, size_t n);

/* keeps what is written from now on, until one of the two below */
void cs_log_hold(void);
void cs_log_release(void);
void cs_log_discard(void);

/* what a thread does before it ends */
void cs_log_free(void);

/* a place in what is held, and taking back all that came behind it */
size_t cs_log_mark(void);
void cs_log_rewind(size_t mark);


#endif /* CS_LOG_H */

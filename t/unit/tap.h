/*
 * The whole test library of the plain-C tests: TAP on standard output, what
 * differed as comments behind a failed line, and an exit status.
 *
 * A program calls ok(), is_int(), is_str() as often as it likes and ends with
 * `return done_testing();`.  A property that is checked thousands of times
 * counts its failures itself, shows the first few with diag() and ends in one
 * ok(): a line of TAP for a fact, not for a round of a loop.
 *
 * One program is one file, so everything here is static; what a program does
 * not call must not warn.
 */

#ifndef CC_TAP_H
#define CC_TAP_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core.h"


#define TAP_UNUSED  __attribute__((unused))

#define ok(condition, ...)                                                    \
    tap_ok((condition) ? 1 : 0, __LINE__, __VA_ARGS__)

#define is_int(got, want, ...)                                                \
    tap_is_int((long long) (got), (long long) (want), __LINE__, __VA_ARGS__)

#define is_str(got, want, ...)                                                \
    tap_is_str(got, want, __LINE__, __VA_ARGS__)


static unsigned  tap_tests, tap_failed;


static void TAP_UNUSED __attribute__((format(printf, 1, 2)))
diag(const char *format, ...)
{
    va_list  args;

    (void) fputs("# ", stdout);
    va_start(args, format);
    (void) vprintf(format, args);
    va_end(args);
    (void) putchar('\n');
}


/* bytes that may be anything, on one line of a diagnosis */
static void TAP_UNUSED
diag_bytes(const char *label, cc_str_t s)
{
    size_t  i;

    (void) printf("# %s", label);

    for (i = 0; i < s.len && i < 400; i++) {
        if (s.data[i] >= 0x20 && s.data[i] < 0x7f && s.data[i] != '\\') {
            (void) putchar(s.data[i]);

        } else {
            (void) printf("\\x%02x", s.data[i]);
        }
    }

    (void) printf("%s (%zu bytes)\n", i < s.len ? "..." : "", s.len);
}


/* a name is one line without a directive, whatever a test puts into it */
static int TAP_UNUSED __attribute__((format(printf, 3, 0)))
tap_line(int passed, int line, const char *format, va_list args)
{
    char           name[200];
    unsigned char  c;
    size_t         i;

    tap_tests++;
    tap_failed += passed ? 0 : 1;

    (void) vsnprintf(name, sizeof(name), format, args);
    (void) printf("%sok %u - ", passed ? "" : "not ", tap_tests);

    for (i = 0; name[i]; i++) {
        c = (unsigned char) name[i];

        if (c >= 0x20 && c < 0x7f && c != '#' && c != '\\') {
            (void) putchar(c);

        } else {
            (void) printf("\\x%02x", c);
        }
    }

    (void) putchar('\n');

    if (!passed) {
        diag("line %d", line);
    }

    return passed;
}


static int TAP_UNUSED __attribute__((format(printf, 3, 4)))
tap_ok(int passed, int line, const char *format, ...)
{
    va_list  args;

    va_start(args, format);
    (void) tap_line(passed, line, format, args);
    va_end(args);

    return passed;
}


static int TAP_UNUSED __attribute__((format(printf, 4, 5)))
tap_is_int(long long got, long long want, int line, const char *format, ...)
{
    va_list  args;

    va_start(args, format);
    (void) tap_line(got == want, line, format, args);
    va_end(args);

    if (got != want) {
        diag("got %lld, want %lld", got, want);
    }

    return got == want;
}


static int TAP_UNUSED __attribute__((format(printf, 4, 5)))
tap_is_str(cc_str_t got, const char *want, int line, const char *format, ...)
{
    int      passed = cc_str_is(got, want);
    va_list  args;

    va_start(args, format);
    (void) tap_line(passed, line, format, args);
    va_end(args);

    if (!passed) {
        diag_bytes("got  ", got);
        diag("want %s", want);
    }

    return passed;
}


/* a part that needs what is not here; it counts as one passed test */
static void TAP_UNUSED
skip(const char *why)
{
    tap_tests++;
    (void) printf("ok %u # SKIP %s\n", tap_tests, why);
}


/* the exit status of main() */
static int TAP_UNUSED
done_testing(void)
{
    (void) printf("1..%u\n", tap_tests);

    if (tap_failed) {
        diag("%u of %u failed", tap_failed, tap_tests);
    }

    return tap_failed == 0 && tap_tests > 0 ? 0 : 1;
}


#endif /* CC_TAP_H */

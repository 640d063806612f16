/*
 * Clocks and the wish to stop; see clock.h.
 */

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "clock.h"


static void cs_stop_signals(sigset_t *set);
static int64_t cs_clock(clockid_t id);


static atomic_int  cs_stop_asked;


int64_t
cs_now(void)
{
    return cs_clock(CLOCK_REALTIME) / 1000;
}


int64_t
cs_monotonic(void)
{
    return cs_clock(CLOCK_MONOTONIC) / 1000;
}


int64_t
cs_monotonic_us(void)
{
    return cs_clock(CLOCK_MONOTONIC);
}


static int64_t
cs_clock(clockid_t id)
{
    struct timespec  ts;

    (void) clock_gettime(id, &ts);

    return (int64_t) ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}


void
cs_time_format(char *buf, int64_t ms)
{
    size_t     n;
    time_t     seconds;
    struct tm  tm;

    seconds = (time_t) (ms / 1000);

    if (ms < 0 || gmtime_r(&seconds, &tm) == NULL || tm.tm_year > 9999 - 1900) {
        (void) snprintf(buf, CS_TIME_TEXT, "%lld", (long long) ms);
        return;
    }

    n = strftime(buf, CS_TIME_TEXT, "%Y-%m-%dT%H:%M:%S", &tm);
    (void) snprintf(buf + n, CS_TIME_TEXT - n, ".%03dZ", (int) (ms % 1000));
}


void
cs_stop_init(void)
{
    sigset_t  set;

    cs_stop_signals(&set);
    (void) sigprocmask(SIG_BLOCK, &set, NULL);
}


int
cs_stop_wait(int64_t ms)
{
    sigset_t         set;
    struct timespec  ts;

    if (cs_stop_asked) {
        return 1;
    }

    ts.tv_sec = ms / 1000;
    ts.tv_nsec = ms % 1000 * 1000000;

    cs_stop_signals(&set);

    if (sigtimedwait(&set, NULL, &ts) > 0) {
        cs_stop_asked = 1;
    }

    return cs_stop_asked;
}


void
cs_stop_ask(void)
{
    cs_stop_asked = 1;
}


static void
cs_stop_signals(sigset_t *set)
{
    (void) sigemptyset(set);
    (void) sigaddset(set, SIGTERM);
    (void) sigaddset(set, SIGINT);
}

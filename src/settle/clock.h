/*
 * Time: what the wall clock says, how long ago something was, and waiting.
 *
 * Times that are stored or shown are Unix milliseconds.  Intervals are measured
 * with the monotonic clock, in milliseconds too.
 */

#ifndef CS_CLOCK_H
#define CS_CLOCK_H

#include <stdint.h>


#define CS_TIME_TEXT  32          /* room for cs_time_format() with its NUL */


int64_t cs_now(void);
int64_t cs_monotonic(void);

/* the same in microseconds, for what is done in less than a millisecond */
int64_t cs_monotonic_us(void);

/* "2026-01-31T12:00:00.000Z" into buf, which has CS_TIME_TEXT bytes */
void cs_time_format(char *buf, int64_t ms);


/*
 * Makes SIGTERM and SIGINT a request instead of an end.  They stay blocked, so
 * that no system call is torn; cs_stop_wait() is where they are noticed.  To be
 * called before the first thread is made.
 */
void cs_stop_init(void);

/* as if the process had been asked to stop */
void cs_stop_ask(void);

/*
 * Waits ms milliseconds (0: only looks).  Returns 1 at once, and ever after, if
 * the process was asked to stop; else 0.  Of several threads that wait one is
 * told at once, the others when their time is over.
 */
int cs_stop_wait(int64_t ms);


#endif /* CS_CLOCK_H */

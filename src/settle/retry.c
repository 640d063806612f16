/*
 * Pauses between tries; see retry.h.
 */

#include <stdio.h>
#include <sys/random.h>

#include "clock.h"
#include "log.h"
#include "retry.h"


int64_t
cs_retry_failed(cs_retry_t *retry, const char *reason)
{
    int64_t   cap;
    uint32_t  random;

    cs_count(CS_COUNT_RETRY + retry->cause, 1);

    cap = retry->cap ? retry->cap : CS_RETRY_CAP;

    if (retry->pause == 0) {
        retry->pause = CS_RETRY_FIRST;
        retry->since = cs_monotonic();
        retry->reason[0] = '\0';

    } else if (retry->pause < cap) {
        retry->pause *= 2;
    }

    if (retry->pause > cap) {
        retry->pause = cap;
    }

    /* the reason is cut to its room first, or a long one always differs */

    if (strncmp(reason, retry->reason, sizeof(retry->reason) - 1) != 0) {
        (void) snprintf(retry->reason, sizeof(retry->reason), "%s", reason);

        cs_log(CS_LOG_ERROR, cs_msg("away, trying again"),
               cs_text("what", retry->what), cs_text("reason", reason));
    }

    /* without the random part the pause is only less well spread */

    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random)) {
        random = 0;
    }

    return retry->pause / 2 + random % (retry->pause / 2 + 1);
}


void
cs_retry_done(cs_retry_t *retry)
{
    if (retry->pause == 0) {
        return;
    }

    cs_log(CS_LOG_INFO, cs_msg("back again"), cs_text("what", retry->what),
           cs_number("away_ms", cs_monotonic() - retry->since));

    retry->pause = 0;
}

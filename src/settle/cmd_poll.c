/*
 * coupon-settle poll, recover: the poller without the inbox.
 *
 * poll goes on until it is asked to stop, or makes one round; recover ends with
 * its recovery.  What either has not finished, the next start begins again.
 */

#include <stdlib.h>
#include <time.h>

#include "clock.h"
#include "command.h"
#include "polling.h"
#include "setting.h"


#define CS_POLL_PATIENCE_MS  10000
#define CS_POLL_NAP_MS       500
#define CS_RECOVER_TRIES     10          /* of one request, before it ends */

typedef struct {
    cs_store_t  *store;
    cs_api_t    *api;
    cs_poll_t    poll;
} cs_polling_t;


static cs_polling_t *cs_polling_create(const cs_args_t *args, unsigned eager);
static void cs_polling_destroy(cs_polling_t *polling);
static int cs_poll_round(cs_poll_t *poll);


int
cs_cmd_poll(const cs_args_t *args)
{
    int            failed;
    int64_t        wait;
    cs_polling_t  *polling;

    if (cs_without_api(args)) {
        return 1;
    }

    cs_stop_init();

    polling = cs_polling_create(args, args->once);
    failed = 0;

    if (args->once) {
        failed = cs_poll_round(&polling->poll);

    } else {
        wait = 0;

        while (!cs_stop_wait(wait < CS_POLL_NAP_MS ? wait : CS_POLL_NAP_MS)) {
            wait = cs_poll_step(&polling->poll);
        }
    }

    cs_polling_destroy(polling);

    return failed;
}


/* all that is to be done now; the first failure ends it */

static int
cs_poll_round(cs_poll_t *poll)
{
    int64_t  wait;

    do {
        wait = cs_poll_step(poll);

        if (poll->failed) {
            return cs_fail("%s", poll->error);
        }

        if (cs_stop_wait(0)) {
            return cs_fail("interrupted; what is missing, the next round does");
        }

    } while (wait == 0);

    return 0;
}


int
cs_cmd_recover(const cs_args_t *args)
{
    int            failed, tries;
    int64_t        created, wait;
    cs_polling_t  *polling;

    created = 0;

    if (args->created_since
        && cs_time_option(&created, "created-since", args->created_since) != 0)
    {
        return CS_USAGE;
    }

    if (cs_without_api(args)) {
        return 1;
    }

    cs_stop_init();

    polling = cs_polling_create(args, 1);
    cs_poll_recover(&polling->poll, created);

    tries = 0;
    failed = 0;

    do {
        wait = cs_poll_step(&polling->poll);
        tries = polling->poll.failed ? tries + 1 : 0;

        if (tries == CS_RECOVER_TRIES || polling->poll.denied) {
            failed = cs_fail("%s", polling->poll.error);

        } else if (cs_stop_wait(tries ? wait : 0)) {
            failed = cs_fail("interrupted");
        }

    } while (!failed && (tries || wait == 0));

    if (failed) {
        (void) cs_fail("the recovery is not finished: start it again");
    }

    cs_polling_destroy(polling);

    return failed;
}


static cs_polling_t *
cs_polling_create(const cs_args_t *args, unsigned eager)
{
    cs_polling_t  *polling;

    polling = cs_alloc(sizeof(cs_polling_t));

    polling->store = cs_store_create(&args->conf.store, CS_POLL_PATIENCE_MS);
    polling->api = cs_api_create(&args->conf.api);
    cs_poll_init(&polling->poll, &args->conf, polling->store, polling->api,
                 eager);

    return polling;
}


static void
cs_polling_destroy(cs_polling_t *polling)
{
    cs_poll_free(&polling->poll);
    cs_api_destroy(polling->api);
    cs_store_destroy(polling->store);
    free(polling);
}


int
cs_without_api(const cs_args_t *args)
{
    if (args->conf.api.base_url) {
        return 0;
    }

    return cs_fail("%s has no [api]: base_url and token_file are needed",
                   args->path);
}


int
cs_time_option(int64_t *ms, const char *name, const char *text)
{
    int          day;
    int64_t      ago;
    size_t       i;
    struct tm    tm;
    const char  *end;
    static const char *const  formats[] = { "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d" };

    if (cs_set_duration(&ago, text) == NULL) {
        *ms = cs_now() - ago;
        return 0;
    }

    for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {

        memset(&tm, 0, sizeof(struct tm));
        end = strptime(text, formats[i], &tm);

        if (end == NULL || *end != '\0') {
            continue;
        }

        /* February 30 would become a day of March */

        day = tm.tm_mday;
        *ms = (int64_t) timegm(&tm) * 1000;

        if (tm.tm_mday == day) {
            return *ms <= cs_now() ? 0
                   : cs_usage("--%s %s is in the future", name, text);
        }
    }

    return cs_usage("--%s %s is no time such as 2026-01-31, "
                    "2026-01-31T12:00:00Z or 3d (ago)", name, text);
}

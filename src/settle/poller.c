/*
 * The thread of the poller; see poller.h.
 */

#include <pthread.h>
#include <stdlib.h>

#include "clock.h"
#include "log.h"
#include "polling.h"
#include "poller.h"


#define CS_POLLER_PATIENCE_MS  10000     /* for a locked store */
#define CS_POLLER_NAP_MS       500       /* so soon is a wish to stop noticed */

struct cs_poller_s {
    pthread_t    thread;
    cs_store_t  *store;
    cs_api_t    *api;
    cs_poll_t    poll;
};


static void *cs_poller_main(void *ctx);


cs_poller_t *
cs_poller_start(const cs_conf_t *conf)
{
    cs_poller_t  *poller;

    if (conf->api.base_url == NULL) {
        return NULL;
    }

    poller = cs_alloc(sizeof(cs_poller_t));

    poller->store = cs_store_create(&conf->store, CS_POLLER_PATIENCE_MS);
    poller->api = cs_api_create(&conf->api);
    cs_poll_init(&poller->poll, conf, poller->store, poller->api, 0);

    if (pthread_create(&poller->thread, NULL, cs_poller_main, poller) != 0) {
        cs_no_memory();
    }

    return poller;
}


static void *
cs_poller_main(void *ctx)
{
    int64_t       wait;
    cs_poller_t  *poller = ctx;

    cs_log(CS_LOG_INFO, cs_msg("polling"),
           cs_text("api", poller->poll.conf->api.base_url),
           cs_number("interval_ms", poller->poll.conf->api.interval));

    wait = 0;

    while (!cs_stop_wait(wait < CS_POLLER_NAP_MS ? wait : CS_POLLER_NAP_MS)) {
        wait = cs_poll_step(&poller->poll);
    }

    cs_log_free();

    return NULL;
}


void
cs_poller_join(cs_poller_t *poller)
{
    if (poller == NULL) {
        return;
    }

    cs_stop_ask();
    (void) pthread_join(poller->thread, NULL);

    cs_poll_free(&poller->poll);
    cs_api_destroy(poller->api);
    cs_store_destroy(poller->store);
    free(poller);
}

/*
 * The thread of the relay; see relay.h.
 */

#include <pthread.h>
#include <stdlib.h>

#include "clock.h"
#include "log.h"
#include "outbox.h"
#include "relay.h"


#define CS_RELAY_PATIENCE_MS  10000      /* for a locked store */
#define CS_RELAY_NAP_MS       500        /* so soon is a wish to stop noticed */

struct cs_relay_s {
    pthread_t     thread;
    cs_store_t   *store;
    cs_outbox_t   outbox;
};


static void *cs_relay_main(void *ctx);


cs_relay_t *
cs_relay_start(const cs_conf_t *conf)
{
    cs_relay_t  *relay;

    if (!conf->relays) {
        return NULL;
    }

    relay = cs_alloc(sizeof(cs_relay_t));

    relay->store = cs_store_create(&conf->store, CS_RELAY_PATIENCE_MS);
    cs_outbox_init(&relay->outbox, conf, relay->store);

    if (pthread_create(&relay->thread, NULL, cs_relay_main, relay) != 0) {
        cs_no_memory();
    }

    return relay;
}


static void *
cs_relay_main(void *ctx)
{
    int64_t      wait;
    cs_relay_t  *relay = ctx;

    cs_log(CS_LOG_INFO, cs_msg("relaying"),
           cs_text("stream", relay->outbox.conf->operations));

    wait = 0;

    while (!cs_stop_wait(wait < CS_RELAY_NAP_MS ? wait : CS_RELAY_NAP_MS)) {
        wait = cs_outbox_step(&relay->outbox);
    }

    cs_log_free();

    return NULL;
}


void
cs_relay_join(cs_relay_t *relay)
{
    if (relay == NULL) {
        return;
    }

    cs_stop_ask();
    (void) pthread_join(relay->thread, NULL);

    cs_outbox_free(&relay->outbox);
    cs_store_destroy(relay->store);
    free(relay);
}

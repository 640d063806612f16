/*
 * Health of the main loop; see health.h.
 */

#include <stdatomic.h>

#include "clock.h"
#include "health.h"


static atomic_int            cs_health_last;
static atomic_int_fast64_t   cs_health_beat_at;
static atomic_uint           cs_health_asked;


void
cs_health_beat(void)
{
    atomic_store(&cs_health_beat_at, cs_monotonic());
}


void
cs_health_round(cs_health_e health)
{
    cs_health_beat();
    atomic_store(&cs_health_last, (int) health);
}


unsigned
cs_health_wanted(void)
{
    return atomic_exchange(&cs_health_asked, 0);
}


cs_health_e
cs_health(void)
{
    return cs_health_judge((cs_health_e) atomic_load(&cs_health_last),
                           atomic_load(&cs_health_beat_at), cs_monotonic());
}


cs_health_e
cs_health_ask(void)
{
    atomic_store(&cs_health_asked, 1);

    return cs_health();
}


cs_health_e
cs_health_judge(cs_health_e last, int64_t beat, int64_t now)
{
    if (last != CS_HEALTH_STARTING && now - beat > CS_HEALTH_STUCK) {
        return CS_HEALTH_STUCK_LOOP;
    }

    return last;
}


const char *
cs_health_text(cs_health_e health)
{
    switch (health) {

    case CS_HEALTH_STARTING:
        return "starting: the store is being opened";

    case CS_HEALTH_READY:
        return "ready";

    case CS_HEALTH_REDIS:
        return "waiting for Redis";

    case CS_HEALTH_STORE:
        return "waiting for the store";

    case CS_HEALTH_WALLET:
        return "waiting for the wallet, whose trigger holds every batch";

    case CS_HEALTH_STUCK_LOOP:
        break;
    }

    return "stuck: the main loop has not turned for three minutes";
}

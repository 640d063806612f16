/*
 * Is the main loop of `run` ready, is it alive?  The loop tells how its rounds
 * end, and whoever is asked over HTTP finds it here; two atomic numbers, so
 * neither waits for the other.
 *
 * Ready: the last round reached Redis and the store.  Alive: the loop turns,
 * whatever it waits for; a restart would not bring a database back.
 */

#ifndef CS_HEALTH_H
#define CS_HEALTH_H

#include <stdint.h>


/*
 * Longer than everything together that may be waited for between two beats, in
 * ms: connecting, a statement, a commit, each with its own limit.
 */
#define CS_HEALTH_STUCK  (3 * 60 * 1000)

typedef enum {
    CS_HEALTH_STARTING = 0,     /* tables may have to be made: takes its time */
    CS_HEALTH_READY,
    CS_HEALTH_REDIS,            /* waits for Redis, … */
    CS_HEALTH_STORE,
    CS_HEALTH_WALLET,
    CS_HEALTH_STUCK_LOOP
} cs_health_e;


/* the loop turns; called at least once in CS_HEALTH_STUCK */
void cs_health_beat(void);

/* how a round has ended */
void cs_health_round(cs_health_e health);

/*
 * 1 if somebody has asked since the last call: then a round without anything to
 * settle is to look whether the store is there, which it does not otherwise.
 */
unsigned cs_health_wanted(void);

cs_health_e cs_health(void);

/* the same for who has asked for readiness */
cs_health_e cs_health_ask(void);

/* one line for people */
const char *cs_health_text(cs_health_e health);

/* the last round's, unless there was no beat for too long; times in ms */
cs_health_e cs_health_judge(cs_health_e last, int64_t beat, int64_t now);


#endif /* CS_HEALTH_H */

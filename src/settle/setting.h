/*
 * What a value in the configuration file may be: one setter for each kind.
 *
 * A setter reads the text into the field of cs_conf_t it is given and returns
 * NULL, or a constant sentence that says what is wrong with the text.
 */

#ifndef CS_SETTING_H
#define CS_SETTING_H


typedef const char *(*cs_set_pt)(void *field, const char *value);


/* the field is a cs_redis_conf_t, */
const char *cs_set_redis(void *field, const char *value);

/* a char *, which becomes a copy, */
const char *cs_set_text(void *field, const char *value);

/* a char *, a URL of https:, or of http: on this machine, */
const char *cs_set_web(void *field, const char *value);

/* an int64_t, in ms, */
const char *cs_set_duration(void *field, const char *value);

/* a cs_store_conf_t, */
const char *cs_set_store(void *field, const char *value);

/* an unsigned, yes or no, */
const char *cs_set_flag(void *field, const char *value);

/* an int64_t, from 1 on, */
const char *cs_set_count(void *field, const char *value);

/* an int64_t, */
const char *cs_set_status(void *field, const char *value);

/* an unsigned, 1 << cc_effect_e of each, */
const char *cs_set_effects(void *field, const char *value);

/* a cs_listen_t, 127.0.0.1:PORT or [::1]:PORT, */
const char *cs_set_listen(void *field, const char *value);

/* a cs_statuses_t */
const char *cs_set_statuses(void *field, const char *value);


#endif /* CS_SETTING_H */

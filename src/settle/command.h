/*
 * The commands of coupon-settle, and what they are called with.
 *
 * A command returns the exit status: 0 done, 1 not done, 2 wrong usage.  If it
 * is not 0, it was said why.
 */

#ifndef CS_COMMAND_H
#define CS_COMMAND_H

#include "config.h"
#include "store.h"


#define CS_USAGE  2

typedef struct {
    cs_conf_t     conf;
    const char   *path;          /* of the configuration */
    int           argc;          /* the words behind the command's name */
    char        **argv;
    const char   *status;        /* --status, --real-win; NULL if not given */
    const char   *real_win;
    unsigned      once;          /* --once */
    const char   *created_since; /* --created-since, --since */
    const char   *since;
    const char   *fraction;      /* --fraction */
    const char   *out;           /* --out */
} cs_args_t;


int cs_cmd_run(const cs_args_t *args);
int cs_cmd_show(const cs_args_t *args);
int cs_cmd_doubts(const cs_args_t *args);
int cs_cmd_resolve(const cs_args_t *args);
int cs_cmd_rejected(const cs_args_t *args);
int cs_cmd_poll(const cs_args_t *args);
int cs_cmd_recover(const cs_args_t *args);
int cs_cmd_reconcile(const cs_args_t *args);
int cs_cmd_relay(const cs_args_t *args);
int cs_cmd_requests(const cs_args_t *args);
int cs_cmd_refunded(const cs_args_t *args);
int cs_cmd_jwks(const cs_args_t *args);
int cs_cmd_migrate(const cs_args_t *args);
int cs_cmd_check(const cs_args_t *args);

/* a sentence on standard error; they return 1 and CS_USAGE */
int cs_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
int cs_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * The text of an option as a time in Unix ms: 2026-01-31, 2026-01-31T12:00:00Z,
 * or how long ago, as 3d.  Returns CS_USAGE after a sentence, or 0.
 */
int cs_time_option(int64_t *ms, const char *name, const char *text);

/* 0 if [api] is set, else 1, and it was said */
int cs_without_api(const cs_args_t *args);

/* the store, opened; or NULL, and it was said why */
cs_store_t *cs_open_store(const cs_args_t *args);

/* the same, but that there is none yet is CS_NONE and not said */
CC_MUST_USE cs_status_e cs_find_store(const cs_args_t *args,
    cs_store_t **store);


#endif /* CS_COMMAND_H */

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
} cs_args_t;


int cs_cmd_run(const cs_args_t *args);
int cs_cmd_show(const cs_args_t *args);
int cs_cmd_doubts(const cs_args_t *args);
int cs_cmd_resolve(const cs_args_t *args);
int cs_cmd_rejected(const cs_args_t *args);
int cs_cmd_migrate(const cs_args_t *args);
int cs_cmd_check(const cs_args_t *args);

/* a sentence on standard error; they return 1 and CS_USAGE */
int cs_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
int cs_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* the store, opened; or NULL, and it was said why */
cs_store_t *cs_open_store(const cs_args_t *args);

/* the same, but that there is none yet is CS_NONE and not said */
CC_MUST_USE cs_status_e cs_find_store(const cs_args_t *args,
    cs_store_t **store);


#endif /* CS_COMMAND_H */

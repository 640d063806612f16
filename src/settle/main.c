/*
 * coupon-settle: settles the coupon callbacks that the nginx module has put
 * into Redis.
 *
 * main() reads as what happens: find the command, read the options, read the
 * configuration, go.  What a command does stands in its own file; all of them
 * stand in one table here, which is also their help.
 */

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "command.h"


#define CS_VERSION        "0.1.0"

#define CS_PATIENCE_MS    10000      /* of a command, for a locked store */

typedef struct {
    const char  *name;
    const char  *words;              /* behind the name */
    int          min;                /* how many of them */
    int          max;
    unsigned     resolves;           /* takes --status and --real-win */
    int        (*run)(const cs_args_t *args);
    const char  *summary;
    const char  *help;
} cs_command_t;


static const cs_command_t  cs_commands[] = {

    { "run", "", 0, 0, 0, cs_cmd_run,
      "settle callbacks until SIGTERM",
      "Takes callbacks out of the inbox in Redis and settles them in the\n"
      "store, one transaction for up to 64 of them. SIGTERM: finishes the\n"
      "transaction in hand and exits with 0. The log is logfmt on standard\n"
      "error.\n" },

    { "show", "CODE", 1, 1, 0, cs_cmd_show,
      "one coupon with its bets and operations",
      "Shows a coupon as it stands in the store: its state, its bets, and\n"
      "each money operation with the running sum, which is what has been\n"
      "paid.\n" },

    { "doubts", "", 0, 0, 0, cs_cmd_doubts,
      "coupons whose money is held",
      "Lists the coupons in doubt, one a line: code, state, generation,\n"
      "status, real_win, why. No money moves for them until `resolve`.\n" },

    { "resolve", "CODE --status S [--real-win X]", 1, 1, 1, cs_cmd_resolve,
      "say what is true of a coupon",
      "Adopts status and real_win as the truth about a coupon that is\n"
      "known, and writes the operations that follow. A final status needs\n"
      "--real-win. Exits with 1 if the coupon is in doubt afterwards.\n" },

    { "rejected", "list | show ID | retry ID | drop ID", 1, 2, 0,
      cs_cmd_rejected,
      "what could not be taken or settled",
      "Looks after the quarantine: the stream PREFIX:rejected, where nginx\n"
      "puts bodies it refused (ids like 1700000000000-0), and the table\n"
      "`rejected`, where `run` puts batches that can never be settled (ids\n"
      "like 7).\n"
      "  list      one a line: id, time, source, batch id, size, reason\n"
      "  show ID   all of one, with its body\n"
      "  retry ID  settles it now, and only then takes it out\n"
      "  drop ID   takes it out for good\n" },

    { "migrate", "", 0, 0, 0, cs_cmd_migrate,
      "make the tables, or bring them up to date",
      "Makes the tables of the store, or changes those that an older version\n"
      "has made. `run` does the same, unless [store] migrate = no.\n" },

    { "check", "", 0, 0, 0, cs_cmd_check,
      "what is wrong with configuration, Redis and store",
      "Looks at the configuration, at Redis and its settings, at the\n"
      "consumer group and at the store. One line for each fact: ok, wrong,\n"
      "or a note on what may be meant so. Exits with 1 if one is wrong.\n" }
};

#define CS_COMMANDS  (sizeof(cs_commands) / sizeof(cs_command_t))

enum { CS_OPT_STATUS = 256, CS_OPT_REAL_WIN, CS_OPT_VERSION };

static const struct option  cs_long_options[] = {
    { "config", required_argument, NULL, 'c' },
    { "help", no_argument, NULL, 'h' },
    { "version", no_argument, NULL, CS_OPT_VERSION },
    { "status", required_argument, NULL, CS_OPT_STATUS },
    { "real-win", required_argument, NULL, CS_OPT_REAL_WIN },
    { NULL, 0, NULL, 0 }
};

typedef struct {
    const char  *config;
    unsigned     help;
    unsigned     version;
    unsigned     wrong;
} cs_options_t;


static void cs_options_read(cs_options_t *options, cs_args_t *args, int argc,
    char **argv);
static const cs_command_t *cs_command_find(const char *name);
static int cs_command_wrong(const cs_command_t *command,
    const cs_options_t *options, const cs_args_t *args);
static void cs_help(void);
static void cs_help_command(const cs_command_t *command);
static void cs_say(const char *format, va_list args)
    __attribute__((format(printf, 1, 0)));


int
main(int argc, char **argv)
{
    int                  status;
    char                 error[512];
    cs_args_t            args;
    cs_options_t         options;
    const cs_command_t  *command;

    memset(&args, 0, sizeof(cs_args_t));

    cs_options_read(&options, &args, argc, argv);

    if (options.wrong) {
        return cs_usage("see coupon-settle --help");
    }

    if (options.version) {
        (void) printf("coupon-settle %s\n", CS_VERSION);
        return 0;
    }

    if (args.argc == 0) {
        cs_help();
        return options.help ? 0 : CS_USAGE;
    }

    command = cs_command_find(args.argv[0]);
    if (command == NULL) {
        return cs_usage("this version has no command \"%s\"", args.argv[0]);
    }

    args.argc--;
    args.argv++;

    if (options.help) {
        cs_help_command(command);
        return 0;
    }

    if (cs_command_wrong(command, &options, &args)) {
        return CS_USAGE;
    }

    args.path = options.config;

    /* a lost connection and a full store are errors of write(2), no end */

    (void) signal(SIGPIPE, SIG_IGN);
    (void) signal(SIGXFSZ, SIG_IGN);

    status = cs_conf_read(&args.conf, args.path, error, sizeof(error)) == 0
             ? command->run(&args) : cs_fail("%s", error);

    cs_conf_free(&args.conf);

    return status;
}


static void
cs_options_read(cs_options_t *options, cs_args_t *args, int argc, char **argv)
{
    int  option;

    memset(options, 0, sizeof(cs_options_t));

    while ((option = getopt_long(argc, argv, "c:h", cs_long_options, NULL))
           != -1)
    {
        switch (option) {

        case 'c':
            options->config = optarg;
            break;

        case 'h':
            options->help = 1;
            break;

        case CS_OPT_VERSION:
            options->version = 1;
            break;

        case CS_OPT_STATUS:
            args->status = optarg;
            break;

        case CS_OPT_REAL_WIN:
            args->real_win = optarg;
            break;

        default:
            options->wrong = 1;
        }
    }

    args->argc = argc - optind;
    args->argv = argv + optind;
}


static const cs_command_t *
cs_command_find(const char *name)
{
    size_t  i;

    for (i = 0; i < CS_COMMANDS; i++) {
        if (strcmp(cs_commands[i].name, name) == 0) {
            return &cs_commands[i];
        }
    }

    return NULL;
}


static int
cs_command_wrong(const cs_command_t *command, const cs_options_t *options,
    const cs_args_t *args)
{
    if (args->argc < command->min || args->argc > command->max) {
        return cs_usage("usage: coupon-settle %s %s%s-c FILE", command->name,
                        command->words, command->words[0] ? " " : "");
    }

    if (!command->resolves && (args->status || args->real_win)) {
        return cs_usage("%s takes no --status and no --real-win",
                        command->name);
    }

    if (options->config == NULL) {
        return cs_usage("-c FILE is missing");
    }

    return 0;
}


static void
cs_help(void)
{
    size_t  i;

    (void) printf("coupon-settle COMMAND -c FILE\n\n"
                  "Settles the coupon callbacks that nginx has put into "
                  "Redis.\n\n");

    for (i = 0; i < CS_COMMANDS; i++) {
        (void) printf("  %-9s %s\n", cs_commands[i].name,
                      cs_commands[i].summary);
    }

    (void) printf("\n"
                  "  -c FILE    the configuration (INI)\n"
                  "  --help     this; after a command, about the command\n"
                  "  --version\n\n"
                  "Exit status: 0 done, 1 not done, 2 wrong usage.\n");
}


static void
cs_help_command(const cs_command_t *command)
{
    (void) printf("coupon-settle %s %s%s-c FILE\n\n%s", command->name,
                  command->words, command->words[0] ? " " : "", command->help);
}


int
cs_fail(const char *format, ...)
{
    va_list  args;

    va_start(args, format);
    cs_say(format, args);
    va_end(args);

    return 1;
}


int
cs_usage(const char *format, ...)
{
    va_list  args;

    va_start(args, format);
    cs_say(format, args);
    va_end(args);

    return CS_USAGE;
}


static void
cs_say(const char *format, va_list args)
{
    (void) fputs("coupon-settle: ", stderr);
    (void) vfprintf(stderr, format, args);
    (void) fputc('\n', stderr);
}


cs_store_t *
cs_open_store(const cs_args_t *args)
{
    cs_store_t  *store;

    if (cs_find_store(args, &store) == CS_NONE) {
        (void) cs_fail("there is no store yet (%s): \"run\" makes it",
                       args->conf.store.name);
    }

    return store;
}


cs_status_e
cs_find_store(const cs_args_t *args, cs_store_t **store)
{
    cs_status_e  status;

    *store = cs_store_create(&args->conf.store, CS_PATIENCE_MS);

    status = cs_store_open(*store, 0);

    if (status == CS_OK) {
        return CS_OK;
    }

    if (status != CS_NONE) {
        (void) cs_fail("the store cannot be opened: %s",
                       cs_store_error(*store));
    }

    cs_store_destroy(*store);
    *store = NULL;

    return status;
}

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
#include "version.h"


#define CS_PATIENCE_MS    10000      /* of a command, for a locked store */

enum {
    CS_TAKES_NONE = 0,
    CS_TAKES_RESULT = 1,             /* --status, --real-win */
    CS_TAKES_ONCE = 2,
    CS_TAKES_CREATED = 4,            /* --created-since */
    CS_TAKES_SINCE = 8,
    CS_TAKES_FRACTION = 16,
    CS_TAKES_OUT = 32
};

typedef struct {
    const char  *name;
    const char  *words;              /* behind the name */
    int          min;                /* how many of them */
    int          max;
    int        (*run)(const cs_args_t *args);
    unsigned     takes;              /* the options it has */
    const char  *summary;
    const char  *help;
} cs_command_t;


static const cs_command_t  cs_commands[] = {

    { "run", "", 0, 0, cs_cmd_run, CS_TAKES_NONE,
      "settle callbacks until SIGTERM",
      "Takes callbacks out of the inbox in Redis and settles them in the\n"
      "store, one transaction for up to 64 of them; reads the provider's API\n"
      "too, if [api] is set; relays operations, if [operations] says so;\n"
      "serves metrics and health over HTTP, if [metrics] is set. SIGTERM:\n"
      "finishes the transaction in hand and exits with 0. The log is logfmt\n"
      "on standard error.\n" },

    { "show", "CODE", 1, 1, cs_cmd_show, CS_TAKES_NONE,
      "one coupon with its bets and operations",
      "Shows a coupon as it stands in the store: its state, its bets, and\n"
      "each money operation with the running sum, which is what has been\n"
      "paid.\n" },

    { "doubts", "", 0, 0, cs_cmd_doubts, CS_TAKES_NONE,
      "coupons whose money is held",
      "Lists the coupons in doubt, one a line: code, state, generation,\n"
      "status, real_win, why. No money moves for them until `resolve`.\n" },

    { "resolve", "CODE [--status S [--real-win X]]", 1, 1, cs_cmd_resolve,
      CS_TAKES_RESULT,
      "adopt what the API, or a person, says of a coupon",
      "Asks the API for the coupon and adopts its state now. With --status\n"
      "it is a person who says what is true, of a coupon that is known; a\n"
      "final status then needs --real-win. Writes the operations that\n"
      "follow. Exits with 1 if the coupon is in doubt afterwards.\n" },

    { "poll", "[--once]", 0, 0, cs_cmd_poll, CS_TAKES_ONCE,
      "read the API on a schedule, without the inbox",
      "Does what `run` does beside the inbox if [api] is set: reads the\n"
      "calculated coupons every interval, and asks for those that wait for\n"
      "the API's word. With --once one round, which covers everything since\n"
      "the last one: for cron. After a break of more than 119 minutes it\n"
      "recovers. Exits with 1 if the round failed; the next one covers it.\n" },

    { "recover", "[--created-since TIME]", 0, 0, cs_cmd_recover,
      CS_TAKES_CREATED,
      "read again from the API what is not confirmed",
      "One round of polling, then the coupons of the store without a\n"
      "confirmed final, or confirmed within the last [api] recheck, in groups\n"
      "of 100; then coupons created within that time, or since TIME, if "
      "nobody\n"
      "has told of them.\n"
      "TIME is 2026-01-31, 2026-01-31T12:00:00Z, or how long ago, as 3d. It\n"
      "can be interrupted and started again.\n" },

    { "reconcile", "--since TIME", 0, 0, cs_cmd_reconcile, CS_TAKES_SINCE,
      "compare the ledger with the API, changing nothing",
      "Compares what the API says with the ledger: the coupons that were\n"
      "created since TIME, and those with a money operation since TIME. One\n"
      "line for each that differs, after a second look at it. Changes\n"
      "nothing. Exits with 0 if all agree, else 1. TIME as in recover.\n" },

    { "relay", "[--since TIME] [--once]", 0, 0, cs_cmd_relay,
      CS_TAKES_ONCE | CS_TAKES_SINCE,
      "bring operations into the stream for another system",
      "Does what `run` does beside the inbox if [operations] stream = yes:\n"
      "brings each operation once into the stream PREFIX:operations. With\n"
      "--since operations made since TIME that were not meant for the stream\n"
      "then are added, those of each coupon in their order; what is in it\n"
      "already is left out. With --once it ends when nothing is left. It may\n"
      "be killed, and run beside others. TIME as in recover.\n" },

    { "rejected", "list | show ID | retry ID | drop ID", 1, 2,
      cs_cmd_rejected, CS_TAKES_NONE,
      "what could not be taken or settled",
      "Looks after the quarantine: the stream PREFIX:rejected, where nginx\n"
      "puts bodies it refused (ids like 1700000000000-0), and the table\n"
      "`rejected`, where `run` puts batches that can never be settled (ids\n"
      "like 7).\n"
      "  list      one a line: id, time, source, batch id, size, reason\n"
      "  show ID   all of one, with its body\n"
      "  retry ID  settles it now, and only then takes it out; of Google's in\n"
      "            the stream only what is about [google] package, of Apple's\n"
      "            there nothing: send those to nginx again\n"
      "  drop ID   takes it out for good\n" },

    { "requests", "list | close SOURCE ID", 1, 3, cs_cmd_requests,
      CS_TAKES_NONE,
      "what Apple and Google ask, and wait for",
      "Looks after the table `store_requests`.\n"
      "  list             the open ones, the most urgent first: time left,\n"
      "                   source, id, kind, transaction\n"
      "  close SOURCE ID  it is answered\n"
      "Kinds: consumption, Apple asks for consumption data; review, Google\n"
      "asks about a chargeback; units, Google has refunded a part, and\n"
      "`refunded` is to say how much.\n" },

    { "refunded", "SOURCE TRANSACTION --fraction N", 2, 2, cs_cmd_refunded,
      CS_TAKES_FRACTION,
      "state how much of a transaction is refunded",
      "Adopts it, as of now, and writes the operations that follow. SOURCE is\n"
      "apple or google, TRANSACTION a transactionId or an orderId that is\n"
      "known. N is 0 to 100000, in thousandths of a percent, or a part such\n"
      "as 1/3 of the units.\n" },

    { "jwks", "--out FILE", 0, 0, cs_cmd_jwks, CS_TAKES_OUT,
      "fetch Google's keys into the file that nginx reads",
      "Fetches [google] keys_url, and replaces FILE in one step if what comes\n"
      "is a set with a usable key. A member \"expires\" says how long the\n"
      "server lets it be kept. For a timer: at least every few hours.\n" },

    { "migrate", "", 0, 0, cs_cmd_migrate, CS_TAKES_NONE,
      "make the tables, or bring them up to date",
      "Makes the tables of the store, or changes those that an older version\n"
      "has made. `run` does the same, unless [store] migrate = no.\n" },

    { "check", "", 0, 0, cs_cmd_check, CS_TAKES_NONE,
      "what is wrong with configuration, Redis, store and API",
      "Looks at the configuration, at Redis and its settings, at the\n"
      "consumer group, the store, the stream of operations and the API. One\n"
      "line for each fact: ok, wrong, or a note on what may be meant so.\n"
      "Exits with 1 if one is wrong.\n" }
};

#define CS_COMMANDS  (sizeof(cs_commands) / sizeof(cs_command_t))

enum {
    CS_OPT_STATUS = 256,
    CS_OPT_REAL_WIN,
    CS_OPT_ONCE,
    CS_OPT_CREATED_SINCE,
    CS_OPT_SINCE,
    CS_OPT_FRACTION,
    CS_OPT_OUT,
    CS_OPT_VERSION
};

static const struct option  cs_long_options[] = {
    { "config", required_argument, NULL, 'c' },
    { "help", no_argument, NULL, 'h' },
    { "version", no_argument, NULL, CS_OPT_VERSION },
    { "status", required_argument, NULL, CS_OPT_STATUS },
    { "real-win", required_argument, NULL, CS_OPT_REAL_WIN },
    { "once", no_argument, NULL, CS_OPT_ONCE },
    { "created-since", required_argument, NULL, CS_OPT_CREATED_SINCE },
    { "since", required_argument, NULL, CS_OPT_SINCE },
    { "fraction", required_argument, NULL, CS_OPT_FRACTION },
    { "out", required_argument, NULL, CS_OPT_OUT },
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

        case CS_OPT_ONCE:
            args->once = 1;
            break;

        case CS_OPT_CREATED_SINCE:
            args->created_since = optarg;
            break;

        case CS_OPT_SINCE:
            args->since = optarg;
            break;

        case CS_OPT_FRACTION:
            args->fraction = optarg;
            break;

        case CS_OPT_OUT:
            args->out = optarg;
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

    if (!(command->takes & CS_TAKES_RESULT)
        && (args->status || args->real_win))
    {
        return cs_usage("%s takes no --status and no --real-win",
                        command->name);
    }

    if (!(command->takes & CS_TAKES_ONCE) && args->once) {
        return cs_usage("%s takes no --once", command->name);
    }

    if (!(command->takes & CS_TAKES_CREATED) && args->created_since) {
        return cs_usage("%s takes no --created-since", command->name);
    }

    if (!(command->takes & CS_TAKES_SINCE) && args->since) {
        return cs_usage("%s takes no --since", command->name);
    }

    if (!(command->takes & CS_TAKES_FRACTION) && args->fraction) {
        return cs_usage("%s takes no --fraction", command->name);
    }

    if (!(command->takes & CS_TAKES_OUT) && args->out) {
        return cs_usage("%s takes no --out", command->name);
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
        (void) printf("  %-10s %s\n", cs_commands[i].name,
                      cs_commands[i].summary);
    }

    (void) printf("\n"
                  "  -c FILE     the configuration (INI)\n"
                  "  --help      this; after a command, about the command\n"
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

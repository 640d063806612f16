/*
 * The configuration file; see config.h.
 *
 * libinih splits the lines and knows nothing else; a reader in front of it
 * counts them and looks at the section heads, so that each mistake can be
 * named with its line.  What a value may be is known in setting.c.
 */

#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "buffer.h"
#include "config.h"
#include "message.h"
#include "setting.h"


typedef struct {
    const char  *section;
    const char  *name;
    cs_set_pt    set;
    size_t       offset;
    const char  *value;          /* the default; NULL: see missing */
    const char  *missing;        /* NULL: may be left out, else it is required:
                                    what to do about it */
} cs_option_t;


static const cs_option_t  cs_options[] = {

    { "redis", "url", cs_set_redis, offsetof(cs_conf_t, redis), NULL,
      "give redis://host:port/db or unix:///path" },

    { "redis", "password_file", cs_set_text,
      offsetof(cs_conf_t, password_file), NULL, NULL },

    { "redis", "ca", cs_set_text, offsetof(cs_conf_t, redis_tls.ca),
      NULL, NULL },

    { "redis", "cert", cs_set_text, offsetof(cs_conf_t, redis_tls.cert),
      NULL, NULL },

    { "redis", "key", cs_set_text, offsetof(cs_conf_t, redis_tls.key),
      NULL, NULL },

    { "redis", "name", cs_set_text, offsetof(cs_conf_t, redis_tls.name),
      NULL, NULL },

    { "redis", "prefix", cs_set_text, offsetof(cs_conf_t, prefix),
      "{coupons}", NULL },

    { "redis", "group", cs_set_text, offsetof(cs_conf_t, group),
      "settle", NULL },

    { "redis", "consumer", cs_set_text, offsetof(cs_conf_t, consumer),
      NULL, NULL },

    { "redis", "claim_after", cs_set_duration,
      offsetof(cs_conf_t, claim_after), "60s", NULL },

    { "store", "url", cs_set_store, offsetof(cs_conf_t, store), NULL,
      "give sqlite:PATH or postgresql://user@host/database" },

    { "store", "migrate", cs_set_flag, offsetof(cs_conf_t, migrate), "yes",
      NULL },

    { "sportapi", "final_statuses", cs_set_statuses,
      offsetof(cs_conf_t, final_statuses), NULL,
      "take the codes from your contract with the provider" },

    { "sportapi", "recalculation_status", cs_set_status,
      offsetof(cs_conf_t, recalculation_status), "15", NULL },

    { "google", "keys_url", cs_set_web, offsetof(cs_conf_t, keys_url),
      "https://www.googleapis.com/oauth2/v3/certs", NULL },

    { "google", "package", cs_set_text, offsetof(cs_conf_t, package), NULL,
      NULL },

    { "refunds", "effects", cs_set_effects, offsetof(cs_conf_t, effects),
      "revoke_access debit_balance reverse_payout", NULL },

    { "api", "base_url", cs_set_web, offsetof(cs_conf_t, api.base_url),
      NULL, NULL },

    { "api", "token_file", cs_set_text, offsetof(cs_conf_t, api.token_file),
      NULL, NULL },

    { "api", "ca_file", cs_set_text, offsetof(cs_conf_t, api.ca_file),
      NULL, NULL },

    { "api", "timeout", cs_set_duration, offsetof(cs_conf_t, api.timeout),
      "30s", NULL },

    { "api", "interval", cs_set_duration, offsetof(cs_conf_t, api.interval),
      "5m", NULL },

    { "api", "window", cs_set_duration, offsetof(cs_conf_t, api.window),
      "10m", NULL },

    { "api", "confirm_after", cs_set_duration,
      offsetof(cs_conf_t, api.confirm_after), "30s", NULL },

    { "api", "recheck", cs_set_duration, offsetof(cs_conf_t, api.recheck),
      "7d", NULL },

    { "metrics", "listen", cs_set_listen, offsetof(cs_conf_t, metrics), NULL,
      NULL },

    { "operations", "stream", cs_set_flag, offsetof(cs_conf_t, relays), "no",
      NULL },

    { "operations", "max_length", cs_set_count,
      offsetof(cs_conf_t, max_length), "100000", NULL }
};

#define CS_OPTIONS  (sizeof(cs_options) / sizeof(cs_option_t))


typedef struct {
    cs_conf_t   *conf;
    const char  *path;
    FILE        *file;
    int          line;
    unsigned     api;                      /* [api] was seen */
    int          lines[CS_OPTIONS];        /* where it was set; 0: nowhere */
    char        *error;                    /* empty until the first mistake */
    size_t       size;
} cs_conf_reading_t;


static char *cs_conf_line(char *str, int num, void *stream);
static void cs_conf_section(cs_conf_reading_t *r, const char *line);
static int cs_conf_option(void *user, const char *section, const char *name,
    const char *value);
static void cs_conf_defaults(cs_conf_reading_t *r);
static void cs_conf_finish(cs_conf_reading_t *r);
static const char *cs_conf_api(const cs_conf_reading_t *r);
static void cs_conf_wrong(cs_conf_reading_t *r, int line, const char *format,
    ...) __attribute__((format(printf, 3, 4)));
static char *cs_conf_join(const char *prefix, const char *name);


int
cs_conf_read(cs_conf_t *conf, const char *path, char *error, size_t size)
{
    int                bad;
    cs_conf_reading_t  r;

    memset(conf, 0, sizeof(cs_conf_t));
    memset(&r, 0, sizeof(cs_conf_reading_t));

    r.conf = conf;
    r.path = path;
    r.error = error;
    r.size = size;
    error[0] = '\0';

    r.file = fopen(path, "r");
    if (r.file == NULL) {
        (void) snprintf(error, size, "%s: %s", path, strerror(errno));
        return -1;
    }

    bad = ini_parse_stream(cs_conf_line, &r, cs_conf_option, &r);
    if (bad != 0) {
        cs_conf_wrong(&r, bad, "neither [section] nor name = value");
    }

    if (ferror(r.file)) {
        cs_conf_wrong(&r, 0, "cannot be read to its end");
    }

    (void) fclose(r.file);

    cs_conf_defaults(&r);
    cs_conf_finish(&r);

    return error[0] ? -1 : 0;
}


static char *
cs_conf_line(char *str, int num, void *stream)
{
    size_t              len, indent;
    cs_conf_reading_t  *r = stream;

    /* the first mistake ends the file */

    if (r->error[0] || fgets(str, num, r->file) == NULL) {
        return NULL;
    }

    r->line++;
    len = strlen(str);

    if (len + 1 == (size_t) num && str[len - 1] != '\n') {
        cs_conf_wrong(r, r->line, "the line is longer than %d bytes", num - 2);
        return NULL;
    }

    /* libinih would take a line that is indented for more of the one before */

    indent = strspn(str, " \t");
    memmove(str, str + indent, len - indent + 1);

    cs_conf_section(r, str);

    return r->error[0] ? NULL : str;
}


static void
cs_conf_section(cs_conf_reading_t *r, const char *line)
{
    int     len;
    size_t  i;

    if (*line++ != '[') {
        return;
    }

    len = (int) strcspn(line, "]\r\n");

    if (len == 3 && strncmp(line, "api", 3) == 0) {
        r->api = 1;
    }

    for (i = 0; i < CS_OPTIONS; i++) {
        if (strlen(cs_options[i].section) == (size_t) len
            && strncmp(cs_options[i].section, line, (size_t) len) == 0)
        {
            return;
        }
    }

    cs_conf_wrong(r, r->line, "unknown section [%.*s]", len, line);
}


static int
cs_conf_option(void *user, const char *section, const char *name,
    const char *value)
{
    size_t               i;
    const char          *error;
    const cs_option_t   *option;
    cs_conf_reading_t   *r = user;

    if (r->error[0]) {
        return 1;
    }

    for (i = 0; i < CS_OPTIONS; i++) {

        option = &cs_options[i];

        if (strcmp(option->section, section) != 0
            || strcmp(option->name, name) != 0)
        {
            continue;
        }

        if (r->lines[i]) {
            cs_conf_wrong(r, r->line, "[%s] %s is set in line %d already",
                          section, name, r->lines[i]);
            return 1;
        }

        r->lines[i] = r->line;

        error = option->set((char *) r->conf + option->offset, value);
        if (error) {
            cs_conf_wrong(r, r->line, "[%s] %s: %s", section, name, error);
        }

        return 1;
    }

    if (section[0] == '\0') {
        cs_conf_wrong(r, r->line, "%s stands before the first [section]", name);

    } else {
        cs_conf_wrong(r, r->line, "unknown option %s in [%s]", name, section);
    }

    return 1;
}


static void
cs_conf_defaults(cs_conf_reading_t *r)
{
    size_t              i;
    const cs_option_t  *option;

    for (i = 0; i < CS_OPTIONS; i++) {

        option = &cs_options[i];

        if (r->lines[i]) {
            continue;
        }

        if (option->value) {
            (void) option->set((char *) r->conf + option->offset,
                               option->value);

        } else if (option->missing) {
            cs_conf_wrong(r, 0, "[%s] %s is missing: %s", option->section,
                          option->name, option->missing);
        }
    }
}


/* what depends on several options */

static void
cs_conf_finish(cs_conf_reading_t *r)
{
    char         host[256], why[512];
    unsigned     i;
    cs_conf_t   *conf;
    const char  *error;

    if (r->error[0]) {
        return;
    }

    conf = r->conf;

    for (i = 0; i < conf->final_statuses.n; i++) {
        if (conf->final_statuses.codes[i] == conf->recalculation_status) {
            cs_conf_wrong(r, 0, "[sportapi] final_statuses holds the "
                          "recalculation_status %lld, which is never final",
                          (long long) conf->recalculation_status);
            return;
        }
    }

    error = cs_redis_password(&conf->redis, conf->password_file);
    if (error) {
        cs_conf_wrong(r, 0, "[redis] password_file: %s", error);
        return;
    }

    if (cs_redis_tls(&conf->redis, &conf->redis_tls, why, sizeof(why)) != 0) {
        cs_conf_wrong(r, 0, "[redis] %s", why);
        return;
    }

    error = cs_conf_api(r);
    if (error) {
        cs_conf_wrong(r, 0, "[api] %s", error);
        return;
    }

    if (conf->consumer == NULL) {

        if (gethostname(host, sizeof(host)) != 0) {
            cs_conf_wrong(r, 0, "[redis] consumer is missing, and the host has "
                          "no name");
            return;
        }

        host[sizeof(host) - 1] = '\0';
        conf->consumer = cs_copy(host);
    }

    conf->inbox = cs_conf_join(conf->prefix, CC_KEY_INBOX);
    conf->rejected = cs_conf_join(conf->prefix, CC_KEY_REJECTED);
    conf->operations = cs_conf_join(conf->prefix, CC_KEY_OPERATIONS);
    conf->store.outbox = conf->relays;
}


static const char *
cs_conf_api(const cs_conf_reading_t *r)
{
    const cs_api_conf_t  *api = &r->conf->api;

    if (!r->api) {
        return NULL;
    }

    if (api->base_url == NULL) {
        return "base_url is missing: give https://host";
    }

    if (api->token_file == NULL) {
        return "token_file is missing: the file with the bearer token";
    }

    if (api->window < 2 * api->interval) {
        return "window must be at least twice the interval, so that what one "
               "round misses the next one sees";
    }

    if (api->window > 120 * 60 * 1000) {
        return "window must be at most 120m: the API looks back no further";
    }

    return NULL;
}


/* only the first mistake is told; line 0: the file as a whole */

static void
cs_conf_wrong(cs_conf_reading_t *r, int line, const char *format, ...)
{
    int      n;
    va_list  args;

    if (r->error[0]) {
        return;
    }

    n = line ? snprintf(r->error, r->size, "%s:%d: ", r->path, line)
             : snprintf(r->error, r->size, "%s: ", r->path);

    if (n < 0 || (size_t) n >= r->size) {
        return;
    }

    va_start(args, format);
    (void) vsnprintf(r->error + n, r->size - (size_t) n, format, args);
    va_end(args);
}


void
cs_conf_free(cs_conf_t *conf)
{
    cs_redis_conf_free(&conf->redis);
    cs_store_conf_free(&conf->store);

    free(conf->password_file);
    free(conf->redis_tls.ca);
    free(conf->redis_tls.cert);
    free(conf->redis_tls.key);
    free(conf->redis_tls.name);
    free(conf->prefix);
    free(conf->group);
    free(conf->consumer);
    free(conf->inbox);
    free(conf->rejected);
    free(conf->operations);
    free(conf->keys_url);
    free(conf->package);
    free(conf->metrics.name);
    free(conf->api.base_url);
    free(conf->api.token_file);
    free(conf->api.ca_file);
}


static char *
cs_conf_join(const char *prefix, const char *name)
{
    char    *joined;
    size_t   size;

    size = strlen(prefix) + strlen(name) + 1;
    joined = cs_alloc(size);

    (void) snprintf(joined, size, "%s%s", prefix, name);

    return joined;
}

/*
 * coupon-settle jwks: fetches Google's keys into the file that nginx reads.
 *
 * What arrives replaces the file only if it is a key set with a usable key, and
 * in one step, so that nobody ever reads half of it.  A member "expires" says
 * until when the server lets it be kept (Cache-Control, Age).  Meant for a
 * timer.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <curl/curl.h>

#include "buffer.h"
#include "claims.h"
#include "command.h"
#include "jwks.h"


#define CS_JWKS_MAX         (1024 * 1024)
#define CS_JWKS_TIMEOUT_MS  20000L
#define CS_JWKS_FRESH       3600      /* s, where the server does not say */


typedef struct {
    cs_buffer_t   answer;
    int64_t       max_age;            /* s; -1: not said */
    int64_t       age;
} cs_jwks_fetch_t;


static int cs_jwks_fetch(cs_jwks_fetch_t *fetch, const char *url);
static void cs_jwks_ask(CURL *curl, cs_jwks_fetch_t *fetch, const char *url);
static size_t cs_jwks_body(const char *data, size_t size, size_t n, void *ctx);
static size_t cs_jwks_header(const char *data, size_t size, size_t n,
    void *ctx);
static int64_t cs_jwks_seconds(const char *text);
static char *cs_jwks_text(const cs_jwks_fetch_t *fetch, int64_t *left);
static int cs_jwks_write(const char *path, const char *text);


int
cs_cmd_jwks(const cs_args_t *args)
{
    int               failed;
    char             *text;
    int64_t           left;
    cs_jwks_fetch_t   fetch;

    if (args->out == NULL) {
        return cs_usage("--out FILE is missing");
    }

    memset(&fetch, 0, sizeof(cs_jwks_fetch_t));
    fetch.max_age = -1;

    failed = cs_jwks_fetch(&fetch, args->conf.keys_url);

    if (!failed) {
        text = cs_jwks_text(&fetch, &left);

        failed = text == NULL || cs_jwks_write(args->out, text) != 0;
        free(text);

        if (!failed) {
            (void) printf("%s is fresh for %lld s\n", args->out,
                          (long long) left);
        }
    }

    cs_buffer_free(&fetch.answer);

    return failed;
}


static int
cs_jwks_fetch(cs_jwks_fetch_t *fetch, const char *url)
{
    int       failed;
    char      detail[CURL_ERROR_SIZE];
    long      status;
    CURL     *curl;
    CURLcode  code;

    (void) curl_global_init(CURL_GLOBAL_DEFAULT);

    curl = curl_easy_init();
    if (curl == NULL) {
        cs_no_memory();
    }

    detail[0] = '\0';
    status = 0;

    cs_jwks_ask(curl, fetch, url);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, detail);

    code = curl_easy_perform(curl);
    (void) curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);

    failed = 0;

    if (code != CURLE_OK) {
        failed = cs_fail("%s: %s", url,
                         detail[0] ? detail : curl_easy_strerror(code));

    } else if (status != 200) {
        failed = cs_fail("%s answers %ld", url, status);
    }

    curl_easy_cleanup(curl);
    curl_global_cleanup();

    return failed;
}


static void
cs_jwks_ask(CURL *curl, cs_jwks_fetch_t *fetch, const char *url)
{
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "coupon-settle");
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https,http");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_SSLVERSION,
                     (long) CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, CS_JWKS_TIMEOUT_MS);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, cs_jwks_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, fetch);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, cs_jwks_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, fetch);

    /* http: is this machine, which no proxy can reach */

    if (strncmp(url, "http:", 5) == 0) {
        curl_easy_setopt(curl, CURLOPT_PROXY, "");
    }
}


static size_t
cs_jwks_body(const char *data, size_t size, size_t n, void *ctx)
{
    cc_str_t          bytes;
    cs_jwks_fetch_t  *fetch = ctx;

    bytes.data = (const unsigned char *) data;
    bytes.len = size * n;

    if (fetch->answer.len + bytes.len > CS_JWKS_MAX) {
        return 0;
    }

    cs_buffer_add(&fetch->answer, bytes);

    return bytes.len;
}


static size_t
cs_jwks_header(const char *data, size_t size, size_t n, void *ctx)
{
    char              line[512];
    size_t            len;
    const char       *at;
    cs_jwks_fetch_t  *fetch = ctx;

    len = size * n < sizeof(line) ? size * n : sizeof(line) - 1;
    memcpy(line, data, len);
    line[len] = '\0';

    if (strncasecmp(line, "cache-control:", 14) == 0) {
        at = strstr(line, "max-age=");
        fetch->max_age = at ? cs_jwks_seconds(at + 8) : -1;

    } else if (strncasecmp(line, "age:", 4) == 0) {
        fetch->age = cs_jwks_seconds(line + 4);
    }

    return size * n;
}


/* between nothing and a year */

static int64_t
cs_jwks_seconds(const char *text)
{
    long long  seconds;

    seconds = strtoll(text, NULL, 10);

    return seconds < 0 ? 0 : seconds > 31536000 ? 31536000 : seconds;
}


/* the set with its member "expires", or NULL, and it was said why */

static char *
cs_jwks_text(const cs_jwks_fetch_t *fetch, int64_t *left)
{
    char        *text;
    cJSON       *tree;
    cc_str_t     answer;
    unsigned     usable;
    cc_json_t   *json;
    cc_jwks_t   *jwks;
    const char  *reason;

    answer.data = fetch->answer.data;
    answer.len = fetch->answer.len;

    *left = (fetch->max_age < 0 ? CS_JWKS_FRESH : fetch->max_age) - fetch->age;

    json = cc_json_create((uint64_t) time(NULL));
    if (json == NULL) {
        cs_no_memory();
    }

    text = NULL;
    tree = NULL;
    jwks = cc_jwks_create(json, answer, &reason);
    usable = jwks ? cc_jwks_count(jwks) : 0;

    if (usable == 0) {
        (void) cs_fail("that is no set of keys: %s",
                       jwks ? "there is no usable key in it" : reason);
    } else {
        tree = cc_claims_parse(json, answer, &reason);
        cJSON_DeleteItemFromObjectCaseSensitive(tree, "expires");
        (void) cJSON_AddNumberToObject(tree, "expires",
                                       (double) (time(NULL) + *left));
        text = cJSON_Print(tree);
    }

    cc_jwks_destroy(jwks);
    cJSON_Delete(tree);
    cc_json_destroy(json);

    return text;
}


/* beside the file, onto the disk, and then over it */

static int
cs_jwks_write(const char *path, const char *text)
{
    int          fd, failed;
    size_t       len;
    cs_buffer_t  name;

    memset(&name, 0, sizeof(cs_buffer_t));
    cs_buffer_format(&name, "%s.new%c", path, '\0');

    len = strlen(text);
    failed = 0;
    fd = open((const char *) name.data,
              O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    if (fd == -1 || write(fd, text, len) != (ssize_t) len || fsync(fd) != 0
        || fchmod(fd, 0644) != 0
        || rename((const char *) name.data, path) != 0)
    {
        failed = cs_fail("cannot write %s: %s", path, strerror(errno));
        (void) unlink((const char *) name.data);
    }

    if (fd != -1) {
        (void) close(fd);
    }

    cs_buffer_free(&name);

    return failed;
}

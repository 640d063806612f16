/*
 * HTTP with libcurl; see api_http.h.
 *
 * The token lives in the token file, in http->token and, for the length of one
 * request, in a header; the latter two are wiped.
 */

#include <stdio.h>
#include <stdlib.h>

#include "api_http.h"
#include "clock.h"


#define CS_HTTP_CONNECT_MS   5000L
#define CS_HTTP_RETRY_LONGEST  3600       /* s; who wants more gets this */


static struct curl_slist *cs_http_headers(const cs_http_t *http,
    unsigned has_body);
static void cs_http_wipe(struct curl_slist *headers);
static size_t cs_http_write(const char *data, size_t size, size_t n, void *ctx);
static int cs_http_progress(void *ctx, curl_off_t dltotal, curl_off_t dlnow,
    curl_off_t ultotal, curl_off_t ulnow);
static cs_status_e cs_http_done(cs_http_t *http, CURLcode code,
    const char *detail);


void
cs_http_init(cs_http_t *http, const cs_api_conf_t *conf)
{
    CURL  *curl;

    memset(http, 0, sizeof(cs_http_t));

    http->conf = conf;
    http->token.path = conf->token_file;

    (void) curl_global_init(CURL_GLOBAL_DEFAULT);

    http->curl = curl = curl_easy_init();
    if (curl == NULL) {
        cs_no_memory();
    }

    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "coupon-settle");
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION,
                     (long) CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https,http");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 2L);
    curl_easy_setopt(curl, CURLOPT_SSLVERSION,
                     (long) CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, CS_HTTP_CONNECT_MS);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long) conf->timeout);
    curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);

    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, cs_http_write);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, http);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, cs_http_progress);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);

    if (conf->ca_file) {
        curl_easy_setopt(curl, CURLOPT_CAINFO, conf->ca_file);
    }

    /* http: is this machine, which no proxy can reach */

    if (strncmp(conf->base_url, "http:", 5) == 0) {
        curl_easy_setopt(curl, CURLOPT_PROXY, "");
    }
}


void
cs_http_free(cs_http_t *http)
{
    curl_easy_cleanup(http->curl);
    curl_global_cleanup();

    cs_token_wipe(&http->token);
    cs_buffer_free(&http->answer);
}


cs_status_e
cs_http_request(cs_http_t *http, const char *path, const cs_buffer_t *body)
{
    char                detail[CURL_ERROR_SIZE];
    CURL               *curl;
    CURLcode            code;
    cs_buffer_t         url;
    struct curl_slist  *headers;

    http->answer.len = 0;
    http->too_large = 0;
    http->code = 0;
    http->retry_after = 0;
    detail[0] = '\0';

    if (cs_token_read(&http->token, http->error, sizeof(http->error))
        != CS_OK)
    {
        return CS_AGAIN;
    }

    memset(&url, 0, sizeof(cs_buffer_t));
    cs_buffer_format(&url, "%s%s", http->conf->base_url, path);
    cs_buffer_add(&url, (cc_str_t) { (const unsigned char *) "", 1 });

    curl = http->curl;
    headers = cs_http_headers(http, body != NULL);

    curl_easy_setopt(curl, CURLOPT_URL, (const char *) url.data);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, detail);

    if (body) {
        curl_easy_setopt(curl, CURLOPT_POST, 1L);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, (const char *) body->data);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long) body->len);

    } else {
        curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
    }

    code = curl_easy_perform(curl);

    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, NULL);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, NULL);

    cs_http_wipe(headers);
    cs_buffer_free(&url);

    return cs_http_done(http, code, detail);
}


static struct curl_slist *
cs_http_headers(const cs_http_t *http, unsigned has_body)
{
    char               *line;
    size_t              size;
    struct curl_slist  *headers;

    size = strlen(http->token.text) + sizeof("Authorization: Bearer ");
    line = cs_alloc(size);

    (void) snprintf(line, size, "Authorization: Bearer %s", http->token.text);

    headers = curl_slist_append(NULL, line);

    explicit_bzero(line, size);
    free(line);

    headers = curl_slist_append(headers, "Accept: application/json");

    /* no "Expect: 100-continue": nobody here answers it */

    headers = curl_slist_append(headers, "Expect:");

    if (has_body) {
        headers = curl_slist_append(headers, "Content-Type: application/json");
    }

    if (headers == NULL) {
        cs_no_memory();
    }

    return headers;
}


static void
cs_http_wipe(struct curl_slist *headers)
{
    struct curl_slist  *one;

    for (one = headers; one; one = one->next) {
        explicit_bzero(one->data, strlen(one->data));
    }

    curl_slist_free_all(headers);
}


static size_t
cs_http_write(const char *data, size_t size, size_t n, void *ctx)
{
    cc_str_t    bytes;
    cs_http_t  *http = ctx;

    bytes.data = (const unsigned char *) data;
    bytes.len = size * n;

    if (bytes.len > CS_HTTP_ANSWER_MAX - http->answer.len) {
        http->too_large = 1;
        return 0;
    }

    cs_buffer_add(&http->answer, bytes);

    return bytes.len;
}


/* other than 0 breaks the request off */

static int
cs_http_progress(void *ctx, curl_off_t dltotal, curl_off_t dlnow,
    curl_off_t ultotal, curl_off_t ulnow)
{
    (void) ctx;
    (void) dltotal;
    (void) dlnow;
    (void) ultotal;
    (void) ulnow;

    return cs_stop_wait(0);
}


static cs_status_e
cs_http_done(cs_http_t *http, CURLcode code, const char *detail)
{
    curl_off_t  after;

    if (code != CURLE_OK) {

        if (http->too_large) {
            (void) snprintf(http->error, sizeof(http->error), "the answer is "
                            "larger than %d MB",
                            CS_HTTP_ANSWER_MAX / (1024 * 1024));

        } else {
            (void) snprintf(http->error, sizeof(http->error), "%s",
                            detail[0] ? detail : curl_easy_strerror(code));
        }

        return CS_AGAIN;
    }

    (void) curl_easy_getinfo(http->curl, CURLINFO_RESPONSE_CODE, &http->code);

    if (curl_easy_getinfo(http->curl, CURLINFO_RETRY_AFTER, &after) == CURLE_OK
        && after > 0)
    {
        http->retry_after = (after > CS_HTTP_RETRY_LONGEST
                             ? CS_HTTP_RETRY_LONGEST : after) * 1000;
    }

    return CS_OK;
}

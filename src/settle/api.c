/*
 * Questions to the provider's API, and what its answers mean; see api.h.
 *
 * One function asks and one judges, in the order of the contract: HTTP code,
 * JSON, code, coupons.  A failure may come with HTTP 200 or with a code of its
 * own, so the body is looked at either way.
 */

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "api.h"
#include "counters.h"
#include "api_http.h"
#include "clock.h"


#define CS_API_BASE         "/api/partner/coupons"

#define CS_API_NOT_FOUND    471         /* error_code */
#define CS_API_PARAMETERS   1002

struct cs_api_s {
    cs_http_t    http;
    cc_json_t   *json;
    cs_reply_t   reply;
    cs_buffer_t  body;                  /* of the question */
};


static cs_api_e cs_api_post(cs_api_t *api);
static cs_api_e cs_api_ask(cs_api_t *api, const char *path,
    const cs_buffer_t *body, unsigned one);
static cs_api_e cs_api_judge(cs_api_t *api);
static cs_api_e cs_api_failed(cs_api_t *api, const cc_answer_t *answer);
static cs_api_e cs_api_code(cs_api_t *api);
static cs_api_e cs_api_say(cs_api_t *api, cs_api_e result, const char *format,
    ...) __attribute__((format(printf, 3, 4)));
static void cs_api_quote(cs_buffer_t *buffer, cc_str_t text);


cs_api_t *
cs_api_create(const cs_api_conf_t *conf)
{
    uint64_t   seed;
    cs_api_t  *api;

    api = cs_alloc(sizeof(cs_api_t));

    if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed)) {
        seed = (uint64_t) cs_now();
    }

    api->json = cc_json_create(seed);
    if (api->json == NULL) {
        cs_no_memory();
    }

    cs_http_init(&api->http, conf);

    return api;
}


void
cs_api_destroy(cs_api_t *api)
{
    cs_http_free(&api->http);
    cc_json_destroy(api->json);
    cs_buffer_free(&api->body);
    free(api);
}


cs_api_e
cs_api_calculated(cs_api_t *api, unsigned minutes)
{
    char  path[128];

    (void) snprintf(path, sizeof(path), CS_API_BASE "/calculated?time=%u",
                    minutes);

    return cs_api_ask(api, path, NULL, 0);
}


cs_api_e
cs_api_created(cs_api_t *api, int64_t from, int64_t to)
{
    api->body.len = 0;

    cs_buffer_format(&api->body, "{\"start_date\":%lld,\"end_date\":%lld}",
                     (long long) from, (long long) to);

    return cs_api_post(api);
}


cs_api_e
cs_api_results(cs_api_t *api, const cs_asked_t *asked)
{
    size_t  i;

    api->body.len = 0;
    cs_buffer_text(&api->body, "{\"coupon_ids\":[");

    for (i = 0; i < asked->n; i++) {
        cs_buffer_text(&api->body, i ? "," : "");
        cs_api_quote(&api->body, cs_asked_code(&asked->items[i]));
    }

    cs_buffer_text(&api->body, "]}");

    return cs_api_post(api);
}


static cs_api_e
cs_api_post(cs_api_t *api)
{
    return cs_api_ask(api, CS_API_BASE "/results", &api->body, 0);
}


cs_api_e
cs_api_get(cs_api_t *api, cc_str_t code)
{
    char  *escaped;

    escaped = curl_easy_escape(api->http.curl, (const char *) code.data,
                               (int) code.len);
    if (escaped == NULL) {
        cs_no_memory();
    }

    api->body.len = 0;
    cs_buffer_format(&api->body, CS_API_BASE "/get?coupon_code=%s", escaped);
    cs_buffer_add(&api->body, (cc_str_t) { (const unsigned char *) "", 1 });
    curl_free(escaped);

    return cs_api_ask(api, (const char *) api->body.data, NULL, 1);
}


static cs_api_e
cs_api_ask(cs_api_t *api, const char *path, const cs_buffer_t *body,
    unsigned one)
{
    cs_api_e  result;

    memset(&api->reply, 0, sizeof(cs_reply_t));

    result = CS_API_AGAIN;

    if (cs_http_request(&api->http, path, body) == CS_OK) {
        api->reply.text.data = api->http.answer.data;
        api->reply.text.len = api->http.answer.len;
        api->reply.one = one;

        result = cs_api_judge(api);
    }

    cs_count(CS_COUNT_API + result, 1);

    return result;
}


static cs_api_e
cs_api_judge(cs_api_t *api)
{
    long          code;
    cc_answer_t   answer;

    code = api->http.code;

    if (code == 401 || code == 403) {
        return cs_api_say(api, CS_API_DENIED, "the API refuses the token "
                          "(HTTP %ld): a good one belongs into %s", code,
                          api->http.conf->token_file);
    }

    switch (cc_snapshot_read(&answer, api->json, api->reply.text,
                             api->reply.one, NULL))
    {
    case CC_SNAPSHOT_OK:

        if (code != 200) {
            return cs_api_code(api);
        }

        api->reply.count = answer.count;
        api->reply.malformed = answer.malformed;
        return CS_API_OK;

    case CC_SNAPSHOT_FAILED:
        return cs_api_failed(api, &answer);

    case CC_SNAPSHOT_REFUSED:

        if (code != 200) {
            return cs_api_code(api);
        }

        return cs_api_say(api, CS_API_AGAIN, "the answer cannot be used: %s "
                          "(byte %zu of %zu)", answer.reason, answer.offset,
                          api->reply.text.len);

    case CC_SNAPSHOT_STOPPED:
    case CC_SNAPSHOT_NO_MEMORY:
        break;
    }

    cs_no_memory();
}


/* the API says itself that it could not */

static cs_api_e
cs_api_failed(cs_api_t *api, const cc_answer_t *answer)
{
    int           len;
    cs_api_e      result;
    cc_str_t      message;
    cs_buffer_t   shown;
    const char   *token;

    message = answer->error_message;
    token = api->http.token.text;

    if (message.len > 160) {
        message.len = 160;
    }

    /* an answer may repeat what was sent */

    if (memmem(answer->error_message.data, answer->error_message.len, token,
               strlen(token)))
    {
        message.len = 0;
    }

    memset(&shown, 0, sizeof(cs_buffer_t));
    cs_buffer_escape(&shown, message, 0);
    len = (int) shown.len;

    result = CS_API_AGAIN;

    if (answer->error_code == CS_API_NOT_FOUND) {
        result = CS_API_UNKNOWN;

    } else if (answer->error_code == CS_API_PARAMETERS) {
        result = CS_API_WRONG;
    }

    result = cs_api_say(api, result, "the API answers code %lld, error_code "
                        "%lld: %.*s%s", (long long) answer->code,
                        (long long) answer->error_code, len,
                        len ? (const char *) shown.data : "",
                        len ? "" : "(no message)");

    cs_buffer_free(&shown);

    return result;
}


/* an answer whose HTTP code alone says enough */

static cs_api_e
cs_api_code(cs_api_t *api)
{
    long  code;

    code = api->http.code;

    if (code == 429 || code == 503) {
        return cs_api_say(api, CS_API_AGAIN, "the API is overloaded (HTTP "
                          "%ld)%s", code, api->http.retry_after
                              ? " and says when to come back" : "");
    }

    if (code == 408 || code >= 500) {
        return cs_api_say(api, CS_API_AGAIN, "the API is not available (HTTP "
                          "%ld)", code);
    }

    if (code >= 300 && code < 400) {
        return cs_api_say(api, CS_API_WRONG, "the API sends elsewhere (HTTP "
                          "%ld): base_url must be where it is", code);
    }

    return cs_api_say(api, CS_API_WRONG, "the API does not take the request "
                      "(HTTP %ld): is base_url right?", code);
}


static cs_api_e
cs_api_say(cs_api_t *api, cs_api_e result, const char *format, ...)
{
    va_list  args;

    va_start(args, format);
    (void) vsnprintf(api->http.error, sizeof(api->http.error), format, args);
    va_end(args);

    return result;
}


/* a JSON string */

static void
cs_api_quote(cs_buffer_t *buffer, cc_str_t text)
{
    size_t         i;
    cc_str_t       one;
    unsigned char  ch;

    cs_buffer_text(buffer, "\"");

    for (i = 0; i < text.len; i++) {

        ch = text.data[i];

        if (ch < 0x20) {
            cs_buffer_format(buffer, "\\u%04x", ch);
            continue;
        }

        if (ch == '"' || ch == '\\') {
            cs_buffer_text(buffer, "\\");
        }

        one.data = &text.data[i];
        one.len = 1;
        cs_buffer_add(buffer, one);
    }

    cs_buffer_text(buffer, "\"");
}


const cs_reply_t *
cs_api_reply(const cs_api_t *api)
{
    return &api->reply;
}


const char *
cs_api_error(const cs_api_t *api)
{
    return api->http.error;
}


int64_t
cs_api_retry_after(const cs_api_t *api)
{
    return api->http.retry_after;
}


unsigned
cs_api_new_token(const cs_api_t *api)
{
    return cs_token_changed(&api->http.token);
}

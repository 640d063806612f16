/*
 * One HTTP request with the token in it, over libcurl: HTTP/2 where TLS offers
 * it, one connection kept, certificates verified, no redirects, every wait and
 * the size of the answer bounded.  Knows nothing of coupons.
 */

#ifndef CS_API_HTTP_H
#define CS_API_HTTP_H

#include <curl/curl.h>

#include "buffer.h"
#include "config.h"
#include "status.h"
#include "token.h"


#define CS_HTTP_ANSWER_MAX  (64 * 1024 * 1024)

typedef struct {
    const cs_api_conf_t  *conf;
    CURL                 *curl;
    cs_token_t            token;
    cs_buffer_t           answer;
    unsigned              too_large;
    long                  code;           /* of HTTP */
    int64_t               retry_after;    /* ms; 0: none */
    char                  error[512];
} cs_http_t;


void cs_http_init(cs_http_t *http, const cs_api_conf_t *conf);
void cs_http_free(cs_http_t *http);

/*
 * GET of base_url + path, or POST of a JSON body.  CS_OK: there is an answer of
 * whatever code, whole.  CS_AGAIN: there is none, error says why.
 */
CC_MUST_USE cs_status_e cs_http_request(cs_http_t *http, const char *path,
    const cs_buffer_t *body);


#endif /* CS_API_HTTP_H */

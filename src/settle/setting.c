/*
 * The kinds of values in the configuration file; see setting.h.
 */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "buffer.h"
#include "config.h"
#include "money.h"
#include "refund.h"
#include "setting.h"


const char *
cs_set_redis(void *field, const char *value)
{
    return cs_redis_url(field, value);
}


const char *
cs_set_text(void *field, const char *value)
{
    if (value[0] == '\0') {
        return "is empty";
    }

    *(char **) field = cs_copy(value);

    return NULL;
}


/*
 * A token goes to that address: in the clear only to this machine, where a
 * proxy may be what speaks TLS.
 */

const char *
cs_set_web(void *field, const char *value)
{
    char         *url;
    size_t        i, len;
    const char   *host;
    static const char *const  local[] = {
        "http://127.0.0.1", "http://localhost", "http://[::1]"
    };

    len = strlen(value);

    while (len && value[len - 1] == '/') {
        len--;
    }

    host = strstr(value, "://");

    if (host == NULL || value + len <= host + 3 || host[3] == '/'
        || strcspn(value, "?#@ \t") < len)
    {
        return "is no address such as https://coupon-api.example.com";
    }

    for (i = 0; strncmp(value, "https://", 8) != 0; i++) {

        if (i == sizeof(local) / sizeof(local[0])) {
            return "must begin with https:// (http:// is for this machine "
                   "only: a token goes there)";
        }

        host = value + strlen(local[i]);

        if (strncmp(value, local[i], strlen(local[i])) == 0
            && (*host == '\0' || *host == ':' || *host == '/'))
        {
            break;
        }
    }

    url = cs_copy(value);
    url[len] = '\0';

    *(char **) field = url;

    return NULL;
}


const char *
cs_set_duration(void *field, const char *value)
{
    size_t              i;
    int64_t             n;
    static const char   units[] = "smhd";
    static const int    ms[] = { 1000, 60 * 1000, 60 * 60 * 1000,
                                 24 * 60 * 60 * 1000 };

    n = 0;

    for (i = 0; i < 7 && value[i] >= '0' && value[i] <= '9'; i++) {
        n = n * 10 + value[i] - '0';
    }

    if (i == 0 || n == 0 || value[i] == '\0' || value[i + 1] != '\0'
        || strchr(units, value[i]) == NULL)
    {
        return "is no duration such as 30s, 5m or 1h";
    }

    *(int64_t *) field = n * ms[strchr(units, value[i]) - units];

    return NULL;
}


const char *
cs_set_store(void *field, const char *value)
{
    return cs_store_url(field, value);
}


const char *
cs_set_flag(void *field, const char *value)
{
    if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0) {
        return "is neither yes nor no";
    }

    *(unsigned *) field = value[0] == 'y';

    return NULL;
}


const char *
cs_set_count(void *field, const char *value)
{
    if (cc_money_whole(field, cs_str_of(value)) != 0
        || *(int64_t *) field < 1)
    {
        return "is no whole number from 1 on";
    }

    return NULL;
}


const char *
cs_set_status(void *field, const char *value)
{
    if (cc_money_whole(field, cs_str_of(value)) != 0) {
        return "is no status code (a whole number)";
    }

    return NULL;
}


const char *
cs_set_statuses(void *field, const char *value)
{
    char           *list, *word, *rest;
    const char     *error;
    cs_statuses_t  *statuses = field;

    error = NULL;
    list = cs_copy(value);

    for (word = strtok_r(list, ", \t", &rest);
         word && error == NULL;
         word = strtok_r(NULL, ", \t", &rest))
    {
        if (statuses->n == CS_STATUSES_MAX) {
            error = "holds too many codes";
            break;
        }

        error = cs_set_status(&statuses->codes[statuses->n++], word);
    }

    free(list);

    if (error == NULL && statuses->n == 0) {
        error = "is empty: take the codes from your contract with the provider";
    }

    return error;
}


/* what takes access away gives it back as well */

const char *
cs_set_effects(void *field, const char *value)
{
    char         *list, *word, *rest;
    unsigned     *effects = field;
    const char   *error;

    error = NULL;
    list = cs_copy(value);

    for (word = strtok_r(list, ", \t", &rest);
         word && error == NULL;
         word = strtok_r(NULL, ", \t", &rest))
    {
        if (strcmp(word, "revoke_access") == 0) {
            *effects |= 1u << CC_EFFECT_REVOKE_ACCESS
                        | 1u << CC_EFFECT_RESTORE_ACCESS;

        } else if (strcmp(word, "debit_balance") == 0) {
            *effects |= 1u << CC_EFFECT_DEBIT_BALANCE;

        } else if (strcmp(word, "reverse_payout") == 0) {
            *effects |= 1u << CC_EFFECT_REVERSE_PAYOUT;

        } else {
            error = "holds something else than revoke_access, debit_balance "
                    "and reverse_payout";
        }
    }

    free(list);

    return error;
}


const char *
cs_set_listen(void *field, const char *value)
{
    int                   ok;
    char                  host[INET6_ADDRSTRLEN + 2], *end;
    size_t                len;
    const char           *colon;
    unsigned long         port;
    cs_listen_t          *listen = field;
    struct sockaddr_in   *in4 = (struct sockaddr_in *) &listen->address;
    struct sockaddr_in6  *in6 = (struct sockaddr_in6 *) &listen->address;

    colon = strrchr(value, ':');
    len = colon ? (size_t) (colon - value) : 0;

    if (len == 0 || len >= sizeof(host) || colon[1] < '1' || colon[1] > '9') {
        return "is no address and port such as 127.0.0.1:9145";
    }

    port = strtoul(colon + 1, &end, 10);

    if (*end != '\0' || port > 65535) {
        return "has a port that is none";
    }

    memcpy(host, value, len);
    host[len] = '\0';

    if (host[0] == '[' && host[len - 1] == ']') {
        host[len - 1] = '\0';

        listen->len = sizeof(struct sockaddr_in6);
        in6->sin6_family = AF_INET6;
        in6->sin6_port = htons((uint16_t) port);
        ok = inet_pton(AF_INET6, host + 1, &in6->sin6_addr);

    } else {
        listen->len = sizeof(struct sockaddr_in);
        in4->sin_family = AF_INET;
        in4->sin_port = htons((uint16_t) port);
        ok = inet_pton(AF_INET, host, &in4->sin_addr);
    }

    if (ok != 1) {
        return "has an address that is none of IPv4, nor of IPv6 in [ ]";
    }

    listen->name = cs_copy(value);

    return NULL;
}

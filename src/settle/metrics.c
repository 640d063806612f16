/*
 * Serving metrics and health; see metrics.h.
 *
 * The socket is ours, so that a port in use can be told in words.  Health is
 * answered out of two numbers, at once; only /metrics looks at Redis and the
 * store, one look at a time, and its connections are kept for the next one.
 */

#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock.h"
#include "health.h"
#include "log.h"
#include "metrics.h"
#include "metrics_look.h"


#define CS_METRICS_CONNECTIONS  32
#define CS_METRICS_ONE_ADDRESS  24            /* of them; the rest for others */
#define CS_METRICS_MEMORY       (16 * 1024)   /* a request, for each */
#define CS_METRICS_IDLE_S       10            /* then it is closed */

struct cs_metrics_s {
    const cs_conf_t    *conf;
    struct MHD_Daemon  *daemon;
    int64_t             started;              /* Unix ms */
    pthread_mutex_t     looking;
    cs_look_t           look;
    atomic_int          stopping;
};

typedef struct {
    const char         *path;
    unsigned          (*answer)(cs_metrics_t *m, cs_buffer_t *body);
    const char         *type;
} cs_metrics_page_t;


static int cs_metrics_listen(const cs_listen_t *address);
static enum MHD_Result cs_metrics_request(void *ctx,
    struct MHD_Connection *connection, const char *url, const char *method,
    const char *version, const char *data, size_t *size, void **request);
static enum MHD_Result cs_metrics_respond(struct MHD_Connection *connection,
    unsigned code, cs_buffer_t *body, const char *type);
static unsigned cs_metrics_metrics(cs_metrics_t *m, cs_buffer_t *body);
static unsigned cs_metrics_ready(cs_metrics_t *m, cs_buffer_t *body);
static unsigned cs_metrics_live(cs_metrics_t *m, cs_buffer_t *body);


static const cs_metrics_page_t  cs_metrics_pages[] = {
    { "/metrics", cs_metrics_metrics, "text/plain; version=0.0.4" },
    { "/healthz", cs_metrics_ready, "text/plain" },
    { "/livez", cs_metrics_live, "text/plain" }
};

#define CS_METRICS_PAGES                                                      \
    (sizeof(cs_metrics_pages) / sizeof(cs_metrics_page_t))


cs_status_e
cs_metrics_start(cs_metrics_t **metrics, const cs_conf_t *conf)
{
    int            fd;
    cs_metrics_t  *m;

    *metrics = NULL;

    if (conf->metrics.len == 0) {
        return CS_OK;
    }

    fd = cs_metrics_listen(&conf->metrics);

    if (fd == -1) {
        cs_log(CS_LOG_ERROR, cs_msg("the metrics cannot be served there"),
               cs_text("listen", conf->metrics.name),
               cs_text("reason", strerror(errno)));
        return CS_REFUSED;
    }

    m = cs_alloc(sizeof(cs_metrics_t));

    m->conf = conf;
    m->started = cs_now();
    (void) pthread_mutex_init(&m->looking, NULL);
    cs_look_init(&m->look, conf);

    m->daemon = MHD_start_daemon(MHD_USE_AUTO_INTERNAL_THREAD
                                 | MHD_USE_THREAD_PER_CONNECTION,
        0, NULL, NULL, cs_metrics_request, m,
        MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned) CS_METRICS_CONNECTIONS,
        MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned) CS_METRICS_ONE_ADDRESS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t) CS_METRICS_MEMORY,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned) CS_METRICS_IDLE_S,
        MHD_OPTION_END);

    if (m->daemon == NULL) {
        cs_no_memory();
    }

    cs_log(CS_LOG_INFO, cs_msg("serving metrics"),
           cs_text("listen", conf->metrics.name));

    *metrics = m;

    return CS_OK;
}


void
cs_metrics_stop(cs_metrics_t *m)
{
    if (m == NULL) {
        return;
    }

    /* who waits for a look waits for no more than the one that is going on */

    atomic_store(&m->stopping, 1);
    MHD_stop_daemon(m->daemon);

    cs_look_free(&m->look);
    (void) pthread_mutex_destroy(&m->looking);
    free(m);
}


/* -1: errno says why */

static int
cs_metrics_listen(const cs_listen_t *address)
{
    int  fd, on, error;

    fd = socket(address->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd == -1) {
        return -1;
    }

    on = 1;

    /* after a restart the port is free at once, and IPv6 is nothing else */

    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(int)) == 0
        && (address->address.ss_family != AF_INET6
            || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(int))
               == 0)
        && bind(fd, (const struct sockaddr *) &address->address, address->len)
           == 0
        && listen(fd, CS_METRICS_CONNECTIONS) == 0)
    {
        return fd;
    }

    error = errno;
    (void) close(fd);
    errno = error;

    return -1;
}


static enum MHD_Result
cs_metrics_request(void *ctx, struct MHD_Connection *connection,
    const char *url, const char *method, const char *version, const char *data,
    size_t *size, void **request)
{
    size_t                    i;
    unsigned                  code;
    cs_buffer_t               body;
    const cs_metrics_page_t  *page;

    (void) version;
    (void) data;
    (void) request;

    /* a body is not looked at */

    *size = 0;

    memset(&body, 0, sizeof(cs_buffer_t));

    for (i = 0; i < CS_METRICS_PAGES; i++) {

        page = &cs_metrics_pages[i];

        if (strcmp(url, page->path) != 0) {
            continue;
        }

        if (strcmp(method, MHD_HTTP_METHOD_GET) != 0
            && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        {
            cs_buffer_text(&body, "only GET and HEAD\n");
            return cs_metrics_respond(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
                                      &body, page->type);
        }

        code = page->answer(ctx, &body);

        return cs_metrics_respond(connection, code, &body, page->type);
    }

    cs_buffer_text(&body, "there are /metrics, /healthz and /livez\n");

    return cs_metrics_respond(connection, MHD_HTTP_NOT_FOUND, &body,
                              "text/plain");
}


/* takes the body over */

static enum MHD_Result
cs_metrics_respond(struct MHD_Connection *connection, unsigned code,
    cs_buffer_t *body, const char *type)
{
    enum MHD_Result       result;
    struct MHD_Response  *response;

    response = MHD_create_response_from_buffer(body->len, body->data,
                                               MHD_RESPMEM_MUST_FREE);
    if (response == NULL) {
        cs_no_memory();
    }

    /* what does not fit into the answer is missing in it, and no more */

    (void) MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                                   type);

    if (code == MHD_HTTP_METHOD_NOT_ALLOWED) {
        (void) MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW,
                                       "GET, HEAD");
    }

    result = MHD_queue_response(connection, code, response);
    MHD_destroy_response(response);

    return result;
}


static unsigned
cs_metrics_metrics(cs_metrics_t *m, cs_buffer_t *body)
{
    cs_page_t  page;

    memset(&page, 0, sizeof(cs_page_t));

    page.started = m->started;
    page.ready = cs_health() == CS_HEALTH_READY;
    page.polls = m->conf->api.base_url != NULL;

    (void) pthread_mutex_lock(&m->looking);

    if (atomic_load(&m->stopping)) {
        (void) pthread_mutex_unlock(&m->looking);

        cs_buffer_text(body, "stopping\n");
        return MHD_HTTP_SERVICE_UNAVAILABLE;
    }

    cs_look(&m->look, &page);
    cs_counts_read(&page.counts);
    cs_metrics_page(body, &page);

    (void) pthread_mutex_unlock(&m->looking);

    return MHD_HTTP_OK;
}


static unsigned
cs_metrics_ready(cs_metrics_t *m, cs_buffer_t *body)
{
    cs_health_e  health;

    (void) m;

    health = cs_health_ask();

    cs_buffer_format(body, "%s\n", cs_health_text(health));

    return health == CS_HEALTH_READY ? MHD_HTTP_OK
                                     : MHD_HTTP_SERVICE_UNAVAILABLE;
}


static unsigned
cs_metrics_live(cs_metrics_t *m, cs_buffer_t *body)
{
    cs_health_e  health;

    (void) m;

    health = cs_health();

    if (health == CS_HEALTH_STUCK_LOOP) {
        cs_buffer_format(body, "%s\n", cs_health_text(health));
        return MHD_HTTP_SERVICE_UNAVAILABLE;
    }

    cs_buffer_text(body, "alive\n");

    return MHD_HTTP_OK;
}

/*
 * A worker's connections to one Redis: a few, shared by all requests, kept up
 * by themselves.
 *
 * A pool belongs to one coupon_callback_redis directive and one number of
 * replicas to wait for, and lives in the cycle.
 * Its connections are made when a worker starts, and made again, with growing
 * and jittered pauses, whenever they are lost.  A connection is UP once it is
 * authenticated, on its database, and the server's durability has been read.
 *
 * Nothing here knows a request.  Callers get a connection, send on it at once,
 * and keep no pointer to it.
 */

#ifndef NGX_HTTP_COUPON_REDIS_H
#define NGX_HTTP_COUPON_REDIS_H

#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include <hiredis/async.h>

#include "fence.h"
#include "metrics.h"
#include "tls.h"


/* what must be true before a 200: coupon_callback_ack */
#define NGX_HTTP_COUPON_ACK_FSYNC     0
#define NGX_HTTP_COUPON_ACK_ENQUEUED  1
#define NGX_HTTP_COUPON_ACK_REPLICAS  2

typedef struct {
    ngx_uint_t                      what;
    ngx_uint_t                      replicas;   /* of ACK_REPLICAS, else 0 */
} ngx_http_coupon_ack_t;

/* what makes an acknowledged write durable on the server's own disk */
typedef enum {
    NGX_HTTP_COUPON_WAY_NONE = 0,
    NGX_HTTP_COUPON_WAY_ALWAYS,          /* appendfsync always: any reply */
    NGX_HTTP_COUPON_WAY_FENCE            /* everysec, and an honest WAITAOF */
} ngx_http_coupon_way_e;

#define NGX_HTTP_COUPON_RUN_ID_LEN    64

typedef enum {
    NGX_HTTP_COUPON_REDIS_DOWN = 0,      /* its timer tries again */
    NGX_HTTP_COUPON_REDIS_CONNECTING,
    NGX_HTTP_COUPON_REDIS_GREETING,      /* AUTH, SELECT, the settings */
    NGX_HTTP_COUPON_REDIS_UP
} ngx_http_coupon_redis_state_e;


typedef struct ngx_http_coupon_redis_s       ngx_http_coupon_redis_t;
typedef struct ngx_http_coupon_redis_conn_s  ngx_http_coupon_redis_conn_t;


/* what the settings of a server say about an acknowledged write */
typedef struct {
    unsigned                        answers;    /* still to come */
    unsigned                        appendonly:1;
    unsigned                        always:1;
    unsigned                        everysec:1;
    unsigned                        honest:1;   /* its WAITAOF, see README */
    unsigned                        skips:1;    /* fsyncs, while it saves */
    unsigned                        evicts:1;   /* allkeys-*: could evict it */
    unsigned                        in_use:1;   /* its log, on the disk */
    unsigned                        unreadable:1;
} ngx_http_coupon_settings_t;


struct ngx_http_coupon_redis_conn_s {
    void                           *data;       /* like ngx_connection_t, for */
    ngx_event_t                    *unused[2];  /* the debug log of the timer */
    ngx_socket_t                    fd;

    ngx_http_coupon_redis_t        *pool;
    ngx_uint_t                      number;
    ngx_http_coupon_redis_state_e   state;
    redisAsyncContext              *ac;         /* NULL while there is none */

    ngx_connection_t               *connection; /* lent to hiredis' socket */
    ngx_event_t                     write;      /* posted: once a loop turn */
    ngx_event_t                     lost;       /* posted: clear up */
    ngx_event_t                     timer;      /* of the present state */
    size_t                          gathered;   /* bytes, not yet written */
    unsigned                        writing:1;
    unsigned                        useless:1;  /* UP, and of no use to us */

    ngx_uint_t                      waiting;    /* transactions sent */
    ngx_uint_t                      failures;   /* since it was last UP */
    ngx_uint_t                      moves;      /* from address to address */
    ngx_uint_t                      silent;     /* probes without an answer */

    ngx_http_coupon_settings_t      asked;      /* being read */
    ngx_http_coupon_way_e           way;
    const char                     *unproven;   /* why there is no way */
    unsigned                        waitaof:1;  /* it has one, and honest */
    char                            run_id[NGX_HTTP_COUPON_RUN_ID_LEN + 1];
};


struct ngx_http_coupon_redis_s {
    ngx_http_coupon_redis_t        *directive;  /* whose pool this is */
    ngx_str_t                       name;       /* as in nginx.conf */
    ngx_addr_t                     *addrs;      /* resolved with it */
    ngx_uint_t                      naddrs;
    ngx_str_t                       user;
    ngx_str_t                       password;
    cc_tls_t                       *tls;        /* NULL: in clear */
    ngx_uint_t                      db;
    ngx_uint_t                      connections;
    unsigned                        prove:1;    /* not all are "enqueued" */
    unsigned                        fsync:1;    /* somebody wants "fsync" */

    /* of this worker */
    ngx_http_coupon_redis_conn_t   *conns;      /* behind them the fence's */
    ngx_http_coupon_fence_t         fence;
    char                            logging[NGX_HTTP_COUPON_RUN_ID_LEN + 1];
                                                /* a run whose log is in use */
    ngx_uint_t                      pending;    /* transactions, all conns */
    ngx_uint_t                      waiting;    /* for a first connection */
    ngx_queue_t                     waiters;
    ngx_event_t                     wake;       /* posted: tells the waiters */
    ngx_http_coupon_gauges_t       *gauges;
    ngx_http_coupon_errors_t       *errors;
    time_t                          logged;     /* one line a second */
    ngx_uint_t                      unlogged;
    unsigned                        stopping:1; /* the owners are gone */
};


/*
 * Who waits for a connection that is being made.  The memory is the waiter's,
 * who takes itself out by ngx_http_coupon_redis_unwait() before it goes.  wake
 * is called once, when something changed, with the waiter already out.
 */
typedef struct {
    ngx_queue_t                     queue;
    unsigned                        waiting:1;
    void                          (*wake)(void *data);
    void                           *data;
} ngx_http_coupon_waiter_t;


/* starts the connections of a worker; NGX_ERROR without memory */
ngx_int_t ngx_http_coupon_redis_start(ngx_http_coupon_redis_t *pool,
    ngx_cycle_t *cycle, ngx_http_coupon_gauges_t *gauges,
    ngx_http_coupon_errors_t *errors);

/* closes them; whatever is under way ends as lost.  May be called twice */
void ngx_http_coupon_redis_stop(ngx_http_coupon_redis_t *pool);

/*
 * The connection with the fewest transactions waiting, good for this ack; else
 * NULL, with NGX_AGAIN in *rc if one is about to come up for the first time
 * since it was lost, NGX_DECLINED if not, and the reason in *why.
 */
ngx_http_coupon_redis_conn_t *ngx_http_coupon_redis_get(
    ngx_http_coupon_redis_t *pool, const ngx_http_coupon_ack_t *ack,
    ngx_int_t *rc, const char **why);

/* does a write on this connection need the fence before this ack? */
ngx_uint_t ngx_http_coupon_redis_fenced(ngx_http_coupon_redis_conn_t *conn,
    const ngx_http_coupon_ack_t *ack);

void ngx_http_coupon_redis_wait(ngx_http_coupon_redis_t *pool,
    ngx_http_coupon_waiter_t *waiter);
void ngx_http_coupon_redis_unwait(ngx_http_coupon_redis_t *pool,
    ngx_http_coupon_waiter_t *waiter);

/* the connection is of no more use: it will be closed and made anew */
void ngx_http_coupon_redis_drop(ngx_http_coupon_redis_conn_t *conn);

/*
 * The same, and so is its server, although it lets us in (a replica): the next
 * address is tried, and not before a pause.
 */
void ngx_http_coupon_redis_avoid(ngx_http_coupon_redis_conn_t *conn);

/* counts an error reply of Redis by its first word, and logs it, sparingly */
void ngx_http_coupon_redis_error(ngx_http_coupon_redis_t *pool,
    const char *what, const char *text, size_t len);


/* the same for what is no reply: its kind, what was tried, what came of it */
void ngx_http_coupon_redis_report(ngx_http_coupon_redis_t *pool,
    ngx_http_coupon_error_e kind, const char *what, const char *text,
    size_t len);


/* redis.c: one connection, for the pool */
void ngx_http_coupon_redis_connect(ngx_http_coupon_redis_conn_t *conn);
void ngx_http_coupon_redis_close(ngx_http_coupon_redis_conn_t *conn);
void ngx_http_coupon_redis_timer_handler(ngx_event_t *ev);
void ngx_http_coupon_redis_lost_handler(ngx_event_t *ev);

/* durability.c: asks for the settings, and judges them when they are there */
ngx_int_t ngx_http_coupon_durability_ask(ngx_http_coupon_redis_conn_t *conn);

/* redis.c: called when the settings were read, with what they mean */
void ngx_http_coupon_redis_proven(ngx_http_coupon_redis_conn_t *conn,
    ngx_http_coupon_way_e way, const char *unproven);

/*
 * redis_event.c: lends the socket of a new conn->ac to nginx's event loop.
 * Writes are gathered, and done at the end of a turn of the loop at the latest.
 */
ngx_int_t ngx_http_coupon_redis_attach(ngx_http_coupon_redis_conn_t *conn,
    ngx_log_t *log);

/*
 * redis_event.c: called when a transaction of so many bytes was queued.  Writes
 * what is gathered if it is worth a system call, so that Redis works while this
 * turn of the loop takes in more.  Calls nobody back: what goes wrong shows in
 * the last write.
 */
void ngx_http_coupon_redis_push(ngx_http_coupon_redis_conn_t *conn,
    size_t size);

/* redis_stray.c: a reply too many shall end the connection, not the worker */
void ngx_http_coupon_redis_watch_replies(ngx_http_coupon_redis_conn_t *conn);


#endif /* NGX_HTTP_COUPON_REDIS_H */

/*
 * Replays prepared requests over keep-alive connections as fast as they are
 * answered, and says how fast that was.
 *
 *   load FILE PORT CONNECTIONS DUPLICATES PID...
 *
 * As many requests as FILE holds are sent to 127.0.0.1:PORT.  DUPLICATES, 0 to
 * 99, is the share of them in percent that was sent, and answered, before.
 * Prints one line of NAME=VALUE: requests, seconds, per_second, p50, p99, p999
 * (ms), ok, failed (answers other than 200), and for each PID the CPU time that
 * the kernel says its threads used, in microseconds a request.
 *
 * It does nothing but write from a mapped file and look for the end of each
 * answer, so that as little as can be of a shared machine is its own.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "replay.h"


#define ANSWER_MAX  4096
#define PIDS_MAX    8
#define OLD_ENOUGH  512             /* requests ago: it has been answered */


typedef struct {
    const char     *data;
    size_t          len;
} request_t;

typedef struct {
    int             fd;
    const char     *data;           /* still to be sent */
    size_t          left;
    int             writing;        /* waits for the socket to take more */
    uint64_t        begin;
    size_t          got;
    char            answer[ANSWER_MAX + 1];
} client_t;

typedef struct {
    request_t      *requests;
    size_t          n;              /* of the file, and to be sent */
    size_t          sent;
    size_t          fresh;          /* of these, never sent before */
    size_t          share;          /* of duplicates, percent */
    size_t          answered;
    size_t          ok;
    uint64_t       *took;           /* nanoseconds, one for each answer */
    int             epoll;
} load_t;


static void
die(const char *what)
{
    perror(what);
    exit(1);
}


static uint64_t
now(void)
{
    struct timespec  ts;

    (void) clock_gettime(CLOCK_MONOTONIC, &ts);

    return (uint64_t) ts.tv_sec * 1000000000 + (uint64_t) ts.tv_nsec;
}


/* of all threads of a process, nanoseconds on a processor */
static uint64_t
cpu_time(const char *pid)
{
    DIR            *dir;
    FILE           *file;
    char            path[320];
    uint64_t        sum;
    struct dirent  *entry;
    unsigned long   ns;

    (void) snprintf(path, sizeof(path), "/proc/%s/task", pid);
    dir = opendir(path);

    if (dir == NULL) {
        die(path);
    }

    for (sum = 0, entry = readdir(dir); entry; entry = readdir(dir)) {

        if (entry->d_name[0] == '.') {
            continue;
        }

        (void) snprintf(path, sizeof(path), "/proc/%s/task/%s/schedstat", pid,
                        entry->d_name);
        file = fopen(path, "r");

        if (file == NULL || fscanf(file, "%lu", &ns) != 1) {
            die(path);
        }

        sum += ns;
        (void) fclose(file);
    }

    (void) closedir(dir);

    return sum;
}


static void
map(load_t *load, const char *name)
{
    int            fd;
    char          *p, *end;
    size_t         size;
    struct stat    st;
    replay_len_t   len;

    fd = open(name, O_RDONLY | O_CLOEXEC);

    if (fd == -1 || fstat(fd, &st) == -1) {
        die(name);
    }

    size = (size_t) st.st_size;
    p = mmap(NULL, size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);

    if (p == MAP_FAILED) {
        die(name);
    }

    /* no request is shorter than its length and one byte */

    load->requests = malloc(size / sizeof(len) * sizeof(request_t));

    if (load->requests == NULL) {
        die(name);
    }

    for (end = p + size; p < end; p += len) {
        memcpy(&len, p, sizeof(len));
        p += sizeof(len);

        load->requests[load->n].data = p;
        load->requests[load->n++].len = len;
    }

    load->took = calloc(load->n, sizeof(uint64_t));

    if (load->took == NULL) {
        die(name);
    }
}


static void
watch(load_t *load, client_t *client, int op, uint32_t events)
{
    struct epoll_event  ev;

    ev.events = events;
    ev.data.ptr = client;

    if (epoll_ctl(load->epoll, op, client->fd, &ev) == -1) {
        die("epoll_ctl");
    }
}


static void
connect_client(load_t *load, client_t *client, const char *port)
{
    int                 one = 1;
    struct sockaddr_in  addr;

    memset(&addr, 0, sizeof(addr));
    addr.sin_family = AF_INET;
    addr.sin_port = htons((uint16_t) strtoul(port, NULL, 10));
    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);

    client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (client->fd == -1
        || connect(client->fd, (struct sockaddr *) &addr, sizeof(addr)) == -1
        || setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one))
           == -1
        || fcntl(client->fd, F_SETFL, O_NONBLOCK) == -1)
    {
        die("connect");
    }

    watch(load, client, EPOLL_CTL_ADD, EPOLLIN);
}


static void
send_rest(load_t *load, client_t *client)
{
    int      writing;
    ssize_t  n;

    do {
        n = send(client->fd, client->data, client->left, MSG_NOSIGNAL);

        if (n == -1 && errno != EAGAIN) {
            die("send");
        }

        if (n > 0) {
            client->data += n;
            client->left -= (size_t) n;
        }

    } while (n > 0 && client->left > 0);

    writing = (client->left > 0);

    if (writing != client->writing) {
        client->writing = writing;
        watch(load, client, EPOLL_CTL_MOD,
              writing ? EPOLLIN | EPOLLOUT : EPOLLIN);
    }
}


/* the duplicates are spread evenly among the others */
static void
send_next(load_t *load, client_t *client)
{
    const request_t  *request;

    if (load->sent == load->n) {
        return;
    }

    if (load->fresh >= OLD_ENOUGH
        && load->sent * load->share % 100 < load->share)
    {
        request = &load->requests[load->fresh - OLD_ENOUGH];

    } else {
        request = &load->requests[load->fresh++];
    }

    load->sent++;

    client->data = request->data;
    client->left = request->len;
    client->got = 0;
    client->begin = now();

    send_rest(load, client);
}


/* the length of the answer that has begun to arrive; 0: not known yet */
static size_t
answer_length(const client_t *client)
{
    const char  *end, *length;

    end = strstr(client->answer, "\r\n\r\n");

    if (end == NULL) {
        return 0;
    }

    length = strcasestr(client->answer, "\r\nContent-Length:");

    if (length == NULL || length > end) {
        (void) fprintf(stderr, "load: an answer without Content-Length:\n%s\n",
                       client->answer);
        exit(1);
    }

    return (size_t) (end + 4 - client->answer)
           + strtoul(length + sizeof("\r\nContent-Length:") - 1, NULL, 10);
}


static void
receive(load_t *load, client_t *client)
{
    size_t   len;
    ssize_t  n;

    n = recv(client->fd, client->answer + client->got,
             ANSWER_MAX - client->got, 0);

    if (n == -1 && errno == EAGAIN) {
        return;
    }

    if (n <= 0) {
        (void) fprintf(stderr, "load: the server closed a connection, after "
                       "%zu answers\n", load->answered);
        exit(1);
    }

    client->got += (size_t) n;
    client->answer[client->got] = '\0';
    len = answer_length(client);

    if (len == 0 || client->got < len) {
        return;
    }

    load->took[load->answered++] = now() - client->begin;
    load->ok += (strncmp(client->answer, "HTTP/1.1 200 ", 13) == 0);

    send_next(load, client);
}


static void
run(load_t *load, client_t *clients, size_t n)
{
    int                  i, ready;
    client_t            *client;
    struct epoll_event   events[64];

    while (n > 0) {
        send_next(load, &clients[--n]);
    }

    while (load->answered < load->n) {
        ready = epoll_wait(load->epoll, events, 64, 30000);

        if (ready == 0) {
            (void) fprintf(stderr, "load: no answer in 30 seconds\n");
            exit(1);
        }

        for (i = 0; i < ready; i++) {
            client = events[i].data.ptr;

            if (events[i].events & EPOLLOUT) {
                send_rest(load, client);
            }

            if (events[i].events & ~(uint32_t) EPOLLOUT) {
                receive(load, client);
            }
        }
    }
}


static int
compare(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}


static double
percentile(const load_t *load, double part)
{
    return (double) load->took[(size_t) ((double) load->n * part)] / 1e6;
}


int
main(int argc, char **argv)
{
    int        i;
    size_t     n, k;
    double     seconds;
    load_t     load;
    client_t  *clients;
    uint64_t   begin, cpu[PIDS_MAX];

    if (argc < 5 || argc - 5 > PIDS_MAX) {
        (void) fprintf(stderr, "usage: load FILE PORT CONNECTIONS DUPLICATES "
                       "PID...\n");
        return 2;
    }

    memset(&load, 0, sizeof(load_t));
    map(&load, argv[1]);
    load.share = strtoul(argv[4], NULL, 10);
    load.epoll = epoll_create1(EPOLL_CLOEXEC);

    n = strtoul(argv[3], NULL, 10);
    clients = calloc(n, sizeof(client_t));

    if (clients == NULL || load.epoll == -1) {
        die("load");
    }

    for (k = 0; k < n; k++) {
        connect_client(&load, &clients[k], argv[2]);
    }

    for (i = 5; i < argc; i++) {
        cpu[i - 5] = cpu_time(argv[i]);
    }

    begin = now();
    run(&load, clients, n);
    seconds = (double) (now() - begin) / 1e9;

    qsort(load.took, load.n, sizeof(uint64_t), compare);

    (void) printf("requests=%zu seconds=%.3f per_second=%.0f p50=%.3f "
                  "p99=%.3f p999=%.3f ok=%zu failed=%zu", load.n, seconds,
                  (double) load.n / seconds, percentile(&load, 0.5),
                  percentile(&load, 0.99), percentile(&load, 0.999), load.ok,
                  load.n - load.ok);

    for (i = 5; i < argc; i++) {
        (void) printf(" cpu%d=%.1f", i - 4,
                      (double) (cpu_time(argv[i]) - cpu[i - 5]) / 1e3
                      / (double) load.n);
    }

    (void) printf("\n");

    return 0;
}

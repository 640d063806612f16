/*
 * A command of Redis: its arguments, and their text on the wire.
 *
 * hiredis would write that text as well, with a format string for every
 * argument and a buffer of its own for every command, which was a fifth of all
 * that a short callback costs the worker.  It still sends it, and reads the
 * replies.  A long last argument is not part of the text, so that hiredis'
 * buffer holds its only copy.
 */

#ifndef NGX_HTTP_COUPON_COMMAND_H
#define NGX_HTTP_COUPON_COMMAND_H

#include <ngx_config.h>
#include <ngx_core.h>


#define NGX_HTTP_COUPON_ARGS  24                 /* of the longest command */

typedef struct {
    const char  *argv[NGX_HTTP_COUPON_ARGS];
    size_t       len[NGX_HTTP_COUPON_ARGS];
    int          argc;
    int          apart;                         /* 1: the last one, see below */
} ngx_http_coupon_command_t;


#define ngx_http_coupon_arg(command, data, size)                             \
    (command)->argv[(command)->argc] = (const char *) (data);                \
    (command)->len[(command)->argc++] = (size)


/* begins a command with its name, which must outlive it like every argument */
void ngx_http_coupon_command(ngx_http_coupon_command_t *command,
    const char *name);

/*
 * Its last argument is sent from where it is: the text ends before its bytes,
 * behind which the sender puts another CRLF.
 */
void ngx_http_coupon_command_apart(ngx_http_coupon_command_t *command,
    const u_char *data, size_t size);

/* how many bytes its text has at most */
size_t ngx_http_coupon_command_size(const ngx_http_coupon_command_t *command);

/* writes it, as an array of bulk strings (RESP 2); returns where it ends */
u_char *ngx_http_coupon_command_write(const ngx_http_coupon_command_t *command,
    u_char *p);


#endif /* NGX_HTTP_COUPON_COMMAND_H */

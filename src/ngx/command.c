/*
 * Commands as Redis reads them: an array of bulk strings,
 *
 *   *<arguments>\r\n  and for each of them  $<length>\r\n<bytes>\r\n
 */

#include "command.h"


/* "*" or "$", a number, and both ends of lines */
#define NGX_HTTP_COUPON_FRAME  (1 + NGX_SIZE_T_LEN + 2 * (sizeof(CRLF) - 1))


static u_char *ngx_http_coupon_command_head(u_char *p, u_char type, size_t n);
static u_char *ngx_http_coupon_command_crlf(u_char *p);


void
ngx_http_coupon_command(ngx_http_coupon_command_t *command, const char *name)
{
    command->argc = 0;
    command->apart = 0;
    ngx_http_coupon_arg(command, name, ngx_strlen(name));
}


void
ngx_http_coupon_command_apart(ngx_http_coupon_command_t *command,
    const u_char *data, size_t size)
{
    ngx_http_coupon_arg(command, data, size);
    command->apart = 1;
}


size_t
ngx_http_coupon_command_size(const ngx_http_coupon_command_t *command)
{
    int     i;
    size_t  size;

    size = NGX_HTTP_COUPON_FRAME * (1 + (size_t) command->argc);

    for (i = 0; i < command->argc - command->apart; i++) {
        size += command->len[i];
    }

    return size;
}


u_char *
ngx_http_coupon_command_write(const ngx_http_coupon_command_t *command,
    u_char *p)
{
    int  i;

    p = ngx_http_coupon_command_head(p, '*', command->argc);

    for (i = 0; i < command->argc - command->apart; i++) {
        p = ngx_http_coupon_command_head(p, '$', command->len[i]);
        p = ngx_cpymem(p, command->argv[i], command->len[i]);
        p = ngx_http_coupon_command_crlf(p);
    }

    if (command->apart) {
        p = ngx_http_coupon_command_head(p, '$', command->len[i]);
    }

    return p;
}


static u_char *
ngx_http_coupon_command_head(u_char *p, u_char type, size_t n)
{
    u_char  *digit, digits[NGX_SIZE_T_LEN];

    *p++ = type;
    digit = digits + NGX_SIZE_T_LEN;

    do {
        *--digit = (u_char) ('0' + n % 10);
        n /= 10;
    } while (n);

    p = ngx_cpymem(p, digit, digits + NGX_SIZE_T_LEN - digit);

    return ngx_http_coupon_command_crlf(p);
}


static u_char *
ngx_http_coupon_command_crlf(u_char *p)
{
    *p++ = CR;
    *p++ = LF;

    return p;
}

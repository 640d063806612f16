/*
 * The token and its file; see token.h.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "buffer.h"
#include "token.h"


#define CS_TOKEN_MAX  16384


static const char *cs_token_load(cs_token_t *token, FILE *file);


cs_status_e
cs_token_read(cs_token_t *token, char *error, size_t size)
{
    FILE        *file;
    const char  *wrong;

    if (token->text && !cs_token_changed(token)) {
        return CS_OK;
    }

    cs_token_wipe(token);

    file = fopen(token->path, "r");

    if (file == NULL) {
        wrong = strerror(errno);

    } else {
        wrong = cs_token_load(token, file);
        (void) fclose(file);
    }

    if (wrong) {
        (void) snprintf(error, size, "token_file %s: %s", token->path, wrong);
        return CS_AGAIN;
    }

    return CS_OK;
}


static const char *
cs_token_load(cs_token_t *token, FILE *file)
{
    char        *buf;
    size_t       i, n;
    const char  *wrong;

    if (fstat(fileno(file), &token->file) != 0) {
        return strerror(errno);
    }

    /* unbuffered: no copy of it stays behind in stdio's memory */

    (void) setvbuf(file, NULL, _IONBF, 0);

    buf = cs_alloc(CS_TOKEN_MAX);
    n = fread(buf, 1, CS_TOKEN_MAX, file);
    wrong = n == CS_TOKEN_MAX ? "is too long for a token" : NULL;

    while (n && (buf[n - 1] == '\n' || buf[n - 1] == '\r')) {
        n--;
    }

    if (n == 0) {
        wrong = "is empty";
    }

    /* it goes into a header: nothing may end the line there */

    for (i = 0; i < n && wrong == NULL; i++) {
        if (buf[i] <= ' ' || buf[i] > '~') {
            wrong = "is no token: it has spaces or other bytes in it";
        }
    }

    if (wrong == NULL) {
        buf[n] = '\0';
        token->text = cs_copy(buf);
    }

    explicit_bzero(buf, CS_TOKEN_MAX);
    free(buf);

    return wrong;
}


unsigned
cs_token_changed(const cs_token_t *token)
{
    struct stat  now;

    if (stat(token->path, &now) != 0) {
        return 0;
    }

    return now.st_ino != token->file.st_ino
           || now.st_dev != token->file.st_dev
           || now.st_size != token->file.st_size
           || now.st_mtim.tv_sec != token->file.st_mtim.tv_sec
           || now.st_mtim.tv_nsec != token->file.st_mtim.tv_nsec;
}


void
cs_token_wipe(cs_token_t *token)
{
    if (token->text) {
        explicit_bzero(token->text, strlen(token->text));
        free(token->text);
        token->text = NULL;
    }
}

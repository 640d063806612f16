/*
 * The bearer token of the provider's API, out of its file.
 *
 * Tokens expire, and who renews them writes the file anew: so it is looked at
 * before each request, and read again when it is another one.  The token is
 * wiped when it is replaced, and never shown.
 */

#ifndef CS_TOKEN_H
#define CS_TOKEN_H

#include <sys/stat.h>

#include "core.h"
#include "status.h"


typedef struct {
    const char   *path;          /* set by the owner */
    char         *text;          /* NULL: none was read */
    struct stat   file;          /* as it was when the text was read */
} cs_token_t;


/* CS_AGAIN: there is no usable token in the file; error[size] says why */
CC_MUST_USE cs_status_e cs_token_read(cs_token_t *token, char *error,
    size_t size);

/* 1 if the file is not the one that was read */
unsigned cs_token_changed(const cs_token_t *token);

void cs_token_wipe(cs_token_t *token);


#endif /* CS_TOKEN_H */

/*
 * Checks the shape of one prepared callback, again and again, and does nothing
 * else: for valgrind, which counts the instructions (t/005-cost.t).
 *
 *   scan FILE TIMES
 *
 * Prints how many bytes the body has.
 */

#include <stdio.h>
#include <stdlib.h>

#include "envelope.h"
#include "replay.h"


#define REQUEST_MAX  (1024 * 1024)


/* the patterns of the module are nginx's business */
static int
shape(void *pattern, cc_str_t text)
{
    return pattern == NULL && text.len != 0;
}


/* the first record of the file, from behind its head on */
static int
read_body(const char *name, char *buf, cc_str_t *body)
{
    FILE          *file;
    char          *p;
    size_t         n;
    replay_len_t   len;

    file = fopen(name, "rb");

    if (file == NULL) {
        return -1;
    }

    n = fread(&len, sizeof(len), 1, file);
    n = (n == 1 && len < REQUEST_MAX) ? fread(buf, 1, len, file) : 0;
    (void) fclose(file);

    buf[n] = '\0';
    p = strstr(buf, "\r\n\r\n");

    if (p == NULL) {
        return -1;
    }

    body->data = (unsigned char *) p + 4;
    body->len = n - (size_t) (p + 4 - buf);

    return 0;
}


int
main(int argc, char **argv)
{
    long                  i, times;
    char                 *buf;
    cc_str_t              body;
    cc_json_t            *json;
    cc_envelope_t         envelope;
    cc_envelope_rules_t   rules;

    if (argc != 3) {
        (void) fprintf(stderr, "usage: scan FILE TIMES\n");
        return 2;
    }

    times = strtol(argv[2], NULL, 10);
    buf = malloc(REQUEST_MAX);
    json = cc_json_create(1);

    if (buf == NULL || json == NULL || read_body(argv[1], buf, &body) != 0) {
        perror(argv[1]);
        return 1;
    }

    memset(&rules, 0, sizeof(cc_envelope_rules_t));
    rules.shape = shape;
    rules.max_coupons = 100;

    for (i = 0; i < times; i++) {
        if (cc_envelope_read(&envelope, json, body, &rules, NULL)
            != CC_ENVELOPE_OK)
        {
            (void) fprintf(stderr, "%s\n", envelope.reason);
            return 1;
        }
    }

    (void) printf("%zu\n", body.len);

    cc_json_destroy(json);
    free(buf);

    return 0;
}

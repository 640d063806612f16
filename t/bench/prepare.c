/*
 * Writes signed callbacks to be replayed, all of them different.
 *
 *   prepare FILE COUPONS COUNT SECRET
 *
 * COUNT requests of COUPONS coupons each, with three bets a coupon, about 430
 * bytes of JSON: the names and values that a provider sends, one of them behind
 * the bets, where any may stand.  The signature is the module's default,
 * HMAC-SHA256 in hex in X-Signature.
 *
 * The batch ids begin with the time and the process, so that two files never
 * hold the same delivery.
 */

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "replay.h"
#include "signature.h"


#define BETS          3
#define COUPON_BYTES  512           /* enough for one, and for the envelope */


/* one bet: where in the file it stands makes it different */
static int
bet(char *p, size_t size, unsigned long n, unsigned i)
{
    return snprintf(p, size, "%s{\"uuid\":\"%09lu\",\"status\":2,"
                    "\"odds\":1.%02lu,\"sport\":\"football\","
                    "\"name\":\"Team %lu - Team %lu\"}",
                    i ? "," : "", n * BETS + i, n % 90 + 10, n % 97, n % 89);
}


static size_t
coupon(char *p, size_t size, unsigned long n)
{
    int       len;
    unsigned  i;

    len = snprintf(p, size, "{\"coupon_code\":\"%012lu\",\"status\":2,"
                   "\"real_win\":%lu.%02lu,\"potential_win\":%lu.50,"
                   "\"amount\":10.00,\"currency\":\"EUR\","
                   "\"created_at\":%lu,\"events_data\":[", n, n % 900,
                   n % 100, n % 900 + 100, 1764547200000 + n);

    for (i = 0; i < BETS; i++) {
        len += bet(p + len, size - (size_t) len, n, i);
    }

    len += snprintf(p + len, size - (size_t) len,
                    "],\"type\":\"express\"}");

    return (size_t) len;
}


/* the body of callback number n */
static cc_str_t
body(char *buf, size_t size, unsigned long n, unsigned long coupons)
{
    char           *p;
    cc_str_t        text;
    unsigned long   i;

    p = buf;
    p += snprintf(p, size, "{\"batchId\":\"%08lx-%08lx-%08lx\","
                  "\"couponCount\":%lu,\"coupons\":[",
                  (unsigned long) time(NULL), (unsigned long) getpid(), n,
                  coupons);

    for (i = 0; i < coupons; i++) {
        if (i != 0) {
            *p++ = ',';
        }

        p += coupon(p, size - (size_t) (p - buf), n * coupons + i);
    }

    *p++ = ']';
    *p++ = '}';

    text.data = (unsigned char *) buf;
    text.len = (size_t) (p - buf);

    return text;
}


static int
request(FILE *file, cc_hmac_t *hmac, cc_str_t text)
{
    int             n;
    char            head[512], hex[2 * CC_MAC_MAX + 1];
    size_t          i, len;
    cc_str_t        none = cc_str("");
    replay_len_t    all;
    unsigned char   mac[CC_MAC_MAX];

    len = cc_hmac_compute(hmac, none, text, mac);

    if (len == 0) {
        return -1;
    }

    for (i = 0; i < len; i++) {
        (void) snprintf(hex + 2 * i, 3, "%02x", mac[i]);
    }

    n = snprintf(head, sizeof(head), "POST /callbacks/coupons HTTP/1.1\r\n"
                 "Host: localhost\r\nContent-Type: application/json\r\n"
                 "X-Signature: %s\r\nContent-Length: %zu\r\n\r\n", hex,
                 text.len);

    all = (replay_len_t) ((size_t) n + text.len);

    return fwrite(&all, sizeof(all), 1, file) == 1
           && fwrite(head, (size_t) n, 1, file) == 1
           && fwrite(text.data, text.len, 1, file) == 1 ? 0 : -1;
}


int
main(int argc, char **argv)
{
    FILE           *file;
    char           *buf;
    size_t          size;
    cc_str_t        key;
    cc_hmac_t      *hmac;
    unsigned long   n, coupons, count;

    if (argc != 5) {
        (void) fprintf(stderr, "usage: prepare FILE COUPONS COUNT SECRET\n");
        return 2;
    }

    coupons = strtoul(argv[2], NULL, 10);
    count = strtoul(argv[3], NULL, 10);
    key.data = (unsigned char *) argv[4];
    key.len = strlen(argv[4]);

    size = (coupons + 1) * COUPON_BYTES;
    buf = malloc(size);
    hmac = cc_hmac_create(CC_HASH_SHA256, key);
    file = fopen(argv[1], "wb");

    if (buf == NULL || hmac == NULL || file == NULL) {
        perror(argv[1]);
        return 1;
    }

    for (n = 0; n < count; n++) {
        if (request(file, hmac, body(buf, size, n, coupons)) != 0) {
            break;
        }
    }

    if (fclose(file) != 0 || n != count) {
        perror(argv[1]);
        return 1;
    }

    cc_hmac_destroy(hmac);
    free(buf);

    return 0;
}

/*
 * JWS in its compact form, with the algorithm fixed by whoever asks: never by
 * what the header says.
 *
 * Opening takes the text apart and reads the header; it proves nothing.  The
 * payload is to be looked at only after cc_jws_verify() has returned NULL.
 *
 * What a header offers for finding a key by itself (jwk, jku, x5u) is not even
 * read.  Source: RFC 7515, RFC 7518 sections 3.3 and 3.4, RFC 8725.
 */

#ifndef CC_JWS_H
#define CC_JWS_H

#include <openssl/types.h>

#include "core.h"
#include "json.h"


#define CC_JWS_X5C       3          /* certificates: not more, not fewer */
#define CC_JWS_CERT_MAX  8192       /* characters of one */


typedef enum {
    CC_JWS_ES256 = 0,
    CC_JWS_RS256
} cc_jws_alg_e;

typedef struct {
    cc_str_t        signed_text;    /* header and payload as they came */
    cc_str_t        payload;        /* decoded */
    cc_str_t        signature;      /* decoded */

    cc_str_t        kid;            /* empty: none that is a string */
    unsigned        typ_other;      /* there is a typ, and it is not "JWT" */
    cc_str_t        x5c[CC_JWS_X5C];
    unsigned        nx5c;           /* CC_JWS_X5C, or 0: there is none */

    unsigned char  *memory;
} cc_jws_t;


/*
 * Takes the text apart, which must outlive the jws.  Returns NULL, or a
 * constant that says why it is none; cc_json_no_memory says nothing about it.
 * To be closed in either case.
 */
CC_MUST_USE const char *cc_jws_open(cc_jws_t *jws, cc_json_t *json,
    cc_jws_alg_e alg, cc_str_t text);
void cc_jws_close(cc_jws_t *jws);

/*
 * NULL if the key has signed it by this algorithm; else a constant, as above.
 * ES256 wants a key on P-256, RS256 one of RSA.
 */
CC_MUST_USE const char *cc_jws_verify(const cc_jws_t *jws, cc_jws_alg_e alg,
    EVP_PKEY *key);


#endif /* CC_JWS_H */

/*
 * What every file of the core shares: a counted string and the attribute for
 * results that must not be ignored.
 *
 * The core is plain C11 over libc, libcrypto and xxHash.  It opens no socket,
 * reads no file, knows no SQL and has no clock: who needs the time is given it.
 */

#ifndef CC_CORE_H
#define CC_CORE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>


#define CC_MUST_USE  __attribute__((warn_unused_result))

/* what is rare does not burden its caller with its registers */
#define CC_NOINLINE  __attribute__((noinline))


/*
 * Bytes that somebody else owns; never NUL-terminated, may hold any byte.  data
 * may be NULL where len is 0.
 */
typedef struct {
    const unsigned char  *data;
    size_t                len;
} cc_str_t;

#define cc_str(text)  { (const unsigned char *) (text), sizeof(text) - 1 }


/* 1 if the bytes are those of the NUL-terminated text, else 0 */
static inline int
cc_str_is(cc_str_t s, const char *text)
{
    size_t  n = strlen(text);

    return s.len == n && (n == 0 || memcmp(s.data, text, n) == 0);
}


/* 1 if both are the same bytes, else 0 */
static inline int
cc_str_equal(cc_str_t a, cc_str_t b)
{
    return a.len == b.len
           && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}


#endif /* CC_CORE_H */

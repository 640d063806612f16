/*
 * What several unit tests need besides TAP: text in a block of exactly its
 * length, a random generator that can be seeded again, and vector files that
 * others wrote and that therefore are not part of this repository.
 *
 * A test says nothing about the world: it reads no clock, and its randomness
 * comes from CC_SEED or, without it, from a constant.  The seed is printed, so
 * that what failed once can be made to fail again.
 */

#ifndef CC_UNIT_H
#define CC_UNIT_H

#include <cjson/cJSON.h>
#include <openssl/evp.h>

#include "tap.h"

/* gcc says it this way, clang that way; without it the macro does nothing */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#endif
#elif defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

#ifndef ASAN_POISON_MEMORY_REGION
#define ASAN_POISON_MEMORY_REGION(p, size)  ((void) (p), (void) (size))
#endif


/* the text of a literal, NUL bytes inside it too */
#define unit_text(literal)                                                    \
    unit_str(literal, sizeof(literal) - 1)


static inline cc_str_t TAP_UNUSED
unit_str(const void *data, size_t len)
{
    cc_str_t  s;

    s.data = data;
    s.len = len;

    return s;
}


static inline cc_str_t TAP_UNUSED
unit_cstr(const char *text)
{
    return unit_str(text, strlen(text));
}


/*
 * A copy without a spare byte behind it: who reads one too many is seen by the
 * address sanitizer.  To be freed with unit_free().
 */
static inline cc_str_t TAP_UNUSED
unit_exact(cc_str_t s)
{
    unsigned char  *copy = malloc(s.len ? s.len : 1);

    if (copy == NULL) {
        abort();
    }

    if (s.len) {
        memcpy(copy, s.data, s.len);
    }

    /* there is no block of no bytes: its one byte is forbidden */
    ASAN_POISON_MEMORY_REGION(copy, s.len ? 0 : 1);

    return unit_str(copy, s.len);
}


static inline void TAP_UNUSED
unit_free(cc_str_t s)
{
    free((void *) (uintptr_t) s.data);
}


/* splitmix64, of the public domain: good enough and three lines long */
static inline uint64_t TAP_UNUSED
unit_random(uint64_t *state)
{
    uint64_t  z = (*state += 0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;

    return z ^ (z >> 31);
}


/* 0 <= result < n */
static inline size_t TAP_UNUSED
unit_below(uint64_t *state, size_t n)
{
    return (size_t) (unit_random(state) % n);
}


static inline uint64_t TAP_UNUSED
unit_seed(void)
{
    const char  *text = getenv("CC_SEED");
    uint64_t     seed = text ? strtoull(text, NULL, 0) : 20240601;

    diag("seed %llu (CC_SEED)", (unsigned long long) seed);

    return seed;
}


/* the JSON file that the environment names, or NULL */
static TAP_UNUSED inline cJSON *
unit_vectors(const char *variable)
{
    long         size;
    char        *text;
    FILE        *file;
    cJSON       *tree = NULL;
    const char  *path = getenv(variable);

    if (path == NULL || (file = fopen(path, "rb")) == NULL) {
        return NULL;
    }

    if (fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) > 0) {
        rewind(file);
        text = malloc((size_t) size);

        if (text && fread(text, 1, (size_t) size, file) == (size_t) size) {
            tree = cJSON_ParseWithLength(text, (size_t) size);
        }

        free(text);
    }

    (void) fclose(file);

    return tree;
}


static TAP_UNUSED inline const char *
unit_member(const cJSON *object, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}


/* libcrypto's base64, not ours: vectors must not lean on what they test */
static inline cc_str_t TAP_UNUSED
unit_base64(const char *text)
{
    int             n;
    size_t          len = strlen(text);
    cc_str_t        exact;
    unsigned char  *out = malloc(len + 1);

    n = out ? EVP_DecodeBlock(out, (const unsigned char *) text, (int) len)
            : -1;
    if (n < 0) {
        abort();
    }

    /* EVP_DecodeBlock() counts the padding as bytes */
    n -= len > 0 && text[len - 1] == '=';
    n -= len > 1 && text[len - 2] == '=';

    exact = unit_exact(unit_str(out, (size_t) n));
    free(out);

    return exact;
}


#endif /* CC_UNIT_H */

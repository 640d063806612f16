/*
 * What the three files of the JSON reader share: json.c walks the grammar,
 * json_string.c knows strings, json_names.c finds a name that stands twice.
 */

#ifndef CC_JSON_INTERNAL_H
#define CC_JSON_INTERNAL_H

#include "json.h"


typedef struct {
    uint64_t           hash;        /* only of a name in the table */
    uint64_t           object;      /* serial number of the object it is in */
    cc_json_token_t    token;
} cc_json_name_t;

typedef struct {
    uint64_t           seed;
    uint64_t           objects;     /* serial numbers given so far, ever */
    uint64_t           before;      /* … and before this text */

    cc_json_name_t    *stack;       /* the names of all open objects */
    size_t             nstack;
    size_t             stack_size;

    cc_json_name_t    *table;       /* open addressing, at most half full; */
    size_t             ntable;      /* what older texts left counts as free */
    size_t             table_size;
} cc_json_names_t;

typedef struct {
    size_t             first;       /* of its names on the stack */
    uint64_t           object;      /* its serial number; 0: an array */
} cc_json_frame_t;


/* a new text: forgets all names, and memory beyond the usual */
void cc_json_names_reset(cc_json_names_t *names);
void cc_json_names_free(cc_json_names_t *names);

/*
 * Enters a name of the innermost object.  Returns NULL, or what is wrong: it is
 * there already, or there is no memory.
 */
CC_MUST_USE const char *cc_json_names_add(cc_json_names_t *names,
    const cc_json_frame_t *frame, const cc_json_token_t *token);


/*
 * Reads a string from its quote on.  On success *pp stands behind the closing
 * quote and token->raw is what was between; else *pp is where it went wrong and
 * the sentence is returned.
 */
CC_MUST_USE const char *cc_json_string(const unsigned char **pp,
    const unsigned char *end, cc_json_token_t *token);

/* 1 if two names read the same, however they are spelled */
int cc_json_same_spelled(const cc_json_token_t *a, const cc_json_token_t *b);


#endif /* CC_JSON_INTERNAL_H */

/*
 * Does a name stand twice in one object?
 *
 * An object that has its names from its brother (json_internal.h) has none
 * twice, as its brother has none.  For all others:
 *
 * The names of the open objects lie on a stack.  Each sets one of 64 bits, its
 * mark, in its object: a name whose mark is new is new itself, and most are.
 * Else up to CC_JSON_FEW brothers are compared one by one.  In a wider object a
 * table of hashes takes over, one for all wide objects of the text, so that the
 * cost stays linear.  Stack and table grow by doubling and stay for the next
 * text.
 */

#include <stdlib.h>

#include <xxhash.h>

#include "json_internal.h"


#define CC_JSON_STACK     256       /* names to begin with */
#define CC_JSON_KEEP      16384     /* … memory for more is not kept */
#define CC_JSON_NAME_MAX  512       /* decoded on the stack; longer: on heap */


const char  cc_json_no_memory[] = "no memory to read the JSON";

static const char  cc_json_twice[] = "JSON refused: a name twice in an object";


static const char *cc_json_names_widen(cc_json_names_t *names,
    const cc_json_frame_t *frame);
static const char *cc_json_table_add(cc_json_names_t *names,
    cc_json_name_t *name);
static int cc_json_table_grow(cc_json_names_t *names);
static int cc_json_hash(cc_json_name_t *name, uint64_t seed);
static int cc_json_same(const cc_json_token_t *a, const cc_json_token_t *b);


int
cc_json_names_init(cc_json_names_t *names, uint64_t seed)
{
    names->seed = seed;
    names->stack_size = CC_JSON_STACK;
    names->stack = calloc(CC_JSON_STACK, sizeof(cc_json_name_t));

    return names->stack == NULL ? -1 : 0;
}


void
cc_json_names_reset(cc_json_names_t *names)
{
    cc_json_name_t  *smaller;

    names->before = names->objects;
    names->ntable = 0;

    if (names->stack_size > CC_JSON_KEEP) {
        smaller = realloc(names->stack, CC_JSON_STACK * sizeof(cc_json_name_t));

        if (smaller != NULL) {
            names->stack = smaller;
            names->stack_size = CC_JSON_STACK;
        }
    }

    if (names->table_size > CC_JSON_KEEP) {
        free(names->table);
        names->table = NULL;
        names->table_size = 0;
    }
}


void
cc_json_names_free(cc_json_names_t *names)
{
    free(names->stack);
    free(names->table);
}


const char *
cc_json_names_check(cc_json_names_t *names, cc_json_frame_t *frame,
    const cc_json_token_t *token)
{
    size_t           size, i;
    const char      *error;
    cc_json_name_t  *name;

    if (frame->next + CC_JSON_FEW + 1 >= names->stack_size) {
        size = names->stack_size * 2;
        name = realloc(names->stack, size * sizeof(cc_json_name_t));

        if (name == NULL) {
            return cc_json_no_memory;
        }

        memset(name + names->stack_size, 0,
               (size - names->stack_size) * sizeof(cc_json_name_t));

        names->stack = name;
        names->stack_size = size;
    }

    name = &names->stack[frame->next];
    cc_json_names_set(name, frame, token);

    size = frame->next++ - frame->first;

    if (size < CC_JSON_FEW) {

        for (i = frame->first; i < frame->next - 1; i++) {
            if (cc_json_same(&names->stack[i].token, token)) {
                return cc_json_twice;
            }
        }

        return NULL;
    }

    if (size == CC_JSON_FEW) {
        error = cc_json_names_widen(names, frame);

        if (error != NULL) {
            return error;
        }
    }

    return cc_json_table_add(names, name);
}


void
cc_json_names_part(cc_json_names_t *names, cc_json_frame_t *frame)
{
    size_t  i;

    frame->object = ++names->objects;
    frame->twin = 0;

    for (i = frame->first; i < frame->next; i++) {
        names->stack[i].object = frame->object;
        frame->marks |= cc_json_mark(&names->stack[i].token);
    }
}


/* the object turned out to be wide: its names so far go into the table */
static const char *
cc_json_names_widen(cc_json_names_t *names, const cc_json_frame_t *frame)
{
    size_t       i;
    const char  *error;

    for (i = frame->first; i < frame->first + CC_JSON_FEW; i++) {
        error = cc_json_table_add(names, &names->stack[i]);

        if (error != NULL) {
            return error;
        }
    }

    return NULL;
}


static const char *
cc_json_table_add(cc_json_names_t *names, cc_json_name_t *name)
{
    size_t           i;
    cc_json_name_t  *other;

    if (!cc_json_hash(name, names->seed)) {
        return cc_json_no_memory;
    }

    if (names->ntable * 2 >= names->table_size && !cc_json_table_grow(names)) {
        return cc_json_no_memory;
    }

    i = (size_t) name->hash & (names->table_size - 1);

    while (names->table[i].object > names->before) {

        other = &names->table[i];

        if (other->hash == name->hash && other->object == name->object
            && cc_json_same(&other->token, &name->token))
        {
            return cc_json_twice;
        }

        i = (i + 1) & (names->table_size - 1);
    }

    names->table[i] = *name;
    names->ntable++;

    return NULL;
}


static int
cc_json_table_grow(cc_json_names_t *names)
{
    size_t           size, mask, i, k;
    cc_json_name_t  *table;

    size = names->table_size ? names->table_size * 2 : 1024;
    mask = size - 1;
    table = calloc(size, sizeof(cc_json_name_t));

    if (table == NULL) {
        return 0;
    }

    for (k = 0; k < names->table_size; k++) {

        if (names->table[k].object <= names->before) {
            continue;
        }

        for (i = names->table[k].hash & mask; table[i].object; /* void */ ) {
            i = (i + 1) & mask;
        }

        table[i] = names->table[k];
    }

    free(names->table);
    names->table = table;
    names->table_size = size;

    return 1;
}


/*
 * Of the name as it reads, not as it is spelled: "\u0061" is "a".  The serial
 * number of the object goes in, which spreads the same names of many objects.
 */
static int
cc_json_hash(cc_json_name_t *name, uint64_t seed)
{
    size_t          len;
    cc_str_t        text;
    unsigned char   buf[CC_JSON_NAME_MAX], *heap;

    heap = NULL;
    len = name->token.raw.len;

    if (name->token.escaped && len > sizeof(buf)) {
        heap = malloc(len);

        if (heap == NULL) {
            return 0;
        }
    }

    if (cc_json_decode(&name->token, &text, heap ? heap : buf, len) != 0) {
        free(heap);
        return 0;
    }

    name->hash = XXH3_64bits_withSeed(text.data, text.len, seed + name->object);
    free(heap);

    return 1;
}


/* exact, so that a collision of hashes never refuses an honest text */
static int
cc_json_same(const cc_json_token_t *a, const cc_json_token_t *b)
{
    if (a->escaped || b->escaped) {
        return cc_json_same_spelled(a, b);
    }

    return a->raw.len == b->raw.len
           && memcmp(a->raw.data, b->raw.data, a->raw.len) == 0;
}

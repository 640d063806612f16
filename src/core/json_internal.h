/*
 * What the files of the JSON reader share: json.c walks the grammar,
 * json_number.c and json_string.c know numbers and strings, json_names.c finds
 * a name that stands twice.
 */

#ifndef CC_JSON_INTERNAL_H
#define CC_JSON_INTERNAL_H

#include <endian.h>
#include <limits.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "json.h"


#define CC_JSON_FEW   16                        /* names compared one by one */
#define CC_JSON_EACH  0x0101010101010101u       /* times a byte: eight of it */

#define CC_JSON_UNWANTED  UINT_MAX              /* cc_json_token_t.which */


typedef struct {
    uint64_t           hash;        /* only of a name in the table */
    uint64_t           object;      /* serial number of the object it is in,
                                       or of its twin;
                                       0: there was no name here yet */
    uint64_t           first;       /* 1: it is the first name there */
    cc_json_token_t    token;
    cc_str_t           lead;        /* see cc_json_names_again(); or endless */
    const cc_str_t    *wanted;      /* what token.which is about */
} cc_json_name_t;

typedef struct {
    uint64_t           seed;
    uint64_t           objects;     /* serial numbers given so far, ever */
    uint64_t           before;      /* … and before this text */

    cc_json_name_t    *stack;       /* the names of all open objects; behind
                                       them what closed ones have left */
    size_t             stack_size;  /* by CC_JSON_FEW more than is in use */

    cc_json_name_t    *table;       /* open addressing, at most half full; */
    size_t             ntable;      /* what older texts left counts as free */
    size_t             table_size;
} cc_json_names_t;

typedef struct {
    size_t             first;       /* of its names on the stack, of an array:
                                       of those of the objects in it */
    size_t             next;        /* behind its last name */
    uint64_t           object;      /* its serial number; 0: an array */
    uint64_t           marks;       /* of its names so far, one bit each */
    uint64_t           twin;        /* 1: it has an older one's serial number,
                                       the same names in the same order so far,
                                       and no marks yet */
} cc_json_frame_t;


/* returns -1 without memory */
CC_MUST_USE int cc_json_names_init(cc_json_names_t *names, uint64_t seed);

/* a new text: forgets all names, and memory beyond the usual */
void cc_json_names_reset(cc_json_names_t *names);
void cc_json_names_free(cc_json_names_t *names);

/* cc_json_names_add() of a name that is not plainly new */
CC_MUST_USE const char *cc_json_names_check(cc_json_names_t *names,
    cc_json_frame_t *frame, const cc_json_token_t *token);

/* the object goes its own way from here on */
void cc_json_names_part(cc_json_names_t *names, cc_json_frame_t *frame);


/* where the number that begins at p ends; or NULL */
CC_MUST_USE const unsigned char *cc_json_long_number_end(
    const unsigned char *p, const unsigned char *end);

/* why it was NULL */
const char *cc_json_number_error(const unsigned char *p,
    const unsigned char *end);


/*
 * Reads a string from its quote on.  On success *pp stands behind the closing
 * quote and token->raw is what was between; else *pp is where it went wrong and
 * the sentence is returned.
 */
CC_MUST_USE const char *cc_json_string(const unsigned char **pp,
    const unsigned char *end, cc_json_token_t *token);

/*
 * Most bytes of a JSON text are looked at eight at a time.  A byte that is
 * looked for sets its high bit: it has it already, or a subtraction borrows, or
 * an addition makes it.  What is borrowed or carried also goes on into bytes
 * behind, so that only the first bit that is set tells the truth.
 */
static inline uint64_t
cc_json_eight(const unsigned char *p)
{
    uint64_t  word;

    memcpy(&word, p, 8);

    return le64toh(word);
}


/* which of the eight it is; found is not 0 */
static inline unsigned
cc_json_first(uint64_t found)
{
    return (unsigned) __builtin_ctzll(found) / 8;
}


/* is one of the eight no digit?  Digits become 0 to 9 and then 0x76 to 0x7f */
static inline uint64_t
cc_json_no_digits(const unsigned char *p)
{
    uint64_t  word;

    word = cc_json_eight(p) ^ CC_JSON_EACH * '0';

    return (word | (word + CC_JSON_EACH * 0x76)) & CC_JSON_EACH * 0x80;
}


/*
 * Where the number that begins at p ends; or NULL.  Most are digits, perhaps
 * with a point between, and together with what ends them not more than eight
 * bytes.  Of these the second bit is true as well: a point carries nothing.
 */
CC_MUST_USE static inline const unsigned char *
cc_json_number_end(const unsigned char *p, const unsigned char *end)
{
    size_t    n;
    uint64_t  found;

    if (end - p < 8) {
        return cc_json_long_number_end(p, end);
    }

    found = cc_json_no_digits(p);
    n = found ? cc_json_first(found) : 0;

    if (n == 0 || (n > 1 && *p == '0')) {
        return cc_json_long_number_end(p, end);
    }

    if (p[n] == '.') {
        found &= found - 1;

        if (found == 0 || cc_json_first(found) == n + 1) {
            return cc_json_long_number_end(p, end);
        }

        n = cc_json_first(found);
    }

    return (p[n] | 0x20) == 'e' ? cc_json_long_number_end(p, end) : p + n;
}


/*
 * Which of the eight may not stand in a string as they are?  A quote with bit 1
 * turned is a blank, and borrows as what is below a blank does.
 */
static inline uint64_t
cc_json_special(const unsigned char *p)
{
    uint64_t  word = cc_json_eight(p);

    return (word | ((word ^ CC_JSON_EACH * 2) - CC_JSON_EACH * '!')
            | ((word ^ CC_JSON_EACH * '\\') - CC_JSON_EACH))
           & CC_JSON_EACH * 0x80;
}


#ifdef __SSE2__

/*
 * … and of sixteen, a bit each.  Most strings are shorter, so that there is no
 * second round, whose number the processor would have to guess.
 */
static inline unsigned
cc_json_special_16(const unsigned char *p)
{
    __m128i  bytes, found;

    bytes = _mm_loadu_si128((const __m128i *) (const void *) p);

    /* with a sign what is not ASCII is below a blank, too */

    found = _mm_cmplt_epi8(bytes, _mm_set1_epi8(' '));
    found = _mm_or_si128(found, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')));
    found = _mm_or_si128(found, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));

    return (unsigned) _mm_movemask_epi8(found);
}

#endif


/*
 * The first byte that may not stand in a string as it is: a quote, \, a control
 * character, or one of a character that is not ASCII; else the end.
 */
static inline const unsigned char *
cc_json_plain_end(const unsigned char *p, const unsigned char *end)
{
    uint64_t  found;

#ifdef __SSE2__

    for ( /* void */ ; end - p >= 16; p += 16) {
        found = cc_json_special_16(p);

        if (found != 0) {
            return p + __builtin_ctzll(found);
        }
    }

#endif

    for ( /* void */ ; end - p >= 8; p += 8) {
        found = cc_json_special(p);

        if (found != 0) {
            return p + cc_json_first(found);
        }
    }

    while (p < end && *p >= ' ' && *p != '"' && *p != '\\' && *p < 0x80) {
        p++;
    }

    return p;
}


/* memcmp() == 0 for at least four bytes, and mostly for a dozen */
static inline int
cc_json_same_bytes(const unsigned char *a, const unsigned char *b, size_t len)
{
    uint32_t  a4, b4, a4_end, b4_end;

    if (len < 8) {
        memcpy(&a4, a, 4);
        memcpy(&b4, b, 4);
        memcpy(&a4_end, a + len - 4, 4);
        memcpy(&b4_end, b + len - 4, 4);

        return a4 == b4 && a4_end == b4_end;
    }

    for ( /* void */ ; len > 16; len -= 8, a += 8, b += 8) {
        if (cc_json_eight(a) != cc_json_eight(b)) {
            return 0;
        }
    }

    return ((cc_json_eight(a) ^ cc_json_eight(b))
            | (cc_json_eight(a + len - 8) ^ cc_json_eight(b + len - 8))) == 0;
}


/*
 * The bit that a name sets in its object: where it is not set, this name was
 * not seen.  An escaped one may be any name, and sets them all.
 */
static inline uint64_t
cc_json_mark(const cc_json_token_t *token)
{
    size_t                len;
    const unsigned char  *p;

    p = token->raw.data;
    len = token->raw.len;

    if (token->escaped) {
        return UINT64_MAX;
    }

    return (uint64_t) 1 << ((len * 8 + p[0] * 3u + p[len / 2]) & 63);
}


static inline void
cc_json_names_set(cc_json_name_t *name, const cc_json_frame_t *frame,
    const cc_json_token_t *token)
{
    name->object = frame->object;
    name->first = (frame->next == frame->first);
    name->token = *token;
    name->lead.len = SIZE_MAX;
}


/*
 * Enters a name of the innermost object.  Returns NULL, or what is wrong: it is
 * there already, or there is no memory.
 */
CC_MUST_USE static inline const char *
cc_json_names_add(cc_json_names_t *names, cc_json_frame_t *frame,
    const cc_json_token_t *token)
{
    uint64_t  mark, seen;

    if (frame->twin) {
        cc_json_names_part(names, frame);
    }

    mark = cc_json_mark(token);
    seen = frame->marks & mark;
    frame->marks |= mark;

    if (seen != 0 || frame->next + CC_JSON_FEW + 1 >= names->stack_size
        || frame->next - frame->first >= CC_JSON_FEW)
    {
        return cc_json_names_check(names, frame, token);
    }

    cc_json_names_set(&names->stack[frame->next], frame, token);
    frame->next++;

    return NULL;
}


/*
 * Where the names of what is in an object or array begin: with room for more of
 * the outer's own, so that these, too, are still there when its brother comes.
 */
static inline size_t
cc_json_names_within(const cc_json_frame_t *outer)
{
    size_t  few = outer->first + CC_JSON_FEW;

    if (!outer->object) {
        return outer->first;
    }

    return outer->next > few ? outer->next : few;
}


/* a new object, whose brother has left its names where its own will lie */
static inline void
cc_json_names_object(cc_json_names_t *names, cc_json_frame_t *frame)
{
    cc_json_name_t  *name;

    name = &names->stack[frame->first];

    frame->twin = (name->first && name->object > names->before);
    frame->object = frame->twin ? name->object : ++names->objects;
}


/*
 * The objects of a list mostly have the same names in the same order.  What
 * stands in front of a value, a comma, the name and the colon, is the value's
 * lead: where the twin had the same in this place, it is as valid, and the name
 * as new to its object, as it was there, and nothing else has to be checked.
 */
static inline int
cc_json_names_again(const cc_json_name_t *name, const cc_json_frame_t *frame,
    const unsigned char *p, const unsigned char *end)
{
    size_t  len = name->lead.len;

    return name->object == frame->object && (size_t) (end - p) > len
           && p[len] > ' ' && cc_json_same_bytes(p, name->lead.data, len);
}


/* from p to the value that comes now: the lead of the name entered last */
static inline void
cc_json_names_lead(cc_json_names_t *names, cc_json_frame_t *frame,
    const unsigned char *p, const unsigned char *value, const cc_str_t *wanted,
    unsigned which)
{
    cc_json_name_t  *name;

    /* names beyond the few are in the table, where twins do not come */

    if (frame->next - frame->first <= CC_JSON_FEW && value - p >= 4) {
        name = &names->stack[frame->next - 1];
        name->lead.data = p;
        name->lead.len = (size_t) (value - p);
        name->wanted = wanted;
        name->token.which = which;
    }
}


/* 1 if two names read the same, however they are spelled */
int cc_json_same_spelled(const cc_json_token_t *a, const cc_json_token_t *b);


#endif /* CC_JSON_INTERNAL_H */

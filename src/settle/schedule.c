/*
 * The checks that are to be made; see schedule.h.
 *
 * Both the store's list and the array here are in the byte order of the codes,
 * so that a new list takes over what is known by merging the two.
 */

#include "schedule.h"


#define CS_CHECK_ANY  (-1)       /* whatever the version: we changed it */

typedef struct {
    size_t    code;              /* offset in codes */
    size_t    len;
    int64_t   version;
    int64_t   due;
    int64_t   pause;
} cs_check_t;


static void cs_schedule_listed(void *ctx, cc_str_t code, int64_t version);
static const cs_check_t *cs_schedule_old(cs_schedule_t *s, cc_str_t code);
static cs_check_t *cs_schedule_find(const cs_schedule_t *s, cc_str_t code);
static int cs_schedule_compare(cc_str_t a, cc_str_t b);
static cs_check_t *cs_checks(const cs_buffer_t *checks);
static cc_str_t cs_check_code(const cs_buffer_t *codes,
    const cs_check_t *check);


cs_status_e
cs_schedule_update(cs_schedule_t *s, cs_store_t *store, int64_t now)
{
    cs_buffer_t  empty;
    cs_status_e  status;

    empty = s->old_checks;
    s->old_checks = s->checks;
    s->checks = empty;
    s->checks.len = 0;

    empty = s->old_codes;
    s->old_codes = s->codes;
    s->codes = empty;
    s->codes.len = 0;

    s->old = 0;
    s->now = now;

    status = cs_store_waiting(store, cs_schedule_listed, s);

    return status == CS_NONE ? CS_OK : status;
}


static void
cs_schedule_listed(void *ctx, cc_str_t code, int64_t version)
{
    cc_str_t           bytes;
    cs_check_t         check;
    cs_schedule_t     *s = ctx;
    const cs_check_t  *old;

    old = cs_schedule_old(s, code);

    if (old && (old->version == version || old->version == CS_CHECK_ANY)) {
        check = *old;

    } else {
        check.due = s->now + s->first;
        check.pause = s->pause;
    }

    check.version = version;
    check.code = s->codes.len;
    check.len = code.len;

    bytes.data = (const unsigned char *) &check;
    bytes.len = sizeof(cs_check_t);

    cs_buffer_add(&s->checks, bytes);
    cs_buffer_add(&s->codes, code);
}


static const cs_check_t *
cs_schedule_old(cs_schedule_t *s, cc_str_t code)
{
    int          order;
    size_t       n;
    cs_check_t  *checks;

    checks = cs_checks(&s->old_checks);
    n = s->old_checks.len / sizeof(cs_check_t);

    for ( /* void */ ; s->old < n; s->old++) {

        order = cs_schedule_compare(cs_check_code(&s->old_codes,
                                                  &checks[s->old]), code);
        if (order == 0) {
            return &checks[s->old];
        }

        if (order > 0) {
            break;
        }
    }

    return NULL;
}


void
cs_schedule_due(const cs_schedule_t *s, int64_t now, cs_asked_t *asked)
{
    size_t       i, n;
    cs_check_t  *checks;

    checks = cs_checks(&s->checks);
    n = s->checks.len / sizeof(cs_check_t);

    for (i = 0; i < n && asked->n < CS_ASKED_MAX; i++) {
        if (checks[i].due <= now) {
            cs_asked_add(asked, cs_check_code(&s->codes, &checks[i]),
                         checks[i].version);
        }
    }
}


int64_t
cs_schedule_next(const cs_schedule_t *s)
{
    size_t       i, n;
    int64_t      next;
    cs_check_t  *checks;

    checks = cs_checks(&s->checks);
    n = s->checks.len / sizeof(cs_check_t);
    next = -1;

    for (i = 0; i < n; i++) {
        if (next < 0 || checks[i].due < next) {
            next = checks[i].due;
        }
    }

    return next;
}


void
cs_schedule_asked(cs_schedule_t *s, cc_str_t code, int64_t now)
{
    cs_check_t  *check;

    check = cs_schedule_find(s, code);

    if (check == NULL) {
        return;
    }

    check->pause *= 2;

    if (check->pause > CS_SCHEDULE_LONGEST) {
        check->pause = CS_SCHEDULE_LONGEST;
    }

    check->due = now + check->pause;
    check->version = CS_CHECK_ANY;
}


void
cs_schedule_now(cs_schedule_t *s, cc_str_t code, int64_t now)
{
    cs_check_t  *check;

    check = cs_schedule_find(s, code);

    if (check && check->due > now) {
        check->due = now;
    }
}


size_t
cs_schedule_count(const cs_schedule_t *s)
{
    return s->checks.len / sizeof(cs_check_t);
}


static cs_check_t *
cs_schedule_find(const cs_schedule_t *s, cc_str_t code)
{
    int          order;
    size_t       low, high, middle;
    cs_check_t  *checks;

    checks = cs_checks(&s->checks);
    low = 0;
    high = s->checks.len / sizeof(cs_check_t);

    while (low < high) {

        middle = low + (high - low) / 2;
        order = cs_schedule_compare(cs_check_code(&s->codes, &checks[middle]),
                                    code);
        if (order == 0) {
            return &checks[middle];
        }

        if (order < 0) {
            low = middle + 1;

        } else {
            high = middle;
        }
    }

    return NULL;
}


static int
cs_schedule_compare(cc_str_t a, cc_str_t b)
{
    int  order;

    order = memcmp(a.data, b.data, a.len < b.len ? a.len : b.len);

    if (order != 0 || a.len == b.len) {
        return order;
    }

    return a.len < b.len ? -1 : 1;
}


/* a buffer's memory is aligned for anything */

static cs_check_t *
cs_checks(const cs_buffer_t *checks)
{
    return (cs_check_t *) (void *) checks->data;
}


static cc_str_t
cs_check_code(const cs_buffer_t *codes, const cs_check_t *check)
{
    cc_str_t  code;

    code.data = codes->data + check->code;
    code.len = check->len;

    return code;
}


void
cs_schedule_free(cs_schedule_t *s)
{
    cs_buffer_free(&s->checks);
    cs_buffer_free(&s->codes);
    cs_buffer_free(&s->old_checks);
    cs_buffer_free(&s->old_codes);
}

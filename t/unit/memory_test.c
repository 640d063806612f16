/*
 * Is a body ever called bad because memory was short?
 *
 * It must not be: a bad body is refused for good, and the provider does not
 * send it again.  Every allocation that reading a body needs fails here in its
 * turn; the reader must say so, and must read the next body as ever.
 *
 * malloc(), calloc() and realloc() are those of this program, in front of the
 * real ones.
 */

#include <dlfcn.h>

#include "envelope_unit.h"
#include "json_walk.h"


#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STATIC_SANITIZER  1         /* clang's: nothing stands behind it */
#endif
#endif

#define NAMES  40


#ifndef STATIC_SANITIZER

static unsigned  counting, asked, failing;


/* 1 if this allocation is the one that fails */
static int
is_failing(void)
{
    return counting && ++asked == failing;
}


/* the function that this program's stands in front of */
static void *
behind(const char *name)
{
    void  *function = dlsym(RTLD_NEXT, name);

    if (function == NULL) {
        abort();
    }

    return function;
}


void *
malloc(size_t size)
{
    static void  *(*next)(size_t);

    if (next == NULL) {
        *(void **) &next = behind("malloc");
    }

    return is_failing() ? NULL : next(size);
}


void *
calloc(size_t n, size_t size)
{
    static void  *(*next)(size_t, size_t);

    if (next == NULL) {
        *(void **) &next = behind("calloc");
    }

    return is_failing() ? NULL : next(n, size);
}


void *
realloc(void *p, size_t size)
{
    static void  *(*next)(void *, size_t);

    if (next == NULL) {
        *(void **) &next = behind("realloc");
    }

    return is_failing() ? NULL : next(p, size);
}


static int
on_event(void *ctx, const cc_event_t *event)
{
    (void) ctx;

    return event->uuid.len == 0;
}


static int
on_coupon(void *ctx, const cc_coupon_t *coupon)
{
    (void) ctx;

    return coupon->coupon_code.len == 0;
}


/* many names, a long one with an escape, a uuid with an escape */
static cc_str_t
make_body(char *text, size_t size)
{
    int       i;
    char      name[1024];
    unsigned  k;
    size_t    len;

    for (i = 0; i < (int) sizeof(name) - 1; i++) {
        name[i] = 'n';
    }

    name[i] = '\0';
    len = (size_t) snprintf(text, size, "{\"%s\\u0041\":1,\"batchId\":\"b-1\","
                            "\"couponCount\":1,\"coupons\":["
                            COUPON(",\"events_data\":"
                                   "[{\"uuid\":\"\\u0031\"}]") "]", name);

    for (k = 0; k < NAMES; k++) {
        len += (size_t) snprintf(text + len, size - len, ",\"n%u\":0", k);
    }

    len += (size_t) snprintf(text + len, size - len, "}");

    return unit_str(text, len);
}


static void
test_short(void)
{
    char                  text[4096];
    cc_str_t              body = make_body(text, sizeof(text));
    unsigned              n, wrong = 0;
    cc_envelope_sink_t    sink = { on_event, on_coupon, NULL, NULL };
    cc_envelope_status_e  status;

    for (n = 1; n < 1000; n++) {
        json = cc_json_create(1);

        asked = 0;
        failing = n;
        counting = 1;
        status = cc_envelope_read(&envelope, json, body, &shape_rules, &sink);
        counting = 0;

        if (asked < n) {
            break;
        }

        wrong += status != CC_ENVELOPE_NO_MEMORY;
        wrong += cc_envelope_read(&envelope, json, body, &shape_rules, &sink)
                 != CC_ENVELOPE_OK;

        cc_json_destroy(json);
    }

    ok(status == CC_ENVELOPE_OK, "with memory enough the body is taken");
    ok(n > 3, "it needed %u allocations", n - 1);
    is_int(wrong, 0, "none of which makes it a bad one by failing");

    cc_json_destroy(json);

    failing = 1;
    asked = 0;
    counting = 1;
    json = cc_json_create(1);
    counting = 0;

    ok(json == NULL, "no memory, no reader");
}


/* what a reader has it uses again, behind good texts and bad ones */
static void
test_again(void)
{
    int          i;
    char         text[4096];
    size_t       len;
    unsigned     first = 0, wrong = 0;
    json_walk_t  walk;

    len = (size_t) snprintf(text, sizeof(text), "{\"o\":{");

    for (i = 0; i < NAMES; i++) {
        len += (size_t) snprintf(text + len, sizeof(text) - len,
                                 "\"\\u006e%d\":[{\"a\":1}],", i);
    }

    len += (size_t) snprintf(text + len, sizeof(text) - len, "\"z\":1}}");

    json = cc_json_create(1);
    failing = 0;
    asked = 0;

    for (i = 0; i < 500; i++) {
        counting = 1;
        wrong += json_walk(json, unit_str(text, len), &walk) != NULL;
        wrong += json_walk(json, unit_str(text, len - 2), &walk) == NULL;
        counting = 0;

        first = i == 0 ? asked : first;
    }

    ok(first > 0 && wrong == 0, "a first text needs memory, %u times", first);
    is_int(asked, first, "a thousand more, good and cut off, need none");

    cc_json_destroy(json);
}

#endif


int
main(void)
{
#ifdef STATIC_SANITIZER
    skip("the sanitizer of clang has the allocator to itself");
#else
    test_short();
    test_again();
#endif

    return done_testing();
}

/*
 * Is a name that stands twice in one object found, and only then?
 *
 * By hand with every way to spell a name; at random in small objects against a
 * plain search; in lists of objects that are like their brothers, or nearly;
 * and in objects so wide that a search in pairs would never end: that the
 * program finishes is the proof that the cost is linear.
 */

#include "json_walk.h"


#define WIDE  100000


static cc_json_t  *json;


static void
is_unique(const char *text, int wanted)
{
    const char  *error = json_walk_exact(json, unit_cstr(text), NULL);

    ok((error == NULL) == wanted, "%s %s", wanted ? "takes" : "refuses", text);
}


static void
test_by_hand(void)
{
    is_unique("{\"a\":1,\"b\":2}", 1);
    is_unique("{\"a\":1,\"A\":2}", 1);
    is_unique("{\"a\":1,\"a \":2,\" a\":3,\"\":4}", 1);
    is_unique("{\"a\":1,\"aa\":2,\"aaa\":3}", 1);
    is_unique("{\"a\":{\"a\":{\"a\":1}}}", 1);
    is_unique("[{\"a\":1},{\"a\":2},{\"a\":3}]", 1);
    is_unique("{\"a\":{\"x\":1},\"b\":{\"x\":2},\"x\":3}", 1);
    is_unique("{\"a\":\"b\",\"b\":\"a\"}", 1);
    is_unique("{\"a\":[{\"b\":1},{\"b\":2}],\"b\":3}", 1);
    is_unique("{\"a\":1,\"\\\\u0061\":2}", 1);
    is_unique("{\"\xc3\xa9\":1,\"e\xcc\x81\":2}", 1);

    is_unique("{\"a\":1,\"a\":1}", 0);
    is_unique("{\"a\":1,\"a\":2}", 0);
    is_unique("{\"\":1,\"\":2}", 0);
    is_unique("{\"a\":1,\"b\":2,\"a\":3}", 0);
    is_unique("{\"a\":{\"b\":1},\"a\":2}", 0);
    is_unique("{\"a\":{\"b\":1,\"b\":2}}", 0);
    is_unique("{\"b\":1,\"a\":{\"c\":[{\"b\":2},{\"c\":3}]},\"b\":4}", 0);
    is_unique("[1,[2,{\"a\":1,\"b\":{},\"a\":[]}]]", 0);
    is_unique("{\"a\":1,\"\\u0061\":2}", 0);
    is_unique("{\"\\u0061\":1,\"a\":2}", 0);
    is_unique("{\"\\u006A\":1,\"\\u006a\":2}", 0);
    is_unique("{\"a/b\":1,\"a\\/b\":2}", 0);
    is_unique("{\"\\n\":1,\"\\u000a\":2}", 0);
    is_unique("{\"\xc3\xa9\":1,\"\\u00e9\":2}", 0);
    is_unique("{\"\xf0\x9f\x98\x80\":1,\"\\ud83d\\ude00\":2}", 0);
    is_unique("{\"\\\"\":1,\"\\u0022\":2}", 0);
    is_unique("{\"batchId\":\"a\",\"b\\u0061tchId\":\"b\"}", 0);

    ok(strncmp(json_walk(json, unit_text("{\"a\":1,\"a\":2}"), NULL),
               "JSON refused: ", 14) == 0,
       "it is valid JSON and refused all the same, as the sentence says");
}


/* few names, many rounds: what is refused must hold a pair, and the reverse */
static void
test_at_random(uint64_t *seed)
{
    char    text[1024], *p;
    int     k, n, names[40], twice, wrong = 0, seen = 0;
    int     round, i;

    static const char  *spell[] = {
        "\"n%d\"", "\"\\u006e%d\"", "\"\\u006E%d\""
    };

    for (round = 0; round < 20000; round++) {
        n = 1 + (int) unit_below(seed, 40);
        twice = 0;
        p = text;
        *p++ = '{';

        for (i = 0; i < n; i++) {
            names[i] = (int) unit_below(seed, 600);

            for (k = 0; k < i; k++) {
                twice |= names[k] == names[i];
            }

            p += sprintf(p, "%s", i ? "," : "");
            p += sprintf(p, spell[unit_below(seed, 3)], names[i]);
            p += sprintf(p, ":%s", i % 7 == 3 ? "{\"n1\":0,\"n2\":0}" : "0");
        }

        *p++ = '}';
        seen += twice;
        wrong += (json_walk(json, unit_str(text, (size_t) (p - text)), NULL)
                  != NULL) != twice;
    }

    is_int(wrong, 0, "20000 objects of up to 40 names");
    ok(seen > 4000 && seen < 16000, "%d of them with a name twice", seen);
}


/* what was found right in one object must not be taken for right elsewhere */
static void
test_brothers(void)
{
    is_unique("[{\"a\":1,\"b\":2},{\"a\":1,\"b\":2}]", 1);
    is_unique("[{\"a\":1,\"b\":2},{\"a\":1,\"b\":2},{\"b\":1,\"a\":2}]", 1);
    is_unique("[{\"a\":1,\"b\":2},{\"a\": 1 ,  \"b\" :2},{\"a\":1}]", 1);
    is_unique("[{\"a\":{\"c\":1},\"b\":2},{\"a\":{\"c\":1},\"b\":2}]", 1);
    is_unique("[{\"\\u0061\":1,\"b\":2},{\"\\u0061\":1,\"b\":2}]", 1);

    is_unique("[{\"a\":1,\"b\":2},{\"a\":1,\"a\":2}]", 0);
    is_unique("[{\"a\":1,\"b\":2},{\"a\":1,\"b\":2,\"a\":3}]", 0);
    is_unique("[{\"a\":1,\"b\":2},{\"a\":1,\"b\":2,\"b\":3}]", 0);
    is_unique("[{\"a\":1,\"b\":2},{\"b\":1,\"b\":2}]", 0);
    is_unique("[{\"a\":1,\"b\":2,\"c\":3},{\"a\":1,\"c\":2,\"c\":3}]", 0);
    is_unique("[{\"\\u0061\":1,\"b\":2},{\"\\u0061\":1,\"a\":2}]", 0);
    is_unique("[{\"a\":{\"x\":{\"a\":1}}},{\"a\":1,\"x\":2,\"a\":3}]", 0);

    is_unique("[{\"a\":1,\"b\":2},{\"a\":{,\"b\":2}}]", 0);
    is_unique("[{\"a\":1,\"b\":2},{\"a\":1 \"b\":2}]", 0);
    is_unique("[{\"a\":1,\"b\":2},{\"a\":1,\"b\":}]", 0);
    is_unique("[{\"a\":1,\"b\":2},{\"a\":1,\"b\":", 0);
    is_unique("[{\"a\":1,\"b\":2},{,\"a\":1}]", 0);
}


/* one text after the other: nothing is remembered of an older one */
static void
test_brothers_at_random(uint64_t *seed)
{
    char    text[2048], *p;
    int     round, objects, i, k, taken = 0;

    static const char  *members[] = {
        "\"a\":1", "\"a\" : 1",
        "\"b\":\"x\"", "\"\\u0062\":2",
        "\"c\":{\"a\":1,\"b\":2}", "\"c\":{\"b\":1,\"d\":{\"a\":2}}",
        "\"longer than eight\":null", "\"longer  than eight\":[{\"d\":1}]",
        "\"d\":{}", "\"d\":{\"b\":1,\"e\":{\"b\":1,\"d\":2}}"
    };

    for (round = 0; round < 50000; round++) {
        p = text + sprintf(text, "[");

        for (objects = 4; objects; objects--) {
            p += sprintf(p, "{");

            for (i = 0; i < 9; i += 2) {

                if (unit_below(seed, 10) == 0) {
                    continue;
                }

                /* mostly in their order, and spelled as ever */

                k = unit_below(seed, 100) ? i + (unit_below(seed, 5) == 0)
                                          : (int) unit_below(seed, 10);

                p += sprintf(p, "%s%s", p[-1] == '{' ? "" : ",", members[k]);
            }

            p += sprintf(p, objects > 1 ? "}," : "}]");
        }

        taken += json_walk(json, unit_str(text, (size_t) (p - text)), NULL)
                 == NULL;
    }

    ok(taken > 10000 && taken < 49000, "%d of 50000 lists were good", taken);
}


typedef struct {
    char    *text;
    size_t   len;
} wide_t;


static void
put(wide_t *wide, const char *format, unsigned n)
{
    wide->len += (size_t) sprintf(wide->text + wide->len, format, n);
}


/* members prefix0 ... prefix(n-1), the last with a comma behind it */
static void
put_members(wide_t *wide, const char *format, unsigned n)
{
    unsigned  i;

    for (i = 0; i < n; i++) {
        put(wide, format, i);
    }
}


static void
is_wide(wide_t *wide, int wanted, const char *what)
{
    const char  *error;

    error = json_walk_exact(json, unit_str(wide->text, wide->len), NULL);
    ok((error == NULL) == wanted, "%s", what);
    wide->len = 0;
}


static void
test_wide(void)
{
    unsigned  i;
    wide_t    wide;

    wide.len = 0;
    wide.text = malloc((size_t) WIDE * 64);

    if (wide.text == NULL) {
        abort();
    }

    put(&wide, "{", 0);
    put_members(&wide, "\"n%u\":0,", WIDE);
    put(&wide, "\"z\":0}", 0);
    is_wide(&wide, 1, "100000 names, all different");

    put(&wide, "{", 0);
    put_members(&wide, "\"n%u\":0,", WIDE);
    put(&wide, "\"n%u\":0}", 0);
    is_wide(&wide, 0, "the last is the first again");

    put(&wide, "{", 0);
    put_members(&wide, "\"n%u\":0,", WIDE);
    put(&wide, "\"\\u006e%u\":0}", WIDE / 2);
    is_wide(&wide, 0, "the last is one in the middle, spelled otherwise");

    put(&wide, "{", 0);
    put_members(&wide, "\"n%u\":{\"n0\":0,\"n1\":{\"n1\":1}},", WIDE);
    put(&wide, "\"z\":0}", 0);
    is_wide(&wide, 1, "100000 small objects in a wide one");

    put(&wide, "[", 0);
    put_members(&wide, "{\"n%u\":0,\"a\":1},", WIDE);
    put(&wide, "0]", 0);
    is_wide(&wide, 1, "100000 objects in an array");

    put(&wide, "{", 0);

    for (i = 0; i < 200; i++) {
        put(&wide, "\"o%u\":{", i);
        put_members(&wide, "\"n%u\":0,", 500);
        put(&wide, "\"z\":0},", 0);
    }

    put(&wide, "\"z\":0}", 0);
    is_wide(&wide, 1, "200 wide objects with the same names");

    /* long names that differ only in their last digits */

    put(&wide, "{", 0);
    put_members(&wide, "\"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
                "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
                "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
                "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn%u"
                "\":0,", WIDE / 10);
    put(&wide, "\"z\":0}", 0);
    is_wide(&wide, 1, "10000 long names with one beginning");

    free(wide.text);
}


/* every level wide, and each closes over names that stand again outside */
static void
test_deep(void)
{
    int       depth;
    wide_t    wide;

    wide.len = 0;
    wide.text = malloc((size_t) CC_JSON_DEPTH * 8192);

    if (wide.text == NULL) {
        abort();
    }

    for (depth = 0; depth < CC_JSON_DEPTH; depth++) {
        put(&wide, "{", 0);
        put_members(&wide, "\"n%u\":0,", 100);
        put(&wide, "\"down\":", 0);
    }

    put(&wide, "0", 0);

    for (depth = 0; depth < CC_JSON_DEPTH; depth++) {
        put_members(&wide, ",\"m%u\":0", 100);
        put(&wide, "}", 0);
    }

    is_wide(&wide, 1, "64 levels of 201 names");

    for (depth = 0; depth < CC_JSON_DEPTH; depth++) {
        put(&wide, "{", 0);
        put_members(&wide, "\"n%u\":0,", 100);
        put(&wide, "\"down\":", 0);
    }

    put(&wide, "0", 0);

    for (depth = 1; depth < CC_JSON_DEPTH; depth++) {
        put_members(&wide, ",\"m%u\":0", 100);
        put(&wide, "}", 0);
    }

    put(&wide, ",\"n%u\":0}", 99);
    is_wide(&wide, 0, "the outermost name 64 levels later again");

    free(wide.text);
}


/* names as long as a body may be, plain and with an escape */
static void
test_long(void)
{
    size_t      i, len = 1000000;
    wide_t      wide;
    const char  *second[] = { "a", "\\u0061", "b" };

    wide.text = malloc(2 * len + 64);

    if (wide.text == NULL) {
        abort();
    }

    for (i = 0; i < 3; i++) {
        wide.len = 0;
        put(&wide, "{\"", 0);
        memset(wide.text + wide.len, 'x', len);
        wide.len += len;
        put(&wide, "a\":0,\"", 0);
        memset(wide.text + wide.len, 'x', len);
        wide.len += len;
        put(&wide, second[i], 0);
        put(&wide, "\":0}", 0);

        is_wide(&wide, i == 2, i == 2 ? "two names of 1 MB that differ"
                                      : "a name of 1 MB twice");
    }

    free(wide.text);
}


int
main(void)
{
    uint64_t  seed = unit_seed();

    json = cc_json_create(unit_random(&seed));

    if (!ok(json != NULL, "a reader is made")) {
        return done_testing();
    }

    test_by_hand();
    test_at_random(&seed);
    test_brothers();
    test_brothers_at_random(&seed);
    test_wide();
    test_deep();
    test_long();

    cc_json_destroy(json);

    return done_testing();
}

/*
 * Can a body mean one thing to us and another to cJSON?
 *
 * The module takes a body with a reader of ours; others read it with cJSON.
 * Thousands of bodies are made at random, valid ones in many spellings and
 * then mutated, token by token and byte by byte, from one seed: what our reader
 * takes, cJSON must read with the same batch id, count, codes, statuses,
 * amounts and bets (envelope_twin.h).
 */

#include "envelope_twin.h"


#define ROUNDS     4000
#define BODY_MAX   16384

typedef struct {
    char       text[BODY_MAX];
    size_t     len;
    uint64_t  *seed;
} body_t;


static void
put(body_t *body, const char *text)
{
    size_t  n = strlen(text);

    if (body->len + n < BODY_MAX) {
        memcpy(body->text + body->len, text, n);
        body->len += n;
    }
}


static const char *
pick(body_t *body, const char *const *list)
{
    size_t  n;

    for (n = 0; list[n]; n++) { /* void */ }

    return list[unit_below(body->seed, n)];
}


static void
put_space(body_t *body)
{
    static const char *const  spaces[] = {
        "", "", "", "", "", "", " ", "\n", "\t", "\r\n  ", NULL
    };

    put(body, pick(body, spaces));
}


/* "name": with a letter escaped now and then */
static void
put_name(body_t *body, const char *name)
{
    char  escaped[16], one[2] = { 0, 0 };

    put_space(body);
    put(body, "\"");

    for ( /* void */ ; *name; name++) {
        one[0] = *name;
        (void) snprintf(escaped, sizeof(escaped), "\\u%04x",
                        (unsigned char) *name);
        put(body, (signed char) *name < 0 || unit_below(body->seed, 60)
                  ? one : escaped);
    }

    put(body, "\"");
    put_space(body);
    put(body, ":");
    put_space(body);
}


static void
put_member(body_t *body, const char *name, const char *value, unsigned first)
{
    if (!first) {
        put(body, ",");
    }

    put_name(body, name);
    put(body, value);
    put_space(body);
}


static void
put_unknown(body_t *body, unsigned first)
{
    static const char *const  names[] = {
        "potential_win", "Status", "batchid", "uuid ", "", "\xc3\xa9", NULL
    };

    static const char *const  values[] = {
        "null", "true", "[]", "{}", "300.00", "\"\\ud83d\\ude00\"", "\"}]\"",
        "{\"status\":\"2\",\"coupons\":[{}]}", "[[1,2],{\"uuid\":null}]",
        "-1e5", "\"\\\\\"", "\"\\\"\"", "1E+2", "false",
        "[0.00000000000000000000000000000000000000000000000000000000000001]",
        NULL
    };

    put_member(body, pick(body, names), pick(body, values), first);
}


static void
put_event(body_t *body)
{
    static const char *const  uuids[] = {
        "\"98123\"", "98123", "0", "\"\\u0039\"", "\"a b\"", "\"\xe2\x82\xac\"",
        "\"\\ud83d\\ude00\"", "12345678901234567890", NULL
    };

    static const char *const  statuses[] = {
        "2", "15", "3.0", "null", "\"2\"", "1.5", "-7", "1e1", NULL
    };

    unsigned  status_first = unit_below(body->seed, 3) == 0;

    put(body, "{");

    if (status_first) {
        put_member(body, "status", pick(body, statuses), 1);
    }

    put_member(body, "uuid", pick(body, uuids), !status_first);

    if (unit_below(body->seed, 4) == 0) {
        put_unknown(body, 0);
    }

    put(body, "}");
}


static void
put_events(body_t *body)
{
    size_t  i, n = unit_below(body->seed, 4);

    put(body, ",");
    put_name(body, "events_data");
    put(body, "[");

    for (i = 0; i < n; i++) {
        put(body, i ? "," : "");
        put_space(body);
        put_event(body);
        put_space(body);
    }

    put(body, "]");
}


static void
put_win(body_t *body)
{
    static const char *const  wins[] = {
        "0", "125.50", "\"12.34\"", "1e2", "null", "0.1", "\"0.10\"",
        "123456789012345", "\"123456789012345678\"", "-0", "0.00000001",
        "1.5e-3", "\"1e17\"", "99999999.9999999", NULL
    };

    static const char *const  same[] = { "1.5", "\"1.50\"", "150e-2", NULL };

    switch (unit_below(body->seed, 4)) {

    case 0:
        put_member(body, "real_win", pick(body, wins), 0);
        break;

    case 1:
        put_member(body, "realWin", pick(body, wins), 0);
        break;

    case 2:
        put_member(body, "realWin", pick(body, same), 0);
        put_member(body, "real_win", pick(body, same), 0);
        break;

    default:
        break;
    }
}


static void
put_coupon(body_t *body)
{
    static const char *const  codes[] = {
        "\"000000000272\"", "\"1\"", "\"\\u0030a\"", "\"A-b_9\"",
        "\"0\\u002d0\"", NULL
    };

    static const char *const  statuses[] = {
        "2", "15", "15.0", "0", "3e0", "-1", "999999999999999999", NULL
    };

    put_space(body);
    put(body, "{");

    if (unit_below(body->seed, 2)) {
        put_member(body, "coupon_code", pick(body, codes), 1);
        put_member(body, "status", pick(body, statuses), 0);

    } else {
        put_member(body, "status", pick(body, statuses), 1);
        put_member(body, "coupon_code", pick(body, codes), 0);
    }

    put_win(body);

    if (unit_below(body->seed, 2)) {
        put_events(body);
    }

    if (unit_below(body->seed, 4) == 0) {
        put_unknown(body, 0);
    }

    put(body, "}");
    put_space(body);
}


/* batchId, couponCount, coupons in any order, and something unknown */
static void
make_body(body_t *body)
{
    char      count[16];
    size_t    i, k, n = 1 + unit_below(body->seed, 5);
    unsigned  start = (unsigned) unit_below(body->seed, 3), first = 1;

    static const char *const  ids[] = {
        "\"b-1\"", "\"0f0c7a52-9a0e\"", "\"\\u0041\\/\"", "\"~\"", NULL
    };

    static const char *const  counts[] = { "%zu", "%zu.0", "%zue0", NULL };

    body->len = 0;
    put_space(body);
    put(body, "{");

    if (unit_below(body->seed, 4) == 0) {
        put_unknown(body, 1);
        first = 0;
    }

    for (i = 0; i < 3; i++, first = 0) {

        switch ((i + start) % 3) {

        case 0:
            put_member(body, "batchId", pick(body, ids), first);
            break;

        case 1:
            (void) snprintf(count, sizeof(count), pick(body, counts), n);
            put_member(body, "couponCount", count, first);
            break;

        default:
            put(body, first ? "" : ",");
            put_name(body, "coupons");
            put(body, "[");

            for (k = 0; k < n; k++) {
                put(body, k ? "," : "");
                put_coupon(body);
            }

            put(body, "]");
        }
    }

    put(body, "}");
    put_space(body);
}


/* `cut` bytes at `at` make room for `n` others */
static void
splice(body_t *body, size_t at, size_t cut, const char *bytes, size_t n)
{
    if (at + cut > body->len || body->len - cut + n >= BODY_MAX) {
        return;
    }

    memmove(body->text + at + n, body->text + at + cut, body->len - at - cut);
    memcpy(body->text + at, bytes, n);
    body->len += n - cut;
}


/* a token of the body becomes another one */
static void
mutate_token(body_t *body)
{
    size_t           at, left;
    cc_str_t         text = unit_str(body->text, body->len);
    json_walk_t      walk;
    cc_json_token_t  token;

    static const char *const  tokens[] = {
        "null", "true", "1", "0", "-1", "1.0", "2e0", "15", "1e400", "\"\"",
        "\"1\"", "\"b\"", "[]", "{}", "\"coupon_code\"", "\"status\"",
        "\"real_win\"", "\"realWin\"", "\"uuid\"", "\"Uuid\"", "\"batchId\"",
        "\"couponCount\"", "\"coupons\"", "\"events_data\"", "\"\\u0000\"",
        "\"\\ud800\"", "1.50", "\"1.5\"", "0.1e1", ",", ":", "}", "]", "",
        "2", "3", "4", "5", "12345678901234567", "\"a\\u0062\"", NULL
    };

    const char  *with = pick(body, tokens);

    if (json_walk(json, text, &walk) != NULL || walk.tokens == 0) {
        return;
    }

    cc_json_open(json, text);

    for (left = 1 + unit_below(body->seed, walk.tokens); left > 0; left--) {
        if (cc_json_next(json, &token) == CC_JSON_ERROR) {
            return;
        }
    }

    at = (size_t) (token.raw.data - text.data);

    if (token.type == CC_JSON_NAME || token.type == CC_JSON_STRING) {
        splice(body, at - 1, token.raw.len + 2, with, strlen(with));

    } else if (token.type >= CC_JSON_NUMBER) {
        splice(body, at, token.raw.len, with, strlen(with));
    }
}


static void
mutate_bytes(body_t *body)
{
    char    byte, slice[64];
    size_t  at = unit_below(body->seed, body->len), n;

    static const char  bytes[] = "\"\"\\{}[],:0123456789-+.eE \n\tuatrn/"
                                 "\x00\x01\x1f\x7f\x80\xbf\xc2\xed\xf0\xff";

    byte = bytes[unit_below(body->seed, sizeof(bytes) - 1)];
    n = unit_below(body->seed, 24);
    n = at + n > body->len ? body->len - at : n;
    memcpy(slice, body->text + at, n);

    switch (unit_below(body->seed, 6)) {

    case 0:
        body->text[at] = byte;
        break;

    case 1:
        splice(body, at, 0, &byte, 1);
        break;

    case 2:
        splice(body, at, 1, "", 0);
        break;

    case 3:
        splice(body, at, n, "", 0);
        break;

    case 4:
        splice(body, unit_below(body->seed, body->len), 0, slice, n);
        break;

    default:
        body->text[at] = (char) (body->text[at] ^ 0x20);
    }
}


/* one body; TWIN_DIFFERS was shown */
static twin_e
check(const body_t *body)
{
    twin_e       result;
    cc_str_t     exact = unit_exact(unit_str(body->text, body->len));
    const char  *what;

    result = twin_read(json, exact, &what);

    if (result == TWIN_DIFFERS) {
        diag("taken, but cJSON differs in %s", what);
        diag_bytes("body ", exact);
    }

    unit_free(exact);

    return result;
}


static void
test_random(uint64_t *seed)
{
    size_t         k, n;
    unsigned       i, valid = 0, results[4] = { 0, 0, 0, 0 };
    static body_t  body;

    body.seed = seed;

    for (i = 0; i < ROUNDS; i++) {
        make_body(&body);
        k = (size_t) check(&body);
        valid += k == TWIN_AGREES || k == TWIN_UNKNOWN;

        n = 1 + unit_below(seed, 3);

        for (k = 0; k < n && body.len > 0; k++) {
            if (unit_below(seed, 2)) {
                mutate_token(&body);
            } else {
                mutate_bytes(&body);
            }

            results[check(&body)]++;
        }
    }

    is_int(valid, ROUNDS, "what was made by the rules is taken");
    is_int(results[TWIN_DIFFERS], 0, "no mutation is read in two ways");
    ok(results[TWIN_AGREES] > ROUNDS / 4, "%u mutations were taken",
       results[TWIN_AGREES]);
    ok(results[TWIN_REFUSED] > ROUNDS / 4, "%u were refused",
       results[TWIN_REFUSED]);
    ok(results[TWIN_UNKNOWN] < ROUNDS, "%u had a number too long for this "
       "cJSON", results[TWIN_UNKNOWN]);
}


/* the other way round: what cJSON writes, our reader takes and reads again */
static void
test_written(uint64_t *seed)
{
    char          *text;
    cJSON         *tree;
    unsigned       i, wrong = 0;
    const char    *what;
    static body_t  body;

    body.seed = seed;

    for (i = 0; i < ROUNDS / 4; i++) {
        make_body(&body);
        tree = cJSON_ParseWithLength(body.text, body.len);
        text = i % 2 ? cJSON_Print(tree) : cJSON_PrintUnformatted(tree);

        if (text == NULL || json_walk_exact(json, unit_cstr(text), NULL) != NULL
            || twin_read(json, unit_cstr(text), &what) == TWIN_DIFFERS)
        {
            wrong++;
        }

        cJSON_free(text);
        cJSON_Delete(tree);
    }

    is_int(wrong, 0, "what cJSON writes is JSON to us");
}


int
main(void)
{
    uint64_t  seed = unit_seed();

    json = cc_json_create(unit_random(&seed));

    if (!ok(json != NULL, "a reader is made")) {
        return done_testing();
    }

    test_random(&seed);
    test_written(&seed);

    cc_json_destroy(json);

    return done_testing();
}

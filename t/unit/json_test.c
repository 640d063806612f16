/*
 * Does the JSON reader take RFC 8259, and nothing else?  The grammar, the
 * tokens, skipping, decoding, depth, and one reader used for many texts.
 *
 * Strings (UTF-8, escapes) and names that stand twice have tests of their own.
 * Every text is read in a block of exactly its length, token by token and in
 * one skip (json_walk.h).
 */

#include "json_walk.h"


static cc_json_t  *json;


#define takes(literal)    is_verdict(unit_text(literal), 1, __LINE__)
#define refuses(literal)  is_verdict(unit_text(literal), 0, __LINE__)


static void
is_verdict(cc_str_t text, int wanted, int line)
{
    const char  *error = json_walk_exact(json, text, NULL);

    tap_ok((error == NULL) == wanted, line, "%s %.*s",
           wanted ? "takes" : "refuses", (int) (text.len < 60 ? text.len : 60),
           (const char *) text.data);

    if ((error == NULL) != wanted) {
        diag_bytes("text ", text);
        diag("verdict: %s", error ? error : "valid");
    }
}


static void
test_values(void)
{
    takes("{}");
    takes("[]");
    takes("\"\"");
    takes("\"a\"");
    takes("true");
    takes("false");
    takes("null");
    takes("0");
    takes(" \t\r\n1 \t\r\n");
    takes(" [ ] ");
    takes("{ }");
    takes("[\n\t1 ,\r\n2 ]");
    takes("{ \"a\" : 1 , \"b\" : [ ] }");
    takes("[[],{},[[]],{\"a\":{}},\"\",0,true,false,null]");
    takes("{\"\":0}");

    refuses("");
    refuses(" ");
    refuses("\n\n");
    ok(json_walk(json, unit_str(NULL, 0), NULL) != NULL, "refuses no text");
    refuses("tru");
    refuses("True");
    refuses("TRUE");
    refuses("truex");
    refuses("true false");
    refuses("nul");
    refuses("nulls");
    refuses("undefined");
    refuses("NaN");
    refuses("Infinity");
    refuses("'a'");
    refuses("a");
    refuses("\"");
    refuses("\"a");
    refuses("a\"");
    refuses("\f1");
    refuses("\v1");
    refuses("\xc2\xa0" "1");
    refuses("\0");
    refuses("1\0");
    refuses("{}\0");
    refuses("\0{}");
    refuses("[1\0]");
    refuses("\xef\xbb\xbf{}");
    refuses("\xef\xbb\xbf");
    refuses("\xfe\xff\0{\0}");
    refuses("{\0}\0");
    refuses("// c\n1");
    refuses("/**/1");
    refuses("1 /**/");
    refuses("#\n1");
}


static void
test_structure(void)
{
    refuses("[");
    refuses("]");
    refuses("{");
    refuses("}");
    refuses("[}");
    refuses("{]");
    refuses("[1");
    refuses("[1,");
    refuses("[,");
    refuses("[,]");
    refuses("[1,]");
    refuses("[,1]");
    refuses("[1,,2]");
    refuses("[1 2]");
    refuses("[1:2]");
    refuses("[1}");
    refuses("[\"a\":1]");
    refuses("[1]]");
    refuses("[[1]");
    refuses("[1]1");
    refuses("[1],");
    refuses("[][]");
    refuses("{}{}");
    refuses("{} x");
    refuses("{\"a\"}");
    refuses("{\"a\":}");
    refuses("{\"a\":1,}");
    refuses("{,\"a\":1}");
    refuses("{,}");
    refuses("{:1}");
    refuses("{\"a\" 1}");
    refuses("{\"a\"::1}");
    refuses("{\"a\",1}");
    refuses("{\"a\":1 \"b\":2}");
    refuses("{\"a\":1,,\"b\":2}");
    refuses("{\"a\":1;\"b\":2}");
    refuses("{\"a\"=1}");
    refuses("{a:1}");
    refuses("{'a':1}");
    refuses("{1:1}");
    refuses("{null:1}");
    refuses("{[]:1}");
    refuses("{{}:1}");
    refuses("{\"a\":1]");
    refuses("{\"a\":1");
    refuses("{\"a\":");
    refuses("{\"a\"");
    refuses("{\"a");
    refuses("{\"a\":1}}");
    refuses("{\"a\":1 2}");
    refuses("{\"a\":{\"b\":1}");
    refuses("1 2");
    refuses("1,2");
    refuses("\"a\" \"b\"");
    refuses("\"a\"b");
    refuses("{\"a\":1}/");
    refuses(",");
    refuses(":");
}


static void
test_numbers(void)
{
    takes("-0");
    takes("-1");
    takes("10");
    takes("1234567890");
    takes("0.0");
    takes("0.5");
    takes("-0.5");
    takes("1.0000000000000000000000000000000000000000000000000000000000000");
    takes("1e1");
    takes("1E1");
    takes("1e+1");
    takes("1e-1");
    takes("1e00");
    takes("0e0");
    takes("0.1e01");
    takes("123.456E-789");
    takes("1e999999999999999999999");
    takes("123456789012345678901234567890123456789012345678901234567890");

    refuses("-");
    refuses("--1");
    refuses("+1");
    refuses("01");
    refuses("00");
    refuses("-01");
    refuses("-00");
    refuses("012.5");
    refuses(".5");
    refuses("-.5");
    refuses("1.");
    refuses("-1.");
    refuses("1.e1");
    refuses("1..1");
    refuses("1.1.1");
    refuses("1e");
    refuses("1e+");
    refuses("1e-");
    refuses("1e1.5");
    refuses("1ee1");
    refuses("1e++1");
    refuses("e1");
    refuses("0x1");
    refuses("0b1");
    refuses("1f");
    refuses("1_000");
    refuses("1 000");
    refuses("1,000");
    refuses("- 1");
    refuses("-a");
    refuses("-NaN");
    refuses("-Infinity");
    refuses("1-1");
    refuses("\xef\xbc\x91");
    refuses("[1.]");
    refuses("[-]");
    refuses("[1e]");
    refuses("[01]");
}


/* depth levels, of which every `mix`-th is an object (0: none) */
static cc_str_t
nested(unsigned depth, unsigned mix)
{
    char      *text = malloc(depth * 12 + 2), *p = text;
    unsigned   i;

    if (text == NULL) {
        abort();
    }

    for (i = 1; i <= depth; i++) {
        p += sprintf(p, "%s", mix && i % mix == 0 ? "{\"a\":" : "[");
    }

    *p++ = '1';

    for (i = depth; i > 0; i--) {
        *p++ = mix && i % mix == 0 ? '}' : ']';
    }

    return unit_str(text, (size_t) (p - text));
}


static void
is_depth(unsigned depth, unsigned mix, int wanted)
{
    cc_str_t     text = nested(depth, mix);
    json_walk_t  walk;

    ok((json_walk_exact(json, text, &walk) == NULL) == wanted,
       "%u levels, objects %u", depth, mix);

    if (wanted) {
        is_int(walk.depth, depth, "and all of them were opened");
    }

    free((void *) (uintptr_t) text.data);
}


static void
test_depth(void)
{
    is_int(CC_JSON_DEPTH, 64, "the limit is 64");

    is_depth(63, 0, 1);
    is_depth(64, 0, 1);
    is_depth(65, 0, 0);
    is_depth(64, 1, 1);
    is_depth(65, 1, 0);
    is_depth(64, 2, 1);
    is_depth(65, 2, 0);
    is_depth(100000, 0, 0);
    is_depth(100000, 1, 0);
}


static void
is_dump(const char *text, const char *want)
{
    json_walk_t  walk;

    ok(json_walk_exact(json, unit_cstr(text), &walk) == NULL, "%s is read",
       text);
    is_str(unit_cstr(walk.dump), want, "token by token");
}


static void
test_tokens(void)
{
    is_dump("{}", "{ }");
    is_dump("[[],{}]", "[ [ ] { } ]");
    is_dump("\"\"", "\"\"");
    is_dump(" -1.50e+02 ", "-1.50e+02");
    is_dump("{\"a\":1,\"b\":[true,false,null],\"c\":{\"d\":\"e\"}}",
            "{ a: 1 b: [ true false null ] c: { d: \"e\" } }");
    is_dump("{ \"\\u0061\\\"\" : \"x\\/\\ny\" }",
            "{ \\u0061\\\": \"x\\/\\ny\" }");
    is_dump("[{\"a\":{}},{\"a\":[]}]", "[ { a: { } } { a: [ ] } ]");
}


/* the member "v" of an object, skipped; then "w" must follow */
static void
is_skipped(const char *value)
{
    int              found = 0;
    char             text[256];
    cc_str_t         raw;
    cc_json_token_t  token;

    (void) snprintf(text, sizeof(text), "{\"v\": %s ,\"w\":[7]}", value);
    cc_json_open(json, unit_cstr(text));

    if (cc_json_next(json, &token) == CC_JSON_OBJECT
        && cc_json_next(json, &token) == CC_JSON_NAME
        && cc_json_next(json, &token) > CC_JSON_END
        && cc_json_skip(json, &token, &raw) == 0)
    {
        is_str(raw, value, "the raw slice of %s", value);

        found = cc_json_next(json, &token) == CC_JSON_NAME
                && cc_json_is(&token, "w")
                && cc_json_next(json, &token) == CC_JSON_ARRAY
                && cc_json_skip(json, &token, NULL) == 0
                && cc_json_next(json, &token) == CC_JSON_OBJECT_END
                && cc_json_next(json, &token) == CC_JSON_END;
    }

    ok(found, "and the walk goes on behind it");
}


static void
test_skip(void)
{
    cc_str_t         raw = unit_text("");
    cc_json_token_t  token;

    is_skipped("1");
    is_skipped("-1.5e3");
    is_skipped("\"\"");
    is_skipped("\"a\\u0062\\\"c\"");
    is_skipped("true");
    is_skipped("false");
    is_skipped("null");
    is_skipped("[]");
    is_skipped("{}");
    is_skipped("[ 1, [ 2, { \"w\": 3 } ] , \"]\" ]");
    is_skipped("{ \"w\" : { \"v\" : [ \"}\" ] } }");

    cc_json_open(json, unit_text("[[1,2]"));
    ok(cc_json_next(json, &token) == CC_JSON_ARRAY
       && cc_json_next(json, &token) == CC_JSON_ARRAY
       && cc_json_skip(json, &token, &raw) == 0, "an inner array is skipped");
    is_str(raw, "[1,2]", "and is whole, though the outer one is not");
    ok(cc_json_next(json, &token) == CC_JSON_ERROR, "as is seen later");

    cc_json_open(json, unit_text("{\"a\":[1,{\"b\":}]}"));
    ok(cc_json_next(json, &token) == CC_JSON_OBJECT
       && cc_json_skip(json, &token, &raw) == -1, "an error inside: -1");
    ok(cc_json_next(json, &token) == CC_JSON_ERROR, "and an error for good");
    ok(cc_json_error(json) != NULL
       && strncmp(cc_json_error(json), "no JSON", 7) == 0,
       "with a sentence: %s", cc_json_error(json));
    is_int(cc_json_offset(json), 13, "and the byte");
}


/* one valid text: no part of it from its beginning is valid */
static void
test_prefixes(void)
{
    size_t    len, wrong = 0;
    cc_str_t  text = unit_text(
        "{\"batchId\":\"a\\u00e9\\ud83d\\ude00\\n\xc3\xa9\xf0\x9f\x98\x80\","
        "\"n\":[-1.25e+10,0,true,false,null,[],{}],\"o\":{\"p\":\"\"}}");

    for (len = 0; len < text.len; len++) {
        wrong += json_walk_exact(json, unit_str(text.data, len), NULL) == NULL;
    }

    is_int(wrong, 0, "%zu beginnings of a text are refused", text.len);
    ok(json_walk_exact(json, text, NULL) == NULL,
       "and the same reader takes the whole");
}


static void
test_reuse(void)
{
    int              i, wrong = 0;
    cc_json_t       *other;
    cc_json_token_t  token;

    for (i = 0; i < 1000; i++) {
        wrong += json_walk(json, unit_text("[{\"a\":[{\"a\":1,"), NULL) == NULL;
        wrong += json_walk(json, unit_text("{\"a\":{\"b\":1}}"), NULL) != NULL;
        wrong += json_walk(json, unit_text("{\"a\":1,\"a\":1}"), NULL) == NULL;
        wrong += json_walk(json, unit_text("[\"\xff\"]"), NULL) == NULL;
        wrong += json_walk(json, unit_text("{\"b\":1,\"a\":1}"), NULL) != NULL;
    }

    is_int(wrong, 0, "one reader, 5000 texts, bad and good in turn");

    cc_json_open(json, unit_text("{\"a\":[1,2"));
    ok(cc_json_next(json, &token) == CC_JSON_OBJECT
       && cc_json_next(json, &token) == CC_JSON_NAME
       && cc_json_next(json, &token) == CC_JSON_ARRAY, "left in the middle");
    ok(json_walk(json, unit_text("{\"a\":1}"), NULL) == NULL,
       "the next text starts anew");

    other = cc_json_create(0);
    ok(other && json_walk(other, unit_text("{\"a\":1}"), NULL) == NULL
       && json_walk(json, unit_text("{\"a\":1}"), NULL) == NULL,
       "two readers do not meet");
    cc_json_destroy(other);
}


int
main(void)
{
    json = cc_json_create(unit_seed());

    if (!ok(json != NULL, "a reader is made")) {
        return done_testing();
    }

    test_values();
    test_structure();
    test_numbers();
    test_depth();
    test_tokens();
    test_skip();
    test_prefixes();
    test_reuse();

    cc_json_destroy(json);

    return done_testing();
}

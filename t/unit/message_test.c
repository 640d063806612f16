/*
 * Is an inbox entry understood, and is its digest the one that everybody's
 * xxh128sum prints?
 */

#include "message.h"
#include "unit.h"


#define DIGEST  "0123456789abcdef0123456789abcdef"
#define FIELDS  12

/* a complete entry: fields and values in turn */
static const cc_str_t  complete[FIELDS] = {
    cc_str("source"), cc_str("sportapi"),
    cc_str("id"), cc_str("b-1"),
    cc_str("count"), cc_str("2"),
    cc_str("digest"), cc_str(DIGEST),
    cc_str("received"), cc_str("1700000000123"),
    cc_str("body"), cc_str("{\"a\":\0}")
};


/* where the value of a field stands in complete[] */
static size_t
value_of(const char *name)
{
    size_t  i;

    for (i = 0; !cc_str_is(complete[i], name); i += 2) { /* void */ }

    return i + 1;
}


/* what a sentence about this field calls it */
static const char *
word_for(const char *field)
{
    return strcmp(field, CC_FIELD_RECEIVED) == 0 ? "time of receipt" : field;
}


/* numbers are whole, and small enough to be added without a thought */
static void
test_numbers(void)
{
    cc_str_t      fields[FIELDS];
    cc_message_t  message;

    memcpy(fields, complete, sizeof(complete));
    fields[value_of("count")] = unit_text("0");
    fields[value_of("received")] = unit_text("999999999999999");

    ok(cc_message_parse(&message, fields, FIELDS) == NULL
       && message.count == 0 && message.received == 999999999999999,
       "fifteen digits");

    fields[value_of("count")] = unit_text("000000123456789");
    fields[value_of("received")] = unit_text("0");

    ok(cc_message_parse(&message, fields, FIELDS) == NULL
       && message.count == 123456789 && message.received == 0,
       "zeros in front count as digits and change nothing");
}


static void
test_complete(void)
{
    size_t        i;
    cc_str_t      turned[FIELDS], more[FIELDS + 4];
    cc_message_t  message;

    ok(cc_message_parse(&message, complete, FIELDS) == NULL,
       "a complete entry");
    is_str(message.source, "sportapi", "its source");
    is_str(message.id, "b-1", "its id");
    is_int(message.count, 2, "its count");
    is_str(message.digest, DIGEST, "its digest");
    is_int(message.received, 1700000000123, "its time");
    ok(message.body.data == complete[11].data && message.body.len == 7,
       "its body is the caller's, NUL and all");

    for (i = 0; i < FIELDS; i += 2) {
        turned[i] = complete[FIELDS - 2 - i];
        turned[i + 1] = complete[FIELDS - 1 - i];
    }

    ok(cc_message_parse(&message, turned, FIELDS) == NULL,
       "the fields in another order");
    is_str(message.id, "b-1", "make the same message");

    more[0] = unit_text("attempt");
    more[1] = unit_text("7");
    memcpy(more + 2, complete, sizeof(complete));
    more[FIELDS + 2] = unit_text("ID");
    more[FIELDS + 3] = unit_text("another");

    ok(cc_message_parse(&message, more, FIELDS + 4) == NULL,
       "unknown fields are passed over");
    is_str(message.id, "b-1", "names are matched exactly");

    more[0] = unit_text("id");
    more[1] = unit_text("first");

    ok(cc_message_parse(&message, more, FIELDS + 2) == NULL,
       "a field that stands twice");
    is_str(message.id, "b-1", "counts where it stands last");
}


/* the entry with one value replaced is refused, and the sentence names it */
static void
is_refused(const char *field, cc_str_t value)
{
    cc_str_t      fields[FIELDS], exact = unit_exact(value);
    const char   *error;
    cc_message_t  message;

    memcpy(fields, complete, sizeof(complete));
    fields[value_of(field)] = exact;
    error = cc_message_parse(&message, fields, FIELDS);

    ok(error && strstr(error, word_for(field))
       && message.count == (strcmp(field, CC_FIELD_COUNT) ? 2u : 0u)
       && message.received == (strcmp(field, CC_FIELD_RECEIVED)
                               ? 1700000000123 : 0),
       "%s \"%.*s\": %s", field, (int) value.len, (const char *) value.data,
       error ? error : "taken");

    unit_free(exact);
}


/* all that can be read of a bad entry is set, so that it can be kept aside */
static void
is_missing(const char *field)
{
    size_t        at = value_of(field) - 1;
    cc_str_t      fields[FIELDS];
    const char   *error;
    cc_message_t  message;

    memcpy(fields, complete, at * sizeof(cc_str_t));
    memcpy(fields + at, complete + at + 2,
           (FIELDS - 2 - at) * sizeof(cc_str_t));

    memset(&message, 0x5a, sizeof(message));
    error = cc_message_parse(&message, fields, FIELDS - 2);

    ok(error && strstr(error, word_for(field)),
       "without %s: %s", field, error ? error : "taken");

    ok(cc_str_is(message.source, strcmp(field, "source") ? "sportapi" : "")
       && cc_str_is(message.id, strcmp(field, "id") ? "b-1" : "")
       && message.count == (strcmp(field, "count") ? 2u : 0u)
       && cc_str_is(message.digest, strcmp(field, "digest") ? DIGEST : "")
       && message.received == (strcmp(field, "received") ? 1700000000123 : 0)
       && message.body.len == (strcmp(field, "body") ? 7u : 0u),
       "and the rest is set");
}


static void
test_wrong(void)
{
    size_t        i;
    cc_message_t  message;

    static const char  *names[] = {
        "source", "id", "count", "digest", "received", "body"
    };

    static const char  *numbers[] = {
        "", " ", "-1", "+1", "1 ", " 1", "1.0", "1e3", "0x1", "two",
        "18446744073709551617", "1000000000000000",
        "0000000000000001", "99999999999999999999999999", "\xd9\xa1"
    };

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        is_missing(names[i]);
    }

    for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        is_refused("count", unit_cstr(numbers[i]));
        is_refused("received", unit_cstr(numbers[i]));
    }

    is_refused("count", unit_text("2\0"));
    is_refused("received", unit_text("1700000000123\0"));

    is_refused("source", unit_text(""));
    is_refused("id", unit_text(""));
    is_refused("body", unit_text(""));

    is_refused("digest", unit_text(""));
    is_refused("digest", unit_text("0123456789abcdef0123456789abcde"));
    is_refused("digest", unit_text("0123456789abcdef0123456789abcdef0"));
    is_refused("digest", unit_text("0123456789ABCDEF0123456789ABCDEF"));
    is_refused("digest", unit_text("0123456789abcdef0123456789abcdeg"));
    is_refused("digest", unit_text("g123456789abcdef0123456789abcdef"));
    is_refused("digest", unit_text("0123456789abcdef0123456789abcde "));
    is_refused("digest", unit_text("0123456789abcdef0123456789abcde\0"));

    ok(cc_message_parse(&message, complete, 0) != NULL, "no field at all");
    is_int(message.count, 0, "leaves nothing behind");
}


static void
is_digest(cc_str_t body, const char *want)
{
    cc_str_t       exact = unit_exact(body);
    unsigned char  hex[CC_DIGEST_LEN + 1];

    memset(hex, '!', sizeof(hex));
    cc_message_digest(hex, exact);

    is_str(unit_str(hex, CC_DIGEST_LEN), want, "the digest of %zu bytes",
           body.len);
    ok(hex[CC_DIGEST_LEN] == '!', "has 32 digits and no NUL");

    unit_free(exact);
}


/* the wanted digests are what xxh128sum printed for the same bytes */
static void
test_digest(void)
{
    size_t                i;
    unsigned char         hex[CC_DIGEST_LEN];
    static unsigned char  bytes[100000];

    is_digest(unit_text(""), "99aa06d3014798d86001c324468d497f");
    cc_message_digest(hex, unit_str(NULL, 0));
    is_str(unit_str(hex, CC_DIGEST_LEN), "99aa06d3014798d86001c324468d497f",
           "the digest of no body");
    is_digest(unit_text("a"), "a96faf705af16834e6c632b61e964e1f");
    is_digest(unit_text("hello"), "b5e9c1ad071b3e7fc779cfaa5e523818");
    is_digest(unit_text("a\0b"), "39797789ed4c7ea0d5a06cd078125351");
    is_digest(unit_text("{\"batchId\":\"b-1\",\"couponCount\":1,"
                        "\"coupons\":[]}"),
              "5263e73d93507059464f139d54beb3d3");

    is_digest(unit_str(bytes, 1000), "3fb94aea6d09b97224c1ea6074dd588c");

    memset(bytes, 'x', sizeof(bytes));
    is_digest(unit_str(bytes, sizeof(bytes)),
              "0fe996a84987456bd8b99a30e426ac41");

    for (i = 0; i < 256; i++) {
        bytes[i] = (unsigned char) i;
    }

    is_digest(unit_str(bytes, 200), "cb0395310643ba0edd97e9af3609d9f5");
    is_digest(unit_str(bytes, 241), "1da1cb61bcb8a2a102e8cd95421c6d02");
}


int
main(void)
{
    test_complete();
    test_numbers();
    test_wrong();
    test_digest();

    return done_testing();
}

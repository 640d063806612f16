/*
 * The stream of operations: entries are added only while the stream is as the
 * sender knew it, whoever came in between and whatever Redis has lost.  The
 * first argument is the URL of a Redis that is empty.
 *
 * Run by t/227-outbox.t.
 */

#include "outbox_stream.h"
#include "store_unit.h"


#define KEY  "{coupons}:operations"


static void
put(cs_outbox_stream_t *s, int64_t number)
{
    cs_operation_t  o;

    o = operation("007", CC_OPERATION_FINAL_CREDIT, (unsigned) number, "1.50");
    cs_outbox_stream_put(s, number, &o);
}


static void
look_at(cs_outbox_stream_t *s)
{
    if (cs_outbox_stream_look(s) != CS_OK) {
        diag("look: %s", s->redis->error);
        exit(2);
    }
}


static unsigned
differs(const cs_outbox_stream_t *s, unsigned generation)
{
    cs_operation_t  o;

    o = operation("007", CC_OPERATION_FINAL_CREDIT, generation, "1.50");

    return cs_outbox_stream_differs(s, &o);
}


static void
call(cs_redis_t *r, const char *command, const char *key, const char *word)
{
    redisReply  *reply;

    reply = word ? cs_redis_call(r, command, key, word)
                 : cs_redis_call(r, command, key);

    if (reply == NULL) {
        diag("%s: %s", command, r->error);
        exit(2);
    }

    freeReplyObject(reply);
}


static void
test_two(cs_outbox_stream_t *a, cs_outbox_stream_t *b)
{
    look_at(a);
    is_int(a->last, 0, "no stream yet");
    is_int(a->length, 0, "... and nothing in it");
    put(a, 1);
    put(a, 2);
    is_int(cs_outbox_stream_send(a), CS_OK, "the first ones");
    is_int(a->last, 2, "... and where it is then");
    is_int(a->length, 2, "... with how many");
    is_int(a->n, 0, "... and they are not sent again");

    look_at(b);
    is_int(b->last, 2, "another sees them");
    is_int(differs(b, 2), 0, "... with the operation of the last");
    is_int(differs(b, 1), 1, "... and no other");

    put(a, 3);
    put(b, 3);
    put(b, 4);
    is_int(cs_outbox_stream_send(a), CS_OK, "who is quicker");
    is_int(cs_outbox_stream_send(b), CS_NONE, "the other adds nothing");
    is_int(b->last, 3, "... and knows how it is");
    is_int(b->length, 3, "... with all of it");
    put(b, 4);
    is_int(cs_outbox_stream_send(b), CS_OK, "... to go on from there");
}


static void
test_lost(cs_outbox_stream_t *a)
{
    look_at(a);
    put(a, 5);
    call(a->redis, "DEL", KEY, NULL);
    is_int(cs_outbox_stream_send(a), CS_NONE, "a stream lost in between");
    is_int(a->last, 0, "... gets no hole");
    put(a, 1);
    put(a, 2);
    is_int(cs_outbox_stream_send(a), CS_OK, "... and starts anew");

    call(a->redis, "XDEL", KEY, "2-0");
    look_at(a);
    is_int(a->last, 2, "a last entry that is deleted was the last");
    is_int(differs(a, 1), 0, "... of whatever operation");

    a->last = 0;
    put(a, 1);
    is_int(cs_outbox_stream_send(a), CS_NONE, "an old one is not added again");
}


static void
test_refused(cs_outbox_stream_t *a)
{
    look_at(a);
    put(a, 3);
    put(a, 2);
    put(a, 4);
    is_int(cs_outbox_stream_send(a), CS_AGAIN, "an error in the middle");
    ok(cs_redis_said(a->redis, "ERR"), "... is told: %s", a->redis->error);
    look_at(a);
    is_int(a->last, 3, "... what was before it is there");
    is_int(a->length, 2, "... and what was behind it is not");
}


int
main(int argc, char **argv)
{
    cs_redis_t           redis[2];
    cs_redis_conf_t      conf;
    cs_outbox_stream_t   s[2];

    memset(&conf, 0, sizeof(cs_redis_conf_t));
    memset(redis, 0, sizeof(redis));
    memset(s, 0, sizeof(s));

    if (argc != 2 || cs_redis_url(&conf, argv[1]) != NULL) {
        return 2;
    }

    redis[0].conf = redis[1].conf = &conf;
    s[0].redis = &redis[0];
    s[1].redis = &redis[1];
    s[0].key = s[1].key = KEY;

    if (cs_redis_open(&redis[0]) != CS_OK || cs_redis_open(&redis[1]) != CS_OK)
    {
        return 2;
    }

    test_two(&s[0], &s[1]);
    test_lost(&s[0]);
    test_refused(&s[0]);

    cs_outbox_stream_free(&s[0]);
    cs_outbox_stream_free(&s[1]);
    cs_redis_close(&redis[0]);
    cs_redis_close(&redis[1]);
    cs_redis_conf_free(&conf);

    return done_testing();
}

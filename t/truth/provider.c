/*
 * The API and the clock of a test; see provider.h.
 */

#include "clock.h"
#include "provider.h"


struct cs_api_s {
    cs_reply_t   reply;
    cs_buffer_t  text;
    cc_json_t   *json;
};


provider_t  provider;


static void
answer_begin(cs_api_t *api)
{
    api->text.len = 0;
    cs_buffer_text(&api->text, "{\"body\":{\"coupons\":[");
}


static void
answer_coupon(cs_api_t *api, const truth_t *truth, const turn_t *turn)
{
    if (api->text.data[api->text.len - 1] == '}') {
        cs_buffer_text(&api->text, ",");
    }

    if (unit_below(&provider.random, 100) < provider.malformed) {
        cs_buffer_format(&api->text, "{\"status\":\"?\",\"coupon_code\":"
                         "\"%s\"}", truth->code);
        return;
    }

    provider_coupon(&api->text, truth, turn, "id");
}


/* on its way; while it travels the world goes on */
static cs_api_e
answer_end(cs_api_t *api)
{
    cc_answer_t  answer;

    cs_buffer_text(&api->text, "]},\"code\":1}");

    api->reply.text.data = api->text.data;
    api->reply.text.len = api->text.len;
    api->reply.one = 0;

    if (cc_snapshot_read(&answer, api->json, api->reply.text, 0, NULL)
        != CC_SNAPSHOT_OK)
    {
        abort();
    }

    api->reply.count = answer.count;
    api->reply.malformed = answer.malformed;
    provider.under_way();

    return CS_API_OK;
}


static int
is_away(void)
{
    return provider.now >= provider.away_from
           && provider.now < provider.away_until;
}


static void
must_hold(int holds, const char *what)
{
    if (!holds) {
        (void) snprintf(provider.wrong, sizeof(provider.wrong), "%s", what);
    }
}


static void
asked(unsigned what)
{
    provider.asked[what]++;
    provider.last = what;
}


cs_api_e
cs_api_calculated(cs_api_t *api, unsigned minutes)
{
    unsigned       i;
    const turn_t  *turn;

    must_hold(minutes >= 1 && minutes <= 120, "minutes");
    asked(PROVIDER_CALCULATED);

    if (is_away()) {
        return CS_API_AGAIN;
    }

    answer_begin(api);

    for (i = 0; i < provider.ncoupons; i++) {
        turn = provider_turn(&provider.coupons[i], provider.now);

        if (turn && turn->status != 1 && turn->status != 15
            && turn->at >= provider.now - minutes * MINUTE)
        {
            answer_coupon(api, &provider.coupons[i], turn);
        }
    }

    return answer_end(api);
}


cs_api_e
cs_api_created(cs_api_t *api, int64_t from, int64_t to)
{
    unsigned       i;
    const turn_t  *turn;

    must_hold(to > from && to - from <= 24 * HOUR, "a creation period");
    asked(PROVIDER_CREATED);

    if (is_away()) {
        return CS_API_AGAIN;
    }

    answer_begin(api);

    for (i = 0; i < provider.ncoupons; i++) {
        turn = provider_turn(&provider.coupons[i], provider.now);

        if (turn && provider.coupons[i].created >= from
            && provider.coupons[i].created < to)
        {
            answer_coupon(api, &provider.coupons[i], turn);
        }
    }

    return answer_end(api);
}


cs_api_e
cs_api_results(cs_api_t *api, const cs_asked_t *codes)
{
    size_t         n;
    unsigned       i;
    const turn_t  *turn;

    must_hold(codes->n >= 1 && codes->n <= 100, "the number of codes");
    asked(PROVIDER_BY_CODE);

    if (is_away()) {
        return CS_API_AGAIN;
    }

    answer_begin(api);

    for (n = codes->n; n > 0; n--) {

        for (i = 0; i < provider.ncoupons; i++) {
            turn = provider_turn(&provider.coupons[i], provider.now);

            if (turn && cc_str_is(cs_asked_code(&codes->items[n - 1]),
                                  provider.coupons[i].code))
            {
                answer_coupon(api, &provider.coupons[i], turn);
            }
        }
    }

    return answer_end(api);
}


const turn_t *
provider_turn(const truth_t *truth, int64_t now)
{
    unsigned       i;
    const turn_t  *turn;

    turn = NULL;

    for (i = 0; i < truth->nturns && truth->turns[i].at <= now; i++) {
        turn = &truth->turns[i];
    }

    return turn;
}


void
provider_coupon(cs_buffer_t *buffer, const truth_t *truth, const turn_t *turn,
    const char *bet)
{
    cs_buffer_format(buffer, "{\"coupon_code\":\"%s\",\"status\":%d,",
                     truth->code, turn->status);

    if (turn->win) {
        cs_buffer_format(buffer, "\"real_win\":%s,", turn->win);
    }

    cs_buffer_format(buffer, "\"events_data\":[{\"%s\":\"%s-1\","
                     "\"status\":%d}]}", bet, truth->code, turn->status);
}


cs_api_t *
cs_api_create(const cs_api_conf_t *conf)
{
    cs_api_t  *api = cs_alloc(sizeof(cs_api_t));

    (void) conf;
    api->json = cc_json_create(1);

    return api;
}


void
cs_api_destroy(cs_api_t *api)
{
    cc_json_destroy(api->json);
    cs_buffer_free(&api->text);
    free(api);
}


const cs_reply_t *
cs_api_reply(const cs_api_t *api)
{
    return &api->reply;
}


const char *
cs_api_error(const cs_api_t *api)
{
    (void) api;

    return "away";
}


int64_t
cs_api_retry_after(const cs_api_t *api)
{
    (void) api;

    return 0;
}


unsigned
cs_api_new_token(const cs_api_t *api)
{
    (void) api;

    return 0;
}


int64_t
cs_now(void)
{
    return provider.now;
}


int64_t
cs_monotonic(void)
{
    return provider.now;
}


int64_t
cs_monotonic_us(void)
{
    return provider.now * 1000;
}


int
cs_stop_wait(int64_t ms)
{
    (void) ms;

    return 0;
}


void
cs_time_format(char *buf, int64_t ms)
{
    (void) snprintf(buf, CS_TIME_TEXT, "%lld", (long long) ms);
}

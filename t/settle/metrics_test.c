/*
 * The page of metrics out of given numbers, the counters in transactions, and
 * what health makes of the last round: all that needs no server.
 */

#include "api.h"
#include "buffer.h"
#include "health.h"
#include "metrics_page.h"
#include "tap.h"


static char *page_text(const cs_page_t *page);
static void test_page(void);
static void test_missing(void);
static void test_labels(void);
static void test_many(void);
static void test_commits(void);
static void test_counting(void);
static void test_health(void);


/* the caller frees it */

static char *
page_text(const cs_page_t *page)
{
    cs_buffer_t  out;

    memset(&out, 0, sizeof(cs_buffer_t));

    cs_metrics_page(&out, page);
    cs_buffer_format(&out, "%c", '\0');

    return (char *) out.data;
}


static void
has(const char *text, const char *line)
{
    ok(strstr(text, line) != NULL, "%.*s", (int) strcspn(line + 1, "\n"),
       line + 1);
}


static void
has_not(const char *text, const char *part)
{
    ok(strstr(text, part) == NULL, "no %s", part);
}


static void
test_page(void)
{
    char                *text;
    cs_page_t            page;
    cs_page_consumer_t   consumer;

    memset(&page, 0, sizeof(cs_page_t));

    page.started = 1700000000042;
    page.ready = 1;
    page.polls = 1;
    page.counts.n[CS_COUNT_BATCH_SETTLED] = 18446744073709551615u;
    page.counts.n[CS_COUNT_REJECTED + CS_REJECT_STORE] = 3;
    page.counts.n[CS_COUNT_OPERATION + CC_OPERATION_RECALCULATION_DEBIT] = 4;
    page.counts.n[CS_COUNT_RETRY + CS_CAUSE_API] = 5;
    page.counts.n[CS_COUNT_API + CS_API_WRONG] = 6;

    consumer.name.data = (const unsigned char *) "one";
    consumer.name.len = 3;
    consumer.pending = 7;

    page.redis = 1;
    page.undelivered = 8;
    page.pending = 9;
    page.oldest = 61005;
    page.stream_rejected = 10;
    page.consumers = 1;
    page.consumer = &consumer;
    page.nconsumer = 1;

    page.store = 1;
    page.totals.doubts = 11;
    page.totals.rejected = 12;
    page.totals.requests = 13;
    page.totals.deadline = 1700000003600;
    page.polled_at = 1700000001999;
    page.recovering = 1;
    page.relay = 1;
    page.unrelayed = 14;

    text = page_text(&page);

    ok(strncmp(text, "# HELP ", 7) == 0, "begins with a family");
    has(text, "\ncoupon_settle_start_time_seconds 1700000000.042\n");
    has(text, "\ncoupon_settle_ready 1\n");
    has(text, "\n# TYPE coupon_settle_batches_total counter\n");
    has(text, "\ncoupon_settle_batches_total{result=\"settled\"} "
        "18446744073709551615\n");
    has(text, "\ncoupon_settle_rejected_total{reason=\"store\"} 3\n");
    has(text, "\ncoupon_settle_operations_total{kind=\"recalculation_debit\"} "
        "4\n");
    has(text, "\ncoupon_settle_retries_total{cause=\"api\"} 5\n");
    has(text, "\ncoupon_settle_api_requests_total{outcome=\"wrong\"} 6\n");
    has(text, "\ncoupon_settle_consumer_pending{consumer=\"one\"} 7\n");
    has(text, "\ncoupon_settle_inbox_undelivered 8\n");
    has(text, "\ncoupon_settle_inbox_pending 9\n");
    has(text, "\ncoupon_settle_inbox_oldest_seconds 61.005\n");
    has(text, "\ncoupon_settle_quarantined{in=\"stream\"} 10\n");
    has(text, "\ncoupon_settle_doubts_open 11\n");
    has(text, "\ncoupon_settle_quarantined{in=\"table\"} 12\n");
    has(text, "\ncoupon_settle_store_requests_open 13\n");
    has(text, "\ncoupon_settle_store_deadline_timestamp_seconds "
        "1700000003.600\n");
    has(text, "\ncoupon_settle_poll_success_timestamp_seconds "
        "1700000001.999\n");
    has(text, "\ncoupon_settle_poll_recovering 1\n");
    has(text, "\ncoupon_settle_relay_waiting 14\n");

    free(text);
}


/* what could not be had is no zero */

static void
test_missing(void)
{
    char       *text;
    cs_page_t   page;

    memset(&page, 0, sizeof(cs_page_t));

    text = page_text(&page);
    has(text, "\ncoupon_settle_up{part=\"redis\"} 0\n");
    has(text, "\ncoupon_settle_up{part=\"store\"} 0\n");
    has_not(text, "coupon_settle_inbox_pending");
    has_not(text, "coupon_settle_doubts_open");
    has_not(text, "coupon_settle_quarantined");
    free(text);

    page.store = 1;
    text = page_text(&page);
    has(text, "\ncoupon_settle_quarantined{in=\"table\"} 0\n");
    has_not(text, "in=\"stream\"");
    has_not(text, "deadline");
    has_not(text, "relay_waiting");
    has_not(text, "coupon_settle_poll_");
    free(text);

    page.store = 0;
    page.redis = 1;
    text = page_text(&page);
    has(text, "\ncoupon_settle_quarantined{in=\"stream\"} 0\n");
    has_not(text, "in=\"table\"");
    has_not(text, "consumer=");
    free(text);
}


static void
test_labels(void)
{
    char                *text;
    cs_page_t            page;
    cs_page_consumer_t   consumer;

    memset(&page, 0, sizeof(cs_page_t));

    consumer.name.data = (const unsigned char *) "a\"b\\c\nd\xc3\xa4" "\0e";
    consumer.name.len = 11;
    consumer.pending = 1;

    page.redis = 1;
    page.consumer = &consumer;
    page.nconsumer = 1;

    text = page_text(&page);
    has(text, "\ncoupon_settle_consumer_pending{consumer=\""
        "a\\\"b\\\\c\\\\x0ad\\\\xc3\\\\xa4\\\\x00e\"} 1\n");
    free(text);
}


static void
test_many(void)
{
    char                *text, *at;
    size_t               i, n;
    cs_page_t            page;
    cs_page_consumer_t   consumers[CS_PAGE_CONSUMERS + 1];

    memset(&page, 0, sizeof(cs_page_t));

    for (i = 0; i <= CS_PAGE_CONSUMERS; i++) {
        consumers[i].name.data = (const unsigned char *) "same";
        consumers[i].name.len = 4;
        consumers[i].pending = 0;
    }

    page.redis = 1;
    page.consumers = i;
    page.consumer = consumers;
    page.nconsumer = i;

    text = page_text(&page);

    for (n = 0, at = text; (at = strstr(at, "{consumer=")) != NULL; at++) {
        n++;
    }

    is_int(n, CS_PAGE_CONSUMERS, "not more consumers than there is room for");
    has(text, "\ncoupon_settle_consumers 65\n");
    free(text);
}


static void
test_commits(void)
{
    char        *text;
    cs_page_t    page;

    memset(&page, 0, sizeof(cs_page_t));

    cs_count_commit_time(0);
    cs_count_commit_time(1000);
    cs_count_commit_time(1001);
    cs_count_commit_time(5000000);
    cs_count_commit_time(5000001);

    cs_counts_read(&page.counts);
    text = page_text(&page);

    has(text, "\n# TYPE coupon_settle_commit_seconds histogram\n");
    has(text, "\ncoupon_settle_commit_seconds_bucket{le=\"0.001\"} 2\n");
    has(text, "\ncoupon_settle_commit_seconds_bucket{le=\"0.0025\"} 3\n");
    has(text, "\ncoupon_settle_commit_seconds_bucket{le=\"2.5\"} 3\n");
    has(text, "\ncoupon_settle_commit_seconds_bucket{le=\"5\"} 4\n");
    has(text, "\ncoupon_settle_commit_seconds_bucket{le=\"+Inf\"} 5\n");
    has(text, "\ncoupon_settle_commit_seconds_sum 10.002002\n");
    has(text, "\ncoupon_settle_commit_seconds_count 5\n");

    free(text);
}


static uint64_t
counted(unsigned what)
{
    cs_counts_t  counts;

    cs_counts_read(&counts);

    return counts.n[what];
}


static void
test_counting(void)
{
    cs_count(CS_COUNT_COUPON, 2);
    is_int(counted(CS_COUNT_COUPON), 2, "outside of a transaction: at once");

    cs_count_begin();
    cs_count(CS_COUNT_COUPON, 1);
    is_int(counted(CS_COUNT_COUPON), 2, "in a transaction: not yet");
    cs_count_commit();
    is_int(counted(CS_COUNT_COUPON), 3, "... with its commit");

    cs_count_begin();
    cs_count(CS_COUNT_COUPON, 1);
    cs_count_rollback();
    is_int(counted(CS_COUNT_COUPON), 3, "rolled back: never");

    cs_count_begin();
    cs_count_commit();
    is_int(counted(CS_COUNT_COUPON), 3, "... nor with the next commit");

    cs_count_begin();
    cs_count(CS_COUNT_COUPON, 1);
    cs_count_savepoint();
    cs_count(CS_COUNT_COUPON, 10);
    cs_count(CS_COUNT_ENTRY_LOST, 1);
    cs_count_undo();
    cs_count_savepoint();
    cs_count(CS_COUNT_COUPON, 100);
    cs_count_commit();
    is_int(counted(CS_COUNT_COUPON), 104, "a savepoint that was undone");
    is_int(counted(CS_COUNT_ENTRY_LOST), 0, "... took back nothing else");

    cs_count_rollback();
    cs_count(CS_COUNT_COUPON, 1);
    is_int(counted(CS_COUNT_COUPON), 105, "after the end: at once again");
}


static void
test_health(void)
{
    is_int(cs_health_judge(CS_HEALTH_READY, 1000, 1000 + CS_HEALTH_STUCK),
           CS_HEALTH_READY, "as long as a round may take it is no failure");
    is_int(cs_health_judge(CS_HEALTH_READY, 1000, 1001 + CS_HEALTH_STUCK),
           CS_HEALTH_STUCK_LOOP, "longer is");
    is_int(cs_health_judge(CS_HEALTH_STORE, 1000, 1001 + CS_HEALTH_STUCK),
           CS_HEALTH_STUCK_LOOP, "... whatever it waited for");
    is_int(cs_health_judge(CS_HEALTH_REDIS, 1000, 1000), CS_HEALTH_REDIS,
           "who waits is alive");
    is_int(cs_health_judge(CS_HEALTH_STARTING, 0, 1000 * CS_HEALTH_STUCK),
           CS_HEALTH_STARTING, "tables take their time");

    is_int(cs_health(), CS_HEALTH_STARTING, "at first it is starting");
    cs_health_round(CS_HEALTH_WALLET);
    is_int(cs_health(), CS_HEALTH_WALLET, "the last round counts");
    cs_health_round(CS_HEALTH_READY);
    is_int(cs_health(), CS_HEALTH_READY, "... and the next one");

    is_int(cs_health_wanted(), 0, "nobody has asked whether it is ready");
    is_int(cs_health_ask(), CS_HEALTH_READY, "somebody asks");
    is_int(cs_health_wanted(), 1, "... which is seen");
    is_int(cs_health_wanted(), 0, "... once");

    ok(strcmp(cs_health_text(CS_HEALTH_READY), "ready") == 0, "in words");
}


int
main(void)
{
    test_page();
    test_missing();
    test_labels();
    test_many();
    test_commits();
    test_counting();
    test_health();

    return done_testing();
}

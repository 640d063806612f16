/*
 * The page of metrics; see metrics_page.h, and the README, "Metrics of
 * coupon-settle".
 *
 * The families of counters stand in one table; what has a line of its own
 * follows it.  t/bin/check-docs.pl looks for the names in this file.
 */

#include <inttypes.h>

#include "api.h"
#include "metrics_page.h"
#include "refund.h"
#include "version.h"


#define CS_PAGE_VALUES  7

_Static_assert(CC_OPERATION_RECALCULATION_DEBIT == 1, "kinds of operations");
_Static_assert(CC_EFFECT_REVERSE_PAYOUT == 3, "effects of refunds");
_Static_assert(CS_API_WRONG == 4, "outcomes of requests");

typedef struct {
    const char  *name;
    const char  *help;
    const char  *label;                       /* NULL: one line without */
    const char  *values[CS_PAGE_VALUES + 1];  /* of the label */
    unsigned     first;                       /* cs_count_e of the first */
} cs_page_family_t;


static const cs_page_family_t  cs_page_families[] = {

    { "coupon_settle_batches_total",
      "Callbacks that were settled, now or earlier.",
      "result", { "settled", "repeated", NULL }, CS_COUNT_BATCH_SETTLED },

    { "coupon_settle_notifications_total",
      "Notifications of Apple and Google that were settled, now or earlier.",
      "result", { "settled", "repeated", NULL }, CS_COUNT_NOTE_SETTLED },

    { "coupon_settle_rejected_total",
      "What can never be settled and was put aside, by why.",
      "reason", { "entry", "source", "body", "mismatch", "conflict", "store",
                  "coupon", NULL }, CS_COUNT_REJECTED },

    { "coupon_settle_coupons_total",
      "Coupons settled, from callbacks and from the API.",
      NULL, { NULL }, CS_COUNT_COUPON },

    { "coupon_settle_operations_total", "Money operations written.",
      "kind", { "final_credit", "recalculation_debit", NULL },
      CS_COUNT_OPERATION },

    { "coupon_settle_store_operations_total",
      "Operations written for refunds of Apple and Google.",
      "kind", { "revoke_access", "restore_access", "debit_balance",
                "reverse_payout", NULL }, CS_COUNT_REFUND },

    { "coupon_settle_doubts_total",
      "Coupons whose money was held on a doubt, or no longer is.",
      "change", { "opened", "cleared", NULL }, CS_COUNT_DOUBT_OPENED },

    { "coupon_settle_relayed_total",
      "Operations put into the stream for a wallet in another system.",
      NULL, { NULL }, CS_COUNT_RELAYED },

    { "coupon_settle_inbox_claimed_total",
      "Entries of the inbox taken over from another consumer.",
      NULL, { NULL }, CS_COUNT_ENTRY_CLAIMED },

    { "coupon_settle_inbox_lost_total",
      "Entries deleted from the inbox before they were settled.",
      NULL, { NULL }, CS_COUNT_ENTRY_LOST },

    { "coupon_settle_retries_total", "What had to be tried again, by why.",
      "cause", { "redis", "store", "wallet", "collision", "api", NULL },
      CS_COUNT_RETRY },

    { "coupon_settle_api_requests_total",
      "Requests to the provider's API by their outcome.",
      "outcome", { "ok", "failed", "denied", "unknown", "wrong", NULL },
      CS_COUNT_API },

    { "coupon_settle_api_malformed_total",
      "Coupons in answers of the API that have not the shape of one.",
      NULL, { NULL }, CS_COUNT_API_MALFORMED }
};

#define CS_PAGE_FAMILIES  (sizeof(cs_page_families) / sizeof(cs_page_family_t))


static void cs_page_family(cs_buffer_t *out, const cs_counts_t *counts,
    const cs_page_family_t *family);
static void cs_page_commits(cs_buffer_t *out, const cs_counts_t *counts);
static void cs_page_process(cs_buffer_t *out, const cs_page_t *page);
static void cs_page_redis(cs_buffer_t *out, const cs_page_t *page);
static void cs_page_store(cs_buffer_t *out, const cs_page_t *page);
static void cs_page_gauge(cs_buffer_t *out, const char *name, const char *help,
    int64_t value);
static void cs_page_seconds(cs_buffer_t *out, const char *name,
    const char *help, int64_t ms);
static void cs_page_head(cs_buffer_t *out, const char *name, const char *type,
    const char *help);
static void cs_page_label(cs_buffer_t *out, cc_str_t text);


void
cs_metrics_page(cs_buffer_t *out, const cs_page_t *page)
{
    size_t  i;

    cs_page_process(out, page);

    for (i = 0; i < CS_PAGE_FAMILIES; i++) {
        cs_page_family(out, &page->counts, &cs_page_families[i]);
    }

    cs_page_commits(out, &page->counts);

    /* one family, two parts: it stands alone, whoever has answered */

    if (page->redis || page->store) {
        cs_page_head(out, "coupon_settle_quarantined", "gauge",
                     "Bodies in the quarantine now.");
    }

    if (page->redis) {
        cs_buffer_format(out, "coupon_settle_quarantined{in=\"stream\"} %"
                         PRId64 "\n", page->stream_rejected);
    }

    if (page->store) {
        cs_buffer_format(out, "coupon_settle_quarantined{in=\"table\"} %"
                         PRId64 "\n", page->totals.rejected);
    }

    if (page->redis) {
        cs_page_redis(out, page);
    }

    if (page->store) {
        cs_page_store(out, page);
    }

    if (page->relay) {
        cs_page_gauge(out, "coupon_settle_relay_waiting",
                      "Operations that are not in the stream for the wallet "
                      "yet.", page->unrelayed);
    }
}


static void
cs_page_process(cs_buffer_t *out, const cs_page_t *page)
{
    cs_page_head(out, "coupon_settle_build_info", "gauge",
                 "Always 1; the version is in the label.");
    cs_buffer_text(out, "coupon_settle_build_info{version=\"" CS_VERSION
                   "\"} 1\n");

    cs_page_seconds(out, "coupon_settle_start_time_seconds",
                    "Unix time at which the process was started.",
                    page->started);
    cs_page_gauge(out, "coupon_settle_ready",
                  "1 if the last round reached Redis and the store.",
                  page->ready);

    cs_page_head(out, "coupon_settle_up", "gauge",
                 "1 if it has answered for this page.");
    cs_buffer_format(out, "coupon_settle_up{part=\"redis\"} %u\n"
                     "coupon_settle_up{part=\"store\"} %u\n", page->redis,
                     page->store);
}


static void
cs_page_family(cs_buffer_t *out, const cs_counts_t *counts,
    const cs_page_family_t *family)
{
    unsigned  i;

    cs_page_head(out, family->name, "counter", family->help);

    if (family->label == NULL) {
        cs_buffer_format(out, "%s %" PRIu64 "\n", family->name,
                         counts->n[family->first]);
        return;
    }

    for (i = 0; family->values[i]; i++) {
        cs_buffer_format(out, "%s{%s=\"%s\"} %" PRIu64 "\n", family->name,
                         family->label, family->values[i],
                         counts->n[family->first + i]);
    }
}


static void
cs_page_commits(cs_buffer_t *out, const cs_counts_t *counts)
{
    unsigned  i;
    uint64_t  sum;

    cs_page_head(out, "coupon_settle_commit_seconds", "histogram",
                 "COMMIT in the store, and what is written with it.");

    sum = 0;

    for (i = 0; i < CS_COMMIT_BUCKETS; i++) {
        sum += counts->commits[i];

        cs_buffer_format(out, "coupon_settle_commit_seconds_bucket{le=\"%g\"} %"
                         PRIu64 "\n", (double) cs_commit_bounds[i] / 1e6, sum);
    }

    sum += counts->commits[i];

    cs_buffer_format(out, "coupon_settle_commit_seconds_bucket{le=\"+Inf\"} %"
                     PRIu64 "\n"
                     "coupon_settle_commit_seconds_sum %" PRIu64 ".%06" PRIu64
                     "\n"
                     "coupon_settle_commit_seconds_count %" PRIu64 "\n",
                     sum, counts->commit_us / 1000000,
                     counts->commit_us % 1000000, sum);
}


static void
cs_page_redis(cs_buffer_t *out, const cs_page_t *page)
{
    size_t  i;

    cs_page_gauge(out, "coupon_settle_inbox_undelivered",
                  "Entries of the inbox that no consumer has taken yet.",
                  page->undelivered);
    cs_page_gauge(out, "coupon_settle_inbox_pending",
                  "Entries taken, and not settled yet.", page->pending);
    cs_page_seconds(out, "coupon_settle_inbox_oldest_seconds",
                    "Age of the oldest entry that is not settled.",
                    page->oldest);
    cs_page_gauge(out, "coupon_settle_consumers", "Consumers of the group.",
                  (int64_t) page->consumers);

    if (page->nconsumer) {
        cs_page_head(out, "coupon_settle_consumer_pending", "gauge",
                     "Entries this consumer has taken, and not settled yet.");
    }

    for (i = 0; i < page->nconsumer && i < CS_PAGE_CONSUMERS; i++) {
        cs_buffer_text(out, "coupon_settle_consumer_pending{consumer=\"");
        cs_page_label(out, page->consumer[i].name);
        cs_buffer_format(out, "\"} %" PRId64 "\n", page->consumer[i].pending);
    }
}


static void
cs_page_store(cs_buffer_t *out, const cs_page_t *page)
{
    const cs_totals_t  *totals = &page->totals;

    cs_page_gauge(out, "coupon_settle_doubts_open",
                  "Coupons whose money is held on a doubt now.",
                  totals->doubts);
    cs_page_gauge(out, "coupon_settle_store_requests_open",
                  "Requests of Apple and Google that wait for an answer.",
                  totals->requests);

    if (totals->deadline) {
        cs_page_seconds(out, "coupon_settle_store_deadline_timestamp_seconds",
                        "Unix time until which the most urgent one waits.",
                        totals->deadline);
    }

    if (!page->polls) {
        return;
    }

    cs_page_seconds(out, "coupon_settle_poll_success_timestamp_seconds",
                    "Unix time of the last successful round of polling.",
                    page->polled_at);
    cs_page_gauge(out, "coupon_settle_poll_recovering",
                  "1 while a recovery after a break is not finished.",
                  page->recovering);
}


static void
cs_page_gauge(cs_buffer_t *out, const char *name, const char *help,
    int64_t value)
{
    cs_page_head(out, name, "gauge", help);
    cs_buffer_format(out, "%s %" PRId64 "\n", name, value);
}


/* a gauge; ms is not negative */

static void
cs_page_seconds(cs_buffer_t *out, const char *name, const char *help,
    int64_t ms)
{
    cs_page_head(out, name, "gauge", help);
    cs_buffer_format(out, "%s %" PRId64 ".%03d\n", name, ms / 1000,
                     (int) (ms % 1000));
}


static void
cs_page_head(cs_buffer_t *out, const char *name, const char *type,
    const char *help)
{
    cs_buffer_format(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name,
                     type);
}


/*
 * The name of a consumer may be any bytes: in a label there are three escapes
 * and UTF-8, so what is not printable ASCII becomes \xNN, as in the log.
 */

static void
cs_page_label(cs_buffer_t *out, cc_str_t text)
{
    size_t         i;
    unsigned char  ch;

    for (i = 0; i < text.len; i++) {

        ch = text.data[i];

        if (ch < 0x20 || ch >= 0x7f) {
            cs_buffer_format(out, "\\\\x%02x", ch);

        } else if (ch == '"' || ch == '\\') {
            cs_buffer_format(out, "\\%c", ch);

        } else {
            cs_buffer_format(out, "%c", ch);
        }
    }
}

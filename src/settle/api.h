/*
 * The provider's coupon API, as a client: one question, one answer that has
 * been checked, or one sentence why there is none.
 *
 * Contract: README, "The provider's API".  Every call only reads, so each may
 * be repeated; whether and when is the caller's business.  Nothing here knows
 * the ledger.
 */

#ifndef CS_API_H
#define CS_API_H

#include "asked.h"
#include "config.h"
#include "snapshot.h"


#define CS_API_MINUTES  120              /* CONTRACT: longest window, … */
#define CS_API_PERIOD   (24 * 3600 * 1000)  /* … and creation period, in ms */

/* what we ask for: an answer of a size, and a transaction, that nobody minds */
#define CS_API_SLICE    (3600 * 1000)

typedef enum {
    CS_API_OK = 0,
    CS_API_AGAIN,               /* away, overloaded, cut off, or no answer of
                                   this API: the same question again, not
                                   before retry_after */
    CS_API_DENIED,              /* 401, 403: another token is needed */
    CS_API_UNKNOWN,             /* 471: there is no such coupon */
    CS_API_WRONG                /* 1002 or the like: it would say so again */
} cs_api_e;

typedef struct {
    cc_str_t     text;          /* as it came; valid by cc_snapshot_read() */
    unsigned     one;           /* … with this */
    unsigned     count;         /* coupons in it, */
    unsigned     malformed;     /* and how many have not the shape of one */
} cs_reply_t;

typedef struct cs_api_s  cs_api_t;


/* conf outlives it */
cs_api_t *cs_api_create(const cs_api_conf_t *conf);
void cs_api_destroy(cs_api_t *api);

/* coupons whose result was calculated in the last minutes, 1 to 120 */
CC_MUST_USE cs_api_e cs_api_calculated(cs_api_t *api, unsigned minutes);

/* coupons created from `from` until before `to`, at most CS_API_PERIOD */
CC_MUST_USE cs_api_e cs_api_created(cs_api_t *api, int64_t from, int64_t to);

/* coupons by their codes; the API leaves out those it does not know */
CC_MUST_USE cs_api_e cs_api_results(cs_api_t *api, const cs_asked_t *asked);

/* one coupon, which has to have the shape of one; CS_API_UNKNOWN */
CC_MUST_USE cs_api_e cs_api_get(cs_api_t *api, cc_str_t code);

/* the answer of the last call that was CS_API_OK; good until the next call */
const cs_reply_t *cs_api_reply(const cs_api_t *api);

/*
 * Why the last call was not; without secrets, and without bytes that do not
 * belong into a log.
 */
const char *cs_api_error(const cs_api_t *api);

/* how long the API wants to be left alone, in ms; 0: it did not say */
int64_t cs_api_retry_after(const cs_api_t *api);

/* 1 if there is another token than the one of the last call */
unsigned cs_api_new_token(const cs_api_t *api);


#endif /* CS_API_H */

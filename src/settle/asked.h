/*
 * The coupons of one question to the API: their codes, and the version each of
 * them had in the store when it was asked.  Only while that version stands is
 * the answer newer than whatever is stored.
 */

#ifndef CS_ASKED_H
#define CS_ASKED_H

#include "envelope.h"


#define CS_ASKED_MAX  100        /* CONTRACT: codes in one request */

typedef struct {
    unsigned char  code[CC_ID_MAX];
    size_t         len;
    int64_t        version;      /* 0: it was not stored */
    unsigned       answered;     /* the API knows it, and it was settled */
    unsigned       moved;        /* the API knows it, the version is another */
} cs_asked_item_t;

typedef struct {
    size_t           n;
    cs_asked_item_t  items[CS_ASKED_MAX];
} cs_asked_t;


/* copies the code; what is too long for one, or one too many, is left out */
void cs_asked_add(cs_asked_t *asked, cc_str_t code, int64_t version);

cc_str_t cs_asked_code(const cs_asked_item_t *item);

/* NULL: it was not asked for */
cs_asked_item_t *cs_asked_find(cs_asked_t *asked, cc_str_t code);

/* a cs_version_pt; ctx is the cs_asked_t */
void cs_asked_listed(void *ctx, cc_str_t code, int64_t version);


#endif /* CS_ASKED_H */

/*
 * The bets of one coupon; see bets.h.
 *
 * The text buffer moves when it grows, so a bet remembers lengths: its uuid and
 * its raw object follow those of the bet before it.
 */

#include "bets.h"


typedef struct {
    int64_t    status;
    unsigned   has_status;
    size_t     uuid;               /* length */
    size_t     raw;                /* length */
} cs_bet_t;


void
cs_bets_add(cs_bets_t *bets, const cc_event_t *event)
{
    cs_bet_t  bet;
    cc_str_t  bytes;

    memset(&bet, 0, sizeof(cs_bet_t));

    bet.status = event->status;
    bet.has_status = event->has_status;
    bet.uuid = event->uuid.len;
    bet.raw = event->raw.len;

    bytes.data = (const unsigned char *) &bet;
    bytes.len = sizeof(cs_bet_t);

    cs_buffer_add(&bets->bets, bytes);
    cs_buffer_add(&bets->text, event->uuid);
    cs_buffer_add(&bets->text, event->raw);
}


cs_status_e
cs_bets_save(const cs_bets_t *bets, cs_store_t *store, cc_str_t code)
{
    size_t                i, n;
    cc_event_t            event;
    cs_status_e           status;
    const cs_bet_t       *bet;
    const unsigned char  *text;

    bet = (const cs_bet_t *) bets->bets.data;
    n = bets->bets.len / sizeof(cs_bet_t);
    text = bets->text.data;
    status = CS_OK;

    for (i = 0; i < n && status == CS_OK; i++) {

        event.status = bet[i].status;
        event.has_status = bet[i].has_status;
        event.uuid.data = text;
        event.uuid.len = bet[i].uuid;
        event.raw.data = text + bet[i].uuid;
        event.raw.len = bet[i].raw;

        text = event.raw.data + event.raw.len;

        status = cs_store_event_save(store, code, &event);
    }

    return status;
}


void
cs_bets_clear(cs_bets_t *bets)
{
    bets->bets.len = 0;
    bets->text.len = 0;
}


void
cs_bets_free(cs_bets_t *bets)
{
    cs_buffer_free(&bets->bets);
    cs_buffer_free(&bets->text);
}

/*
 * The settlement state machine against the table that people read
 * (settlement.table, or the file named as first argument), and against a
 * promise that holds for histories of any kind: nobody is paid twice.
 *
 * The table is proven whole: each stored state, in doubt or not, has a row for
 * each thing that can be seen and for both who can say it.
 */

#include "tap.h"
#include "unit.h"

#include "settlement.h"


#define FIELDS     8              /* before the operations, "->" included */
#define WORDS      (FIELDS + 2)
#define HISTORIES  20000
#define LEDGER     64

/* what a snapshot may be, as the table's coverage counts it */
enum { SEEN_A, SEEN_R, SEEN_SAME, SEEN_OTHER, SEEN_NONE, SEEN_KINDS };


static unsigned  covered[4][2][SEEN_KINDS][2];


static cc_money_t
money(const char *text)
{
    cc_money_t  m;

    if (cc_money_parse(&m, unit_cstr(text), CC_MONEY_STRING_DIGITS) != 0) {
        (void) printf("Bail out! \"%s\" is no amount\n", text);
        exit(1);
    }

    return m;
}


static void
bad_table(unsigned line, const char *word)
{
    (void) printf("Bail out! line %u of the table: \"%s\"\n", line, word);
    exit(1);
}


/* "final/1:120.50" -> state, generation, amount */
static void
read_stored(cc_settled_t *stored, char *word, unsigned line)
{
    char  *amount, *generation;

    memset(stored, 0, sizeof(cc_settled_t));

    amount = strchr(word, ':');
    if (amount) {
        *amount++ = '\0';
        stored->credited = 1;
        stored->credit = money(amount);
    }

    generation = strchr(word, '/');
    if (generation) {
        *generation++ = '\0';
        stored->generation = (unsigned) atoi(generation);
    }

    while (strcmp(cc_state_name(stored->state), word) != 0) {

        if (stored->state == CC_STATE_RECALCULATING) {
            bad_table(line, word);
        }

        stored->state++;
    }
}


static void
read_flags(cc_settled_t *stored, const char *word, unsigned line)
{
    if (strcmp(word, "doubt") == 0) {
        stored->doubt = "an older doubt";

    } else if (strcmp(word, "confirmed") == 0) {
        stored->confirmed = 1;

    } else if (strcmp(word, "doubt+confirmed") == 0) {
        stored->doubt = "an older doubt";
        stored->confirmed = 1;

    } else if (strcmp(word, "-") != 0) {
        bad_table(line, word);
    }
}


static void
read_snapshot(cc_snapshot_t *seen, const char *what, const char *who,
    unsigned line)
{
    memset(seen, 0, sizeof(cc_snapshot_t));

    if (strcmp(what, "recalculation") == 0) {
        seen->seen = CC_SEEN_RECALCULATION;

    } else if (strncmp(what, "final:", 6) == 0) {
        seen->seen = CC_SEEN_FINAL;
        seen->has_real_win = strcmp(what, "final:none") != 0;

        if (seen->has_real_win) {
            seen->real_win = money(what + 6);
        }

    } else if (strcmp(what, "active") != 0) {
        bad_table(line, what);
    }

    seen->authoritative = strcmp(who, "authority") == 0;

    if (!seen->authoritative && strcmp(who, "callback") != 0) {
        bad_table(line, who);
    }
}


/* the answer in the table's own words, to be compared as text */
static void
write_answer(char *buf, size_t size, const cc_settlement_t *out)
{
    int              n;
    char             amount[CC_MONEY_TEXT];
    unsigned         i;
    cc_operation_t   operation;

    n = snprintf(buf, size, "%s", cc_state_name(out->next.state));
    n += snprintf(buf + n, size - n, "/%u", out->next.generation);

    if (out->next.credited) {
        (void) cc_money_format(amount, out->next.credit);
        n += snprintf(buf + n, size - n, ":%s", amount);
    }

    n += snprintf(buf + n, size - n, " %s%s%s %s",
                  out->next.doubt ? "doubt" : "",
                  out->next.doubt && out->next.confirmed ? "+" : "",
                  out->next.confirmed ? "confirmed"
                                      : out->next.doubt ? "" : "-",
                  out->adopt ? "adopted" : "kept");

    for (i = 0; i < out->noperations; i++) {
        operation = out->operations[i];
        (void) cc_money_format(amount, operation.amount);
        n += snprintf(buf + n, size - n, " %s/%u:%s",
                      cc_operation_name(operation.kind), operation.generation,
                      amount);
    }

    if (out->noperations == 0) {
        (void) snprintf(buf + n, size - n, " nothing");
    }
}


static void
cover(const cc_settled_t *stored, const cc_snapshot_t *seen)
{
    int  kind;

    if (seen->seen == CC_SEEN_FINAL) {
        kind = !seen->has_real_win ? SEEN_NONE
               : !stored->credited
                 || cc_money_compare(stored->credit, seen->real_win) == 0
               ? SEEN_SAME : SEEN_OTHER;

    } else {
        kind = seen->seen == CC_SEEN_ACTIVE ? SEEN_A : SEEN_R;
    }

    covered[stored->state][stored->doubt != NULL][kind]
           [seen->authoritative] = 1;
}


static void
check_row(char **words, unsigned nwords, unsigned line)
{
    int              n;
    char             title[256], want[256], got[256];
    unsigned         i;
    cc_settled_t     stored;
    cc_snapshot_t    seen;
    cc_settlement_t  out;

    (void) snprintf(title, sizeof(title), "line %u: %s %s, %s from %s", line,
                    words[0], words[1], words[2], words[3]);

    n = 0;
    for (i = 5; i < nwords; i++) {
        n += snprintf(want + n, sizeof(want) - n, "%s%s", i == 5 ? "" : " ",
                      words[i]);
    }

    read_stored(&stored, words[0], line);
    read_flags(&stored, words[1], line);
    read_snapshot(&seen, words[2], words[3], line);
    cover(&stored, &seen);

    cc_settle(&out, &stored, &seen);
    write_answer(got, sizeof(got), &out);

    (void) is_str(unit_cstr(got), want, "%s", title);
}


static void
check_table(const char *path)
{
    char      buf[512], *word, *words[WORDS];
    FILE     *file;
    unsigned  line, nwords, rows;

    file = fopen(path, "r");
    if (file == NULL) {
        (void) printf("Bail out! cannot read %s\n", path);
        exit(1);
    }

    rows = 0;

    for (line = 1; fgets(buf, sizeof(buf), file) != NULL; line++) {

        nwords = 0;

        for (word = strtok(buf, " \n"); word; word = strtok(NULL, " \n")) {

            if (nwords == 0 && word[0] == '#') {
                break;
            }

            if (nwords == WORDS) {
                bad_table(line, word);
            }

            words[nwords++] = word;
        }

        if (nwords == 0) {
            continue;
        }

        if (nwords < FIELDS + 1 || strcmp(words[4], "->") != 0) {
            bad_table(line, "too few words");
        }

        check_row(words, nwords, line);
        rows++;
    }

    (void) fclose(file);

    diag("%u rows", rows);
}


static void
check_coverage(void)
{
    int       kind, who, doubt;
    unsigned  state, missing;

    missing = 0;

    for (state = CC_STATE_NONE; state <= CC_STATE_RECALCULATING; state++) {
        for (doubt = 0; doubt < (state == CC_STATE_NONE ? 1 : 2); doubt++) {
            for (kind = 0; kind < SEEN_KINDS; kind++) {
                for (who = 0; who < 2; who++) {

                    /* what was not credited cannot differ from the credit */

                    if (covered[state][doubt][kind][who]
                        || (kind == SEEN_OTHER && state != CC_STATE_FINAL))
                    {
                        continue;
                    }

                    diag("no row: %s, doubt %d, seen %d, authoritative %d",
                         cc_state_name(state), doubt, kind, who);
                    missing++;
                }
            }
        }
    }

    (void) is_int(missing, 0, "the table has a row for every case");
}


static void
check_doubts(void)
{
    cc_settled_t     stored;
    cc_snapshot_t    seen;
    cc_settlement_t  out;

    memset(&stored, 0, sizeof(cc_settled_t));
    memset(&seen, 0, sizeof(cc_snapshot_t));

    stored.state = CC_STATE_FINAL;
    stored.credited = 1;
    stored.credit = money("5");
    stored.doubt = "because";

    cc_settle(&out, &stored, &seen);
    (void) is_str(unit_cstr(out.next.doubt), "because",
                  "a callback leaves the text of a doubt alone");

    seen.authoritative = 1;

    cc_settle(&out, &stored, &seen);
    (void) is_str(unit_cstr(out.next.doubt),
                  "not final any more, without a recalculation",
                  "an authoritative snapshot may set another");

    seen.seen = CC_SEEN_FINAL;

    cc_settle(&out, &stored, &seen);
    (void) is_str(unit_cstr(out.next.doubt),
                  "a final status without real_win",
                  "a final without real_win says so");
}


typedef struct {
    cc_operation_t  operations[LEDGER];
    unsigned        n;
    cc_money_t      sum;
    const char     *wrong;         /* the first promise that was broken */
} ledger_t;


static void
ledger_write(ledger_t *ledger, const cc_operation_t *operation)
{
    unsigned  i;

    for (i = 0; i < ledger->n; i++) {
        if (ledger->operations[i].kind == operation->kind
            && ledger->operations[i].generation == operation->generation)
        {
            ledger->wrong = "a generation has two operations of one kind";
        }
    }

    if (ledger->n == LEDGER
        || cc_money_add(&ledger->sum, ledger->sum, operation->amount) != 0)
    {
        ledger->wrong = "the ledger of the test is too small";
        return;
    }

    ledger->operations[ledger->n++] = *operation;
}


static void
random_snapshot(uint64_t *random, cc_snapshot_t *seen)
{
    static const char  *wins[] = { "0", "10", "10.00", "12.34", "1000" };

    memset(seen, 0, sizeof(cc_snapshot_t));

    seen->seen = (cc_seen_e) unit_below(random, 3);
    seen->has_real_win = unit_below(random, 8) != 0;
    seen->real_win = money(wins[unit_below(random, 5)]);
    seen->authoritative = unit_below(random, 4) == 0;
}


/* one coupon, up to 30 snapshots in any order, with repetitions */

static const char *
check_history(uint64_t *random)
{
    size_t           steps;
    ledger_t         ledger;
    unsigned         i;
    cc_money_t       credited;
    cc_settled_t     stored;
    cc_snapshot_t    seen;
    cc_settlement_t  out;

    memset(&ledger, 0, sizeof(ledger_t));
    memset(&stored, 0, sizeof(cc_settled_t));
    random_snapshot(random, &seen);

    for (steps = unit_below(random, 30); steps > 0; steps--) {

        if (unit_below(random, 3) != 0) {
            random_snapshot(random, &seen);
        }

        cc_settle(&out, &stored, &seen);

        if (stored.doubt && !seen.authoritative && out.noperations) {
            return "money moved on a doubt";
        }

        if (out.next.generation < stored.generation
            || out.next.generation > stored.generation + 1)
        {
            return "a generation was skipped or taken back";
        }

        for (i = 0; i < out.noperations; i++) {
            ledger_write(&ledger, &out.operations[i]);
        }

        stored = out.next;
        credited = stored.credited ? stored.credit : money("0");

        if (stored.credited != (stored.state == CC_STATE_FINAL)) {
            return "a final that was not credited, or the reverse";
        }

        if (cc_money_compare(ledger.sum, credited) != 0) {
            return "the sum of the operations is not what is credited";
        }

        if (ledger.wrong) {
            return ledger.wrong;
        }
    }

    return NULL;
}


static void
check_histories(void)
{
    uint64_t     random, seed;
    unsigned     i, wrong;
    const char  *what;

    wrong = 0;
    random = unit_seed();

    for (i = 0; i < HISTORIES; i++) {
        seed = random;
        what = check_history(&random);

        if (what && wrong++ < 5) {
            diag("history of CC_SEED=%llu: %s", (unsigned long long) seed,
                 what);
        }
    }

    (void) is_int(wrong, 0, "%u random histories: no generation is paid twice, "
                  "the ledger is what is credited", HISTORIES);
}


int
main(int argc, char **argv)
{
    check_table(argc > 1 ? argv[1] : "t/unit/settlement.table");
    check_coverage();
    check_doubts();
    check_histories();

    return done_testing();
}

/* asking.c - bells and answers. */
#include <stdlib.h>

#include "base/bits.h"
#include "base/ticks.h"
#include "base/witness.h"
#include "ledger/bell.h"
#include "ledger/ledger_place.h"

enum { NS_PER_MS = 1000000 };

static uint64_t now_ms(void)
{
    return larder__ticks_system_ns() / NS_PER_MS;
}

/* ---- choosing processes to ask ---------------------------------------------- */

struct giver {
    uint32_t slot;
    uint64_t bytes; /* that it can release, as it last reported */
};

/* Largest cache first. */
static int by_bytes(const void *a, const void *b)
{
    uint64_t of_a = ((const struct giver *)a)->bytes;
    uint64_t of_b = ((const struct giver *)b)->bytes;

    return (of_a < of_b) - (of_a > of_b);
}

static uint64_t spare_of(const struct ledger_slot *s, bool of_all)
{
    uint64_t reserved = word_get(&s->reserved_bytes);
    uint64_t beyond = saturating_sub(reserved, word_get(&s->minimum_bytes));

    return of_all
               ? beyond
               : bits_lesser(beyond, saturating_sub(
                                         reserved, word_get(&s->in_use_bytes)));
}

/* Find processes that can release memory, largest amount first; *sum is the
 * total. */
static size_t find_givers(const struct ledger *l, bool of_all,
                          struct giver out[LEDGER_SLOTS], uint64_t *sum)
{
    size_t count = 0;

    *sum = 0;
    for (uint32_t i = 0; i < LEDGER_SLOTS; i++) {
        const struct ledger_slot *s = &l->page->slots[i];
        uint64_t bytes = spare_of(s, of_all);

        if (s->pid == 0 || s == l->self || bytes == 0)
            continue;
        out[count++] = (struct giver){i, bytes};
        *sum = saturating_add(*sum, bytes);
    }
    qsort(out, count, sizeof *out, by_bytes);
    return count;
}

uint64_t larder__ledger_cached(struct ledger *l)
{
    struct giver givers[LEDGER_SLOTS];
    uint64_t sum = 0;

    if (!larder__ledger_lock(l))
        return 0;
    (void)find_givers(l, false, givers, &sum);
    larder__ledger_unlock(l);
    return sum;
}

/* ---- requests; the lock is held --------------------------------------------- */

/* Whether it has left a request unanswered for longer than others wait. */
static bool is_unresponsive(const struct ledger_slot *s, uint64_t patience_ms)
{
    uint64_t since = word_get(&s->asked_ms);
    uint64_t now = now_ms();

    return s->bell != 0 && now > since && now - since > patience_ms;
}

struct ledger_asked larder__ledger_ring(struct ledger *l, uint32_t number,
                                        uint64_t bytes)
{
    struct ledger_slot *s = &l->page->slots[number];
    struct ledger_asked asked = {
        .slot = number,
        .ticket = s->asked + 1,
        .given_before = word_get(&s->given_bytes),
    };

    if (s->bell == 0)
        word_set(&s->asked_ms, now_ms());
    atomic_fetch_add(&s->asked_bytes, bytes);
    s->asked = asked.ticket;
    s->bell = 1;
    larder__bell_wake(&s->bell);
    return asked;
}

size_t larder__ledger_ask(struct ledger *l, uint64_t bytes, bool of_all,
                          uint64_t patience_ms, struct ledger_round *round)
{
    struct giver givers[LEDGER_SLOTS];
    uint64_t wanted = bytes;
    uint64_t sum;
    size_t count;

    round->count = 0;
    if (!larder__ledger_lock(l))
        return 0;
    larder__ledger_sweep(l);
    count = find_givers(l, of_all, givers, &sum);
    if (!of_all && sum < bytes) { /* by what they reported */
        of_all = true;
        count = find_givers(l, of_all, givers, &sum);
    }
    for (size_t i = 0; i < count && wanted > 0; i++) {
        uint64_t part = bits_lesser(givers[i].bytes, wanted);
        bool waits =
            !is_unresponsive(&l->page->slots[givers[i].slot], patience_ms);
        struct ledger_asked asked =
            larder__ledger_ring(l, givers[i].slot, part);

        if (waits)
            round->asked[round->count++] = asked;
        if (!of_all)
            wanted -= part;
    }
    larder__ledger_unlock(l);
    return round->count;
}

/* The tickets of a place go up while one process has it: if the last is below
 * ours, another process has taken the place. */
static bool has_answered(const struct ledger *l, const struct ledger_asked *a)
{
    const struct ledger_slot *s = &l->page->slots[a->slot];

    return (int32_t)(s->answered - a->ticket) >= 0 ||
           (int32_t)(s->asked - a->ticket) < 0 || s->pid == 0 ||
           !larder__token_is_held(&l->shared, a->slot);
}

bool larder__ledger_is_answered(const struct ledger *l,
                                const struct ledger_round *round,
                                uint64_t *given)
{
    *given = 0;
    for (size_t i = 0; i < round->count; i++) {
        const struct ledger_asked *a = &round->asked[i];

        if (!has_answered(l, a))
            return false;
        *given = saturating_add(
            *given,
            saturating_sub(word_get(&l->page->slots[a->slot].given_bytes),
                           a->given_before));
    }
    return true;
}

/* ---- answering ------------------------------------------------------------ */

/* Clear the bell first: a process that asks while this is read rings again. */
struct ledger_question larder__ledger_read_question(struct ledger *l)
{
    struct ledger_slot *s = l->self;
    struct ledger_question q;
    uint64_t told;

    s->bell = 0;
    q.ticket = s->asked;
    q.bytes = atomic_exchange(&s->asked_bytes, 0);
    told = word_get(&s->told_limit_bytes);
    mutex_take(&l->lock, RANK_LEDGER);
    l->told_limit_bytes = told == 0 ? UINT64_MAX : told;
    mutex_leave(&l->lock);
    return q;
}

void larder__ledger_answer(struct ledger *l, const struct ledger_question *q,
                           uint64_t given_bytes)
{
    mutex_take(&l->lock, RANK_LEDGER);
    l->given_bytes += given_bytes;
    word_set(&l->self->given_bytes, l->given_bytes);
    mutex_leave(&l->lock);
    l->self->answered = q->ticket;
}

void larder__ledger_sleep(const struct ledger *l, uint64_t ns)
{
    larder__bell_wait(&l->self->bell, ns);
}

void larder__ledger_wake(struct ledger *l)
{
    l->self->bell = 1;
    larder__bell_wake(&l->self->bell);
}

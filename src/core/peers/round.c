/* round.c - asks other processes for memory, and waits for their answers. */
#include <time.h>

#include "base/ticks.h"
#include "core/history/recording.h"
#include "core/peers/company.h"
#include "core/state/held.h"
#include "core/state/paged.h"

enum { NS_PER_MS = 1000000, NAP_MIN_NS = 20000, NAP_MAX_NS = 1000000 };

/* ---- one round ---------------------------------------------------------- */

/* Wait until all have answered or time is up, and answer meanwhile because
 * others may be waiting too.  Returns the bytes released. */
static uint64_t wait_for_answers(struct peers *p,
                                 const struct ledger_round *round,
                                 uint64_t until_ns)
{
    struct timespec nap = {.tv_nsec = NAP_MIN_NS};
    uint64_t given;

    while (!larder__ledger_is_answered(p->ledger, round, &given) &&
           larder__ticks_system_ns() < until_ns) {
        if (ledger_is_asked(p->ledger))
            larder__peers_answer(p);
        nanosleep(&nap, NULL);
        if (nap.tv_nsec < NAP_MAX_NS)
            nap.tv_nsec *= 2;
    }
    return given;
}

/* The amounts that others report as cached may be out of date: if they are not
 * enough, ask every process that has more than its minimum.  Returns whether
 * memory was released. */
static bool ask_others(struct peers *p, uint64_t bytes, uint64_t patience_ms,
                       uint64_t until_ns)
{
    struct ledger_round round;

    for (int of_all = 0; of_all < 2; of_all++) {
        if (larder__ledger_ask(p->ledger, bytes, of_all, patience_ms, &round) >
                0 &&
            wait_for_answers(p, &round, until_ns) > 0)
            return true;
    }
    return false;
}

/* ---- one search --------------------------------------------------------- */

uint64_t larder__peers_moves(const struct allocator *a)
{
    return a->peers == NULL ? 0 : ledger_moves(a->peers->ledger);
}

struct peers_search larder__peers_search(const struct allocator *a)
{
    return (struct peers_search){
        .patience_ms = a->conf.ask_budget_ms,
        .moves = larder__peers_moves(a),
    };
}

static bool is_in_time(struct peers_search *s)
{
    uint64_t now_ns = larder__ticks_system_ns();
    uint64_t patience_ns = s->patience_ms > UINT64_MAX / NS_PER_MS
                               ? UINT64_MAX
                               : s->patience_ms * NS_PER_MS;

    if (s->until_ns == 0)
        s->until_ns = saturating_add(now_ns, patience_ns);
    return now_ns < s->until_ns;
}

/* Remove dead processes first: what they held is free. */
static uint64_t moves_now(struct ledger *l)
{
    if (larder__ledger_lock(l)) {
        larder__ledger_sweep(l);
        larder__ledger_unlock(l);
    }
    return ledger_moves(l);
}

/* After a round without success every process has reported what it uses; if
 * even that leaves too little, there is not enough memory.  Otherwise continue
 * while memory moves: two processes that share in turns each see the other's
 * part become free. */
bool larder__peers_search_again(struct peers *p, struct peers_search *s,
                                uint64_t lacking)
{
    const struct timespec nap = {.tv_nsec = NAP_MAX_NS};
    uint64_t before = s->moves;

    if (!is_in_time(s) ||
        (s->was_in_vain && lacking > larder__ledger_cached(p->ledger)))
        return false;
    s->was_in_vain = !ask_others(p, lacking == 0 ? PAGE_BYTES : lacking,
                                 s->patience_ms, s->until_ns);
    s->moves = moves_now(p->ledger);
    if (s->was_in_vain && s->moves != before)
        nanosleep(&nap, NULL);
    return !s->was_in_vain || s->moves != before;
}

/* How much more the device must have, beside what this process holds elsewhere
 * and can move; 0: it seems to have enough. */
static uint64_t lacking_of(struct allocator *a, uint64_t need)
{
    uint64_t free_bytes = 0;
    uint64_t total;

    (void)larder_device_mem_info(a->device, &free_bytes, &total);
    return saturating_sub(
        need, saturating_add(larder__ledger_room(a->peers->ledger, free_bytes),
                             larder__paged_movable_bytes(a)));
}

bool larder__peers_help(struct allocator *a, struct peers_search *s,
                        uint64_t need)
{
    const struct history_call call = a->call;
    uint64_t lacking;
    bool goes_on;

    if (a->peers == NULL ||
        need > saturating_add(larder__ledger_allowance(a->peers->ledger),
                              larder__paged_movable_bytes(a)))
        return false;
    lacking = lacking_of(a, need);
    allocator_unlock(a);
    goes_on = larder__peers_search_again(a->peers, s, lacking);
    allocator_lock(a);
    history_reenter(a, call);
    return goes_on;
}

bool larder__peers_help_owner(struct allocator *a, const struct holding *h,
                              struct peers_search *s, uint64_t need)
{
    if (allocator_make_room(a))
        return true;
    return held_allows_owner(
               a, h, saturating_sub(need, larder__paged_movable_bytes(a))) &&
           larder__peers_help(a, s, need);
}

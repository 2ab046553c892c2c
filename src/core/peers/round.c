/* round.c - asking others, and waiting for what they say. */
#include <time.h>

#include "base/ticks.h"
#include "core/peers/company.h"
#include "core/peers/peers.h"

enum { NS_PER_MS = 1000000, NAP_MIN_NS = 20000, NAP_MAX_NS = 1000000 };

/* ---- a round ---------------------------------------------------------------- */

/* Until all have answered, or it is time; answering meanwhile, as they may be
 * waiting themselves.  Bytes given. */
static uint64_t await(struct peers *p, const struct ledger_round *round,
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

/* What they say that they cache may be old: where it is not enough, everybody
 * is asked who has more than its minimum. */
bool larder__peers_ask_for(struct peers *p, uint64_t bytes,
                           uint64_t patience_ns, uint64_t until_ns)
{
    uint64_t patience_ms = patience_ns / NS_PER_MS;
    struct ledger_round round;

    for (int of_all = 0; of_all < 2; of_all++) {
        if (larder__ledger_ask(p->ledger, bytes, of_all, patience_ms, &round) >
                0 &&
            await(p, &round, until_ns) > 0)
            return true;
    }
    return false;
}

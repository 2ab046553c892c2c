/* ledger_place.h - this process's place in the ledger of a device: a page of
 * shared memory that records how much memory each process holds.
 *
 * Accounting: a process that wants memory of the device claims it first, and
 * settles the claim when the device has answered.  A process that returns
 * memory announces it before, and confirms it after.  So the ledger never shows
 * less than a process holds, and a granted minimum is available when it is
 * needed: no claim by another process takes free memory that minima still need.
 *
 * Asking: a process rings the bells of others and says how many bytes it wants.
 * Each answers in its next call, or from a thread of its own.
 *
 * All calls may be made from any thread.  None waits for another process longer
 * than LEDGER_PATIENCE_NS, so a process that is stopped within the few
 * instructions that hold the lock does not block others. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "base/shared_object.h"
#include "ledger/ledger_page.h"

#define LEDGER_PATIENCE_NS UINT64_C(1000000000)

/* Identifies a ledger; filled in by the caller. */
struct ledger_spec {
    unsigned char uuid[16]; /* the device's */
    bool is_of_group;       /* shared with a group, not only the user's */
    gid_t group;
    bool is_simulated;
    const char *device; /* its name */
    uint64_t total_bytes;
    uint64_t context_bytes; /* driver's memory for each process; 0: unknown */
};

/* The free bytes of the device that was set, or of none: NULL.  False: unknown. */
typedef bool ledger_free_fn(void *device, uint64_t *out);

struct ledger {
    struct shared_object shared;
    struct ledger_page *page;
    struct ledger_slot *self; /* NULL: opened only for inspection */
    uint64_t total_bytes;
    uint64_t context_bytes;  /* counted from joining on */
    ledger_free_fn *free_fn; /* NULL: free bytes are unknown */

    pthread_mutex_t lock; /* guards the rest; taken before the page's lock */
    void *device;         /* for free_fn */
    uint64_t reserved_bytes;
    uint64_t pending_bytes;
    uint64_t in_use_bytes;
    uint64_t minimum_bytes;
    uint64_t limit_bytes; /* UINT64_MAX: none */
    uint64_t told_limit_bytes;
    uint64_t group_limit_bytes; /* UINT64_MAX: not set by this process */
    uint64_t given_bytes;
    ledger_word moves; /* of the page's moves, those of this process */
};

/* ---- opening (ledger.c) ------------------------------------------------- */

/* Join the device's ledger, or create it, with a place of our own.  ERR_SYSTEM:
 * it is unavailable or cannot be trusted; ERR_BUSY: it is full;
 * ERR_NO_HOST_MEMORY. */
larder_result larder__ledger_open(const struct ledger_spec *spec,
                                  ledger_free_fn *free_fn, struct ledger **out);

/* Once it returns no call of free_fn uses another device. */
void larder__ledger_set_device(struct ledger *l, void *device);

/* Leave, or end the inspection; the last process removes the ledger. */
void larder__ledger_close(struct ledger *l);

/* Open an existing ledger for inspection, by id.  ERR_INVALID: there is
 * none. */
larder_result larder__ledger_inspect(const char *id, struct ledger **out);

/* Take the page's lock and the process's own.  False: the lock was not
 * available in time, and neither is held. */
bool larder__ledger_lock(struct ledger *l);
void larder__ledger_unlock(struct ledger *l);

/* Free the slots of dead processes, with the lock held. */
void larder__ledger_sweep(struct ledger *l);

/* ---- accounting (books.c) ----------------------------------------------- */

enum ledger_refusal {
    LEDGER_GRANTED,
    LEDGER_OVER_LIMIT, /* limit of this process */
    LEDGER_OVER_GROUP, /* limit of all together */
    LEDGER_KEPT        /* reserved for others' minima */
};

/* Claim `bytes` before acquiring them.  Settle the claim afterwards. */
enum ledger_refusal larder__ledger_claim(struct ledger *l, uint64_t bytes);
/* Announce that `bytes` are being returned.  Settle that afterwards. */
void larder__ledger_returning(struct ledger *l, uint64_t bytes);
/* What was claimed or being returned is held now, or not. */
void larder__ledger_settle(struct ledger *l, uint64_t bytes, bool is_held);

/* The memory that the program uses has changed by `change`. */
void larder__ledger_use(struct ledger *l, int64_t change);

/* Set the minimum reserved for this process.  LEDGER_KEPT: free memory, less
 * what other minima lack, is *lacking bytes too small. */
enum ledger_refusal larder__ledger_keep(struct ledger *l, uint64_t minimum,
                                        uint64_t *lacking);

/* UINT64_MAX: none. */
void larder__ledger_set_limits(struct ledger *l, uint64_t limit,
                               uint64_t group_limit);

/* The room that the others leave to this process according to the ledger, if
 * the device has `free_bytes`. */
uint64_t larder__ledger_room(struct ledger *l, uint64_t free_bytes);

/* The room that its own limit leaves, whatever others hold. */
uint64_t larder__ledger_allowance(struct ledger *l);

/* Bytes to return when another process asks for so many: of those beyond its
 * minimum, and what it holds beyond its limit, which may have been lowered. */
uint64_t larder__ledger_due(struct ledger *l, uint64_t asked);

/* A number that changes when other processes acquire or return memory, or end.
 * While it stays the same, memory that was not available is still unavailable,
 * unless a process releases it on request.  It may change because of this
 * process's own move in another thread.  No lock: every request that misses
 * reads it. */
static inline uint64_t ledger_moves(const struct ledger *l)
{
    return word_get(&l->page->moves) - word_get(&l->moves);
}

/* ---- requests and answers (asking.c) ------------------------------------ */

/* The processes that were asked, and what they had released before. */
struct ledger_round {
    size_t count;
    struct ledger_asked {
        uint32_t slot;
        uint32_t ticket;
        uint64_t given_before;
    } asked[LEDGER_SLOTS];
};

/* Ask for `bytes`: from the processes that cache most beyond their minima, as
 * many as needed.  With `of_all`, or if they report too little, ask every
 * process that has more than its minimum, because reports may be out of date.
 * A process whose bell has rung for longer than patience_ms is asked but not
 * waited for.  Returns how many to wait for. */
size_t larder__ledger_ask(struct ledger *l, uint64_t bytes, bool of_all,
                          uint64_t patience_ms, struct ledger_round *round);

/* Ask one process and ring its bell, with the lock held. */
struct ledger_asked larder__ledger_ring(struct ledger *l, uint32_t number,
                                        uint64_t bytes);

/* What others cache beyond their minima, as last reported. */
uint64_t larder__ledger_cached(struct ledger *l);

/* Whether all of them have answered or died; *given is what they have released
 * since. */
bool larder__ledger_is_answered(const struct ledger *l,
                                const struct ledger_round *round,
                                uint64_t *given);

struct ledger_question {
    uint32_t ticket;
    uint64_t bytes; /* to be released, if possible */
};

/* The word that is not 0 while this process has a request. */
static inline const _Atomic uint32_t *ledger_bell(const struct ledger *l)
{
    return &l->self->bell;
}

static inline bool ledger_is_asked(const struct ledger *l)
{
    return atomic_load_explicit(ledger_bell(l), memory_order_relaxed) != 0;
}

/* Read the request, and clear the bell. */
struct ledger_question larder__ledger_read_question(struct ledger *l);
void larder__ledger_answer(struct ledger *l, const struct ledger_question *q,
                           uint64_t given_bytes);

/* Sleep until the bell rings, for at most `ns`. */
void larder__ledger_sleep(const struct ledger *l, uint64_t ns);
/* Wake that sleeper, in this process. */
void larder__ledger_wake(struct ledger *l);

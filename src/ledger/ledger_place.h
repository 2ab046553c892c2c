/* ledger_place.h - this process's place in the ledger of a device: a page
 * of shared memory that says which process has how much of it.
 *
 * The books.  Whoever is to get memory of the device claims it first, and
 * settles when the device has answered; who gives some back says so before and
 * after.  So what the books say a process has is never less than what it has,
 * and a minimum that was granted is there when it is needed: no claim of
 * another takes what is free below what minima still lack.
 *
 * Asking.  A process rings others' bells and says how many bytes it wants; each
 * answers at its next call, or by a thread of its own.
 *
 * All calls from any thread.  None waits for another process for longer than
 * LEDGER_PATIENCE_NS: who is stopped within the few instructions that have the
 * lock is not waited for. */
#ifndef LARDER_LEDGER_LEDGER_PLACE_H
#define LARDER_LEDGER_LEDGER_PLACE_H

#include <pthread.h>
#include <stdbool.h>

#include "base/shared_object.h"
#include "ledger/ledger_page.h"

#define LEDGER_PATIENCE_NS UINT64_C(1000000000)

/* Which ledger: filled in by who opens it. */
struct ledger_spec {
    unsigned char uuid[16]; /* the device's */
    bool is_of_group;       /* not the user's alone */
    gid_t group;
    bool is_simulated;
    const char *device; /* its name */
    uint64_t total_bytes;
    uint64_t context_bytes; /* what the driver takes per process; 0: unknown */
};

/* The device's free bytes now; false: it does not say. */
typedef bool ledger_free_fn(void *ctx, uint64_t *out);

struct ledger {
    struct shared_object shared;
    struct ledger_page *page;
    struct ledger_slot *self; /* NULL: only looked at */
    uint64_t total_bytes;
    uint64_t context_bytes;  /* counted from joining on */
    ledger_free_fn *free_fn; /* NULL: nobody says what is free */
    void *free_ctx;

    pthread_mutex_t lock; /* of what follows, and before the page's */
    uint64_t reserved_bytes;
    uint64_t pending_bytes;
    uint64_t in_use_bytes;
    uint64_t minimum_bytes;
    uint64_t limit_bytes; /* UINT64_MAX: none */
    uint64_t told_limit_bytes;
    uint64_t group_limit_bytes; /* UINT64_MAX: this process sets none */
    uint64_t given_bytes;
    ledger_word moves; /* of the page's, those of this process */
};

/* ---- opening (ledger.c) ----------------------------------------------------- */

/* Join the device's ledger, or begin it, with a place of one's own.
 * LARDER_ERR_SYSTEM if it cannot be had or trusted, LARDER_ERR_BUSY if it is
 * full, LARDER_ERR_NO_HOST_MEMORY. */
larder_result larder__ledger_open(const struct ledger_spec *spec,
                                  ledger_free_fn *free_fn, void *ctx,
                                  struct ledger **out);

/* Leave; the last one removes it. */
void larder__ledger_close(struct ledger *l);

/* One that exists, to look at, by the name that its id is; LARDER_ERR_INVALID
 * if there is none such. */
larder_result larder__ledger_look(const char *id, struct ledger **out);
void larder__ledger_look_away(struct ledger *l);

/* The page's lock, with the process's own; false: it was not to be had in
 * time, and the process's own is not taken either. */
bool larder__ledger_lock(struct ledger *l);
void larder__ledger_unlock(struct ledger *l);

/* Slots whose processes have died become free; with the lock. */
void larder__ledger_sweep(struct ledger *l);

/* ---- the books (books.c) ---------------------------------------------------- */

enum ledger_refusal {
    LEDGER_GRANTED,
    LEDGER_OVER_LIMIT, /* of this process */
    LEDGER_OVER_GROUP, /* of all together */
    LEDGER_KEPT        /* for others' minima */
};

/* So many more bytes are about to be had: to be settled. */
enum ledger_refusal larder__ledger_claim(struct ledger *l, uint64_t bytes);
/* They came, or did not. */
void larder__ledger_settle(struct ledger *l, uint64_t bytes, bool came);

/* So many are about to go back, and did, or did not. */
void larder__ledger_returning(struct ledger *l, uint64_t bytes);
void larder__ledger_returned(struct ledger *l, uint64_t bytes, bool went);

/* What the program uses has changed by so much. */
void larder__ledger_use(struct ledger *l, int64_t change);

/* Keep so much for this process from now on: LEDGER_KEPT if what is free, less
 * what others' minima lack, is too little, by *lacking bytes. */
enum ledger_refusal larder__ledger_keep(struct ledger *l, uint64_t minimum,
                                        uint64_t *lacking);

/* UINT64_MAX: none. */
void larder__ledger_set_limits(struct ledger *l, uint64_t limit,
                               uint64_t group_limit);

/* What others leave to this process by the books, if the device has `free`. */
uint64_t larder__ledger_room(struct ledger *l, uint64_t free_bytes);

/* What its own limit leaves, whatever others do. */
uint64_t larder__ledger_allowance(struct ledger *l);

/* What is to go back for the process's limit to be kept: it may have been
 * lowered. */
uint64_t larder__ledger_excess(struct ledger *l);

/* What it has beyond its minimum. */
uint64_t larder__ledger_spare(struct ledger *l);

/* A number that changes when others' memory comes or goes, or they end: while
 * it stays the same, what was not there to be had is not there now, unless
 * somebody gives.  It may change for a move of this process that is under way
 * in another thread.  No lock: every request that misses asks. */
static inline uint64_t ledger_moves(const struct ledger *l)
{
    return word_get(&l->page->moves) - word_get(&l->moves);
}

/* ---- asking and answering (asking.c) ----------------------------------------- */

/* Those that were asked, and what they had given before. */
struct ledger_round {
    size_t count;
    struct ledger_asked {
        uint16_t slot;
        uint32_t ticket;
        uint64_t given_before;
    } asked[LEDGER_SLOTS];
};

/* Ask for `bytes`: of those that cache most beyond their minima, as many as it
 * takes.  With `of_all`, and where they cache too little, of each that has more
 * than its minimum: what it said that it caches may be old.  Whose bell rings for longer than patience_ms is asked
 * and not waited for.  How many are waited for. */
size_t larder__ledger_ask(struct ledger *l, uint64_t bytes, bool of_all,
                          uint64_t patience_ms, struct ledger_round *round);

/* Ask one, and ring its bell; with the lock. */
struct ledger_asked larder__ledger_ring(struct ledger *l, uint16_t number,
                                        uint64_t bytes);

/* What others cache beyond their minima, as far as they said. */
uint64_t larder__ledger_cached(struct ledger *l);

/* Whether all of them have answered, or have died; *given gets what they gave
 * since. */
bool larder__ledger_is_answered(const struct ledger *l,
                                const struct ledger_round *round,
                                uint64_t *given);

struct ledger_question {
    uint32_t ticket;
    uint64_t bytes; /* to be given back, if they can be */
};

/* The word that is not 0 while this process is asked something. */
static inline const _Atomic uint32_t *ledger_bell(const struct ledger *l)
{
    return &l->self->bell;
}

static inline bool ledger_is_asked(const struct ledger *l)
{
    return atomic_load_explicit(ledger_bell(l), memory_order_relaxed) != 0;
}

/* What is asked; the bell is silent then. */
struct ledger_question larder__ledger_hear(struct ledger *l);
void larder__ledger_answer(struct ledger *l, const struct ledger_question *q,
                           uint64_t given_bytes);

/* Sleep until the bell rings, or for so long. */
void larder__ledger_doze(const struct ledger *l, uint64_t ns);
/* Wake who does, in this process. */
void larder__ledger_rouse(struct ledger *l);

#endif

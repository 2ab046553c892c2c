/* peers.h - cooperation with other processes on the device.  This process
 * records what it holds in a shared ledger (ledger/ledger_place.h), asks the
 * others for memory that it lacks, and releases memory that they ask for.
 * Private to core.
 *
 * There is one object for each device that a process shares, however many
 * allocators use it.  An allocator on a device that no other process can use
 * has none, and skips all of this.
 *
 * Locks: the list's before the allocators'; the ledger's own last. */
#pragma once

#include "core/state/shard.h"

/* Release up to `bytes` of the allocator's cached memory for others, and report
 * what is in use.  Returns how many bytes were released.  Called without the
 * allocator's locks. */
typedef uint64_t peers_give_fn(struct allocator *a, uint64_t bytes);

/* Join the other processes on the allocator's device, as its settings say,
 * before the allocator is used.  Nothing happens if there cannot be others, or
 * if the ledger is unavailable and the settings do not ask for it.
 * ERR_OUT_OF_MEMORY: the minimum cannot be reserved; ERR_SYSTEM, ERR_BUSY,
 * ERR_CONF: there is no ledger. */
larder_result larder__peers_join(struct allocator *a, peers_give_fn *give);

/* Once it returns no other thread has the allocator give, nor asks its device.
 * Call it before the allocator's memory is returned, without its locks. */
void larder__peers_withdraw(struct allocator *a);

/* Leave, after all drawn memory was returned.  Called without the allocator's
 * locks. */
void larder__peers_leave(struct allocator *a);

/* Apply changed settings.  On error nothing has changed: ERR_OUT_OF_MEMORY for
 * a minimum that free memory does not allow, ERR_NO_HOST_MEMORY or ERR_SYSTEM
 * for a thread that cannot be created. */
larder_result larder__peers_configure(struct allocator *a);

/* Report what the allocator's program uses.  Its locks are held. */
void larder__peers_report_use(struct allocator *a);

/* What the slow path, which tells cheaply, may leave untold. */
#define PEERS_TOLD_WITHIN ((int64_t)1 << 20)

/* The same after a call that changed much: what a process used last is shown
 * for as long as it makes no other call. */
static inline void peers_keep_told(struct allocator *a)
{
    int64_t change;

    if (a->peers == NULL)
        return;
    change = metric_all(&a->stats.allocated_bytes) - a->told_use;
    if (change >= PEERS_TOLD_WITHIN || change <= -PEERS_TOLD_WITHIN)
        larder__peers_report_use(a);
}

/* Answer requests of other processes.  Called without the allocators' locks. */
void larder__peers_answer(struct peers *p);

/* The same, if there are any. */
static inline void peers_answer_calls(struct allocator *a)
{
    if (shards_are_called(a))
        larder__peers_answer(a->peers);
}

/* The same at the beginning of a call that holds the allocator's locks; they
 * are dropped and retaken. */
static inline void peers_answer_calls_locked(struct allocator *a)
{
    if (!shards_are_called(a))
        return;
    allocator_unlock(a);
    larder__peers_answer(a->peers);
    allocator_lock(a);
}

/* ---- asking other allocators -------------------------------------------- */

/* Changes whenever other processes acquire or release memory.  A cheap start
 * for a request that may not need peers_search. */
uint64_t larder__peers_moves(const struct allocator *a);

/* A search that others may help with, for at most ask_budget_ms. */
struct peers_search {
    uint64_t patience_ms; /* total time, in ms */
    uint64_t until_ns;    /* 0: no process was asked yet */
    uint64_t moves;       /* of the ledger, before the last search */
    bool was_in_vain;     /* no process released memory when last asked */
};

/* Call it before the first search, with the lock held.  There may be no
 * peers. */
struct peers_search larder__peers_search(const struct allocator *a);

/* After a search that lacked `lacking` bytes (0: there seems to be enough): ask
 * the others, and wait for their answers while answering theirs.  Returns
 * whether to search again: they released memory, or it became free in another
 * way (a process that was asked has died, or had already released it).  No lock
 * is held. */
bool larder__peers_search_again(struct peers *p, struct peers_search *s,
                                uint64_t lacking);

/* The same for a call that lacks `need` bytes and holds the allocator's locks,
 * which are dropped and retaken.  False: there are no peers, or their memory
 * would not help because this process's own limit forbids it. */
bool larder__peers_help(struct allocator *a, struct peers_search *s,
                        uint64_t need);

/* The same for memory of a tag or region that lacks `need` bytes, within its
 * limit and this process's; freed memory that `debug` keeps comes first. */
bool larder__peers_help_owner(struct allocator *a, const struct holding *h,
                              struct peers_search *s, uint64_t need);

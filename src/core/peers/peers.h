/* peers.h - the other processes on the device: what this one has is in the
 * ledger they share (ledger/ledger_place.h), what it lacks it asks them for, and what
 * they ask for it gives back.  Private to core.
 *
 * One object for each device that a process shares, whatever number of
 * allocators are on it.  An allocator whose device no other process can have
 * has none, and all of this is left out.
 *
 * Locks: the list's before the allocators'; the ledger's own last of all. */
#ifndef LARDER_CORE_PEERS_H
#define LARDER_CORE_PEERS_H

#include "core/state/shard.h"

/* Give others up to `bytes` of what the allocator caches, and say what is in
 * use; how many bytes went.  Without the allocator's locks. */
typedef uint64_t peers_give_fn(struct allocator *a, uint64_t bytes);

/* Join the others on the allocator's device, as its settings say; before the
 * allocator is used.  Nothing happens where there cannot be others, and, unless
 * the settings ask for it, where the ledger cannot be had.  ERR_OUT_OF_MEMORY:
 * the minimum that is wanted cannot be kept; ERR_SYSTEM, ERR_BUSY, ERR_CONF:
 * why there is no ledger. */
larder_result larder__peers_join(struct allocator *a, peers_give_fn *give);

/* All that was drawn has been returned.  Without the allocator's locks. */
void larder__peers_leave(struct allocator *a);

/* The settings have changed: ERR_OUT_OF_MEMORY for a minimum that what is free
 * does not leave, and ERR_NO_HOST_MEMORY, ERR_SYSTEM for a thread that cannot
 * be made; nothing has changed then. */
larder_result larder__peers_configure(struct allocator *a);

/* Say what the allocator's program uses.  Its locks are held. */
void larder__peers_tell_use(struct allocator *a);

/* Answer what others ask.  Without the allocators' locks. */
void larder__peers_answer(struct peers *p);

/* The same if they do ask. */
static inline void peers_heed(struct allocator *a)
{
    if (shards_are_called(a))
        larder__peers_answer(a->peers);
}

/* The same in a call that has the allocator's locks, at its beginning: they are
 * dropped meanwhile. */
static inline void peers_heed_locked(struct allocator *a)
{
    if (!shards_are_called(a))
        return;
    allocator_unlock(a);
    larder__peers_answer(a->peers);
    allocator_lock(a);
}

/* ---- asking ------------------------------------------------------------------ */

/* What others leave to this process, if the device has so much left; and what
 * its own limit does. */
uint64_t larder__peers_room(const struct peers *p, uint64_t free_bytes);
uint64_t larder__peers_allowance(const struct peers *p);

/* Changes when others' memory comes or goes: what a search of the allocator
 * begins with, alone, for one that may need nobody. */
uint64_t larder__peers_moves(const struct allocator *a);

/* A search that others are to help with, for as long as ask_budget_ms says. */
struct peers_search {
    uint64_t patience_ms; /* in all */
    uint64_t until_ns;    /* 0: nobody was asked yet */
    uint64_t moves;       /* of the ledger, before it last looked */
    bool was_in_vain;     /* nobody gave anything when last asked */
};

/* Before it looks for the first time.  There may be no others.  The lock is
 * held. */
struct peers_search larder__peers_search(const struct allocator *a);

/* It found nothing, by so many bytes; 0: there seems to be enough.  Ask the
 * others, and wait for their answers, answering meanwhile.  Whether to look
 * again: they gave something, or memory came free in another way (who was asked
 * has died, or had returned it already).  No lock is held. */
bool larder__peers_search_goes_on(struct peers *p, struct peers_search *s,
                                  uint64_t lacking);

/* The same for a call that found no `need` bytes, and has the allocator's locks:
 * they are dropped meanwhile.  False where there are no others, or where their
 * memory would not help: the process's own limit forbids it. */
bool larder__peers_help(struct allocator *a, struct peers_search *s,
                        uint64_t need);

#endif

/* ledger_page.h - the contents of a ledger's shared memory.  Private to the
 * ledger.
 *
 * Any member can write anything there.  So no value that is read is used as an
 * index, an address or a length; sums saturate; and what a process knows about
 * itself it keeps elsewhere, and only writes here.  Every word is written by a
 * single store, so a process that dies leaves no change half done. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

enum {
    LEDGER_SLOTS = 256,
    LEDGER_LOCK = LEDGER_SLOTS, /* the token that is the page's lock */
    LEDGER_NAME_BYTES = 32,
    LEDGER_DEVICE_BYTES = 64,
    LEDGER_LINE_BYTES = 64
};

#define LEDGER_MAGIC UINT64_C(0x6c647267626f6f6c)

typedef _Atomic uint64_t ledger_word;

/* A process that uses the device. */
struct ledger_slot {
    /* Written by the process itself. */
    _Alignas(LEDGER_LINE_BYTES) _Atomic int64_t pid; /* 0: free */
    ledger_word context_bytes;
    ledger_word reserved_bytes; /* including what it is about to acquire */
    ledger_word pending_bytes;  /* the part of it being acquired or returned */
    ledger_word in_use_bytes;   /* as last reported */
    ledger_word minimum_bytes;
    ledger_word limit_bytes;       /* 0: none */
    ledger_word group_limit_bytes; /* for all processes together; 0: none */
    ledger_word given_bytes;       /* total released on request */
    _Atomic uint32_t answered;     /* last ticket that it answered */
    char name[LEDGER_NAME_BYTES];

    /* Written by others under the page's lock. */
    _Alignas(LEDGER_LINE_BYTES) _Atomic uint32_t bell; /* 1: asked */
    _Atomic uint32_t asked;                            /* last ticket drawn */
    ledger_word asked_bytes;      /* to be released, if possible */
    ledger_word asked_ms;         /* when the bell was rung */
    ledger_word told_limit_bytes; /* limit set from outside; 0: none */
};

struct ledger_page {
    ledger_word magic; /* set last, when the rest is complete */
    ledger_word total_bytes;
    /* Memory held outside of the ledger, as last measured. */
    ledger_word others_bytes;
    /* How often memory was acquired, returned, or left by dead processes. */
    ledger_word moves;
    _Atomic uint32_t is_simulated;
    char device[LEDGER_DEVICE_BYTES];
    struct ledger_slot slots[LEDGER_SLOTS];
};

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "words that are written whole");

static inline uint64_t word_get(const ledger_word *word)
{
    return atomic_load_explicit((ledger_word *)word, memory_order_acquire);
}

static inline void word_set(ledger_word *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_release);
}

/* ---- saturating arithmetic -------------------------------------------------- */

static inline uint64_t saturating_add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static inline uint64_t saturating_sub(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* ledger_page.h - what lies in the shared memory of a ledger.  Private to the
 * ledger.
 *
 * Anything may stand there: who is let in can write what it likes.  So nothing
 * that is read is an index, an address or a length, a sum stops at its largest
 * value, and what a process knows of itself it keeps, and writes again, but
 * never reads.  Every word is written by one store: there is no half of a
 * change that a death could leave. */
#ifndef LARDER_LEDGER_PAGE_H
#define LARDER_LEDGER_PAGE_H

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

/* A process that has the device. */
struct ledger_slot {
    /* Written by the process itself. */
    _Alignas(LEDGER_LINE_BYTES) _Atomic int64_t pid; /* 0: free */
    ledger_word context_bytes;
    ledger_word reserved_bytes; /* with what it is about to have */
    ledger_word pending_bytes;  /* of these: on the way to it, or back */
    ledger_word in_use_bytes;   /* when it last said so */
    ledger_word minimum_bytes;
    ledger_word limit_bytes;       /* 0: none */
    ledger_word group_limit_bytes; /* for all together; 0: none */
    ledger_word given_bytes;       /* because it was asked, in all */
    _Atomic uint32_t answered;     /* the last ticket that it answered */
    char name[LEDGER_NAME_BYTES];

    /* Written by others, with the page's lock. */
    _Alignas(LEDGER_LINE_BYTES) _Atomic uint32_t bell; /* 1: look here */
    _Atomic uint32_t asked;       /* the last ticket that was drawn */
    ledger_word asked_bytes;      /* to be given back, if it can be */
    ledger_word asked_ms;         /* since when the bell rings */
    ledger_word told_limit_bytes; /* a limit from outside; 0: none */
};

struct ledger_page {
    ledger_word magic; /* set last, when the rest is there */
    ledger_word total_bytes;
    ledger_word others_bytes; /* held by who is not in the ledger, when it was
                                 last measured */
    ledger_word moves; /* times that memory came, went back or was left by the
                          dead */
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

/* ---- sums that stop at their ends ------------------------------------------- */

static inline uint64_t sum_of(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static inline uint64_t rest_of(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static inline uint64_t lesser_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

#endif

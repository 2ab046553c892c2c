/* own.h - what the policy larder has for itself.  Private to core.
 *
 *   larder_policy   a request's way                 tuning    the numbers
 *     supply        memory for it: grow, move       gap       where it lacks least
 *     migration   what lives moves too            carry     one handle's
 *       fill        mapping, all or nothing         spot      what can be moved
 *         physical  handles                         ranges    addresses
 *           pages   what blocks and pages agree on
 *
 * On devices without virtual memory there is none of it (segment_ladder.c). */
#ifndef LARDER_CORE_POLICY_LARDER_OWN_H
#define LARDER_CORE_POLICY_LARDER_OWN_H

#include "core/state/allocator.h"

/* Handles that are mapped nowhere, held to be mapped again. */
struct loose {
    struct physical *list;
    size_t handles; /* in the list */
    size_t pages;   /* of them all */
};

/* A handle that nothing uses: loose, or whole within a free block. */
struct spot {
    struct block *block; /* NULL: it is loose */
    size_t begin;        /* its first page in the block's segment */
    size_t pages;
    bool is_chosen;
    bool is_excepted; /* not to be chosen */
};

struct spots {
    struct spot *list;
    size_t count;
    size_t stranded; /* free pages in the same heaps, of handles in use */
};

/* A page in use whose contents get another place. */
struct carried {
    size_t at;       /* its number in the segment */
    uint64_t handle; /* the other place */
};

/* A handle whose pages in use are on their way to others (carry.h). */
struct carry {
    struct segment *segment; /* NULL: none is */
    size_t begin;            /* of the handle, in pages of the segment */
    size_t end;
    uint64_t handle; /* 0: it was released, `host` has its contents */
    bool is_mapped;
    bool is_usable; /* has access and contents */
    bool is_blank;  /* was made anew: `host` has its contents */
    struct carried *pages;
    size_t count;
    size_t capacity;
    size_t made;   /* so many have their other place, */
    size_t mapped; /* and so many are mapped to it */
    char *host;
    bool is_in_flight;   /* a copy may still come to the host's memory */
    larder_addr scratch; /* addresses for both places at once; 0: none */
    size_t scratch_pages;
};

struct larder {
    struct loose loose;
    struct carry carry;
    struct spots spots;  /* of the last look */
    size_t capacity;     /* of both lists: never below the pages held */
    uint64_t refused_at; /* held when the device had no more */
};

#endif

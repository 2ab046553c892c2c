/* own.h - what the policy larder has for itself.  Private to core.
 *
 *   larder_policy   a request's way                 tuning    the numbers
 *     supply        memory for it: grow, move       gap       where it lacks least
 *       fill        mapping, all or nothing         spot      what can be moved
 *         physical  handles                         ranges    addresses
 *           pages   what blocks and pages agree on
 *
 * On devices without virtual memory there is none of it (segment_ladder.c). */
#ifndef LARDER_CORE_POLICY_LARDER_OWN_H
#define LARDER_CORE_POLICY_LARDER_OWN_H

#include "core/allocator.h"

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
};

struct spots {
    struct spot *list;
    size_t count;
};

struct larder {
    struct loose loose;
    struct spots spots;  /* of the last look */
    size_t capacity;     /* of both lists: never below the pages held */
    uint64_t refused_at; /* held when the device had no more */
};

#endif

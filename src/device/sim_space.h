/* sim_space.h - the used ranges of an address space, and the lowest free
 * address that fits a new one.  Private to the simulated GPU.
 *
 *   base    [ range ]   gap   [ range ][ range ]      gap            end
 *
 * The ranges are the nodes of a treap in address order.  Each owns the gap
 * after it, and knows the maximum size that any gap of its subtree can serve,
 * so every call costs O(log n) on average.  An empty range at the base owns the
 * gap before the first real one.
 *
 * Rules: S1 ranges do not overlap, and the list is in address order; S2 `best`
 * is correct in every node; S3 priorities do not increase downwards. */
#pragma once

#include <stdbool.h>

#include <larder/larder.h>

/* Sizes and addresses are multiples of 512 bytes, or of 2 MiB. */
enum sim_align { SIM_ALIGN_512, SIM_ALIGN_2MIB, SIM_ALIGN_COUNT };

/* Allocated by its owner, who modifies only what concerns other processes
 * (sim_lend.c). */
struct sim_range {
    larder_addr addr;
    uint64_t bytes;
    struct sim_range *prev; /* by address */
    struct sim_range *next;
    struct sim_range *parent;
    struct sim_range *left;
    struct sim_range *right;
    uint64_t best[SIM_ALIGN_COUNT];
    uint32_t priority;
    bool is_memory; /* an allocation; otherwise a page's place in the file */
    bool is_lent;   /* exported */
    bool is_gone;   /* released, but other processes use it */
    struct sim_range *gone_next;
};

struct sim_space {
    struct sim_range base;
    struct sim_range *root;
    larder_addr end;
    uint32_t random;
};

/* The space must not move afterwards. */
void larder__sim_space_init(struct sim_space *space, larder_addr base,
                            uint64_t bytes);

/* Place `bytes`, more than 0 and a multiple of the alignment, at the lowest
 * address that fits.  False: there is none. */
bool larder__sim_space_take(struct sim_space *space, uint64_t bytes,
                            enum sim_align align, struct sim_range *range);
void larder__sim_space_release(struct sim_space *space,
                               struct sim_range *range);

/* The range that contains addr.  NULL: none. */
struct sim_range *larder__sim_space_find(const struct sim_space *space,
                                         larder_addr addr);

/* Any range.  NULL: there is none. */
struct sim_range *larder__sim_space_any(const struct sim_space *space);

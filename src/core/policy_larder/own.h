/* own.h - the state of the policy larder, and a map of its files.  Private to
 * core.
 *
 *   larder_policy   the path of a request
 *     supply        memory on a miss: grow, move  gap        where fewest miss
 *     migration     moves live pages              carry      those of a handle
 *       fill        maps a span, all or nothing   spot       what can be moved
 *         handles   creates, releases them        addresses  reserves ranges
 *           pages   keeps blocks, pages in step   lend       private pools lend
 *
 * Devices without virtual memory use none of this (segment_ladder.c). */
#pragma once

#include "core/segments/page_span.h"
#include "core/state/paged.h"

/* Handles that are held but mapped nowhere. */
struct loose {
    struct page_handle *list;
    size_t handles; /* length of `list` */
    size_t pages;   /* their total size */
};

/* A handle that nothing uses: loose, or entirely within one free block. */
struct spot {
    struct block *block; /* NULL: the handle is loose */
    uint32_t begin;      /* its first page, counted in the block's segment */
    uint32_t pages;
    uint32_t next; /* the next spot of this size, as an index; SPOT_NONE */
    bool is_chosen;
};

/* Pages of a segment that must stay because the request needs them there. */
struct spot_except {
    const struct segment *segment; /* NULL: no exception */
    struct page_span span;
};

/* Sizes below SPOT_SIZES pages have a list each, in the order of the spots;
 * list 0 has all larger ones. */
enum { SPOT_SIZES = 64 };

#define SPOT_NONE UINT32_MAX

struct spots {
    struct spot *list;
    size_t count;
    uint32_t first[SPOT_SIZES]; /* of each size */
    uint32_t *end[SPOT_SIZES];  /* the `next` of the last, or its `first` */
    /* No spot before this one is available; SPOT_NONE: unknown. */
    uint32_t rest[SPOT_SIZES];
    uint64_t sizes;      /* the lists that are not empty, as bits */
    uint64_t open;       /* and those that may have an available spot */
    size_t chosen_begin; /* all chosen ones lie in this range */
    size_t chosen_end;
    struct spot_except except;
};

/* Adjacent pages in use, and the handle their contents are copied to. */
struct carry_run {
    size_t begin; /* the first, as an index in the segment's pages */
    size_t pages;
    uint64_t handle; /* the new handle */
};

/* The move in progress, if allocator.has_withheld: the used pages of one handle
 * are copied to new handles (carry.h). */
struct carry {
    struct segment *segment;
    size_t begin; /* range of the handle, in pages of the segment */
    size_t end;
    uint64_t handle; /* 0: it was released, and `host` has the contents */
    bool is_mapped;
    bool is_usable; /* access is set */
    bool is_blank;  /* the handle was created anew; `host` has the contents */
    bool is_at_scratch; /* the blank handle is mapped there */
    struct carry_run *runs;
    size_t count; /* of them */
    size_t capacity;
    size_t used;   /* pages in all of them */
    size_t made;   /* how many runs have a new handle, */
    size_t mapped; /* and how many of those are mapped */
    char *host;
    bool is_in_flight;   /* a copy may still write to `host` */
    larder_addr scratch; /* new handles are mapped here to copy; 0: none */
    size_t scratch_pages;
};

struct larder {
    struct loose loose;
    struct carry carry;
    struct spots spots;  /* found by the last search */
    size_t capacity;     /* of both lists: at least the pages held */
    uint64_t refused_at; /* more cannot be held: the device refused */
};

/* Larder's own policy (docs/POLICY.md). */
extern const struct policy larder__policy_larder;

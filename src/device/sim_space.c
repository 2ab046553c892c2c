/* sim_space.c - the used ranges of an address space, and the lowest free
 * address that fits a new one. */
#include "device/sim_space.h"

#include <stddef.h>

#include "base/bits.h"

/* ---- gaps --------------------------------------------------------------- */

static const uint64_t align_bytes[SIM_ALIGN_COUNT] = {512, 2 * LARDER_MIB};

static larder_addr range_end(const struct sim_range *r)
{
    return r->addr + r->bytes;
}

static larder_addr gap_begin(const struct sim_range *r, enum sim_align align)
{
    return bits_up(range_end(r), align_bytes[align]);
}

/* The bytes that can be taken from the gap after r. */
static uint64_t gap_bytes(const struct sim_space *space,
                          const struct sim_range *r, enum sim_align align)
{
    larder_addr begin = gap_begin(r, align);
    larder_addr end = r->next != NULL ? r->next->addr : space->end;

    return end > begin ? bits_down(end - begin, align_bytes[align]) : 0;
}

static uint64_t best_of(const struct sim_range *r, enum sim_align align)
{
    return r != NULL ? r->best[align] : 0;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t range_best(const struct sim_space *space,
                           const struct sim_range *r, enum sim_align align)
{
    return larger(gap_bytes(space, r, align),
                  larger(best_of(r->left, align), best_of(r->right, align)));
}

static void range_update(const struct sim_space *space, struct sim_range *r)
{
    for (int align = 0; align < SIM_ALIGN_COUNT; align++)
        r->best[align] = range_best(space, r, (enum sim_align)align);
}

/* Update all ancestors after the gap after r has changed. */
static void range_update_up(const struct sim_space *space, struct sim_range *r)
{
    for (; r != NULL; r = r->parent)
        range_update(space, r);
}

/* ---- the tree ----------------------------------------------------------- */

static struct sim_range **range_link(struct sim_space *space,
                                     struct sim_range *r)
{
    if (r->parent == NULL)
        return &space->root;
    return r->parent->left == r ? &r->parent->left : &r->parent->right;
}

static void range_hang(struct sim_range **link, struct sim_range *r,
                       struct sim_range *parent)
{
    *link = r;
    if (r != NULL)
        r->parent = parent;
}

/* Rotate r into its parent's place. */
static void range_rotate(struct sim_space *space, struct sim_range *r)
{
    struct sim_range *down = r->parent;

    range_hang(range_link(space, down), r, down->parent);
    if (down->left == r) {
        range_hang(&down->left, r->right, down);
        range_hang(&r->right, down, r);
    } else {
        range_hang(&down->right, r->left, down);
        range_hang(&r->left, down, r);
    }
    range_update(space, down);
    range_update(space, r);
}

static uint32_t next_random(struct sim_space *space)
{
    uint32_t x = space->random;

    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    space->random = x;
    return x;
}

/* Insert r right after `before` in the order. */
static void range_insert(struct sim_space *space, struct sim_range *r,
                         struct sim_range *before)
{
    struct sim_range *parent = before;
    struct sim_range **link = &before->right;

    while (*link != NULL) {
        parent = *link;
        link = &parent->left;
    }
    r->left = NULL;
    r->right = NULL;
    r->priority = next_random(space);
    range_hang(link, r, parent);
    r->prev = before;
    r->next = before->next;
    if (r->next != NULL)
        r->next->prev = r;
    before->next = r;
    range_update_up(space, r);
    while (r->parent != NULL && r->parent->priority < r->priority)
        range_rotate(space, r);
}

static void range_remove(struct sim_space *space, struct sim_range *r)
{
    struct sim_range *child;

    while (r->left != NULL && r->right != NULL)
        range_rotate(space, r->left->priority > r->right->priority ? r->left
                                                                   : r->right);
    child = r->left != NULL ? r->left : r->right;
    range_hang(range_link(space, r), child, r->parent);
    r->prev->next = r->next;
    if (r->next != NULL)
        r->next->prev = r->prev;
    range_update_up(space, r->parent);
    range_update_up(space, r->prev);
}

/* ---- use ---------------------------------------------------------------- */

void larder__sim_space_init(struct sim_space *space, larder_addr base,
                            uint64_t bytes)
{
    *space = (struct sim_space){
        .base = {.addr = base, .priority = UINT32_MAX},
        .root = &space->base,
        .end = base + bytes,
        .random = 1,
    };
    range_update(space, &space->base);
}

/* The first range in order whose gap has room for `bytes`. */
static struct sim_range *find_gap(const struct sim_space *space, uint64_t bytes,
                                  enum sim_align align)
{
    struct sim_range *r = space->root;

    if (r->best[align] < bytes)
        return NULL;
    for (;;) {
        if (best_of(r->left, align) >= bytes)
            r = r->left;
        else if (gap_bytes(space, r, align) >= bytes)
            return r;
        else
            r = r->right;
    }
}

bool larder__sim_space_take(struct sim_space *space, uint64_t bytes,
                            enum sim_align align, struct sim_range *range)
{
    struct sim_range *before = find_gap(space, bytes, align);

    if (before == NULL)
        return false;
    range->addr = gap_begin(before, align);
    range->bytes = bytes;
    range_insert(space, range, before);
    return true;
}

void larder__sim_space_release(struct sim_space *space, struct sim_range *range)
{
    range_remove(space, range);
}

struct sim_range *larder__sim_space_find(const struct sim_space *space,
                                         larder_addr addr)
{
    struct sim_range *r = space->root;

    while (r != NULL) {
        if (addr < r->addr)
            r = r->left;
        else if (addr >= range_end(r))
            r = r->right;
        else
            return r;
    }
    return NULL;
}

struct sim_range *larder__sim_space_any(const struct sim_space *space)
{
    return space->base.next;
}

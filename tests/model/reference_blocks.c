/* reference_blocks.c - segments and blocks of the model: arrays and scans. */
#include "model/reference_state.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *ref_grow(void *array, size_t count, size_t *capacity, size_t bytes)
{
    if (count < *capacity)
        return array;
    *capacity = *capacity == 0 ? 8 : 2 * *capacity;
    array = realloc(array, *capacity * bytes);
    if (array == NULL) {
        fputs("reference: no host memory\n", stderr);
        exit(2);
    }
    return array;
}

bool ref_block_idle(const struct ref_block *b)
{
    return !b->allocated && b->events == 0 && b->uses == 0;
}

bool ref_block_free(const struct ref_block *b)
{
    return b->mapped && ref_block_idle(b);
}

bool ref_segment_split(const struct ref_segment *s)
{
    return s->count > 1;
}

struct ref_segment *ref_segment_add(struct reference *r,
                                    const struct ref_request *q, uint64_t addr,
                                    uint64_t bytes, uint64_t page)
{
    size_t none = 0;
    struct ref_segment *s = ref_grow(NULL, 0, &none, sizeof *s);

    memset(s, 0, sizeof *s);
    s->pool = q->pool;
    s->stream = q->stream;
    s->addr = addr;
    s->bytes = bytes;
    s->page = page;
    s->blocks = ref_grow(NULL, 0, &s->capacity, sizeof *s->blocks);
    s->count = 1;
    s->blocks[0] =
        (struct ref_block){.addr = addr, .bytes = bytes, .mapped = page == 0};
    r->segments = ref_grow(r->segments, r->segment_count, &r->segment_capacity,
                           sizeof(*r->segments));
    r->segments[r->segment_count++] = s;
    return s;
}

void ref_segment_remove(struct reference *r, struct ref_segment *s)
{
    size_t i = 0;

    while (r->segments[i] != s)
        i++;
    r->segments[i] = r->segments[--r->segment_count];
    free(s->blocks);
    free(s);
}

void ref_block_cut(struct ref_place p, uint64_t bytes)
{
    struct ref_segment *s = p.segment;
    struct ref_block *b;

    s->blocks = ref_grow(s->blocks, s->count, &s->capacity, sizeof *s->blocks);
    b = ref_at(p);
    assert(bytes < b->bytes);
    memmove(b + 1, b, (s->count - p.index) * sizeof *b);
    s->count++;
    b[0].bytes = bytes;
    b[1].addr += bytes;
    b[1].bytes -= bytes;
}

static void block_drop(struct ref_place p)
{
    struct ref_segment *s = p.segment;

    s->count--;
    memmove(s->blocks + p.index, s->blocks + p.index + 1,
            (s->count - p.index) * sizeof *s->blocks);
}

static bool mergeable(const struct ref_block *a, const struct ref_block *b)
{
    return ref_block_idle(b) && a->mapped == b->mapped;
}

uint64_t ref_block_absorb_next(struct ref_place p)
{
    struct ref_block *b = ref_at(p);
    uint64_t bytes;

    if (p.index + 1 == p.segment->count || !mergeable(b, b + 1))
        return 0;
    bytes = b[1].bytes;
    b->bytes += bytes;
    block_drop((struct ref_place){p.segment, p.index + 1});
    return bytes;
}

uint64_t ref_block_absorb_previous(struct ref_place *p)
{
    struct ref_block *b = ref_at(*p);
    uint64_t bytes;

    if (p->index == 0 || !mergeable(b, b - 1))
        return 0;
    bytes = b[-1].bytes;
    b->addr -= bytes;
    b->bytes += bytes;
    p->index--;
    block_drop(*p);
    return bytes;
}

void ref_block_born(struct ref_place p)
{
    ref_at(p)->born = p.segment->pool->searches;
}

struct ref_place ref_find(const struct reference *r, uint64_t addr)
{
    for (size_t i = 0; i < r->segment_count; i++) {
        struct ref_segment *s = r->segments[i];

        if (addr < s->addr || addr - s->addr >= s->bytes)
            continue;
        for (size_t k = 0; k < s->count; k++) {
            if (s->blocks[k].addr == addr)
                return (struct ref_place){s, k};
        }
    }
    return (struct ref_place){NULL, 0};
}

static bool key_less(uint64_t bytes_a, uint64_t addr_a, uint64_t bytes_b,
                     uint64_t addr_b)
{
    return bytes_a < bytes_b || (bytes_a == bytes_b && addr_a < addr_b);
}

struct ref_place ref_next_free(const struct reference *r,
                               const struct ref_pool *pool,
                               larder_stream stream, uint64_t bytes,
                               uint64_t addr)
{
    struct ref_place best = {NULL, 0};

    for (size_t i = 0; i < r->segment_count; i++) {
        struct ref_segment *s = r->segments[i];

        if (s->pool != pool || s->stream != stream || s->bytes < bytes)
            continue;
        for (size_t k = 0; k < s->count; k++) {
            const struct ref_block *b = &s->blocks[k];

            if (!ref_block_free(b) || key_less(b->bytes, b->addr, bytes, addr))
                continue;
            if (best.segment == NULL ||
                key_less(b->bytes, b->addr, ref_at(best)->bytes,
                         ref_at(best)->addr))
                best = (struct ref_place){s, k};
        }
    }
    return best;
}

void ref_count_one(larder_stat *s, int64_t amount)
{
    s->current += amount;
    if (s->current > s->peak)
        s->peak = s->current;
    if (amount > 0)
        s->allocated += amount;
    else
        s->freed -= amount;
}

void ref_count(larder_stat_split *s, const struct ref_pool *pool,
               int64_t amount)
{
    ref_count_one(&s->all, amount);
    ref_count_one(pool->is_small ? &s->small_pool : &s->large_pool, amount);
}

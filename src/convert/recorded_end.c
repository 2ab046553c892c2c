/* recorded_end.c - compares the state at the end of a recording with an
 * allocator's, block by block. */
#include "convert/recorded_end.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct end_block {
    uint64_t address;
    uint64_t bytes;
    uint8_t state; /* enum snapshot_state */
};

struct end_walk {
    const struct end_block *wanted;
    size_t count;
    size_t next;
    struct recorded_result *out;
};

static int compare_blocks(const void *a, const void *b)
{
    const struct end_block *x = a;
    const struct end_block *y = b;

    return (x->address > y->address) - (x->address < y->address);
}

/* The blocks of the device by address. */
static struct end_block *collect(const struct lifetimes *l, size_t *count)
{
    const struct snapshot *s = l->snapshot;
    struct end_block *blocks = calloc(s->block_count + 1, sizeof *blocks);

    *count = 0;
    for (size_t i = 0; blocks != NULL && i < s->segment_count; i++) {
        const struct snapshot_segment *seg = &s->segments[i];

        for (size_t j = 0; seg->device == l->device && j < seg->block_count;
             j++) {
            const struct snapshot_block *b = &s->blocks[seg->block + j];

            blocks[(*count)++] =
                (struct end_block){b->address, b->size, b->state};
        }
    }
    if (blocks != NULL && *count > 0)
        qsort(blocks, *count, sizeof *blocks, compare_blocks);
    return blocks;
}

static uint8_t state_of(larder_block_state state)
{
    if (state == LARDER_BLOCK_ALLOCATED)
        return SNAPSHOT_ACTIVE_ALLOCATED;
    return state == LARDER_BLOCK_PENDING ? SNAPSHOT_ACTIVE_PENDING_FREE
                                         : SNAPSHOT_INACTIVE;
}

static const char *state_name(uint8_t state)
{
    return snapshot_state_name((enum snapshot_state)state);
}

static int visit_block(void *ctx, const larder_segment_info *segment,
                       const larder_block_info *block)
{
    struct end_walk *w = ctx;
    const struct end_block *b = &w->wanted[w->next];
    uint8_t state = state_of(block->state);
    char *words = w->out->end_words;

    (void)segment;
    if (w->next < w->count && b->address == block->addr &&
        b->bytes == block->bytes && b->state == state) {
        w->next++;
        return 0;
    }
    if (w->next < w->count)
        snprintf(words, sizeof w->out->end_words,
                 "recorded: 0x%" PRIx64 ", %" PRIu64
                 " bytes, %s; replay: 0x%" PRIx64 ", %" PRIu64 " bytes, %s",
                 b->address, b->bytes, state_name(b->state), block->addr,
                 block->bytes, state_name(state));
    else
        snprintf(words, sizeof w->out->end_words,
                 "recorded: nothing more; replay: 0x%" PRIx64 ", %" PRIu64
                 " bytes, %s",
                 block->addr, block->bytes, state_name(state));
    return 1;
}

bool recorded_end_compare(const struct lifetimes *l, larder_allocator *a,
                          struct recorded_result *out, struct tool_error *error)
{
    struct end_walk w = {.out = out};
    struct end_block *wanted = collect(l, &w.count);

    if (wanted == NULL)
        return tool_fail(error, "out of host memory");
    w.wanted = wanted;
    out->end_blocks = w.count;
    (void)larder_walk(a, NULL, visit_block, &w); /* as far as it went */
    out->end_same = w.next == w.count && out->end_words[0] == '\0';
    if (w.next < w.count && out->end_words[0] == '\0')
        snprintf(out->end_words, sizeof out->end_words,
                 "recorded: 0x%" PRIx64 ", %" PRIu64
                 " bytes, %s; replay: nothing more",
                 wanted[w.next].address, wanted[w.next].bytes,
                 state_name(wanted[w.next].state));
    free(wanted);
    return true;
}

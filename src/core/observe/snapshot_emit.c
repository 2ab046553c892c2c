/* snapshot_emit.c - writes the document that torch.cuda.memory._snapshot()
 * returns. */
#include <string.h>

#include "base/fail.h"
#include "base/host.h"
#include "base/symbol.h"
#include "base/text.h"
#include "core/observe/snapshot_state.h"

struct writer {
    const struct snapshot *snapshot;
    struct known_frame *known; /* cache of frames */
    uint32_t *lists;           /* places of the emitter, for each stack */
    uint32_t words[SNAP_WORD_COUNT];
    struct emit emit;
};

/* ---- pieces --------------------------------------------------------------- */

static void put_pool(struct writer *w, enum snap_word key, larder_pool_id id)
{
    larder__emit_word(&w->emit, key);
    larder__emit_pair(&w->emit, id.first, id.second);
}

static const char *text_of(const struct writer *w, uint16_t number)
{
    if (number == 0)
        return "";
    return larder__texts_get(&w->snapshot->history->texts, number);
}

static void put_key_text(struct writer *w, enum snap_word key, const char *text)
{
    larder__emit_word(&w->emit, key);
    larder__emit_text(&w->emit, text);
}

static void put_empty_list(struct writer *w, enum snap_word key)
{
    begin_list(&w->emit, key);
    larder__emit_close(&w->emit);
}

static uint64_t time_us(const struct writer *w, uint64_t ticks)
{
    return larder__ticks_wall_us(&w->snapshot->scale, ticks);
}

/* ---- stacks with their functions' names ---------------------------------- */

/* Looking up a frame takes a microsecond, and a run has thousands.  A
 * direct-mapped cache of this size avoids nearly all lookups and bounds the
 * memory.  An evicted frame is looked up, and written, again. */
enum { KNOWN_LOG2 = 11, KNOWN_FRAMES = 1 << KNOWN_LOG2 };

struct known_frame {
    uint64_t address;
    uint32_t memo; /* a place of the emitter */
    bool is_known;
    bool has_offset;
    uint64_t offset;
    larder_frame frame;
};

/* ERR_NO_HOST_MEMORY.  Call frames_free() in any case. */
static larder_result frames_init(struct writer *w)
{
    const struct snapshot *s = w->snapshot;

    w->known = NULL;
    w->lists = NULL;
    if (s->history == NULL || s->history->stacks.words == NULL)
        return LARDER_OK; /* 0 is no stack's number */
    w->known = larder__host_alloc(KNOWN_FRAMES, sizeof *w->known);
    w->lists = larder__host_alloc(s->stack_words, sizeof *w->lists);
    return w->known != NULL && w->lists != NULL
               ? LARDER_OK
               : larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
}

static void frames_free(const struct writer *w)
{
    larder__host_free(w->known);
    larder__host_free(w->lists);
}

/* A return address points behind the call, possibly into the next function. */
static void look_up(struct known_frame *k)
{
    uint64_t call = k->address - 1;
    struct symbol symbol;
    struct text file, name;

    larder__text_init(&file, k->frame.filename, sizeof k->frame.filename);
    larder__text_init(&name, k->frame.name, sizeof k->frame.name);
    k->has_offset = larder__symbol_find(call, &symbol);
    if (!k->has_offset) {
        larder__text_add(&file, "??");
        larder__text_add(&name, "0x%llx", (unsigned long long)call);
        return;
    }
    larder__text_add(&file, "%s", symbol.object);
    larder__symbol_add(&name, &symbol);
    k->offset = symbol.offset;
}

static struct known_frame *know(const struct writer *w, uint64_t address)
{
    uint64_t hash = address * UINT64_C(0x9E3779B97F4A7C15);
    struct known_frame *k = &w->known[hash >> (64 - KNOWN_LOG2)];
    const struct snapshot *s = w->snapshot;

    if (k->is_known && k->address == address)
        return k;
    *k = (struct known_frame){.address = address, .is_known = true};
    if (s->frame_fn == NULL || !s->frame_fn(s->frame_ctx, address, &k->frame)) {
        k->frame = (larder_frame){.line = 0};
        look_up(k);
    }
    k->frame.filename[sizeof k->frame.filename - 1] = '\0';
    k->frame.name[sizeof k->frame.name - 1] = '\0';
    return k;
}

static void emit_frame(struct writer *w, uint64_t address)
{
    struct known_frame *k = know(w, address);

    if (larder__emit_again(&w->emit, &k->memo))
        return;
    larder__emit_dict_begin(&w->emit);
    larder__emit_keep(&w->emit, &k->memo);
    put_key_text(w, KEY_FILENAME, k->frame.filename);
    put_unsigned(&w->emit, KEY_LINE, k->frame.line);
    put_key_text(w, KEY_NAME, k->frame.name);
    if (k->has_offset)
        put_unsigned(&w->emit, KEY_OFFSET, k->offset);
    larder__emit_close(&w->emit);
}

/* The frames of a stack as a list; number 0: an empty one. */
static void put_frames(struct writer *w, uint32_t stack)
{
    const struct history *h = w->snapshot->history;

    larder__emit_word(&w->emit, KEY_FRAMES);
    if (stack != 0 && larder__emit_again(&w->emit, &w->lists[stack]))
        return;
    larder__emit_list_begin(&w->emit);
    if (stack != 0) {
        larder__emit_keep(&w->emit, &w->lists[stack]);
        for (size_t i = 0; i < stack_depth(&h->stacks, stack); i++)
            emit_frame(w, stack_frames(&h->stacks, stack)[i]);
    }
    larder__emit_close(&w->emit);
}

/* ---- segments ------------------------------------------------------------- */

static enum snap_word state_word(uint8_t state)
{
    switch ((larder_block_state)state) {
    case LARDER_BLOCK_ALLOCATED:
        return WORD_ACTIVE_ALLOCATED;
    case LARDER_BLOCK_PENDING:
        return WORD_ACTIVE_PENDING_FREE;
    case LARDER_BLOCK_FREE:
        break;
    }
    return WORD_INACTIVE;
}

static void emit_block(struct writer *w, const struct snapshot_block *b)
{
    larder__emit_dict_begin(&w->emit);
    put_unsigned(&w->emit, KEY_ADDRESS, b->addr);
    put_unsigned(&w->emit, KEY_SIZE, b->bytes);
    put_unsigned(&w->emit, KEY_REQUESTED_SIZE, b->requested);
    put_word(&w->emit, KEY_STATE, state_word(b->state));
    put_frames(w, b->stack);
    if (b->annotation != 0)
        put_key_text(w, KEY_USER_METADATA, text_of(w, b->annotation));
    larder__emit_close(&w->emit);
}

static void emit_blocks(struct writer *w, const struct snapshot_block *blocks,
                        size_t count)
{
    begin_list(&w->emit, KEY_BLOCKS);
    for (size_t i = 0; i < count; i++) {
        emit_block(w, &blocks[i]);
    }
    larder__emit_close(&w->emit);
}

static void emit_segment(struct writer *w, const struct snapshot_segment *s,
                         const struct snapshot_block *blocks)
{
    const larder_segment_info *info = &s->info;

    larder__emit_dict_begin(&w->emit);
    put_signed(&w->emit, KEY_DEVICE, w->snapshot->props.ordinal);
    put_unsigned(&w->emit, KEY_ADDRESS, info->addr);
    put_unsigned(&w->emit, KEY_TOTAL_SIZE, info->bytes);
    put_unsigned(&w->emit, KEY_ALLOCATED_SIZE, info->allocated_bytes);
    put_unsigned(&w->emit, KEY_ACTIVE_SIZE, info->active_bytes);
    put_unsigned(&w->emit, KEY_REQUESTED_SIZE, info->requested_bytes);
    put_unsigned(&w->emit, KEY_STREAM, info->stream);
    put_word(&w->emit, KEY_SEGMENT_TYPE,
             info->is_large ? WORD_LARGE : WORD_SMALL);
    put_pool(w, KEY_SEGMENT_POOL_ID, info->pool);
    put_bool(&w->emit, KEY_IS_EXPANDABLE, info->is_expandable != 0);
    if (info->is_reserved) /* from larder_reserve(); PyTorch has no such key */
        put_bool(&w->emit, KEY_IS_RESERVED, true);
    put_frames(w, s->stack);
    emit_blocks(w, blocks, info->block_count);
    larder__emit_close(&w->emit);
}

static void emit_segments(struct writer *w)
{
    const struct snapshot *s = w->snapshot;
    const struct snapshot_block *blocks = s->blocks;

    begin_list(&w->emit, KEY_SEGMENTS);
    for (size_t i = 0; i < s->segment_count; i++) {
        emit_segment(w, &s->segments[i], blocks);
        blocks += s->segments[i].info.block_count;
    }
    larder__emit_close(&w->emit);
}

/* ---- events --------------------------------------------------------------- */

static enum snap_word action_word(larder_action action)
{
#define SAME(word, name)                                                       \
    static_assert((int)WORD_##word ==                                          \
                      (int)WORD_ALLOC + (int)LARDER_ACTION_##name,             \
                  "they have the same order")
    SAME(FREE_REQUESTED, free_requested);
    SAME(FREE_COMPLETED, free_completed);
    SAME(SEGMENT_ALLOC, segment_alloc);
    SAME(SEGMENT_FREE, segment_free);
    SAME(SEGMENT_MAP, segment_map);
    SAME(SEGMENT_UNMAP, segment_unmap);
    SAME(SNAPSHOT, snapshot);
    SAME(OOM, oom);
#undef SAME
    return action <= LARDER_ACTION_oom
               ? (enum snap_word)(WORD_ALLOC + (unsigned)action)
               : WORD_SNAPSHOT;
}

static larder_pool_id pool_of(const struct writer *w, uint16_t number)
{
    return w->snapshot->pool_ids[number]; /* {0, 0} for number 0 */
}

static void emit_event(struct writer *w, const struct history_event *event)
{
    larder_action action = event_action(event);

    larder__emit_dict_begin(&w->emit);
    put_word(&w->emit, KEY_ACTION, action_word(action));
    put_unsigned(&w->emit,
                 action == LARDER_ACTION_oom ? KEY_DEVICE_FREE : KEY_ADDR,
                 event->addr);
    put_unsigned(&w->emit, KEY_SIZE, event->bytes);
    put_unsigned(&w->emit, KEY_STREAM, event->stream);
    put_unsigned(&w->emit, KEY_TIME_US, time_us(w, event_ticks(event)));
    put_signed(&w->emit, KEY_DEVICE, w->snapshot->props.ordinal);
    put_pool(w, KEY_POOL_ID, pool_of(w, event->pool));
    put_frames(w, event->stack);
    put_key_text(w, KEY_USER_METADATA, text_of(w, event->annotation));
    put_key_text(w, KEY_COMPILE_CONTEXT, "N/A");
    larder__emit_close(&w->emit);
}

static void emit_events(struct writer *w)
{
    const struct snapshot *s = w->snapshot;

    larder__emit_list_begin(&w->emit);
    for (uint64_t i = 0; i < s->event_count; i++) {
        emit_event(w, &s->events[i]);
    }
    larder__emit_close(&w->emit);
}

/* A list for each device, by number: all empty except ours. */
static void emit_traces(struct writer *w)
{
    begin_list(&w->emit, KEY_DEVICE_TRACES);
    for (int i = 0; i < w->snapshot->props.ordinal; i++) {
        larder__emit_list_begin(&w->emit);
        larder__emit_close(&w->emit);
    }
    emit_events(w);
    larder__emit_close(&w->emit);
}

/* ---- marks ---------------------------------------------------------------- */

static void emit_mark(struct writer *w, const struct history_mark *mark)
{
    larder__emit_dict_begin(&w->emit);
    put_key_text(w, KEY_NAME, text_of(w, mark->text));
    put_word(&w->emit, KEY_STAGE, WORD_START);
    put_signed(&w->emit, KEY_DEVICE, w->snapshot->props.ordinal);
    put_unsigned(&w->emit, KEY_TIME_US, time_us(w, mark->ticks));
    larder__emit_close(&w->emit);
}

static void emit_marks(struct writer *w)
{
    const struct snapshot *s = w->snapshot;

    begin_list(&w->emit, KEY_EXTERNAL_ANNOTATIONS);
    for (uint64_t i = 0; i < s->mark_count; i++) {
        emit_mark(w, &s->marks[i]);
    }
    larder__emit_close(&w->emit);
}

/* ---- the whole snapshot --------------------------------------------------- */

static bool emit_document(struct writer *w)
{
    struct emit *e = &w->emit;

    larder__emit_dict_begin(e);
    emit_segments(w);
    emit_traces(w);
    larder__emit_word(e, KEY_ALLOCATOR_SETTINGS);
    larder__emit_settings(e, w->snapshot);
    emit_marks(w);
    /* Pinned memory has an allocator of its own here. */
    put_empty_list(w, KEY_HOST_SEGMENTS);
    put_empty_list(w, KEY_HOST_TRACES);
    larder__emit_text(e, "larder");
    larder__emit_larder(e, w->snapshot);
    larder__emit_close(e);
    return larder__emit_end(e);
}

larder_result larder__snapshot_emit(const struct snapshot *s, bool json,
                                    larder_write_fn *write, void *ctx)
{
    struct writer *w = larder__host_alloc_aligned(sizeof(uint64_t), sizeof *w);
    larder_result r;

    if (w == NULL)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    w->snapshot = s;
    memset(w->words, 0, sizeof w->words);
    r = frames_init(w);
    if (r == LARDER_OK) {
        larder__emit_begin(&w->emit, json ? EMIT_JSON : EMIT_PICKLE, w->words,
                           write, ctx);
        if (!emit_document(w))
            r = LARDER_ERR_SYSTEM;
    }
    frames_free(w);
    larder__host_free(w);
    return r;
}

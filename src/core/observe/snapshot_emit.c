/* snapshot_emit.c - writes the document that torch.cuda.memory._snapshot()
 * returns. */
#include "base/fail.h"
#include "base/host.h"
#include "core/observe/snapshot_frames.h"

struct writer {
    const struct snapshot *snapshot;
    struct frames frames;
    struct emit emit;
};

/* ---- pieces --------------------------------------------------------------- */

static void snapshot_emit_put_unsigned(struct writer *w, enum emit_word key,
                                       uint64_t value)
{
    larder__emit_key(&w->emit, key);
    larder__emit_unsigned(&w->emit, value);
}

static void snapshot_emit_put_signed(struct writer *w, enum emit_word key,
                                     int64_t value)
{
    larder__emit_key(&w->emit, key);
    larder__emit_signed(&w->emit, value);
}

static void snapshot_emit_put_word(struct writer *w, enum emit_word key,
                                   enum emit_word value)
{
    larder__emit_key(&w->emit, key);
    larder__emit_word(&w->emit, value);
}

static void snapshot_emit_put_bool(struct writer *w, enum emit_word key,
                                   bool value)
{
    larder__emit_key(&w->emit, key);
    larder__emit_bool(&w->emit, value);
}

static void put_pool(struct writer *w, enum emit_word key, larder_pool_id id)
{
    larder__emit_key(&w->emit, key);
    larder__emit_pair(&w->emit, id.first, id.second);
}

static void put_frames(struct writer *w, uint32_t stack)
{
    larder__emit_key(&w->emit, WORD_frames);
    larder__frames_emit(&w->frames, &w->emit, stack);
}

static const char *text_of(const struct writer *w, uint16_t number)
{
    if (number == 0)
        return "";
    return larder__texts_get(&w->snapshot->history->texts, number);
}

static void put_key_text(struct writer *w, enum emit_word key, const char *text)
{
    larder__emit_key(&w->emit, key);
    larder__emit_text(&w->emit, text);
}

static void put_empty_list(struct writer *w, enum emit_word key)
{
    larder__emit_key(&w->emit, key);
    larder__emit_list_begin(&w->emit);
    larder__emit_list_end(&w->emit);
}

static uint64_t time_us(const struct writer *w, uint64_t ticks)
{
    return larder__ticks_wall_us(&w->snapshot->scale, ticks);
}

/* ---- segments ------------------------------------------------------------- */

static enum emit_word state_word(uint8_t state)
{
    switch ((larder_block_state)state) {
    case LARDER_BLOCK_ALLOCATED:
        return WORD_active_allocated;
    case LARDER_BLOCK_PENDING:
        return WORD_active_pending_free;
    case LARDER_BLOCK_FREE:
        break;
    }
    return WORD_inactive;
}

static void emit_block(struct writer *w, const struct snapshot_block *b)
{
    larder__emit_dict_begin(&w->emit);
    snapshot_emit_put_unsigned(w, WORD_address, b->addr);
    snapshot_emit_put_unsigned(w, WORD_size, b->bytes);
    snapshot_emit_put_unsigned(w, WORD_requested_size, b->requested);
    snapshot_emit_put_word(w, WORD_state, state_word(b->state));
    put_frames(w, b->stack);
    if (b->annotation != 0)
        put_key_text(w, WORD_user_metadata, text_of(w, b->annotation));
    larder__emit_dict_end(&w->emit);
}

static void emit_blocks(struct writer *w, const struct snapshot_block *blocks,
                        size_t count)
{
    larder__emit_key(&w->emit, WORD_blocks);
    larder__emit_list_begin(&w->emit);
    for (size_t i = 0; i < count; i++) {
        larder__emit_list_next(&w->emit);
        emit_block(w, &blocks[i]);
    }
    larder__emit_list_end(&w->emit);
}

static void emit_segment(struct writer *w, const struct snapshot_segment *s,
                         const struct snapshot_block *blocks)
{
    const larder_segment_info *info = &s->info;

    larder__emit_dict_begin(&w->emit);
    snapshot_emit_put_signed(w, WORD_device, w->snapshot->props.ordinal);
    snapshot_emit_put_unsigned(w, WORD_address, info->addr);
    snapshot_emit_put_unsigned(w, WORD_total_size, info->bytes);
    snapshot_emit_put_unsigned(w, WORD_allocated_size, info->allocated_bytes);
    snapshot_emit_put_unsigned(w, WORD_active_size, info->active_bytes);
    snapshot_emit_put_unsigned(w, WORD_requested_size, info->requested_bytes);
    snapshot_emit_put_unsigned(w, WORD_stream, info->stream);
    snapshot_emit_put_word(w, WORD_segment_type,
                           info->is_large ? WORD_large : WORD_small);
    put_pool(w, WORD_segment_pool_id, info->pool);
    snapshot_emit_put_bool(w, WORD_is_expandable, info->is_expandable != 0);
    if (info->is_reserved) /* from larder_reserve(); PyTorch has no such key */
        snapshot_emit_put_bool(w, WORD_is_reserved, true);
    put_frames(w, s->stack);
    emit_blocks(w, blocks, info->block_count);
    larder__emit_dict_end(&w->emit);
}

static void emit_segments(struct writer *w)
{
    const struct snapshot *s = w->snapshot;
    const struct snapshot_block *blocks = s->blocks;

    larder__emit_key(&w->emit, WORD_segments);
    larder__emit_list_begin(&w->emit);
    for (size_t i = 0; i < s->segment_count; i++) {
        larder__emit_list_next(&w->emit);
        emit_segment(w, &s->segments[i], blocks);
        blocks += s->segments[i].info.block_count;
    }
    larder__emit_list_end(&w->emit);
}

/* ---- events --------------------------------------------------------------- */

static enum emit_word action_word(larder_action action)
{
    switch (action) {
#define X(name, code, text)                                                    \
    case LARDER_ACTION_##name:                                                 \
        return WORD_##name;
        LARDER_ACTION_MAP(X)
#undef X
    }
    return WORD_snapshot;
}

static larder_pool_id pool_of(const struct writer *w, uint16_t number)
{
    return w->snapshot->pool_ids[number]; /* {0, 0} for number 0 */
}

static void emit_event(struct writer *w, const struct history_event *event)
{
    larder_action action = event_action(event);

    larder__emit_dict_begin(&w->emit);
    snapshot_emit_put_word(w, WORD_action, action_word(action));
    snapshot_emit_put_unsigned(
        w, action == LARDER_ACTION_oom ? WORD_device_free : WORD_addr,
        event->addr);
    snapshot_emit_put_unsigned(w, WORD_size, event->bytes);
    snapshot_emit_put_unsigned(w, WORD_stream, event->stream);
    snapshot_emit_put_unsigned(w, WORD_time_us, time_us(w, event_ticks(event)));
    snapshot_emit_put_signed(w, WORD_device, w->snapshot->props.ordinal);
    put_pool(w, WORD_pool_id, pool_of(w, event->pool));
    put_frames(w, event->stack);
    put_key_text(w, WORD_user_metadata, text_of(w, event->annotation));
    put_key_text(w, WORD_compile_context, "N/A");
    larder__emit_dict_end(&w->emit);
}

static void emit_events(struct writer *w)
{
    const struct snapshot *s = w->snapshot;

    larder__emit_list_begin(&w->emit);
    for (uint64_t i = 0; i < s->event_count; i++) {
        larder__emit_list_next(&w->emit);
        emit_event(w, &s->events[i]);
    }
    larder__emit_list_end(&w->emit);
}

/* A list for each device, by number: all empty except ours. */
static void emit_traces(struct writer *w)
{
    larder__emit_key(&w->emit, WORD_device_traces);
    larder__emit_list_begin(&w->emit);
    for (int i = 0; i < w->snapshot->props.ordinal; i++) {
        larder__emit_list_next(&w->emit);
        larder__emit_list_begin(&w->emit);
        larder__emit_list_end(&w->emit);
    }
    larder__emit_list_next(&w->emit);
    emit_events(w);
    larder__emit_list_end(&w->emit);
}

/* ---- marks ---------------------------------------------------------------- */

static void emit_mark(struct writer *w, const struct history_mark *mark)
{
    larder__emit_dict_begin(&w->emit);
    put_key_text(w, WORD_name, text_of(w, mark->text));
    snapshot_emit_put_word(w, WORD_stage, WORD_START);
    snapshot_emit_put_signed(w, WORD_device, w->snapshot->props.ordinal);
    snapshot_emit_put_unsigned(w, WORD_time_us, time_us(w, mark->ticks));
    larder__emit_dict_end(&w->emit);
}

static void emit_marks(struct writer *w)
{
    const struct snapshot *s = w->snapshot;

    larder__emit_key(&w->emit, WORD_external_annotations);
    larder__emit_list_begin(&w->emit);
    for (uint64_t i = 0; i < s->mark_count; i++) {
        larder__emit_list_next(&w->emit);
        emit_mark(w, &s->marks[i]);
    }
    larder__emit_list_end(&w->emit);
}

/* ---- the whole snapshot --------------------------------------------------- */

static bool emit_document(struct writer *w)
{
    struct emit *e = &w->emit;

    larder__emit_dict_begin(e);
    emit_segments(w);
    emit_traces(w);
    larder__emit_key(e, WORD_allocator_settings);
    larder__emit_settings(e, w->snapshot);
    emit_marks(w);
    /* Pinned memory has an allocator of its own here. */
    put_empty_list(w, WORD_host_segments);
    put_empty_list(w, WORD_host_traces);
    larder__emit_key_text(e, "larder");
    larder__emit_larder(e, w->snapshot);
    larder__emit_dict_end(e);
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
    r = larder__frames_init(&w->frames, s, json);
    if (r == LARDER_OK) {
        larder__emit_begin(&w->emit, write, ctx, json);
        if (!emit_document(w))
            r = LARDER_ERR_SYSTEM;
    }
    larder__frames_free(&w->frames);
    larder__host_free(w);
    return r;
}

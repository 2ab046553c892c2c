/* snapshot_write.c - writes a snapshot as lists and dicts, with the keys in
 * PyTorch's order. */
#include "snapshot/snapshot_write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/emit.h"
#include "snapshot/snap_settings.h"
#include "trace/arena.h"

struct snap_writer {
    struct emit emit;
    const struct snapshot *s;

    /* By number.  Pickle: places of the emitter.  JSON (frames and stacks):
     * number in its list plus 1; 0: not used. */
    uint32_t *strings; /* the first are the words */
    uint32_t *frames;
    uint32_t *stacks;
    uint32_t *pools;
};

static void put_text(struct snap_writer *w, uint32_t string)
{
    larder__emit_string(&w->emit, snapshot_string(w->s, string),
                        snapshot_string_length(w->s, string),
                        &w->strings[string]);
}

static void put_string(struct snap_writer *w, enum snap_word key,
                       uint32_t string)
{
    larder__emit_word(&w->emit, key);
    put_text(w, string);
}

/* Write unknown keys kept by snap_rest.h; records in them are written like
 * regular ones. */
static void write_rest(struct snap_writer *w, uint32_t pairs);

/* ---- unknown keys ---------------------------------------------------------- */

static int rest_order(const void *record, const void *rest)
{
    uint64_t x = *(const uint64_t *)record;
    uint64_t y = ((const struct snapshot_rest *)rest)->record;

    return (x > y) - (x < y);
}

static void put_device(struct snap_writer *w, uint16_t device)
{
    put_signed(&w->emit, KEY_DEVICE, device == SNAPSHOT_ON_HOST ? -1 : device);
}

static void write_rest_of(struct snap_writer *w, enum snapshot_record kind,
                          uint64_t record)
{
    const struct snapshot_rests *all = &w->s->rests[kind];
    const struct snapshot_rest *found = NULL;

    if (all->count > 0)
        found =
            bsearch(&record, all->at, all->count, sizeof *all->at, rest_order);
    if (found != NULL)
        write_rest(w, found->pairs);
}

/* ---- frames and pools ----------------------------------------------------- */

static void some_string(struct snap_writer *w, enum snap_word key,
                        uint32_t string)
{
    if (string != 0)
        put_string(w, key, string);
}

static void write_pool(struct snap_writer *w, uint32_t pool)
{
    const struct snapshot_pool *p = &w->s->pools[pool];

    if (larder__emit_again(&w->emit, &w->pools[pool]))
        return;
    larder__emit_pair(&w->emit, p->a, p->b);
    larder__emit_keep(&w->emit, &w->pools[pool]);
}

static void write_frame(struct snap_writer *w, uint32_t number)
{
    const struct snapshot_frame *f = &w->s->frames[number];

    if (larder__emit_again(&w->emit, &w->frames[number]))
        return;
    larder__emit_dict_begin(&w->emit);
    larder__emit_keep(&w->emit, &w->frames[number]);
    put_string(w, KEY_NAME, f->name);
    put_string(w, KEY_FILENAME, f->filename);
    put_unsigned(&w->emit, KEY_LINE, f->line);
    some_string(w, KEY_FX_NODE_OP, f->fx_node_op);
    some_string(w, KEY_FX_NODE_NAME, f->fx_node_name);
    some_string(w, KEY_FX_ORIGINAL_TRACE, f->fx_original_trace);
    write_rest(w, f->rest);
    larder__emit_close(&w->emit);
}

static void write_frames(struct snap_writer *w, uint32_t stack)
{
    size_t count;
    const uint32_t *frames = snapshot_stack(w->s, stack, &count);

    larder__emit_word(&w->emit, KEY_FRAMES);
    if (w->emit.form != EMIT_PICKLE) {
        larder__emit_unsigned(&w->emit, w->stacks[stack] - 1);
        return;
    }
    if (larder__emit_again(&w->emit, &w->stacks[stack]))
        return;
    larder__emit_list_begin(&w->emit);
    larder__emit_keep(&w->emit, &w->stacks[stack]);
    for (size_t i = 0; i < count; i++)
        write_frame(w, frames[i]);
    larder__emit_close(&w->emit);
}

/* ---- events --------------------------------------------------------------- */

static void write_action(struct snap_writer *w, const struct snapshot_event *e)
{
    if (e->action < SNAPSHOT_OTHER)
        put_word(&w->emit, KEY_ACTION,
                 (enum snap_word)(WORD_ALLOC + e->action));
    else
        put_string(w, KEY_ACTION,
                   w->s->other_actions[e->action - SNAPSHOT_OTHER].name);
}

static void write_event(struct snap_writer *w, const struct snapshot_event *e)
{
    larder__emit_dict_begin(&w->emit);
    write_action(w, e);
    if ((e->has & SNAPSHOT_HAS_ADDRESS) != 0)
        put_unsigned(&w->emit,
                     e->action == SNAPSHOT_OOM ? KEY_DEVICE_FREE : KEY_ADDR,
                     e->address);
    put_unsigned(&w->emit, KEY_SIZE, e->size);
    put_unsigned(&w->emit, KEY_STREAM, snapshot_stream(w->s, e->stream));
    if ((e->has & SNAPSHOT_HAS_DEVICE) != 0)
        put_device(w, e->device);
    if ((e->has & SNAPSHOT_HAS_POOL) != 0) {
        larder__emit_word(&w->emit, KEY_POOL_ID);
        write_pool(w, e->pool);
    }
    if ((e->has & SNAPSHOT_HAS_TIME) != 0)
        put_signed(&w->emit, KEY_TIME_US, e->time_us);
    if ((e->has & SNAPSHOT_HAS_CONTEXT) != 0)
        put_string(w, KEY_COMPILE_CONTEXT, e->compile_context);
    if ((e->has & SNAPSHOT_HAS_METADATA) != 0)
        put_string(w, KEY_USER_METADATA, e->user_metadata);
    if ((e->has & SNAPSHOT_HAS_FRAMES) != 0)
        write_frames(w, e->stack);
    write_rest_of(w, SNAPSHOT_OF_EVENT, (uint64_t)(e - w->s->events));
    larder__emit_close(&w->emit);
}

static void write_traces(struct snap_writer *w)
{
    const struct snapshot *s = w->s;

    begin_list(&w->emit, KEY_DEVICE_TRACES);
    for (size_t d = 0; d < s->device_count; d++) {
        larder__emit_list_begin(&w->emit);
        for (size_t i = 0; i < s->devices[d].count; i++)
            write_event(w, &s->events[s->devices[d].first + i]);
        larder__emit_close(&w->emit);
    }
    larder__emit_close(&w->emit);
}

/* ---- segments ------------------------------------------------------------- */

static void write_history(struct snap_writer *w, const struct snapshot_block *b)
{
    begin_list(&w->emit, KEY_HISTORY);
    for (uint32_t i = 0; i < b->history_count; i++) {
        const struct snapshot_history *h = &w->s->histories[b->history + i];

        larder__emit_dict_begin(&w->emit);
        put_unsigned(&w->emit, KEY_ADDR, h->address);
        put_unsigned(&w->emit, KEY_REAL_SIZE, h->real_size);
        write_frames(w, h->stack);
        write_rest_of(w, SNAPSHOT_OF_HISTORY, (uint64_t)(h - w->s->histories));
        larder__emit_close(&w->emit);
    }
    larder__emit_close(&w->emit);
}

static void write_block(struct snap_writer *w, const struct snapshot_block *b)
{
    larder__emit_dict_begin(&w->emit);
    if ((b->has & SNAPSHOT_HAS_ADDRESS) != 0)
        put_unsigned(&w->emit, KEY_ADDRESS, b->address);
    put_unsigned(&w->emit, KEY_SIZE, b->size);
    if ((b->has & SNAPSHOT_HAS_REQUESTED) != 0)
        put_unsigned(&w->emit, KEY_REQUESTED_SIZE, b->requested_size);
    put_word(&w->emit, KEY_STATE,
             (enum snap_word)(WORD_ACTIVE_ALLOCATED + b->state));
    if ((b->has & SNAPSHOT_HAS_METADATA) != 0)
        put_string(w, KEY_USER_METADATA, b->user_metadata);
    if ((b->has & SNAPSHOT_HAS_HISTORY) != 0)
        write_history(w, b);
    if ((b->has & SNAPSHOT_HAS_FRAMES) != 0)
        write_frames(w, b->stack);
    write_rest_of(w, SNAPSHOT_OF_BLOCK, (uint64_t)(b - w->s->blocks));
    larder__emit_close(&w->emit);
}

static void write_segment(struct snap_writer *w,
                          const struct snapshot_segment *g)
{
    larder__emit_dict_begin(&w->emit);
    put_device(w, g->device);
    put_unsigned(&w->emit, KEY_ADDRESS, g->address);
    put_unsigned(&w->emit, KEY_TOTAL_SIZE, g->total_size);
    put_unsigned(&w->emit, KEY_ALLOCATED_SIZE, g->allocated_size);
    put_unsigned(&w->emit, KEY_ACTIVE_SIZE, g->active_size);
    if ((g->has & SNAPSHOT_HAS_REQUESTED) != 0)
        put_unsigned(&w->emit, KEY_REQUESTED_SIZE, g->requested_size);
    put_unsigned(&w->emit, KEY_STREAM, snapshot_stream(w->s, g->stream));
    if (g->type != SNAPSHOT_TYPE_UNKNOWN)
        put_word(&w->emit, KEY_SEGMENT_TYPE,
                 g->type == SNAPSHOT_SMALL ? WORD_SMALL : WORD_LARGE);
    if ((g->has & SNAPSHOT_HAS_POOL) != 0) {
        larder__emit_word(&w->emit, KEY_SEGMENT_POOL_ID);
        write_pool(w, g->pool);
    }
    if ((g->has & SNAPSHOT_HAS_EXPANDABLE) != 0)
        put_bool(&w->emit, KEY_IS_EXPANDABLE, g->expandable);
    if ((g->has & SNAPSHOT_HAS_COUNTER) != 0)
        put_signed(&w->emit, KEY_REGISTRATION_COUNTER,
                   (int64_t)g->registration_counter);
    if ((g->has & SNAPSHOT_HAS_FRAMES) != 0)
        write_frames(w, g->stack);
    write_rest_of(w, SNAPSHOT_OF_SEGMENT, (uint64_t)(g - w->s->segments));
    begin_list(&w->emit, KEY_BLOCKS);
    for (size_t i = 0; i < g->block_count; i++)
        write_block(w, &w->s->blocks[g->block + i]);
    larder__emit_close(&w->emit);
    larder__emit_close(&w->emit);
}

static void write_segments(struct snap_writer *w)
{
    larder__emit_list_begin(&w->emit);
    for (size_t i = 0; i < w->s->segment_count; i++)
        write_segment(w, &w->s->segments[i]);
    larder__emit_close(&w->emit);
}

/* ---- settings ------------------------------------------------------------- */

static void put_real(struct emit *e, enum snap_word key, double value)
{
    larder__emit_word(e, key);
    larder__emit_real(e, value);
}

static void write_roundup(struct snap_writer *w)
{
    const struct snapshot_settings *t = &w->s->settings;
    char text[32];

    if (!t->has_roundup)
        return;
    larder__emit_word(&w->emit, KEY_ROUNDUP);
    larder__emit_dict_begin(&w->emit);
    for (size_t i = 0; i < t->roundup_count; i++) {
        snprintf(text, sizeof text, "%llu",
                 (unsigned long long)t->roundup[i].size_mib);
        larder__emit_text(&w->emit, text);
        larder__emit_signed(&w->emit, t->roundup[i].divisions);
    }
    larder__emit_close(&w->emit);
}

static void write_confs(struct snap_writer *w)
{
    const uint32_t *confs = w->s->settings.confs;

    for (unsigned i = 0; i < SNAPSHOT_CONFS; i++) {
        if (confs[i] != 0)
            put_string(w, (enum snap_word)(KEY_CUDA_CONF + i), confs[i] - 1);
    }
}

static void write_settings(struct snap_writer *w)
{
    const struct snapshot_settings *t = &w->s->settings;
    struct emit *e = &w->emit;

    larder__emit_word(e, KEY_ALLOCATOR_SETTINGS);
    larder__emit_dict_begin(e);
    write_confs(w);
#define X(type, key, name)                                                     \
    if (t->has_##name)                                                         \
        put_##type(e, key, t->name);
    SNAP_SETTINGS(X)
#undef X
    write_roundup(w);
    write_rest(w, t->rest);
    larder__emit_close(e);
}

/* ---- annotations ---------------------------------------------------------- */

static void write_annotations(struct snap_writer *w)
{
    begin_list(&w->emit, KEY_EXTERNAL_ANNOTATIONS);
    for (size_t i = 0; i < w->s->annotation_count; i++) {
        const struct snapshot_annotation *a = &w->s->annotations[i];

        larder__emit_dict_begin(&w->emit);
        put_string(w, KEY_STAGE, a->stage);
        put_string(w, KEY_NAME, a->name);
        put_device(w, a->device);
        put_signed(&w->emit, KEY_TIME_US, a->time_us);
        write_rest_of(w, SNAPSHOT_OF_ANNOTATION, i);
        larder__emit_close(&w->emit);
    }
    larder__emit_close(&w->emit);
}

/* ---- values of unknown keys ------------------------------------------------ */

/* Write a range of records as a list; the token tells their kind. */
static void write_records(struct snap_writer *w, char token, size_t first,
                          size_t count)
{
    larder__emit_list_begin(&w->emit);
    for (size_t i = first; i < first + count; i++) {
        if (token == 'e')
            write_event(w, &w->s->events[i]);
        else
            write_segment(w, &w->s->segments[i]);
    }
    larder__emit_close(&w->emit);
}

static void write_real_bits(struct snap_writer *w, uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    larder__emit_real(&w->emit, value);
}

/* Write a token that has a number.  Returns where the next token begins. */
static const char *write_number(struct snap_writer *w, char token,
                                const char *at)
{
    char *end;
    uint64_t n = strtoull(at, &end, token == 'r' ? 16 : 10);

    switch (token) {
    case 'k':
    case 's':
        put_text(w, (uint32_t)n);
        break;
    case 'p':
        write_pool(w, (uint32_t)n);
        break;
    case 'f':
        write_frame(w, (uint32_t)n);
        break;
    case 'r':
        write_real_bits(w, n);
        break;
    case 'i': /* strtoull() negates numbers with a minus */
        larder__emit_signed(&w->emit, (int64_t)n);
        break;
    case 'u':
        larder__emit_unsigned(&w->emit, n);
        break;
    default: /* e, g */
        write_records(w, token, (size_t)n, (size_t)strtoull(end + 1, &end, 10));
        break;
    }
    return end + 1;
}

/* snap_rest.h lists the tokens. */
static void write_rest(struct snap_writer *w, uint32_t pairs)
{
    const char *at = snapshot_string(w->s, pairs);

    while (*at != '\0') {
        char token = *at++;

        switch (token) {
        case '[':
            larder__emit_list_begin(&w->emit);
            break;
        case '{':
            larder__emit_dict_begin(&w->emit);
            break;
        case ']':
        case '}':
            larder__emit_close(&w->emit);
            break;
        case 'N':
            larder__emit_none(&w->emit);
            break;
        case 'T':
        case 'F':
            larder__emit_bool(&w->emit, token == 'T');
            break;
        default:
            at = write_number(w, token, at);
            break;
        }
    }
}

/* ---- the whole snapshot --------------------------------------------------- */

static void write_all(struct snap_writer *w)
{
    larder__emit_word(&w->emit, KEY_SEGMENTS);
    write_segments(w);
    if (w->s->has_device_traces)
        write_traces(w);
    if (w->s->settings.present)
        write_settings(w);
    if (w->s->has_external_annotations)
        write_annotations(w);
    write_rest(w, w->s->rest);
}

static void write_dict(struct snap_writer *w)
{
    larder__emit_dict_begin(&w->emit);
    write_all(w);
    larder__emit_close(&w->emit);
}

/* ---- JSON: stacks and frames by number ------------------------------------ */

static void use_stack(struct snap_writer *w, uint8_t has, uint32_t stack)
{
    if ((has & SNAPSHOT_HAS_FRAMES) != 0)
        w->stacks[stack] = 1;
}

/* Mark the items that anything written refers to. */
static void find_used(struct snap_writer *w)
{
    const struct snapshot *s = w->s;

    for (size_t i = 0; i < s->event_end; i++)
        use_stack(w, s->events[i].has, s->events[i].stack);
    for (size_t i = 0; i < s->segment_end; i++)
        use_stack(w, s->segments[i].has, s->segments[i].stack);
    for (size_t i = 0; i < s->block_end; i++)
        use_stack(w, s->blocks[i].has, s->blocks[i].stack);
    for (size_t i = 0; i < s->history_count; i++)
        use_stack(w, SNAPSHOT_HAS_FRAMES, s->histories[i].stack);
    for (uint32_t stack = 0; stack < s->stack_count; stack++) {
        size_t count;
        const uint32_t *frames = snapshot_stack(s, stack, &count);

        for (size_t i = 0; w->stacks[stack] != 0 && i < count; i++)
            w->frames[frames[i]] = 1;
    }
}

/* Replace the marks by numbers. */
static void snapshot_write_number(uint32_t *marks, size_t count)
{
    uint32_t next = 0;

    for (size_t i = 0; i < count; i++) {
        if (marks[i] != 0)
            marks[i] = ++next;
    }
}

static void write_stack(struct snap_writer *w, uint32_t stack)
{
    size_t count;
    const uint32_t *frames = snapshot_stack(w->s, stack, &count);

    larder__emit_list_begin(&w->emit);
    for (size_t i = 0; i < count; i++) {
        larder__emit_unsigned(&w->emit, w->frames[frames[i]] - 1);
    }
    larder__emit_close(&w->emit);
}

static void write_stacks(struct snap_writer *w)
{
    begin_list(&w->emit, KEY_FRAMES);
    for (uint32_t i = 0; i < w->s->frame_count; i++) {
        if (w->frames[i] != 0)
            write_frame(w, i);
    }
    larder__emit_close(&w->emit);
    begin_list(&w->emit, KEY_STACKS);
    for (uint32_t i = 0; i < w->s->stack_count; i++) {
        if (w->stacks[i] != 0)
            write_stack(w, i);
    }
    larder__emit_close(&w->emit);
}

/* ---- the three ways -------------------------------------------------------- */

static int write_to_file(void *ctx, const void *bytes, size_t count)
{
    return fwrite(bytes, 1, count, ctx) != count;
}

static void write_json(struct snap_writer *w)
{
    find_used(w);
    snapshot_write_number(w->frames, w->s->frame_count);
    snapshot_write_number(w->stacks, w->s->stack_count);
    larder__emit_dict_begin(&w->emit);
    write_stacks(w);
    write_all(w);
    larder__emit_close(&w->emit);
}

/* Write all of it.  False: writing failed. */
static bool write_form(struct snap_writer *w, enum emit_form form,
                       void (*write)(struct snap_writer *w), FILE *out,
                       struct tool_error *error)
{
    errno = 0;
    larder__emit_begin(&w->emit, form, w->strings, write_to_file, out);
    write(w);
    if (larder__emit_end(&w->emit) && fflush(out) == 0 && !ferror(out))
        return true;
    return tool_fail(error, "the snapshot cannot be written: %s",
                     errno != 0 ? strerror(errno) : "write error");
}

static bool snapshot_write(const struct snapshot *s, enum emit_form form,
                           void (*write)(struct snap_writer *w), FILE *out,
                           struct tool_error *error)
{
    struct arena arena = {
        .error = error,
        .words = "the snapshot cannot be written: out of host memory"};
    struct snap_writer *w;

    if (setjmp(arena.failed) != 0)
        return arena_end(&arena, false);
    w = arena_take(&arena, 1, sizeof *w);
    w->s = s;
    w->strings = arena_take(&arena, s->string_count, sizeof *w->strings);
    w->frames = arena_take(&arena, s->frame_count, sizeof *w->frames);
    w->stacks = arena_take(&arena, s->stack_count, sizeof *w->stacks);
    w->pools = arena_take(&arena, s->pool_count, sizeof *w->pools);
    return arena_end(&arena, write_form(w, form, write, out, error));
}

bool snapshot_write_pickle(const struct snapshot *s, FILE *out,
                           struct tool_error *error)
{
    return snapshot_write(s, EMIT_PICKLE, write_dict, out, error);
}

bool snapshot_write_segments(const struct snapshot *s, FILE *out,
                             struct tool_error *error)
{
    return snapshot_write(s, EMIT_PICKLE, write_segments, out, error);
}

bool snapshot_write_json(const struct snapshot *s, FILE *out,
                         struct tool_error *error)
{
    return snapshot_write(s, EMIT_JSON_DUMP, write_json, out, error);
}

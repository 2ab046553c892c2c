/* snapshot_write.c - writes a snapshot as lists and dicts, with the keys in
 * PyTorch's order. */
#include "snapshot/snapshot_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/snap_put.h"

/* ---- unknown keys ---------------------------------------------------------- */

static int rest_order(const void *record, const void *rest)
{
    uint64_t x = *(const uint64_t *)record;
    uint64_t y = ((const struct snapshot_rest *)rest)->record;

    return (x > y) - (x < y);
}

static void put_device(struct snap_sink *k, uint16_t device)
{
    put_signed(k, KEY_DEVICE, device == SNAPSHOT_ON_HOST ? -1 : device);
}

static void write_rest_of(struct snap_sink *k, enum snapshot_record kind,
                          uint64_t record)
{
    const struct snapshot_rests *all = &k->s->rests[kind];
    const struct snapshot_rest *found = NULL;

    if (all->count > 0)
        found =
            bsearch(&record, all->at, all->count, sizeof *all->at, rest_order);
    if (found != NULL)
        snap_write_rest(k, found->pairs);
}

/* ---- frames --------------------------------------------------------------- */

static void write_frame_value(struct snap_sink *k, uint32_t number)
{
    const struct snapshot_frame *f = &k->s->frames[number];

    if (k->form->again(k, false, number))
        return;
    k->form->begin(k, true);
    k->form->remember(k, false, number);
    put_string(k, KEY_NAME, f->name);
    put_string(k, KEY_FILENAME, f->filename);
    put_size(k, KEY_LINE, f->line);
    put_some_string(k, KEY_FX_NODE_OP, f->fx_node_op);
    put_some_string(k, KEY_FX_NODE_NAME, f->fx_node_name);
    put_some_string(k, KEY_FX_ORIGINAL_TRACE, f->fx_original_trace);
    snap_write_rest(k, f->rest);
    k->form->end(k);
}

static void write_frame(struct snap_sink *k, uint32_t number)
{
    k->form->item(k);
    write_frame_value(k, number);
}

static void write_frames(struct snap_sink *k, uint32_t stack)
{
    size_t count;
    const uint32_t *frames = snapshot_stack(k->s, stack, &count);

    k->form->key(k, KEY_FRAMES);
    if (k->form->again(k, true, stack))
        return;
    k->form->begin(k, false);
    k->form->remember(k, true, stack);
    for (size_t i = 0; i < count; i++)
        write_frame(k, frames[i]);
    k->form->end(k);
}

/* ---- events --------------------------------------------------------------- */

static void write_action(struct snap_sink *k, const struct snapshot_event *e)
{
    if (e->action < SNAPSHOT_OTHER)
        put_word(k, KEY_ACTION, (enum snap_word)(WORD_ALLOC + e->action));
    else
        put_string(k, KEY_ACTION,
                   k->s->other_actions[e->action - SNAPSHOT_OTHER].name);
}

static void write_event(struct snap_sink *k, const struct snapshot_event *e)
{
    begin_item(k);
    write_action(k, e);
    if ((e->has & SNAPSHOT_HAS_ADDRESS) != 0)
        put_size(k, e->action == SNAPSHOT_OOM ? KEY_DEVICE_FREE : KEY_ADDR,
                 e->address);
    put_size(k, KEY_SIZE, e->size);
    put_stream(k, e->stream);
    if ((e->has & SNAPSHOT_HAS_DEVICE) != 0)
        put_device(k, e->device);
    if ((e->has & SNAPSHOT_HAS_POOL) != 0)
        put_pool(k, KEY_POOL_ID, e->pool);
    if ((e->has & SNAPSHOT_HAS_TIME) != 0)
        put_signed(k, KEY_TIME_US, e->time_us);
    if ((e->has & SNAPSHOT_HAS_CONTEXT) != 0)
        put_string(k, KEY_COMPILE_CONTEXT, e->compile_context);
    if ((e->has & SNAPSHOT_HAS_METADATA) != 0)
        put_string(k, KEY_USER_METADATA, e->user_metadata);
    if ((e->has & SNAPSHOT_HAS_FRAMES) != 0)
        write_frames(k, e->stack);
    write_rest_of(k, SNAPSHOT_OF_EVENT, (uint64_t)(e - k->s->events));
    k->form->end(k);
}

static void write_traces(struct snap_sink *k)
{
    const struct snapshot *s = k->s;

    begin_list(k, KEY_DEVICE_TRACES);
    for (size_t d = 0; d < s->device_count; d++) {
        k->form->item(k);
        k->form->begin(k, false);
        for (size_t i = 0; i < s->devices[d].count; i++)
            write_event(k, &s->events[s->devices[d].first + i]);
        k->form->end(k);
    }
    k->form->end(k);
}

/* ---- segments ------------------------------------------------------------- */

static void write_history(struct snap_sink *k, const struct snapshot_block *b)
{
    begin_list(k, KEY_HISTORY);
    for (uint32_t i = 0; i < b->history_count; i++) {
        const struct snapshot_history *h = &k->s->histories[b->history + i];

        begin_item(k);
        put_size(k, KEY_ADDR, h->address);
        put_size(k, KEY_REAL_SIZE, h->real_size);
        write_frames(k, h->stack);
        write_rest_of(k, SNAPSHOT_OF_HISTORY, (uint64_t)(h - k->s->histories));
        k->form->end(k);
    }
    k->form->end(k);
}

static void write_block(struct snap_sink *k, const struct snapshot_block *b)
{
    begin_item(k);
    if ((b->has & SNAPSHOT_HAS_ADDRESS) != 0)
        put_size(k, KEY_ADDRESS, b->address);
    put_size(k, KEY_SIZE, b->size);
    if ((b->has & SNAPSHOT_HAS_REQUESTED) != 0)
        put_size(k, KEY_REQUESTED_SIZE, b->requested_size);
    put_word(k, KEY_STATE, (enum snap_word)(WORD_ACTIVE_ALLOCATED + b->state));
    if ((b->has & SNAPSHOT_HAS_METADATA) != 0)
        put_string(k, KEY_USER_METADATA, b->user_metadata);
    if ((b->has & SNAPSHOT_HAS_HISTORY) != 0)
        write_history(k, b);
    if ((b->has & SNAPSHOT_HAS_FRAMES) != 0)
        write_frames(k, b->stack);
    write_rest_of(k, SNAPSHOT_OF_BLOCK, (uint64_t)(b - k->s->blocks));
    k->form->end(k);
}

static void write_segment(struct snap_sink *k, const struct snapshot_segment *g)
{
    begin_item(k);
    put_device(k, g->device);
    put_size(k, KEY_ADDRESS, g->address);
    put_size(k, KEY_TOTAL_SIZE, g->total_size);
    put_size(k, KEY_ALLOCATED_SIZE, g->allocated_size);
    put_size(k, KEY_ACTIVE_SIZE, g->active_size);
    if ((g->has & SNAPSHOT_HAS_REQUESTED) != 0)
        put_size(k, KEY_REQUESTED_SIZE, g->requested_size);
    put_stream(k, g->stream);
    if (g->type != SNAPSHOT_TYPE_UNKNOWN)
        put_word(k, KEY_SEGMENT_TYPE,
                 g->type == SNAPSHOT_SMALL ? WORD_SMALL : WORD_LARGE);
    if ((g->has & SNAPSHOT_HAS_POOL) != 0)
        put_pool(k, KEY_SEGMENT_POOL_ID, g->pool);
    if ((g->has & SNAPSHOT_HAS_EXPANDABLE) != 0)
        put_bool(k, KEY_IS_EXPANDABLE, g->expandable);
    if ((g->has & SNAPSHOT_HAS_COUNTER) != 0)
        put_signed(k, KEY_REGISTRATION_COUNTER,
                   (int64_t)g->registration_counter);
    if ((g->has & SNAPSHOT_HAS_FRAMES) != 0)
        write_frames(k, g->stack);
    write_rest_of(k, SNAPSHOT_OF_SEGMENT, (uint64_t)(g - k->s->segments));
    begin_list(k, KEY_BLOCKS);
    for (size_t i = 0; i < g->block_count; i++)
        write_block(k, &k->s->blocks[g->block + i]);
    k->form->end(k);
    k->form->end(k);
}

static void write_segments(struct snap_sink *k)
{
    k->form->begin(k, false);
    for (size_t i = 0; i < k->s->segment_count; i++)
        write_segment(k, &k->s->segments[i]);
    k->form->end(k);
}

/* ---- annotations ---------------------------------------------------------- */

static void write_annotations(struct snap_sink *k)
{
    begin_list(k, KEY_EXTERNAL_ANNOTATIONS);
    for (size_t i = 0; i < k->s->annotation_count; i++) {
        const struct snapshot_annotation *a = &k->s->annotations[i];

        begin_item(k);
        put_string(k, KEY_STAGE, a->stage);
        put_string(k, KEY_NAME, a->name);
        put_device(k, a->device);
        put_signed(k, KEY_TIME_US, a->time_us);
        write_rest_of(k, SNAPSHOT_OF_ANNOTATION, i);
        k->form->end(k);
    }
    k->form->end(k);
}

/* ---- values of unknown keys ------------------------------------------------ */

/* Write a range of records as a list; the token tells their kind. */
static void write_records(struct snap_sink *k, char token, size_t first,
                          size_t count)
{
    k->form->begin(k, false);
    for (size_t i = first; i < first + count; i++) {
        if (token == 'e')
            write_event(k, &k->s->events[i]);
        else
            write_segment(k, &k->s->segments[i]);
    }
    k->form->end(k);
}

static void write_real_bits(struct snap_sink *k, uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    k->form->real(k, value);
}

/* Write a token that has a number.  Returns where the next token begins. */
static const char *write_number(struct snap_sink *k, char token, const char *at)
{
    char *end;
    uint64_t n = strtoull(at, &end, token == 'r' ? 16 : 10);

    switch (token) {
    case 'k':
        k->form->key_string(k, (uint32_t)n);
        break;
    case 's':
        k->form->string(k, (uint32_t)n);
        break;
    case 'p':
        k->form->pool(k, (uint32_t)n);
        break;
    case 'f':
        write_frame_value(k, (uint32_t)n);
        break;
    case 'r':
        write_real_bits(k, n);
        break;
    case 'i': /* strtoull() negates numbers with a minus */
    case 'u':
        k->form->integer(k, n, token == 'i');
        break;
    default: /* e, g */
        write_records(k, token, (size_t)n, (size_t)strtoull(end + 1, &end, 10));
        break;
    }
    return end + 1;
}

/* snap_rest.h lists the tokens. */
void snap_write_rest(struct snap_sink *k, uint32_t pairs)
{
    const char *at = snapshot_string(k->s, pairs);

    while (*at != '\0') {
        char token = *at++;

        switch (token) {
        case ',':
            k->form->item(k);
            break;
        case '[':
        case '{':
            k->form->begin(k, token == '{');
            break;
        case ']':
        case '}':
            k->form->end(k);
            break;
        case 'N':
            k->form->none(k);
            break;
        case 'T':
        case 'F':
            k->form->boolean(k, token == 'T');
            break;
        default:
            at = write_number(k, token, at);
            break;
        }
    }
}

/* ---- the whole snapshot --------------------------------------------------- */

static void write_all(struct snap_sink *k)
{
    k->form->key(k, KEY_SEGMENTS);
    write_segments(k);
    if (k->s->has_device_traces)
        write_traces(k);
    if (k->s->settings.present)
        snap_write_settings(k);
    if (k->s->has_external_annotations)
        write_annotations(k);
    snap_write_rest(k, k->s->rest);
}

static void write_dict(struct snap_sink *k)
{
    k->form->begin(k, true);
    write_all(k);
    k->form->end(k);
}

static bool snapshot_write_finish(struct snap_sink *k, struct tool_error *error)
{
    errno = 0;
    if (fflush(k->out) == 0 && !ferror(k->out))
        return true;
    return tool_fail(error, "the snapshot cannot be written: %s",
                     errno != 0 ? strerror(errno) : "write error");
}

/* ---- JSON: stacks and frames by number ------------------------------------ */

static void use_stack(struct snap_sink *k, uint8_t has, uint32_t stack)
{
    if ((has & SNAPSHOT_HAS_FRAMES) != 0)
        k->stacks[stack] = 1;
}

/* Mark the items that anything written refers to. */
static void find_used(struct snap_sink *k)
{
    const struct snapshot *s = k->s;

    for (size_t i = 0; i < s->event_end; i++)
        use_stack(k, s->events[i].has, s->events[i].stack);
    for (size_t i = 0; i < s->segment_end; i++)
        use_stack(k, s->segments[i].has, s->segments[i].stack);
    for (size_t i = 0; i < s->block_end; i++)
        use_stack(k, s->blocks[i].has, s->blocks[i].stack);
    for (size_t i = 0; i < s->history_count; i++)
        use_stack(k, SNAPSHOT_HAS_FRAMES, s->histories[i].stack);
    for (uint32_t stack = 0; stack < s->stack_count; stack++) {
        size_t count;
        const uint32_t *frames = snapshot_stack(s, stack, &count);

        for (size_t i = 0; k->stacks[stack] != 0 && i < count; i++)
            k->frames[frames[i]] = 1;
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

static void write_stack(struct snap_sink *k, uint32_t stack)
{
    size_t count;
    const uint32_t *frames = snapshot_stack(k->s, stack, &count);

    k->form->item(k);
    k->form->begin(k, false);
    for (size_t i = 0; i < count; i++) {
        k->form->item(k);
        k->form->integer(k, k->frames[frames[i]] - 1, false);
    }
    k->form->end(k);
}

static void write_stacks(struct snap_sink *k)
{
    begin_list(k, KEY_FRAMES);
    for (uint32_t i = 0; i < k->s->frame_count; i++) {
        if (k->frames[i] != 0)
            write_frame(k, i);
    }
    k->form->end(k);
    begin_list(k, KEY_STACKS);
    for (uint32_t i = 0; i < k->s->stack_count; i++) {
        if (k->stacks[i] != 0)
            write_stack(k, i);
    }
    k->form->end(k);
}

bool snapshot_write_json(const struct snapshot *s, FILE *out,
                         struct tool_error *error)
{
    struct snap_sink k = {.form = &snap_form_json, .s = s, .out = out};
    bool fine;

    k.frames = calloc(s->frame_count + 1, sizeof *k.frames);
    k.stacks = calloc(s->stack_count + 1, sizeof *k.stacks);
    fine = k.frames != NULL && k.stacks != NULL;
    if (!fine) {
        tool_set_error(error, "the snapshot cannot be written: out of host "
                              "memory");
    } else {
        find_used(&k);
        snapshot_write_number(k.frames, s->frame_count);
        snapshot_write_number(k.stacks, s->stack_count);
        k.form->begin(&k, true);
        write_stacks(&k);
        write_all(&k);
        k.form->end(&k);
        fine = snapshot_write_finish(&k, error);
    }
    free(k.frames);
    free(k.stacks);
    return fine;
}

static bool write_pickle(const struct snapshot *s, FILE *out,
                         void (*write)(struct snap_sink *k),
                         struct tool_error *error)
{
    struct snap_sink k = {.form = &snap_form_pickle, .s = s, .out = out};
    bool fine;

    k.strings = calloc(s->string_count + 1, sizeof *k.strings);
    k.frames = calloc(s->frame_count + 1, sizeof *k.frames);
    k.stacks = calloc(s->stack_count + 1, sizeof *k.stacks);
    k.pools = calloc(s->pool_count + 1, sizeof *k.pools);
    fine = k.strings != NULL && k.frames != NULL && k.stacks != NULL &&
           k.pools != NULL;
    if (!fine) {
        tool_set_error(error, "the snapshot cannot be written: out of host "
                              "memory");
    } else {
        fputs("\x80\x04", out);
        write(&k);
        putc('.', out);
        fine = snapshot_write_finish(&k, error);
    }
    free(k.strings);
    free(k.frames);
    free(k.stacks);
    free(k.pools);
    return fine;
}

bool snapshot_write_pickle(const struct snapshot *s, FILE *out,
                           struct tool_error *error)
{
    return write_pickle(s, out, write_dict, error);
}

bool snapshot_write_segments(const struct snapshot *s, FILE *out,
                             struct tool_error *error)
{
    return write_pickle(s, out, write_segments, error);
}

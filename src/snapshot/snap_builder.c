/* snap_builder.c - the stack of values that both readers use to build lists and
 * dicts. */
#include "snapshot/snap_builder.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Python writes dicts in batches of a thousand, so a smaller first batch is
 * complete. */
enum { BATCH = 1000, KEEP_CAPACITY = 4096 };

/* ---- errors --------------------------------------------------------------- */

TOOL_NO_RETURN void snap_give_up(struct snap_builder *b)
{
    longjmp(b->gave_up, 1);
}

static void fail_words(struct snap_builder *b, uint64_t offset,
                       const char *format, va_list args)
{
    char words[2048];

    vsnprintf(words, sizeof words, format, args);
    tool_set_error(b->error, "%s: byte %" PRIu64 ": %s", b->in.path, offset,
                   words);
}

TOOL_NO_RETURN void snap_fail_at(struct snap_builder *b, uint32_t at,
                                 const char *format, ...)
{
    uint64_t here = snap_input_offset(&b->in, b->in.at);
    uint64_t offset = (here & ~(uint64_t)UINT32_MAX) | at;
    va_list args;

    if (offset > here)
        offset -= (uint64_t)1 << 32;
    va_start(args, format);
    fail_words(b, offset, format, args);
    va_end(args);
    snap_give_up(b);
}

TOOL_NO_RETURN void snap_fail(struct snap_builder *b, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fail_words(b, snap_input_offset(&b->in, b->in.at), format, args);
    va_end(args);
    snap_give_up(b);
}

TOOL_NO_RETURN void snap_no_memory(struct snap_builder *b)
{
    if (!b->memory.over_budget)
        snap_fail(b, "out of host memory");
    snap_fail(b,
              "takes more than %d bytes of memory for each byte of it; "
              "expected a snapshot",
              SNAP_INPUT_FACTOR);
}

const char *snap_kind_name(const struct snap_builder *b,
                           const struct snap_value *v)
{
    static const char *const names[] = {
        [SNAP_UNSET] = "nothing",  [SNAP_STRING] = "a string",
        [SNAP_FRAME] = "a frame",  [SNAP_STACK] = "a list of frames",
        [SNAP_OBJECT] = "a list",  [SNAP_POOL] = "a pair of integers",
        [SNAP_EMPTY_LIST] = "[]",  [SNAP_OPAQUE] = "something opaque",
        [SNAP_NULL] = "None",      [SNAP_BOOL] = "a bool",
        [SNAP_INT] = "an integer", [SNAP_UINT] = "an integer above 2^63",
        [SNAP_REAL] = "a float",   [SNAP_EVENT] = "an event",
        [SNAP_BLOCK] = "a block",  [SNAP_SEGMENT] = "a segment",
        [SNAP_HISTORY] = "a dict", [SNAP_ANNOTATION] = "an annotation",
    };

    if (v->kind == SNAP_OBJECT &&
        b->objects[(uint32_t)v->bits].type == SNAP_DICT)
        return "a dict";
    if (v->kind == SNAP_INT && (int64_t)v->bits < 0)
        return "a negative integer";
    return names[v->kind];
}

/* ---- memory and the stack ------------------------------------------------- */

void snap_room(struct snap_builder *b, void *array, size_t *capacity,
               size_t needed, size_t item)
{
    if (!snap_reserve(&b->memory, array, capacity, needed, item))
        snap_no_memory(b);
}

void snap_stack_grow(struct snap_builder *b)
{
    SNAP_ROOM(b, b->stack, b->stack_capacity, b->depth + 1);
}

void snap_mark(struct snap_builder *b)
{
    if (b->mark_count >= SNAPSHOT_DEPTH_MAX)
        snap_fail(b, "nested deeper than the limit of %d", SNAPSHOT_DEPTH_MAX);
    SNAP_ADD(b, b->marks, b->mark_count, b->mark_capacity, b->depth);
}

size_t snap_unmark(struct snap_builder *b)
{
    size_t base;

    if (b->mark_count == 0)
        snap_fail(b, "a mark is missing here");
    base = b->marks[--b->mark_count];
    if (base > b->depth)
        snap_fail(b, "values below the last mark were taken");
    return base;
}

/* ---- the memo ------------------------------------------------------------- */

static uint32_t memo_pack(const struct snap_value *v)
{
    uint32_t bits = (uint32_t)v->bits;

    if (v->kind > SNAP_OPAQUE || bits >> SNAP_MEMO_SHIFT != 0)
        return (uint32_t)SNAP_OPAQUE << SNAP_MEMO_SHIFT;
    return (uint32_t)v->kind << SNAP_MEMO_SHIFT | bits;
}

static void memo_room(struct snap_builder *b, uint64_t index)
{
    if (index < b->memo_end)
        return;
    if (index >= SNAP_NONE || index > b->memory.input_bytes)
        snap_fail(b, "memo %" PRIu64 " is beyond what this file can hold",
                  index);
    SNAP_ROOM(b, b->memo, b->memo_capacity, (size_t)index + 1);
    memset(b->memo + b->memo_end, 0,
           (b->memo_capacity - b->memo_end) * sizeof *b->memo);
    b->memo_end = b->memo_capacity;
}

void snap_memo_put(struct snap_builder *b, uint64_t index)
{
    const struct snap_value *top;

    if (b->depth == 0)
        snap_fail(b, "nothing on the stack to memoize");
    memo_room(b, index);
    top = &b->stack[b->depth - 1];
    if (b->memo[index] == 0)
        b->memo_set++;
    else
        b->memo_rewritten = true;
    b->memo[index] = memo_pack(top);
    if (top->kind == SNAP_OBJECT)
        b->objects[(uint32_t)top->bits].memo = (uint32_t)index;
}

void snap_memo_get(struct snap_builder *b, uint64_t index)
{
    uint32_t packed = index < b->memo_end ? b->memo[index] : 0;
    enum snap_kind kind = (enum snap_kind)(packed >> SNAP_MEMO_SHIFT);
    uint64_t bits = packed & (((uint32_t)1 << SNAP_MEMO_SHIFT) - 1);

    if (kind == SNAP_UNSET)
        snap_fail_at(b, b->at, "memo %" PRIu64 " was never set", index);
    if (kind == SNAP_OBJECT) {
        struct snap_object *o = &b->objects[bits];

        o->shared = true;
        bits |= (uint64_t)o->generation << 32;
        if (o->type == SNAP_FREE || o->memo != index) {
            kind = SNAP_OPAQUE;
            bits = 0;
        }
    }
    snap_push(b, kind, bits);
}

/* ---- objects -------------------------------------------------------------- */

struct snap_object *snap_object_of(struct snap_builder *b,
                                   const struct snap_value *v,
                                   enum snap_object_type type)
{
    struct snap_object *o;

    if (v->kind != SNAP_OBJECT)
        return NULL;
    o = &b->objects[(uint32_t)v->bits];
    if (o->generation != (uint32_t)(v->bits >> 32) || o->type != type)
        return NULL;
    return o;
}

void snap_push_object(struct snap_builder *b, enum snap_object_type type)
{
    uint32_t n = b->free_object;
    struct snap_object *o;

    if (n != SNAP_NONE) {
        o = &b->objects[n];
        b->free_object = o->memo;
    } else {
        n = (uint32_t)b->object_count;
        if (n >> SNAP_MEMO_SHIFT != 0)
            snap_no_memory(b);
        SNAP_ADD(b, b->objects, b->object_count, b->object_capacity,
                 (struct snap_object){0});
        o = &b->objects[n];
    }
    o->type = (uint8_t)type;
    o->memo = SNAP_NONE;
    o->count = 0;
    o->range = SNAP_UNSET;
    o->only_frames = true;
    o->settled = false;
    o->shared = false;
    snap_push(b, SNAP_OBJECT, n | (uint64_t)o->generation << 32);
}

void snap_object_free(struct snap_builder *b, const struct snap_value *v,
                      const struct snap_value *now)
{
    uint32_t n = (uint32_t)v->bits;
    struct snap_object *o = &b->objects[n];

    if (snap_object_of(b, v, SNAP_LIST) == NULL &&
        snap_object_of(b, v, SNAP_DICT) == NULL)
        return;
    if (o->memo != SNAP_NONE &&
        b->memo[o->memo] == ((uint32_t)SNAP_OBJECT << SNAP_MEMO_SHIFT | n))
        b->memo[o->memo] = memo_pack(now);
    if (o->capacity > KEEP_CAPACITY || o->shared) {
        snap_release(&b->memory, o->items, o->capacity * sizeof *o->items);
        o->items = NULL;
        o->capacity = 0;
    }
    if (o->shared) {
        o->type = SNAP_BECAME;
        o->range = now->kind;
        o->first = now->bits;
        return;
    }
    o->type = SNAP_FREE;
    o->generation++;
    o->memo = b->free_object;
    b->free_object = n;
}

/* Replace the object, and the value, by what *now says. */
static void object_becomes(struct snap_builder *b, struct snap_value *v,
                           enum snap_kind kind, uint64_t bits)
{
    struct snap_value now = {.bits = bits, .at = v->at, .kind = (uint8_t)kind};

    snap_object_free(b, v, &now);
    *v = now;
}

static void items_room(struct snap_builder *b, struct snap_object *o,
                       size_t more)
{
    SNAP_ROOM(b, o->items, o->capacity, o->count + more);
}

/* ---- lists ---------------------------------------------------------------- */

/* Expand a range or stack to single values, because something else is added to
 * it. */
static void list_spell_out(struct snap_builder *b, struct snap_object *o)
{
    size_t count = o->count;
    uint8_t range = o->range;
    uint64_t first = o->first;
    const uint32_t *frames = NULL;

    if (range == SNAP_UNSET)
        return;
    if (range == SNAP_STACK)
        frames = snapshot_stack(b->s, (uint32_t)first, &count);
    o->count = 0;
    items_room(b, o, count);
    for (size_t i = 0; i < count; i++) {
        o->items[i] =
            frames != NULL
                ? (struct snap_value){.bits = frames[i], .kind = SNAP_FRAME}
                : (struct snap_value){.bits = first + i, .kind = range};
    }
    o->count = count;
    o->range = SNAP_UNSET;
    o->only_frames = frames != NULL;
}

/* Extend a range by as many of the values as fit.  Returns how many. */
static size_t list_extend_range(struct snap_object *o,
                                const struct snap_value *v, size_t count)
{
    size_t i = 0;

    if (o->count == 0 && v->kind >= SNAP_EVENT) {
        o->range = v->kind;
        o->first = v->bits;
    }
    if (o->range < SNAP_EVENT)
        return 0;
    while (i < count && v[i].kind == o->range &&
           v[i].bits == o->first + o->count) {
        o->count++;
        i++;
    }
    return i;
}

static void list_extend(struct snap_builder *b, struct snap_object *o,
                        const struct snap_value *v, size_t count)
{
    size_t i = count == 0 ? 0 : list_extend_range(o, v, count);

    if (i == count)
        return;
    list_spell_out(b, o);
    items_room(b, o, count - i);
    for (; i < count; i++) {
        o->only_frames = o->only_frames && v[i].kind == SNAP_FRAME;
        o->items[o->count++] = v[i];
    }
}

static void settle_all(struct snap_builder *b, size_t first, size_t step)
{
    for (size_t i = first; i < b->depth; i += step) {
        if (b->stack[i].kind == SNAP_OBJECT)
            snap_settle(b, &b->stack[i]);
    }
}

/* The list or dict that the values from base on are added to. */
static struct snap_object *target_of(struct snap_builder *b, size_t base,
                                     enum snap_object_type type)
{
    const char *wanted = type == SNAP_LIST ? "a list" : "a dict";
    struct snap_object *o;

    /* A mark among the items would point beyond the stack. */
    if (base == 0 || (b->mark_count > 0 && b->marks[b->mark_count - 1] >= base))
        snap_fail(b, "nothing below the items; expected %s", wanted);
    o = snap_object_of(b, &b->stack[base - 1], type);
    if (o == NULL)
        snap_fail(b, "the items are for %s; expected %s that is not in use yet",
                  snap_kind_name(b, &b->stack[base - 1]), wanted);
    if (o->settled)
        snap_fail(b, "%s that is already in use is changed", wanted);
    return o;
}

void snap_append_from(struct snap_builder *b, size_t base)
{
    settle_all(b, base, 1);
    list_extend(b, target_of(b, base, SNAP_LIST), b->stack + base,
                b->depth - base);
    b->depth = base;
}

/* Put a new object below the values from base on. */
static void object_below(struct snap_builder *b, enum snap_object_type type,
                         size_t base)
{
    struct snap_value v;

    snap_push_object(b, type);
    v = b->stack[b->depth - 1];
    memmove(b->stack + base + 1, b->stack + base,
            (b->depth - 1 - base) * sizeof v);
    b->stack[base] = v;
}

void snap_make_list(struct snap_builder *b, size_t base)
{
    const struct snap_value *v = b->stack + base;

    /* Two integers are a pool's id. */
    if (b->depth - base == 2 && snap_is_integer(&v[0]) &&
        snap_is_integer(&v[1])) {
        b->depth = base;
        snap_push(b, SNAP_POOL, snap_intern_pool(b, v));
        return;
    }
    object_below(b, SNAP_LIST, base);
    snap_append_from(b, base + 1);
}

void snap_make_dict(struct snap_builder *b, size_t base)
{
    object_below(b, SNAP_DICT, base);
    snap_set_items_from(b, base + 1, true);
}

struct snap_object *snap_top_empty_list(struct snap_builder *b)
{
    struct snap_object *list =
        b->depth > 0 ? snap_object_of(b, &b->stack[b->depth - 1], SNAP_LIST)
                     : NULL;

    return list != NULL && list->count == 0 && !list->settled ? list : NULL;
}

/* ---- dicts ---------------------------------------------------------------- */

void snap_set_items_from(struct snap_builder *b, size_t base, bool whole)
{
    size_t count = b->depth - base;
    struct snap_value now = {.kind = SNAP_UNSET};
    struct snap_object *o;

    if (count % 2 != 0)
        snap_fail(b, "a key without a value");
    settle_all(b, base + 1, 2);
    o = target_of(b, base, SNAP_DICT);
    if (o->count == 0 && whole && count < 2 * BATCH)
        snap_record_make(b, b->stack + base, count, &now);
    if (now.kind != SNAP_UNSET) {
        b->depth = base;
        object_becomes(b, &b->stack[base - 1], now.kind, now.bits);
        return;
    }
    items_room(b, o, count);
    if (count > 0)
        memcpy(o->items + o->count, b->stack + base, count * sizeof *o->items);
    o->count += count;
    b->depth = base;
}

/* ---- converting finished objects ------------------------------------------ */

static void settle_list(struct snap_builder *b, struct snap_value *v,
                        struct snap_object *o)
{
    if (o->count == 0) {
        object_becomes(b, v, SNAP_EMPTY_LIST, 0);
        return;
    }
    if (o->range == SNAP_STACK) {
        object_becomes(b, v, SNAP_STACK, o->first);
        return;
    }
    o->settled = true;
    if (o->range != SNAP_UNSET || !o->only_frames)
        return;
    SNAP_ROOM(b, b->ids, b->id_capacity, o->count);
    for (size_t i = 0; i < o->count; i++)
        b->ids[i] = (uint32_t)o->items[i].bits;
    object_becomes(b, v, SNAP_STACK, snap_intern_stack(b, b->ids, o->count));
}

static void settle_dict(struct snap_builder *b, struct snap_value *v,
                        struct snap_object *o)
{
    struct snap_value now = {.kind = SNAP_UNSET};

    o->settled = true;
    snap_record_make(b, o->items, o->count, &now);
    if (now.kind != SNAP_UNSET)
        object_becomes(b, v, now.kind, now.bits);
}

void snap_settle(struct snap_builder *b, struct snap_value *v)
{
    struct snap_object *o = &b->objects[(uint32_t)v->bits];

    if (o->generation != (uint32_t)(v->bits >> 32))
        *v = (struct snap_value){.at = v->at, .kind = SNAP_OPAQUE};
    else if (o->type == SNAP_BECAME)
        *v = (struct snap_value){
            .bits = o->first, .at = v->at, .kind = o->range};
    else if (!o->settled && o->type == SNAP_LIST)
        settle_list(b, v, o);
    else if (!o->settled)
        settle_dict(b, v, o);
}

/* ---- begin and end -------------------------------------------------------- */

void snap_builder_init(struct snap_builder *b)
{
    b->free_object = SNAP_NONE;
    snap_intern_init(b);
}

void snap_builder_free(struct snap_builder *b)
{
    for (size_t i = 0; i < b->object_count; i++)
        free(b->objects[i].items);
    free(b->objects);
    free(b->stack);
    free(b->marks);
    free(b->memo);
    free(b->rest);
    free(b->ids);
    free(b->text);
    free(b->file_stacks);
    snap_runs_free(b);
    snap_intern_free(b);
}

void snap_push_string(struct snap_builder *b, const char *bytes, size_t length)
{
    snap_push(b, SNAP_STRING, snap_intern_string(b, bytes, length));
}

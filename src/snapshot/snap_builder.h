/* snap_builder.h - the stack of values that both readers use to build lists and
 * dicts.  A dict that is a frame, event, block, segment, annotation or history
 * entry becomes a compact record as soon as it is complete; a list of frames
 * becomes a stack, and a list of consecutive records a range.  Nothing else of
 * them is kept.
 *
 * Nothing here is recursive, however deep the input is nested. */
#pragma once

#include <setjmp.h>

#include "snapshot/snap_input.h"
#include "snapshot/snap_memory.h"
#include "snapshot/snap_table.h"
#include "base/snapshot_words.h"
#include "snapshot/snapshot.h"

enum snap_kind {
    /* Kinds that the memo can hold; it stores 3 bits. */
    SNAP_UNSET,
    SNAP_STRING, /* bits: its number */
    SNAP_FRAME,
    SNAP_STACK,
    SNAP_OBJECT, /* a list or dict; bits: its number and generation */
    SNAP_POOL,
    SNAP_EMPTY_LIST,
    /* Values that no snapshot needs: sets, bytes, records already used. bits:
     * 0, or the string that snap_rest.h made of it. */
    SNAP_OPAQUE,
    /* Kinds that the memo cannot hold. */
    SNAP_NULL,
    SNAP_BOOL,
    SNAP_INT,  /* bits: as int64_t */
    SNAP_UINT, /* above INT64_MAX */
    SNAP_REAL, /* bits: of the double */
    SNAP_EVENT,
    SNAP_BLOCK,
    SNAP_SEGMENT,
    SNAP_HISTORY,
    SNAP_ANNOTATION
};

struct snap_value {
    uint64_t bits;
    uint32_t at; /* where it began: low bits of its offset */
    uint8_t kind;
};

enum snap_object_type {
    SNAP_FREE,
    SNAP_LIST,
    SNAP_DICT,
    SNAP_BECAME /* range and first hold kind and bits of the new value */
};

struct snap_object {
    struct snap_value *items; /* of a dict: keys and values alternate */
    size_t capacity;
    size_t count;
    uint64_t first; /* of a range: the first record; or the stack */
    uint32_t generation;
    uint32_t memo; /* index in the memo; of a free object: the next one */
    uint8_t type;
    uint8_t range; /* kind of a range's records, or SNAP_UNSET */
    bool only_frames;
    bool settled; /* was used, and must not change */
    bool shared;  /* several values may refer to it */
};

/* The items of one kind by content; the snapshot stores them. */
struct snap_set {
    struct snap_table table;
    size_t capacity;      /* of the items; of strings and stacks: of begins */
    size_t part_capacity; /* of what strings and stacks consist of */
};

struct snap_intern {
    struct snap_set strings;
    struct snap_set frames;
    struct snap_set stacks;
    struct snap_set streams;
    struct snap_set pools;
    struct snap_set unknown_keys;
    uint32_t last_stream; /* usually the same as before */
    uint32_t last_pool;
};

/* How many past runs are remembered to detect repetition: an iteration has
 * fewer lists. */
enum { SNAP_PAST = 1 << 16 };

/* A sequence of opcodes that only fetches frames from the memo, and the stack
 * that they form.  As long as the memo does not change, the same bytes are the
 * same stack. */
struct snap_run {
    size_t begin; /* in the stored bytes */
    uint32_t length;
    uint32_t frames;
    uint32_t stack;
    uint64_t seen; /* index of its last occurrence in the past */
};

struct snap_runs {
    struct snap_run *at;
    size_t count;
    size_t capacity;
    uint32_t *past; /* numbers of the last SNAP_PAST runs; or NULL */
    uint64_t past_count;
    uint64_t follow; /* position in the past that is being repeated */
    unsigned char *bytes;
    size_t bytes_used;
    size_t bytes_capacity;
    struct snap_table table;
};

struct snap_builder {
    struct snap_memory memory;
    struct snap_input in;
    struct snap_intern intern;
    struct snapshot *s;
    struct tool_error *error;
    jmp_buf gave_up; /* where an error leads */
    uint32_t at;     /* where what is being read began: see snap_value */
    uint64_t line;   /* in JSON */

    struct snap_value *stack;
    size_t depth;
    size_t stack_capacity;
    size_t *marks;
    size_t mark_count;
    size_t mark_capacity;

    struct snap_object *objects;
    size_t object_count;
    size_t object_capacity;
    uint32_t free_object; /* SNAP_NONE: none */

    uint32_t *memo; /* kind in the upper 3 bits, value in the rest */
    size_t memo_end;
    size_t memo_capacity;
    uint64_t memo_set;   /* number of entries in use */
    bool memo_rewritten; /* since it was last set to false */

    uint32_t *ids; /* frames of a list that may become a stack */
    size_t id_capacity;
    char *text; /* of a string with escapes */
    size_t text_capacity;
    struct snap_runs runs;

    /* Of a file whose records refer to stacks by number (snap_stacks.c): what
     * its numbers are here. */
    uint32_t *file_stacks;
    size_t file_stack_count;
    size_t file_stack_capacity;

    char *rest; /* snap_rest.h: the text being built */
    size_t rest_count;
    size_t rest_capacity;
    size_t rests_capacity[SNAPSHOT_RECORDS];

    /* An unknown key contains segments or events, as those of the host in
     * PyTorch 2.13 do. */
    bool has_more;
    bool stack_numbers; /* a record refers to its stack by number */
    bool stack_lists;   /* a record has its stack as a list of frames */

    size_t event_capacity;
    size_t segment_capacity;
    size_t block_capacity;
    size_t history_capacity;
    size_t annotation_capacity;
    size_t device_capacity;
    size_t other_action_capacity;
};

/* ---- errors: all end the reading ---------------------------------------- */

#if defined(__GNUC__)
#define SNAP_PRINTF(words, first) __attribute__((format(printf, words, first)))
#else
#define SNAP_PRINTF(words, first)
#endif

/* Report an error at the value. */
TOOL_NO_RETURN void snap_fail_at(struct snap_builder *b, uint32_t at,
                                 const char *format, ...) SNAP_PRINTF(3, 4);

/* Report an error at the input's position. */
TOOL_NO_RETURN void snap_fail(struct snap_builder *b, const char *format, ...)
    SNAP_PRINTF(2, 3);

TOOL_NO_RETURN void snap_no_memory(struct snap_builder *b);

/* b->error is set already. */
TOOL_NO_RETURN void snap_give_up(struct snap_builder *b);

/* ---- input and memory --------------------------------------------------- */

/* Read on until `count` bytes are available, or all up to the end of the file:
 * see snap_input_want(). */
static inline void snap_want(struct snap_builder *b, size_t count)
{
    if (snap_input_left(&b->in) < count &&
        !snap_input_want(&b->in, count, b->error))
        snap_give_up(b);
}

/* snap_reserve() that does not fail. */
void snap_room(struct snap_builder *b, void *array, size_t *capacity,
               size_t needed, size_t item);
#define SNAP_ROOM(b, array, capacity, needed)                                  \
    snap_room((b), &(array), &(capacity), (needed), sizeof *(array))

/* Append to an array of the snapshot; the value is its index. */
#define SNAP_ADD(b, array, count, capacity, value)                             \
    (SNAP_ROOM((b), array, capacity, (count) + 1), (array)[(count)] = (value), \
     (count)++)

/* Of either sign. */
static inline bool snap_is_integer(const struct snap_value *v)
{
    return v->kind == SNAP_INT || v->kind == SNAP_UINT;
}

/* At least 0. */
static inline bool snap_is_count(const struct snap_value *v)
{
    return v->kind == SNAP_UINT ||
           (v->kind == SNAP_INT && (int64_t)v->bits >= 0);
}

/* The kind of a value, for messages: "a string". */
const char *snap_kind_name(const struct snap_builder *b,
                           const struct snap_value *v);

/* ---- the stack ---------------------------------------------------------- */

void snap_stack_grow(struct snap_builder *b);

static inline void snap_push(struct snap_builder *b, enum snap_kind kind,
                             uint64_t bits)
{
    if (b->depth == b->stack_capacity)
        snap_stack_grow(b);
    b->stack[b->depth++] =
        (struct snap_value){.bits = bits, .at = b->at, .kind = (uint8_t)kind};
}

void snap_push_string(struct snap_builder *b, const char *bytes, size_t length);
void snap_push_object(struct snap_builder *b, enum snap_object_type type);

void snap_mark(struct snap_builder *b);

/* Pop the last mark.  Returns the number of values below it. */
size_t snap_unmark(struct snap_builder *b);

/* Add the values from base on to the list or dict below them. */
void snap_append_from(struct snap_builder *b, size_t base);
/* Pairs that may be whole may be a record; one of several, as in protocol 0, is
 * none: there the kind of dict shows only when it is used. */
void snap_set_items_from(struct snap_builder *b, size_t base, bool whole);

/* Make a tuple or list, or a dict, of the values from base on. */
void snap_make_list(struct snap_builder *b, size_t base);
void snap_make_dict(struct snap_builder *b, size_t base);

/* The top value, if it is an empty list, or NULL. */
struct snap_object *snap_top_empty_list(struct snap_builder *b);

/* ---- the memo ----------------------------------------------------------- */

enum { SNAP_MEMO_SHIFT = 29 };

void snap_memo_put(struct snap_builder *b, uint64_t index);

/* Push the value at this index. */
void snap_memo_get(struct snap_builder *b, uint64_t index);

/* ---- objects ------------------------------------------------------------ */

/* NULL: it no longer exists, or has another type. */
struct snap_object *snap_object_of(struct snap_builder *b,
                                   const struct snap_value *v,
                                   enum snap_object_type type);

/* A list or dict, if it still exists, was replaced by `now`, which the memo holds
 * in its place. */
void snap_object_free(struct snap_builder *b, const struct snap_value *v,
                      const struct snap_value *now);

/* Convert a finished list or dict to what it means. */
void snap_settle(struct snap_builder *b, struct snap_value *v);

/* ---- items stored once (snap_intern.c) ---------------------------------- */

/* Strings, frames, stacks, streams and pools.  Each call returns the number of
 * an equal item, or adds it. */

/* Adds the words of snapshot_words.h and the zeroth item of each kind. */
void snap_intern_init(struct snap_builder *b);

/* Free the tables; the items in the snapshot stay. */
void snap_intern_free(struct snap_builder *b);

uint32_t snap_intern_string(struct snap_builder *b, const char *bytes,
                            size_t length);
uint32_t snap_intern_frame(struct snap_builder *b,
                           const struct snapshot_frame *frame);
uint32_t snap_intern_stack(struct snap_builder *b, const uint32_t *frames,
                           size_t count);
uint32_t snap_intern_stream(struct snap_builder *b, uint64_t stream);

/* Of two integers. */
uint32_t snap_intern_pool(struct snap_builder *b, const struct snap_value *id);

/* Count an unknown key. */
void snap_intern_unknown(struct snap_builder *b, uint32_t key);

/* ---- stacks recognised by their bytes (snap_runs.c) ---------------------- */

/* After a mark: if a list of frames that was seen before follows, consume it as
 * a whole. */
void snap_runs_stack(struct snap_builder *b);
void snap_runs_free(struct snap_builder *b);

/* ---- records (snap_schema.c) -------------------------------------------- */

/* Make a record of the pairs; *out is the value, unchanged if they are not a
 * known record. */
void snap_record_make(struct snap_builder *b, const struct snap_value *pairs,
                      size_t count, struct snap_value *out);

/* ---- begin and end ------------------------------------------------------ */

/* Call snap_builder_free() even if this gives up. */
void snap_builder_init(struct snap_builder *b);

/* Free everything except the snapshot. */
void snap_builder_free(struct snap_builder *b);

/* The value left on the stack is the file: complete the snapshot from it. */
void snap_finish(struct snap_builder *b);

/* ---- the readers -------------------------------------------------------- */

void snap_read_pickle(struct snap_builder *b);

/* Opcodes of protocol 0, whose arguments are lines, and those that are rejected
 * (snap_pickle_line.c).  The opcode is already consumed. */
void snap_pickle_line(struct snap_builder *b, unsigned char op);

void snap_read_json(struct snap_builder *b);

/* Records refer to stacks by number: replace the file's numbers by ours, using
 * the outermost dict's lists (NULL: it has none). */
void snap_resolve_stacks(struct snap_builder *b, const struct snap_value *root,
                         const struct snap_value *frames,
                         const struct snap_value *stacks);

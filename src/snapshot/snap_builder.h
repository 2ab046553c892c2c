/* snap_builder.h - what both readers drive: a stack of values from which
 * lists and dicts are made.  A dict that is a frame, event, block, segment,
 * annotation or history entry becomes a compact record as soon as it is
 * whole, a list of frames a stack, a list of records that follow each other
 * a range; nothing else of them is kept.
 *
 * Nothing here recurses, whatever is nested in what. */
#ifndef LARDER_SNAPSHOT_SNAP_BUILDER_H
#define LARDER_SNAPSHOT_SNAP_BUILDER_H

#include "snapshot/snap_input.h"
#include "snapshot/snap_intern.h"
#include "snapshot/snap_memory.h"
#include "snapshot/snap_words.h"
#include "snapshot/snapshot.h"

enum snap_kind {
    /* What a memo can hold; 3 bits there. */
    SNAP_UNSET,
    SNAP_STRING, /* bits: the number */
    SNAP_FRAME,
    SNAP_STACK,
    SNAP_OBJECT, /* a list or dict; bits: snap_object_bits() */
    SNAP_POOL,
    SNAP_EMPTY_LIST,
    SNAP_OPAQUE, /* what no snapshot needs: sets, bytes, used up records; bits:
                    0, or the string that snap_rest.h made of it */
    /* What it cannot. */
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
    uint32_t at; /* where it began: the low bits of the offset */
    uint8_t kind;
};

enum snap_object_type {
    SNAP_FREE,
    SNAP_LIST,
    SNAP_DICT,
    SNAP_BECAME /* range and first are kind and bits of what it is now */
};

struct snap_object {
    struct snap_value *items; /* of a dict: keys and values in turn */
    size_t capacity;
    size_t count;
    uint64_t first; /* of a range: its first record; its stack */
    uint32_t generation;
    uint32_t memo; /* where the memo holds it; of a free one: the next */
    uint8_t type;
    uint8_t range; /* kind of the records of a range, or SNAP_UNSET */
    bool only_frames;
    bool settled; /* was used, and stays as it is */
    bool shared;  /* more values than one may name it */
};

struct snap_builder {
    struct snap_memory memory;
    struct snap_input in;
    struct snap_intern intern;
    struct snapshot *s;
    struct tool_error *error;
    uint32_t max_depth;

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

    uint32_t *memo; /* kind in the upper 3 bits, bits in the others */
    size_t memo_end;
    size_t memo_capacity;
    uint64_t memo_set;   /* how many are */
    bool memo_rewritten; /* since this was last set to false */

    uint32_t *ids; /* frames of a list on its way to be a stack */
    size_t id_capacity;

    char *rest; /* snap_rest.h: the text on its way */
    size_t rest_count;
    size_t rest_capacity;
    size_t rests_capacity[SNAPSHOT_RECORDS];

    bool has_more; /* a key nobody knows holds segments or events, as those of
                      the host in PyTorch 2.13 do */
    bool stack_numbers; /* some record names its stack by number, plus 1 */
    bool stack_lists;   /* ... has it as a list of frames */

    size_t event_capacity;
    size_t segment_capacity;
    size_t block_capacity;
    size_t history_capacity;
    size_t annotation_capacity;
    size_t device_capacity;
    size_t other_action_capacity;
};

/* ---- errors: all are worth false ------------------------------------------ */

#if defined(__GNUC__)
#define SNAP_PRINTF(words, first) __attribute__((format(printf, words, first)))
#else
#define SNAP_PRINTF(words, first)
#endif

/* At the value. */
bool snap_fail_at(struct snap_builder *b, uint32_t at, const char *format, ...)
    SNAP_PRINTF(3, 4);

/* Where the input stands. */
bool snap_fail(struct snap_builder *b, const char *format, ...)
    SNAP_PRINTF(2, 3);

bool snap_no_memory(struct snap_builder *b);

/* What a value is, for errors: "a string". */
const char *snap_kind_name(const struct snap_builder *b,
                           const struct snap_value *v);

/* ---- the stack ------------------------------------------------------------ */

bool snap_stack_grow(struct snap_builder *b);

static inline bool snap_push(struct snap_builder *b, enum snap_kind kind,
                             uint64_t bits, uint32_t at)
{
    if (b->depth == b->stack_capacity && !snap_stack_grow(b))
        return false;
    b->stack[b->depth++] =
        (struct snap_value){.bits = bits, .at = at, .kind = (uint8_t)kind};
    return true;
}

bool snap_push_string(struct snap_builder *b, const char *bytes, size_t length,
                      uint32_t at);
bool snap_push_object(struct snap_builder *b, enum snap_object_type type,
                      uint32_t at);

bool snap_mark(struct snap_builder *b);

/* Take the last mark off; *base is how many values lie below it. */
bool snap_unmark(struct snap_builder *b, size_t *base);

/* The values from base on, into the list or dict below them. */
bool snap_append_from(struct snap_builder *b, size_t base);
bool snap_set_items_from(struct snap_builder *b, size_t base);

/* The same for one pair of several, as protocol 0 has them: what the dict is
 * shows when it is used. */
bool snap_set_item_from(struct snap_builder *b, size_t base);

/* The values from base on become a tuple or list, or a dict. */
bool snap_make_list(struct snap_builder *b, size_t base, uint32_t at);
bool snap_make_dict(struct snap_builder *b, size_t base, uint32_t at);

/* Whether the value on top is a list without items; sets *list. */
bool snap_top_is_empty_list(struct snap_builder *b, struct snap_object **list);

/* ---- the memo ------------------------------------------------------------- */

enum { SNAP_MEMO_SHIFT = 29 };

bool snap_memo_put(struct snap_builder *b, uint64_t index);

/* Push what it holds. */
bool snap_memo_get(struct snap_builder *b, uint64_t index, uint32_t at);

/* ---- objects -------------------------------------------------------------- */

/* NULL: no longer there, or not of that type. */
struct snap_object *snap_object_of(struct snap_builder *b,
                                   const struct snap_value *v,
                                   enum snap_object_type type);

/* It has become `now`, which the memo is to hold in its place. */
void snap_object_free(struct snap_builder *b, const struct snap_value *v,
                      const struct snap_value *now);

/* Turn a finished list or dict into what it means. */
bool snap_settle(struct snap_builder *b, struct snap_value *v);

/* ---- records (snap_schema.c) ---------------------------------------------- */

/* Make what the pairs are; *out is the value, or unchanged if they are
 * nothing known. */
bool snap_record_make(struct snap_builder *b, const struct snap_value *pairs,
                      size_t count, struct snap_value *out);

/* ---- begin and end -------------------------------------------------------- */

/* snap_builder_free() is due whatever it says. */
bool snap_builder_init(struct snap_builder *b);

/* All but the snapshot. */
void snap_builder_free(struct snap_builder *b);

/* The value left on the stack is the file: fill in the rest of the
 * snapshot. */
bool snap_finish(struct snap_builder *b);

/* ---- the readers ---------------------------------------------------------- */

bool snap_read_pickle(struct snap_builder *b);
bool snap_read_json(struct snap_builder *b);

/* Records name their stacks by number: put our own in the place of these, from
 * the outermost dict's lists (NULL: it has none). */
bool snap_resolve_stacks(struct snap_builder *b, const struct snap_value *root,
                         const struct snap_value *frames,
                         const struct snap_value *stacks);

#endif

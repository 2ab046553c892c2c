/* history.h - seeing what an allocator did: its last events, where they were
 * called from, and snapshots that PyTorch's viewers open.
 *
 *   larder_history_options opt;
 *   larder_history_options_init(&opt);
 *   opt.stacks = LARDER_STACKS_FRAME_POINTERS;
 *   larder_history_start(a, &opt);
 *   ...
 *   larder_snapshot_write(a, "run.pickle", NULL);
 *
 * The settings `history`, `history_stacks` and `dump_on_oom` do the same
 * without a line of code; larder-conf(5).  What larder.h says of errors,
 * threads, ownership and growth holds here.
 */
#ifndef LARDER_HISTORY_H
#define LARDER_HISTORY_H

#include <larder/larder.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- events ------------------------------------------------------------ */

/* The names are PyTorch's.  Values are part of the ABI. */
#define LARDER_ACTION_MAP(X)                                                   \
    X(alloc, 0, "an allocation succeeded")                                     \
    X(free_requested, 1, "an allocation was freed")                            \
    X(free_completed, 2, "its block became reusable")                          \
    X(segment_alloc, 3, "the driver gave a segment")                           \
    X(segment_free, 4, "a segment went back to the driver")                    \
    X(segment_map, 5, "pages were mapped into an expandable segment")          \
    X(segment_unmap, 6, "pages were unmapped")                                 \
    X(snapshot, 7, "a snapshot was taken")                                     \
    X(oom, 8, "an allocation failed for lack of memory")

typedef enum larder_action {
#define X(name, code, text) LARDER_ACTION_##name = code,
    LARDER_ACTION_MAP(X)
#undef X
} larder_action;

/* "alloc"; "?" for a value that is none.  Static. */
LARDER_API const char *larder_action_name(larder_action action);

/* ---- recording ----------------------------------------------------------- */

/* How the callers of an event are found. */
typedef enum larder_stacks {
    LARDER_STACKS_OFF = 0,
    /* Follow the chain of frame pointers: fast, and right only as far as the
     * callers were compiled with -fno-omit-frame-pointer.  Reads nothing but
     * the thread's own stack. */
    LARDER_STACKS_FRAME_POINTERS = 1,
    /* glibc's backtrace(): right for nearly all code, microseconds each. */
    LARDER_STACKS_UNWIND = 2,
    LARDER_STACKS_CALLBACK = 3 /* ask stack_fn */
} larder_stacks;

/* Write up to `capacity` values that stand for the callers, the innermost
 * first, and return how many.  They need not be addresses if a frame resolver
 * knows them.  Called with the allocator's lock held: it must not call it. */
typedef size_t larder_stack_fn(void *ctx, uint64_t *frames, size_t capacity);

enum {
    LARDER_HISTORY_EVENTS_DEFAULT = 1 << 20, /* 40 bytes each */
    LARDER_STACK_DEPTH_DEFAULT = 32,
    LARDER_STACK_DEPTH_MAX = 128,
    LARDER_STACK_BYTES_DEFAULT = 16 << 20
};

typedef struct larder_history_options {
    size_t size;          /* set by larder_history_options_init() */
    uint64_t max_events;  /* kept; 0: LARDER_HISTORY_EVENTS_DEFAULT */
    larder_stacks stacks; /* 0: LARDER_STACKS_OFF */
    uint32_t depth;       /* callers kept; 0: LARDER_STACK_DEPTH_DEFAULT */
    /* Masks of 1u << LARDER_ACTION_...: not recorded, and recorded without a
     * stack. */
    uint32_t skip_actions;
    uint32_t stackless_actions;
    uint64_t stack_bytes; /* 0: LARDER_STACK_BYTES_DEFAULT; at most 2^34 */
    larder_stack_fn *stack_fn;
    void *stack_ctx;
} larder_history_options;

LARDER_API void larder_history_options_init_sized(larder_history_options *opt,
                                                  size_t size);
#define larder_history_options_init(opt)                                       \
    larder_history_options_init_sized((opt), sizeof *(opt))

/* Record events from now on, in a ring: the newest max_events stay.  `opt` may
 * be NULL.  A history that was on is dropped, once there is memory for this
 * one.
 *
 * All memory is taken here, but 12 bytes for each block header, in chunks
 * that double, once stacks or annotations are used: max_events * 40 bytes,
 * stack_bytes * 5 / 4 with stacks, and 1.3 MiB for annotations.  The system
 * commits it as it fills.  Equal stacks are kept once.
 *
 * Cost of an event: about ten nanoseconds without stacks; docs/ARCHITECTURE.md
 * has what was measured.  Off, history costs a nanosecond or two a call.
 *
 * On failure a history that was on goes on: ERR_NO_HOST_MEMORY, or ERR_INVALID
 * for options that make no sense. */
LARDER_API larder_result
larder_history_start(larder_allocator *a, const larder_history_options *opt);

/* Stop and forget.  Nothing happens if it is off. */
LARDER_API larder_result larder_history_stop(larder_allocator *a);

/* Forget the events and marks, keep recording.  What is known of live blocks
 * stays. */
LARDER_API larder_result larder_history_clear(larder_allocator *a);

typedef struct larder_history_info {
    size_t size;          /* set by the caller: sizeof(larder_history_info) */
    int is_on;            /* the rest but `dumps` is 0 if it is not */
    uint64_t max_events;  /* the ring holds */
    uint64_t events;      /* in the ring */
    uint64_t lost_events; /* pushed out of it, or no memory to note them */
    uint64_t stack_count;
    uint64_t lost_stacks;  /* not kept: stack_bytes are used up */
    uint64_t lost_notes;   /* texts, marks, or what is known of a block */
    uint64_t dumps;        /* snapshots that dump_on_oom wrote */
    uint64_t failed_dumps; /* or could not write */
} larder_history_info;
LARDER_API larder_result larder_history_get(larder_allocator *a,
                                            larder_history_info *info);

typedef struct larder_event {
    larder_action action;
    larder_addr addr; /* 0 for snapshot and oom */
    /* As asked by the caller for alloc and free_..., as rounded for oom, of
     * the whole range for segment_..., active bytes for snapshot. */
    uint64_t bytes;
    uint64_t device_free_bytes; /* oom alone */
    larder_stream stream;
    larder_pool_id pool;
    /* Microseconds since 1970, by a clock that does not jump, brought to the
     * time of day as it is when asked. */
    uint64_t time_us;
    const char *annotation; /* "": none */
    const uint64_t *stack;  /* the innermost caller first */
    size_t depth;
} larder_event;

/* Visit the events in the ring, the oldest first; a nonzero return ends it.
 * Called with the allocator's lock held: it must not call it.  Pointers hold
 * during the call. */
typedef int larder_event_fn(void *ctx, const larder_event *event);
LARDER_API larder_result larder_history_walk(larder_allocator *a,
                                             larder_event_fn *fn, void *ctx);

/* ---- annotations and marks ------------------------------------------------- */

enum { LARDER_ANNOTATION_MAX = 127, LARDER_ANNOTATION_DEPTH = 16 };

/* Every event and allocation of this thread, by any allocator whose history
 * is on, carries the text last set or pushed ("user_metadata" in a
 * snapshot).  Texts are copied, and cut at LARDER_ANNOTATION_MAX bytes; about
 * 1 MiB of different ones is kept.
 *
 * larder_annotate() replaces the innermost text; NULL or "": none.
 * larder_annotate_push() begins a level and _pop() ends it.  Levels beyond
 * LARDER_ANNOTATION_DEPTH count, but their texts do not.  A pop too many does
 * nothing. */
LARDER_API void larder_annotate(const char *text);
LARDER_API void larder_annotate_push(const char *text);
LARDER_API void larder_annotate_pop(void);

/* Note that this moment has a name, such as "iteration 12"; the last 4096
 * are kept, and become the snapshot's external_annotations.  Does nothing if
 * the history is off. */
LARDER_API larder_result larder_history_mark(larder_allocator *a,
                                             const char *text);

/* ---- snapshots ----------------------------------------------------------- */

/* How a frame is written. */
typedef struct larder_frame {
    char filename[256]; /* of the object, if the source is not known */
    char name[256];
    uint32_t line; /* 0: not known */
} larder_frame;

/* Describe a value of a stack: nonzero if it did.  Asked when a snapshot is
 * written, without locks held.  Without a resolver, or where it returns 0, a
 * frame has the name the dynamic linker knows, or else "OBJECT+0xOFFSET", the
 * object's file as filename, line 0 and a further key `offset`, which
 * addr2line -f -e FILENAME 0xOFFSET makes a line of. */
typedef int larder_frame_fn(void *ctx, uint64_t frame, larder_frame *out);
LARDER_API larder_result larder_set_frame_resolver(larder_allocator *a,
                                                   larder_frame_fn *fn,
                                                   void *ctx);

typedef enum larder_snapshot_format {
    LARDER_SNAPSHOT_AUTO = 0, /* JSON if the path ends in .json, else pickle */
    LARDER_SNAPSHOT_PICKLE = 1, /* protocol 4 */
    LARDER_SNAPSHOT_JSON = 2
} larder_snapshot_format;

typedef struct larder_snapshot_options {
    size_t size; /* set by larder_snapshot_options_init() */
    larder_snapshot_format format;
    int no_history; /* nonzero: segments and settings alone */
} larder_snapshot_options;

LARDER_API void larder_snapshot_options_init_sized(larder_snapshot_options *opt,
                                                   size_t size);
#define larder_snapshot_options_init(opt)                                      \
    larder_snapshot_options_init_sized((opt), sizeof *(opt))

/* Write what torch.cuda.memory._dump_snapshot() writes: segments with their
 * blocks, the events, the settings; and, under the key `larder`, counts,
 * statistics and settings of Larder.  `opt` may be NULL.
 *
 * The state is of one moment: it is copied with the lock held (40 bytes an
 * event, 32 a block), and written without it.  A new file takes the place of
 * an old one only when it is whole; nothing is left of a failed one.  Paths
 * that name something other than a file are written to as they are.
 * ERR_SYSTEM says what the system refused.  ERR_NO_HOST_MEMORY. */
LARDER_API larder_result larder_snapshot_write(
    larder_allocator *a, const char *path, const larder_snapshot_options *opt);

/* The same through a function, piece by piece; LARDER_SNAPSHOT_AUTO is pickle
 * here.  A nonzero return ends it with ERR_SYSTEM.  Called without locks
 * held. */
typedef int larder_write_fn(void *ctx, const void *bytes, size_t count);
LARDER_API larder_result
larder_snapshot_write_to(larder_allocator *a, larder_write_fn *fn, void *ctx,
                         const larder_snapshot_options *opt);

#ifdef __cplusplus
}
#endif
#endif

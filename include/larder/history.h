/* history.h - the last events of an allocator, with their call stacks, and
 * snapshots in PyTorch's format.
 *
 *   larder_history_options opt;
 *   larder_history_options_init(&opt);
 *   opt.stacks = LARDER_STACKS_FRAME_POINTERS;
 *   larder_history_start(a, &opt);
 *   ...
 *   larder_snapshot_write(a, "run.pickle", NULL);
 *
 * The settings `history`, `history_stacks` and `dump_on_oom` do the same
 * without code; larder-conf(5).  The conventions of larder.h on errors,
 * threads, ownership and growth apply.
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
    X(segment_alloc, 3, "a segment was acquired from the driver")              \
    X(segment_free, 4, "a segment was released to the driver")                 \
    X(segment_map, 5, "pages were mapped into an expandable segment")          \
    X(segment_unmap, 6, "pages were unmapped")                                 \
    X(snapshot, 7, "a snapshot was taken")                                     \
    X(oom, 8, "an allocation ran out of memory")

typedef enum larder_action {
#define X(name, code, text) LARDER_ACTION_##name = code,
    LARDER_ACTION_MAP(X)
#undef X
} larder_action;

/* "alloc"; "?" for an unknown value.  Static. */
LARDER_API const char *larder_action_name(larder_action action);

/* ---- recording ----------------------------------------------------------- */

/* How the call stack of an event is captured.  It begins at the caller of the
 * library's function.  What no call causes, but the thread of `trim_age` or
 * another process (ledger.h), has none. */
typedef enum larder_stacks {
    LARDER_STACKS_OFF = 0,
    /* Follow the chain of frame pointers: fast, but correct only as far as the
     * callers were compiled with -fno-omit-frame-pointer.  Reads only the
     * thread's own stack. */
    LARDER_STACKS_FRAME_POINTERS = 1,
    /* glibc's backtrace(): correct for nearly all code, microseconds each. */
    LARDER_STACKS_UNWIND = 2,
    LARDER_STACKS_CALLBACK = 3 /* call stack_fn */
} larder_stacks;

/* Writes up to `capacity` values that identify the callers, innermost first,
 * and returns how many.  They need not be addresses if a frame resolver
 * understands them.  Called with locks of the allocator held: must not call the
 * allocator. */
typedef size_t larder_stack_fn(void *ctx, uint64_t *frames, size_t capacity);

enum {
    LARDER_HISTORY_EVENTS_DEFAULT = 1 << 20, /* 40 bytes each */
    LARDER_STACK_DEPTH_DEFAULT = 32,
    LARDER_STACK_DEPTH_MAX = 128,
    LARDER_STACK_BYTES_DEFAULT = 16 << 20
};

typedef struct larder_history_options {
    size_t size;          /* set by larder_history_options_init() */
    uint64_t max_events;  /* 0: LARDER_HISTORY_EVENTS_DEFAULT */
    larder_stacks stacks; /* 0: LARDER_STACKS_OFF */
    uint32_t depth;       /* max callers; 0: LARDER_STACK_DEPTH_DEFAULT */
    /* Masks of 1u << LARDER_ACTION_...: actions not recorded, and actions
     * recorded without a stack. */
    uint32_t skip_actions;
    uint32_t stackless_actions;
    uint64_t stack_bytes; /* 0: LARDER_STACK_BYTES_DEFAULT; at most 2^34 */
    larder_stack_fn *stack_fn;
    void *stack_ctx;
    /* Number the events instead of reading a clock: each is a microsecond after
     * the last, from 1970 on.  The same calls then record the same history, as a
     * replay wants it, whose own time says nothing. */
    int counted; /* 0: no */
} larder_history_options;

LARDER_API void larder_history_options_init_sized(larder_history_options *opt,
                                                  size_t size);
#define larder_history_options_init(opt)                                       \
    larder_history_options_init_sized((opt), sizeof *(opt))

/* Start to record events in a ring that keeps the last max_events.  `opt` may
 * be NULL.  Replaces a history that is already on.
 *
 * This call allocates all host memory: max_events * 40 bytes, stack_bytes *
 * 5 / 4 with stacks, and 1.3 MiB for annotations; the system commits it as it
 * fills.  Only the 12 bytes for each block header come later, in chunks of
 * doubling size, once stacks or annotations are used.  Equal stacks are stored
 * once.
 *
 * Cost of an event: about ten nanoseconds without stacks; docs/ARCHITECTURE.md
 * has measurements.  While off, history costs one or two nanoseconds a call.
 *
 * ERR_NO_HOST_MEMORY, or ERR_INVALID for invalid options; a history that was on
 * then continues. */
LARDER_API larder_result
larder_history_start(larder_allocator *a, const larder_history_options *opt);

/* Stop recording and free the history.  No effect if it is off. */
LARDER_API larder_result larder_history_stop(larder_allocator *a);

/* Discard the events and marks and keep recording.  The stacks and annotations
 * of live blocks are kept. */
LARDER_API larder_result larder_history_clear(larder_allocator *a);

typedef struct larder_history_info {
    size_t size;          /* set by the caller: sizeof(larder_history_info) */
    int is_on;            /* if 0, so are all others except the dumps */
    uint64_t max_events;  /* capacity of the ring */
    uint64_t events;      /* in the ring */
    uint64_t lost_events; /* overwritten, or not recorded for lack of memory */
    uint64_t stack_count;
    uint64_t lost_stacks;  /* not stored: stack_bytes are used up */
    uint64_t lost_notes;   /* texts, marks, or notes on blocks, not stored */
    uint64_t dumps;        /* snapshots that dump_on_oom wrote */
    uint64_t failed_dumps; /* snapshots that it could not write */
} larder_history_info;
#define LARDER_HISTORY_INFO_INIT LARDER_SIZED_INIT(larder_history_info)
LARDER_API larder_result larder_history_get(larder_allocator *a,
                                            larder_history_info *info);

typedef struct larder_event {
    larder_action action;
    larder_addr addr; /* 0 for snapshot and oom */
    /* alloc, free_...: as requested; oom: after rounding; segment_...: of the
     * whole range; snapshot: active bytes. */
    uint64_t bytes;
    uint64_t device_free_bytes; /* oom only */
    larder_stream stream;
    larder_pool_id pool;
    /* Microseconds since 1970: a monotonic clock, converted to the time of day
     * when the event is read; or a number (`counted`). */
    uint64_t time_us;
    const char *annotation; /* "": none */
    const uint64_t *stack;  /* innermost caller first */
    size_t depth;
} larder_event;

/* Visit the events in the ring, oldest first; a nonzero return ends the walk.
 * fn is called with the allocator's lock held and must not call it.  Pointers
 * are valid during the call. */
typedef int larder_event_fn(void *ctx, const larder_event *event);
LARDER_API larder_result larder_history_walk(larder_allocator *a,
                                             larder_event_fn *fn, void *ctx);

/* ---- annotations and marks ----------------------------------------------- */

enum { LARDER_ANNOTATION_MAX = 127, LARDER_ANNOTATION_DEPTH = 16 };

/* Annotate the events and allocations of this thread, in every allocator whose
 * history is on, with the text last set or pushed ("user_metadata" in a
 * snapshot).  Texts are copied and truncated to LARDER_ANNOTATION_MAX bytes;
 * about 1 MiB of distinct texts is kept.
 *
 * larder_annotate() replaces the innermost text; NULL or "": none.
 * larder_annotate_push() begins a level and larder_annotate_pop() ends it.
 * Levels deeper than LARDER_ANNOTATION_DEPTH are counted, but their texts are
 * ignored.  A pop without a push has no effect. */
LARDER_API void larder_annotate(const char *text);
LARDER_API void larder_annotate_push(const char *text);
LARDER_API void larder_annotate_pop(void);

/* Give this moment a name, such as "iteration 12".  The last 4096 marks are
 * kept and become the snapshot's external_annotations.  No effect if the
 * history is off. */
LARDER_API larder_result larder_history_mark(larder_allocator *a,
                                             const char *text);

/* ---- snapshots ----------------------------------------------------------- */

/* A frame as a snapshot has it. */
typedef struct larder_frame {
    char filename[256]; /* of the object, if the source is unknown */
    char name[256];
    uint32_t line; /* 0: unknown */
} larder_frame;

/* Describes a value of a stack; returns nonzero if it could.  Called without
 * locks held while a snapshot is written.  Without a resolver, or if it returns
 * 0, the frame gets the dynamic linker's name or "OBJECT+0xOFFSET", the
 * object's path as filename, line 0, and an additional key `offset`:
 * addr2line -f -e FILENAME 0xOFFSET finds the line. */
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
    int no_history; /* nonzero: segments and settings only */
} larder_snapshot_options;

LARDER_API void larder_snapshot_options_init_sized(larder_snapshot_options *opt,
                                                   size_t size);
#define larder_snapshot_options_init(opt)                                      \
    larder_snapshot_options_init_sized((opt), sizeof *(opt))

/* Write a snapshot in the format of torch.cuda.memory._dump_snapshot():
 * segments with their blocks, events, settings; and, under the key `larder`,
 * Larder's own counts, statistics and settings.  `opt` may be NULL.
 *
 * The state is consistent: it is copied with the lock held (40 bytes an event,
 * 32 a block) and written without it.  A new file replaces an old one only when
 * it is complete; a failed write leaves nothing behind; paths that do not name
 * a regular file are written directly (file.h).  ERR_SYSTEM: the message gives
 * the reason.  ERR_NO_HOST_MEMORY. */
LARDER_API larder_result larder_snapshot_write(
    larder_allocator *a, const char *path, const larder_snapshot_options *opt);

/* The same, passed to a function in parts; LARDER_SNAPSHOT_AUTO means pickle
 * here.  A nonzero return stops with ERR_SYSTEM.  Called without locks held. */
typedef int larder_write_fn(void *ctx, const void *bytes, size_t count);
LARDER_API larder_result
larder_snapshot_write_to(larder_allocator *a, larder_write_fn *fn, void *ctx,
                         const larder_snapshot_options *opt);

#ifdef __cplusplus
}
#endif
#endif

/* fake_state.h - the stand-in's internal state.
 *
 * One lock guards all of it: each driver call runs between fake_begin() and
 * fake_end().  What a simulated GPU has allocated, mapped and recorded changes
 * only with that lock too, and is read without the GPU's own.  Streams are the
 * exception: tests launch and complete work past the driver. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "device/device.h"
#include "device/sim_device.h"
#include "driver/fake_entries.h"
#include "driver/fakecuda.h"

enum { FAKE_DEVICES = 64, FAKE_STACK = 32, FAKE_LINES = 8192 };

/* Limits of a multiprocessor of the simulated GPU. */
enum { FAKE_BLOCKS = 32 };

/* How long work takes on the simulated clock: a fixed time for each piece, 1
 * microsecond for each wave of blocks that fills the multiprocessors, and for
 * bytes the bundled prices (device.h). */
enum { FAKE_LAUNCH_NS = 2000, FAKE_WAVE_NS = 1000 };

enum fake_kind {
    FAKE_STREAM,
    FAKE_CONTEXT,
    FAKE_POOL,
    FAKE_GRAPH,
    FAKE_EXEC,
    FAKE_OBJECT,
    FAKE_MODULE,
    FAKE_FUNCTION,
    FAKE_LINK
};

/* The first member of an object that programs refer to by a handle. */
struct fake_handle {
    struct fake_handle *next; /* in its bucket */
    uintptr_t value;
    enum fake_kind kind;
};

struct fake_context {
    struct fake_handle handle; /* of those created by cuCtxCreate() */
    int device;
    unsigned uses; /* 0: gone */
    /* Runtimes that have obtained the primary context's handle, and how many of
     * them use it: each does once it makes it current. */
    unsigned lent;
    unsigned lent_uses;
};

struct fake_device {
    larder_device *dev; /* NULL: no device of this number */
    struct sim *sim;
    int ordinal;            /* of the machine's devices: CUDA_VISIBLE_DEVICES */
    bool has_loose_streams; /* numbers are streams */
    struct fake_context primary;
    uint64_t peak_bytes;
    uint64_t launches; /* of kernels and graphs, which do nothing */
    /* For each stream, the last ticket that was waited for. */
    uint64_t *waited;
    unsigned char *stream_used; /* by number */
    uint64_t clock_ns;          /* how long its work took */
    int captures;               /* of the simulated GPU itself */
};

extern struct fake_device fake_devices[FAKE_DEVICES];
extern int fake_device_count; /* of the environment */
extern pid_t fake_owner;      /* the process that called cuInit() */

/* ---- fake_state.c ------------------------------------------------------- */

/* Whether this is a child of the process that called cuInit(): neither a driver
 * nor the lock and the state it guards survive a fork. */
bool fake_is_child(void);
/* Begin a call that needs only the driver, or also a current context, whose
 * device is written to *d.  The lock is held unless an error is returned. */
cud_result fake_begin_bare(const char *symbol);
cud_result fake_begin(const char *symbol, struct fake_device **d);
/* The same for a call about the named device. */
cud_result fake_begin_device(const char *symbol, int number,
                             struct fake_device **d);
cud_result fake_end(cud_result answer);
/* The same for the simulated GPU's result of a call on d. */
cud_result fake_end_sim(const char *symbol, struct fake_device *d,
                        larder_result r);
/* NULL: no such device. */
struct fake_device *fake_device_get(int number);
int fake_number(const struct fake_device *d);
larder_result fake_device_open(struct fake_device *d, const char *spec,
                               int ordinal);
void fake_device_close(struct fake_device *d);
/* Destroy everything that belongs to the device's contexts, once its work is
 * done. */
larder_result fake_device_reset(struct fake_device *d);
/* Open the devices of the spec that the environment leaves visible, from
 * fake_devices[0] on; a test may have added others before.  Without an error
 * *count can be 0. */
larder_result fake_visible_open(const char *spec, int *count);
cud_result fake_init(void);
void fake_lock(void);
void fake_unlock(void);

/* ---- fake_handles.c ----------------------------------------------------- */

/* Give the object a handle, and return that. */
void *fake_handle_make(struct fake_handle *h, enum fake_kind kind);
/* NULL: there is no such object, or no longer. */
void *fake_handle_find(enum fake_kind kind, const void *handle);
void fake_handle_drop(struct fake_handle *h);
/* Call fn for each object of a kind, possibly several times, until it has
 * returned false for each; true means that it dropped the object. */
typedef bool fake_handle_fn(struct fake_handle *h, const struct fake_device *d);
void fake_handles_each(enum fake_kind kind, fake_handle_fn *fn,
                       const struct fake_device *d);
/* Begin a call about an object, which is written to *out, a pointer to it. */
cud_result fake_begin_handle(const char *symbol, enum fake_kind kind,
                             const void *handle, void *out);

/* ---- fake_rules.c ------------------------------------------------------- */

/* Record a broken rule, and return `answer`. */
__attribute__((format(printf, 3, 4))) cud_result fake_broken(const char *symbol,
                                                             cud_result answer,
                                                             const char *format,
                                                             ...);
/* The planned result of this call; CUD_SUCCESS: none. */
cud_result fake_planned(const char *symbol);
/* False: it is not a plan. */
bool fake_plan_read(const char *text);
void fake_plan(const char *symbol, unsigned long nth, unsigned long times,
               int answer);
unsigned long fake_broken_count(void);
const char *fake_broken_lines(void);
void fake_broken_forget(void);
unsigned long fake_calls(const char *symbol);

/* ---- fake_context.c ----------------------------------------------------- */

/* The device of the thread's current context; NULL: the thread has none, or it
 * was destroyed. */
struct fake_device *fake_current(void);
bool fake_context_is_live(cud_context context);
cud_context fake_current_context(void);
/* CUD_INVALID_CONTEXT, a broken rule: there is no current context. */
cud_result fake_no_context(const char *symbol);
extern int fake_trait_integrated;
extern int fake_trait_fabric;
extern int fake_trait_peers;

/* ---- fake_stream.c ------------------------------------------------------ */

/* Begin a call about a stream of the current device. */
cud_result fake_begin_stream(const char *symbol, cud_stream stream,
                             struct fake_device **d, larder_stream *number);
/* The simulated stream behind a handle. */
cud_result fake_stream_number(const char *symbol, const struct fake_device *d,
                              cud_stream stream, larder_stream *out);
/* The simulated event behind a handle, and its device. */
cud_result fake_event_find(const char *symbol, cud_event event,
                           struct fake_device **d, uint64_t *out);
/* The creation flags of an event that was found. */
unsigned fake_event_flags(const struct fake_device *d, uint64_t inner);
/* Destroy the program's events on the device. */
void fake_events_forget(struct fake_device *d);
/* Whether the default stream waits for it, and it for the default stream. */
bool fake_stream_is_blocking(cud_stream stream);
void fake_streams_forget(const struct fake_device *d);

/* ---- fake_wait.c -------------------------------------------------------- */

/* Complete all queued work, unless a test completes it itself. */
larder_result fake_complete_all(struct fake_device *d);
/* The same; it counts as waited for, and pools release free pieces. */
larder_result fake_synchronize(struct fake_device *d);
/* Whether work that was not waited for uses the range. */
bool fake_is_in_use(const struct fake_device *d, cud_addr addr, size_t bytes);

/* ---- fake_capture.c ----------------------------------------------------- */

/* The results of calls that could disturb a capture, that are refused only on
 * captured streams, and that concern a stream, the whole device, or an event.
 * A refused call invalidates the capture. */
cud_result fake_capture_guard(const char *symbol, const struct fake_device *d);
cud_result fake_capture_guard_member(const char *symbol,
                                     const struct fake_device *d,
                                     larder_stream number);
cud_result fake_capture_guard_stream(const char *symbol,
                                     const struct fake_device *d,
                                     larder_stream number);
cud_result fake_capture_guard_device(const char *symbol,
                                     const struct fake_device *d);
cud_result fake_capture_guard_event(const char *symbol,
                                    const struct fake_device *d,
                                    const struct sim_event *event);
/* Work of this many nanoseconds is queued: the device's clock runs, or the
 * stream's capture grows.  fake_record_note() and fake_wait_note() do the same
 * for events. */
cud_result fake_work_note(const char *symbol, struct fake_device *d,
                          larder_stream number, uint64_t ns);
cud_result fake_record_note(const char *symbol, struct fake_device *d,
                            larder_stream number, struct sim_event *event);
cud_result fake_wait_note(const char *symbol, struct fake_device *d,
                          cud_stream stream, larder_stream number,
                          const struct sim_event *event, unsigned flags);
bool fake_is_captured(const struct fake_device *d, larder_stream number);
/* The stream is destroyed. */
void fake_capture_drop(const struct fake_device *d, larder_stream number);
void fake_captures_forget(const struct fake_device *d);
/* For the simulated GPU's own captures. */
void fake_capture_note(struct fake_device *d, bool begins);

/* ---- fake_attributes.c -------------------------------------------------- */

/* Of every device: 100 times the major number plus the minor one. */
extern int fake_capability;
/* LARDER_FAKECUDA_CAPABILITY, as MAJOR.MINOR.  False: not of that form. */
bool fake_capability_read(const char *text);

/* Values that depend on the capability: threads per multiprocessor, and shared
 * memory available to a block. */
int fake_threads(void);
int fake_shared_bytes(void);

/* The values of the card that the spec names, or those of a large GPU. */
int fake_processors(const struct fake_device *d);

/* ---- fake_host.c -------------------------------------------------------- */

/* The device that owns the memory; NULL: none.  The current device is checked
 * first, because devices added by a test may have the same addresses. */
struct fake_device *fake_owner_of(cud_addr addr);
/* Free the page-locked memory that was allocated in contexts of the device. */
void fake_host_forget(const struct fake_device *d);
/* Whether it may be a host address: managed memory, or outside of every
 * device's addresses. */
bool fake_is_on_host(cud_addr addr, size_t bytes);

/* Whether all of it is host memory that may be used as device memory: managed
 * or page-locked. */
bool fake_is_locked(cud_addr addr, size_t bytes);

/* ---- fake_copy.c -------------------------------------------------------- */

/* The kind of memory that an address of a copy or fill refers to. */
enum fake_side_kind {
    FAKE_SIDE_HOST,
    FAKE_SIDE_DEVICE, /* or page-locked memory of the host */
    FAKE_SIDE_PEER,   /* the same, with a context, which has to exist */
    FAKE_SIDE_ANY     /* by the address */
};

/* The source or target of a copy, or the target of a fill: rows of bytes in
 * slices, with their pitches. */
struct fake_side {
    enum fake_side_kind kind;
    cud_addr addr;
    size_t pitch;
    size_t slice;
    cud_context context; /* of a FAKE_SIDE_PEER */
};

struct fake_box {
    size_t width; /* bytes */
    size_t height;
    size_t depth;
};

/* Complete calls, including fake_begin() and fake_end(). */
cud_result fake_copy(const char *symbol, const struct fake_side *to,
                     const struct fake_side *from, const struct fake_box *box,
                     cud_stream stream, bool waits);
cud_result fake_fill(const char *symbol, const struct fake_side *to,
                     unsigned char value, const struct fake_box *box,
                     cud_stream stream, bool waits);

/* ---- fake_memory.c ------------------------------------------------------ */

bool fake_is_managed(cud_addr addr, size_t bytes);
/* The allocation that contains the address, on any device, or opened from
 * another process; not mapped pages. */
bool fake_allocation_find(cud_addr addr, struct sim_ipc *out);
void fake_managed_forget(int device);
/* Free the device's allocations outside of pools. */
larder_result fake_memory_free_all(struct fake_device *d);
/* Managed memory that is not on a device.  False: no host memory. */
bool fake_managed_keep_host(const void *ptr, size_t bytes);
void fake_managed_drop_host(const void *ptr);

/* ---- fake_module.c ------------------------------------------------------ */

/* Unload the device's modules, and free its variables of libraries. */
void fake_modules_forget(const struct fake_device *d);

/* ---- fake_pool.c -------------------------------------------------------- */

/* Whether a pool has a piece that begins there, which may be freed already. */
bool fake_pool_owns(cud_addr addr);
larder_result fake_pool_free(cud_addr addr);
/* Release freed pieces whose events have passed, down to the pools'
 * thresholds. */
void fake_pools_settle(struct fake_device *d);
void fake_pools_forget(int device);

/* ---- fake_ipc.c --------------------------------------------------------- */

/* The opened memory of another process that contains the address. */
bool fake_ipc_find(cud_addr addr, struct sim_ipc *out);
/* Close what is open on the device. */
void fake_ipc_forget(struct fake_device *d);

/* ---- fake_graph.c ------------------------------------------------------- */

/* The handle of an empty graph.  NULL: no host memory. */
void *fake_graph_make(void);
/* Captured work: the number of pieces, and the duration of a launch. */
void fake_graph_fill(void *graph, size_t nodes, uint64_t ns);

/* ---- fake_virtual.c ----------------------------------------------------- */

void fake_pages_forget(int device);
unsigned long fake_access_count(void);

/* ---- fake_report.c ------------------------------------------------------ */

void fake_report(void);

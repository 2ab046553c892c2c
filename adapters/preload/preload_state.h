/* preload_state.h - internals of the preload library.
 *
 *   program -> hook_*.c -> slot (a device) -> Larder -> device_table.c -> driver
 *
 * Rules:
 *   P1  Memory freed by cuMemFree() is not reused before the device has
 *       completed everything queued until then: it waits (in the slot's
 *       `waiting`) until preload_settle() has waited for the context.  So
 *       memory on Larder's stream 0 may be used on any stream at once.
 *   P2  Memory from cuMemAllocAsync() belongs to its stream, under the stream's
 *       handle, never under 0.  Once freed on that stream it can be reused
 *       there at once, and nowhere else.
 *   P3  Every address handed out is in the table of allocations until it is
 *       freed.  An address in no table is the driver's, unless it lies in
 *       memory that Larder holds: then it is rejected.
 *   P4  Nothing waits for a device, frees or unmaps while one of its streams
 *       is captured.
 *   P5  held + outside bytes of a slot never exceed its limit.
 *   P6  Memory in use moves only while every call that queues work, or looks at
 *       what lies at an address, is held back and all devices have completed
 *       their work (work.c): Larder's memory with LARDER_PRELOAD=cache,migrate,
 *       that of an allocator in the program with `gate`.
 *   P7  A call of the driver is hooked, or known to need no hook (harmless.c), or
 *       ends moving (unknown.c, work.h).
 *
 * Lock order: a slot's gate (shared by allocations, exclusive for a pause), the
 * settling lock, Larder's or with `gate` those of the allocator in the program,
 * the work gate (entered by calls that queue work, closed for a move), that of
 * waits and beginnings of captures (settle.c), that of a slot's pages, the locks of
 * tables (allocations, captures, virtual memory), a slot's own.  A call within
 * the work gate takes none before it: with the gate closed nobody waits for
 * whoever holds such a lock and waits for the gate. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include <larder/device.h>
#include <larder/history.h>
#include <larder/preload.h>

#include "driver_calls.h"
#include "ranges.h"

enum { PRELOAD_DEVICES = 64 };
#define PRELOAD_UNLIMITED UINT64_MAX

/* ---- settings.c ---------------------------------------------------------- */

enum preload_mode { PRELOAD_OFF, PRELOAD_LIMIT, PRELOAD_CACHE };

struct preload_settings {
    enum preload_mode mode;
    bool can_pause;
    bool can_migrate;     /* memory in use may move */
    bool is_gate;         /* work is held back on request, and nothing else */
    bool is_wrong;        /* already reported: nothing is allocated */
    uint64_t limit_bytes; /* for each device; PRELOAD_UNLIMITED: none */
    double fraction;      /* the same, as a fraction; 1: none */
    const char *stats;    /* paths; NULL: not requested */
    const char *snapshot;
    int signal; /* signal that writes a snapshot; 0: none */
};

const struct preload_settings *preload_settings_get(void);

/* ---- driver_load.c ------------------------------------------------------- */

/* The real calls.  NULL: there is no driver, or it lacks too much. */
const struct preload_calls *preload_driver(void);
/* Look up a symbol as the dynamic linker would without this library. */
void *preload_real_dlsym(void *handle, const char *name);
/* Look up a symbol in the driver's library.  NULL: none. */
void *preload_driver_symbol(const char *name);

/* ---- slots --------------------------------------------------------------- */

/* An allocation of the program. */
struct allocation {
    struct range range;      /* bytes as requested */
    struct allocation *next; /* in the list waiting for the device */
    struct preload_slot *slot;
    cud_context context;
    larder_stream stream; /* Larder's; 0: in no stream's order */
    bool is_ours;         /* otherwise the driver's, only counted */
};

/* Memory that Larder holds: one allocation of the driver, or addresses with a
 * page of their own that can be released separately. */
struct segment {
    struct range range;
    cud_page page;
    bool is_virtual;
    bool has_page;
    bool is_mapped;
    bool is_paused; /* its page is released, and not counted */
    char *saved;    /* its contents meanwhile */
};

struct preload_slot {
    int number;
    _Atomic(cud_context) primary; /* NULL: not known yet */

    pthread_mutex_t opening;
    atomic_bool is_open;
    larder_device *device;
    larder_allocator *allocator;

    pthread_rwlock_t gate;
    bool is_paused;
    bool is_forgotten; /* by the driver: release nothing to it */

    /* Held while segments lose and get their pages, and while one is released:
     * Larder's threads, and calls on other devices, do so without the gate. */
    pthread_mutex_t paging;

    pthread_mutex_t lock;         /* guards the following */
    _Atomic uint64_t limit_bytes; /* 0: not known yet */
    uint64_t held_bytes;          /* by Larder, from the driver */
    uint64_t asked_bytes;         /* the driver has not answered yet */
    uint64_t outside_bytes;
    uint64_t live_bytes; /* by the program, from Larder */
    uint64_t paused_bytes;
    uint64_t held_peak;
    uint64_t live_peak;
    uint64_t allocations;
    uint64_t frees;
    uint64_t passed;
    uint64_t refused;
    uint64_t driver_allocs;
    uint64_t driver_frees;
    uint64_t waits;
    uint64_t moves; /* requests for which memory in use moved */
    struct range *segments;
    struct range *pages; /* by handle (device_pages.c) */
    struct allocation *waiting;
    uint64_t settled; /* how often memory was settled */

    pthread_mutex_t settling;
    /* Stream-ordered memory was allocated; and a stream of it was destroyed
     * whose work could not be waited for. */
    atomic_bool has_ordered;
    atomic_bool has_lost_stream;
};

/* The slot that a call of this thread belongs to. */
struct preload_place {
    struct preload_slot *slot; /* NULL: no context, or too many devices */
    cud_context context;
    bool is_primary;
};

/* slot.c */
struct preload_slot *preload_slot_at(int number); /* NULL: no such */
/* Find the slot.  False: leave the call to the driver. */
bool preload_place_find(const struct preload_calls *real,
                        struct preload_place *p);
/* Remember the device's primary context, if it is in use. */
void preload_primary_learn(const struct preload_calls *real,
                           struct preload_slot *slot);
/* Create the slot's allocator, once.  Returns a driver result. */
cud_result preload_slot_open(struct preload_slot *slot);
/* Start over: the driver has dropped all memory of the device. */
void preload_slot_close(const struct preload_calls *real,
                        struct preload_slot *slot);
/* Count bytes towards the limit.  False: they do not fit. */
bool preload_budget_take(struct preload_slot *slot, uint64_t *counter,
                         uint64_t bytes);
void preload_budget_release(struct preload_slot *slot, uint64_t *counter,
                            uint64_t bytes);
/* The driver returned the memory: Larder holds it. */
void preload_budget_keep(struct preload_slot *slot, uint64_t bytes);
void preload_slot_limit(const struct preload_calls *real,
                        struct preload_slot *slot);
/* A child of fork() cannot use the driver, and takes no locks: another thread of
 * its parent may have held them. */
bool preload_is_child(void);

/* settle.c */
/* Wait until all work in the primary context is complete; fails during a
 * capture. */
cud_result preload_wait_for_device(const struct preload_calls *real,
                                   struct preload_slot *slot);
/* Wait for the device and make waiting memory reusable.  Returns whether there
 * was any. */
bool preload_settle(struct preload_slot *slot);
void preload_wait_add(struct preload_slot *slot, struct allocation *a);
/* Settle, and release everything cached to the driver. */
larder_result preload_trim(struct preload_slot *slot);
/* Call it before a stream is destroyed (P2). */
void preload_stream_close(const struct preload_calls *real, cud_stream stream);
/* Whether stream-ordered memory can be served again. */
bool preload_order_is_sure(const struct preload_calls *real,
                           struct preload_slot *slot);
/* Captures: one was begun on a stream of this context; the stream was destroyed,
 * or the context with its streams; whether any is in progress. */
void preload_capture_note(cud_stream stream, cud_context context);
void preload_capture_forget(cud_stream stream);
void preload_captures_forget(cud_context context);
bool preload_is_capturing(const struct preload_calls *real);
/* Around whatever waits, frees or unmaps (P4): no capture begins meanwhile.
 * False: one is in progress; then there is nothing to end.  May be nested. */
bool preload_wait_begin(const struct preload_calls *real);
void preload_wait_end(void);
/* Around the beginning of a capture and its note. */
void preload_capture_lock(void);
void preload_capture_unlock(void);

/* device_table.c: the driver below the hooks, as a device for Larder. */
extern const larder_device_ops preload_device_ops;
/* The driver's result of this thread's last failed call. */
extern _Thread_local cud_result preload_last_answer;
/* Make a context current, or the slot's primary one; and undo that. */
cud_result preload_context_push(const struct preload_calls *real,
                                cud_context own, bool *pushed);
cud_result preload_context_enter(const struct preload_calls *real,
                                 const struct preload_slot *slot, bool *pushed);
void preload_context_leave(const struct preload_calls *real, bool pushed);
/* Convert a driver result to Larder's, and back. */
larder_result preload_result_of(cud_result answer);
cud_result preload_answer_of(larder_result r);
/* Whether the address lies in memory that Larder holds. */
bool preload_holds(cud_addr addr);

/* device_pages.c: the table's calls for virtual memory. */
void preload_pages_add(larder_device_ops *ops);

/* segment_pages.c: segments whose pages can be taken away. */
cud_page_prop preload_page_prop(const struct preload_slot *slot);
/* List this device and each one that can access it, as ordinary memory would
 * allow.  Returns their number. */
size_t preload_access_find(const struct preload_calls *real,
                           const struct preload_slot *slot,
                           cud_access out[PRELOAD_DEVICES]);
cud_result preload_segment_map(const struct preload_calls *real,
                               const struct preload_slot *slot,
                               struct segment *s);
cud_result preload_segment_unmap(const struct preload_calls *real,
                                 struct segment *s);
/* The size of a segment for this many bytes; 0: there is no virtual memory. */
uint64_t preload_segment_round(const struct preload_calls *real,
                               const struct preload_slot *slot, uint64_t bytes);
/* Reserve addresses for s->range.bytes, and map a page there. */
cud_result preload_segment_reserve(const struct preload_calls *real,
                                   const struct preload_slot *slot,
                                   struct segment *s);
cud_result preload_segment_release(const struct preload_calls *real,
                                   struct segment *s);

/* allocations.c: the table of the program's allocations. */
struct allocation *preload_allocation_new(const struct preload_place *p,
                                          uint64_t bytes);
void preload_allocation_add(struct allocation *a, cud_addr addr);
/* Remove and return the allocation that begins there.  NULL: it is not in the
 * table. */
struct allocation *preload_allocation_take(cud_addr addr);
void preload_allocation_return(struct allocation *a);
/* Copy the allocation that contains the address.  False: none does. */
bool preload_allocation_find(cud_addr addr, struct allocation *out);
/* Drop the allocations of a context that was destroyed or reset. */
void preload_allocations_forget(cud_context context);

/* hook_memory.c */
/* Allocate from Larder, on one of its streams (0: any).  CUD_NOT_READY: not
 * possible now; the driver must serve the request. */
cud_result preload_alloc(struct preload_place *p, cud_addr *out, size_t bytes,
                         larder_stream stream);
/* A call that allocates the driver's own memory: it is counted, and retried
 * once after releasing what is cached. */
struct passing {
    struct preload_place place;
    struct allocation *allocation;
    uint64_t bytes;
    bool is_counted;
    bool was_retried;
};
cud_result preload_pass_begin(const struct preload_calls *real,
                              struct passing *x, uint64_t bytes);
bool preload_pass_again(struct passing *x, cud_result answer);
cud_result preload_pass_end(struct passing *x, cud_result answer,
                            cud_addr addr);
/* Free what Larder served, or uncount what the driver freed. */
cud_result preload_free_or_uncount(struct allocation *a);
void preload_uncount(struct allocation *a);

/* preload_report.c */
/* The settings are known: write snapshots at this signal, unless it is 0. */
void preload_report_start(int number);

/* thread.c */
/* Start a detached thread.  False: there are too many. */
bool preload_thread_start(void *(*fn)(void *), void *ctx);

/* control.c */
larder_result preload_fail(larder_result r, const char *text);

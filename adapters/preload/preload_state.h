/* preload_state.h - the preload library from within.
 *
 *   program -> hook_*.c -> slot (a device) -> Larder -> device_table.c -> driver
 *
 * Rules:
 *   P1  What cuMemFree() freed is not reused before the device has done
 *       everything that was queued until then: it waits (a slot's `waiting`)
 *       until slot_settle() has waited for the context.  So memory on Larder's
 *       stream 0 may be used on any stream at once.
 *   P2  What cuMemAllocAsync() took belongs to its stream, under the stream's
 *       handle, never under 0; freed on that stream it is reused there
 *       at once, and elsewhere not at all.
 *   P3  Every address handed out is in the table of allocations until it is
 *       released; what is in no table is the driver's, unless it lies in
 *       memory that Larder holds: then it is refused.
 *   P4  Nothing waits for a device, frees or unmaps while one of its streams
 *       is captured.
 *   P5  held + outside bytes of a slot never exceed its limit.
 *
 *   P6  With LARDER_PRELOAD=cache,migrate memory in use moves only while every
 *       call that queues work is held back and all devices have passed
 *       (work.c).
 *
 * Locks: a slot's gate (shared by allocations, alone for a pause), that of work
 * (shared by what queues it, alone for a move), the settling lock, Larder's,
 * the table's, and a slot's own, in this order. */
#ifndef LARDER_ADAPTERS_PRELOAD_PRELOAD_STATE_H
#define LARDER_ADAPTERS_PRELOAD_PRELOAD_STATE_H

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
    bool is_wrong;        /* said so already: nothing is allocated */
    uint64_t limit_bytes; /* for each device; PRELOAD_UNLIMITED: none */
    double fraction;      /* the same, of its memory; 1: none */
    const char *stats;    /* paths; NULL: not asked for */
    const char *snapshot;
    int signal; /* that a snapshot is written at; 0: none */
};

const struct preload_settings *preload_settings_get(void);

/* ---- driver_load.c ------------------------------------------------------- */

/* The real calls; NULL: there is no driver, or it lacks too much. */
const struct preload_calls *preload_driver(void);
/* A symbol as the dynamic linker finds it, whatever this library shows. */
void *preload_real_dlsym(void *handle, const char *name);
/* Of the driver's library; NULL: none. */
void *preload_driver_symbol(const char *name);

/* ---- slots --------------------------------------------------------------- */

/* Memory that the program holds. */
struct allocation {
    struct range range;      /* bytes as asked for */
    struct allocation *next; /* waiting for the device */
    struct preload_slot *slot;
    cud_context context;
    larder_stream stream; /* Larder's: 0 for what is in no stream's order */
    bool is_ours;         /* else the driver's, and counted */
};

/* Memory that Larder holds: one allocation of the driver, or of addresses
 * with a page of its own that can be taken away. */
struct segment {
    struct range range;
    cud_page page;
    bool is_virtual;
    bool has_page;
    bool is_mapped;
    bool is_paused; /* its page was taken away, and is not counted */
    char *saved;    /* its contents while it is not */
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
    bool is_forgotten; /* by the driver: nothing is released to it */

    pthread_mutex_t lock;         /* of what follows */
    _Atomic uint64_t limit_bytes; /* 0: not known yet */
    uint64_t held_bytes;          /* by Larder, from the driver */
    uint64_t asked_bytes;         /* of the driver, which has not answered */
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
    uint64_t moves; /* requests that memory in use moved for */
    struct range *segments;
    struct range *pages; /* by handle (device_pages.c) */
    struct allocation *waiting;
    uint64_t settled; /* times */

    pthread_mutex_t settling;
    /* Memory was taken in streams' order; a stream of it has gone, and nobody
     * could wait for its work. */
    atomic_bool has_ordered;
    atomic_bool has_lost_stream;
};

/* Where a call of this thread belongs. */
struct preload_place {
    struct preload_slot *slot; /* NULL: no context, or a device too many */
    cud_context context;
    bool is_primary;
};

/* slot.c */
struct preload_slot *preload_slot_at(int number); /* NULL: no such */
/* Find it.  False: hands off, the call is the driver's alone. */
bool preload_place_find(const struct preload_calls *real,
                        struct preload_place *p);
/* The device's primary context, kept from now on; a device that nobody uses so
 * has none. */
void preload_primary_learn(const struct preload_calls *real,
                           struct preload_slot *slot);
/* Make the slot's allocator, once.  The answer is a driver's. */
cud_result preload_slot_open(struct preload_slot *slot);
/* Begin anew: the driver has forgotten what the device held. */
void preload_slot_close(const struct preload_calls *real,
                        struct preload_slot *slot);
/* Count bytes against the limit; false: they do not fit. */
bool preload_budget_take(struct preload_slot *slot, uint64_t *counter,
                         uint64_t bytes);
void preload_budget_give(struct preload_slot *slot, uint64_t *counter,
                         uint64_t bytes);
/* The driver gave what was asked for: Larder holds it. */
void preload_budget_keep(struct preload_slot *slot, uint64_t bytes);
void preload_slot_limit(const struct preload_calls *real,
                        struct preload_slot *slot);
/* A child of fork() has no driver. */
bool preload_is_child(void);

/* settle.c */
/* Until everything queued in the primary context is done. */
cud_result preload_wait_for_device(const struct preload_calls *real,
                                   struct preload_slot *slot);
/* Let memory that waits be reused: after waiting for the device.  Whether
 * any became free. */
bool preload_settle(struct preload_slot *slot);
void preload_wait_add(struct preload_slot *slot, struct allocation *a);
/* Settle, and release what is cached to the driver. */
larder_result preload_trim(struct preload_slot *slot);
/* A stream is about to go (P2). */
void preload_stream_gone(const struct preload_calls *real, cud_stream stream);
/* Whether memory can be served in streams' order again. */
bool preload_order_is_sure(const struct preload_calls *real,
                           struct preload_slot *slot);
/* Captures: begun on a stream; the stream is gone; any under way. */
void preload_capture_note(cud_stream stream);
void preload_capture_forget(cud_stream stream);
bool preload_is_capturing(const struct preload_calls *real);

/* device_table.c: a device for Larder that is the driver below the hooks. */
extern const larder_device_ops preload_device_ops;
/* The driver's answer to the last call of this thread that failed. */
extern _Thread_local cud_result preload_last_answer;
cud_result preload_context_enter(const struct preload_calls *real,
                                 const struct preload_slot *slot, bool *pushed);
void preload_context_leave(const struct preload_calls *real, bool pushed);
/* Its answer in Larder's words, and what it would have answered. */
larder_result preload_result_of(cud_result answer);
cud_result preload_answer_of(larder_result r);
/* Whether the address lies in memory that Larder holds. */
bool preload_holds(cud_addr addr);

/* device_pages.c: the table's calls for virtual memory. */
void preload_pages_add(larder_device_ops *ops);

/* segment_pages.c: segments whose pages can be taken away. */
cud_page_prop preload_page_prop(const struct preload_slot *slot);
/* This device and each one that can reach it, as plain memory is opened to; how
 * many. */
size_t preload_access_find(const struct preload_calls *real,
                           const struct preload_slot *slot,
                           cud_access out[PRELOAD_DEVICES]);
cud_result preload_segment_map(const struct preload_calls *real,
                               const struct preload_slot *slot,
                               struct segment *s);
cud_result preload_segment_unmap(const struct preload_calls *real,
                                 struct segment *s);
/* What a segment of so many bytes takes; 0: there is no virtual memory. */
uint64_t preload_segment_round(const struct preload_calls *real,
                               const struct preload_slot *slot, uint64_t bytes);
/* Find addresses for s->range.bytes, and map them. */
cud_result preload_segment_reserve(const struct preload_calls *real,
                                   const struct preload_slot *slot,
                                   struct segment *s);
cud_result preload_segment_release(const struct preload_calls *real,
                                   struct segment *s);

/* allocations.c: the table of what the program holds. */
struct allocation *preload_allocation_new(const struct preload_place *p,
                                          uint64_t bytes);
void preload_allocation_add(struct allocation *a, cud_addr addr);
/* Take it out, by where it begins; NULL: it is not in the table. */
struct allocation *preload_allocation_take(cud_addr addr);
void preload_allocation_return(struct allocation *a);
/* A copy of what holds the address; false: none does. */
bool preload_allocation_find(cud_addr addr, struct allocation *out);
/* Forget those of a context, or of a slot, that is gone. */
void preload_allocations_forget(const struct preload_slot *slot,
                                cud_context context);

/* hook_memory.c */
/* Allocate of Larder, for a stream of its (0: any); CUD_NOT_READY: not now,
 * the driver has to serve. */
cud_result preload_alloc(struct preload_place *p, cud_addr *out, size_t bytes,
                         larder_stream stream);
/* Around a call that takes memory of the driver's own: counted, and tried
 * once more with what is cached released. */
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
/* Take back what Larder served, or count what the driver took back. */
cud_result preload_give(struct allocation *a);
void preload_uncount(struct allocation *a);

/* preload_report.c */
/* Settings are known; write snapshots at the signal, unless it is 0. */
void preload_report_start(int number);

/* control.c */
larder_result preload_fail(larder_result r, const char *text);

#endif

/* sim_device.h - internals of the simulated GPU.  Private to it.
 *
 * Each GPU has one lock, which guards all of it.  The functions here are called
 * with the lock held; they return LARDER_OK or an error, with the message set
 * through sim_fail.h.  A function that fails has changed nothing. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include <larder/sim.h>

#include "base/witness.h"
#include "device/sim_backing.h"
#include "device/sim_budget.h"
#include "device/sim_card.h"
#include "device/sim_slots.h"
#include "device/sim_space.h"
#include "device/sim_spec.h"

/* Pages and reservations are multiples of this. */
#define SIM_GRANULE (UINT64_C(2) << 20)

/* A memory file that something was imported from. */
struct sim_foreign {
    struct sim_foreign *next;
    struct own_fd file; /* none: there is no memory behind the addresses */
    dev_t device;
    ino_t inode;
    uint32_t pages;
};

/* A physical handle.  It exists until it is released and no longer mapped. */
struct sim_page {
    struct sim_slot slot;
    struct sim_range *place; /* in the file; NULL without real memory */
    uint64_t bytes;
    uint32_t mappings;
    bool is_released;
    struct sim_foreign *foreign; /* if imported: the file that contains it, */
    uint64_t foreign_offset;     /* and its offset there */
};

/* Data about an event's recording for a driver built on the simulated GPU. */
struct sim_event_note {
    unsigned flags; /* of its creation */
    uint64_t ns;
    uint64_t capture; /* its number; 0: none */
    unsigned queued;
};

struct sim_event {
    struct sim_slot slot;
    larder_stream stream;
    uint64_t ticket; /* of the last recording; 0: none */
    struct sim_event_note note;
};

/* A queue.  Everything queued takes a ticket, counting from 1; `done` is the
 * last ticket up to which all work has completed. */
struct sim_stream {
    larder_stream number;
    uint64_t queued;
    uint64_t done;
    struct sim_work *first;
    struct sim_work *last;
    /* In the list of streams with work. */
    struct sim_stream *busy_next;
    struct sim_stream **busy_link; /* the pointer to this one */
    /* While it runs: how far, and for which stream. */
    uint64_t target;
    struct sim_stream *waiter;
    /* For sim_unordered.c: work up to this ticket is ordered. */
    uint64_t ordered;
    bool is_captured;
};

enum { SIM_STREAM_CHUNK = 256, SIM_STREAM_CHUNKS = LARDER_SIM_STREAMS / 256 };

/* The addresses of pinned host memory. */
struct sim_pinned {
    void **list;
    size_t count;
    size_t capacity;
};

struct sim {
    struct sim_spec spec;
    pthread_mutex_t lock;
    int ordinal;
    struct sim_budget budget;
    struct sim_backing backing;

    struct sim_space memory;    /* first region: allocations */
    struct sim_space addresses; /* second region: reservations */
    struct sim_space file;      /* offsets of pages in the file */
    struct sim_slots pages;
    struct sim_slots events;
    unsigned char uuid[LARDER_UUID_BYTES];
    struct sim_range *gone;      /* released, but still in use */
    struct own_fd exported;      /* locks on what this process exported */
    struct sim_foreign *foreign; /* other devices' memory files */
    struct sim_foreign nowhere;  /* that of all without memory */
    struct sim_pinned pinned;
    uint64_t allocations;
    uint64_t reservations;
    uint64_t mappings;

    struct sim_stream *streams[SIM_STREAM_CHUNKS]; /* made when first used */
    struct sim_stream *busy; /* streams with work, in no order */
    int captured;            /* number of streams being captured */
};

/* ---- sim.c -------------------------------------------------------------- */

/* NULL: it is not a simulated device. */
struct sim *larder__sim_of(const larder_device *dev);

static inline void sim_lock(struct sim *sim)
{
    mutex_take(&sim->lock, RANK_DEVICE);
}

static inline void sim_unlock(struct sim *sim)
{
    mutex_leave(&sim->lock);
}

/* Take the lock for a call that uses the device.  On failure it is not held. */
larder_result larder__sim_enter(struct sim *sim);
/* Release the lock and return r. */
larder_result larder__sim_leave(struct sim *sim, larder_result r);

/* ---- sim_memory.c ------------------------------------------------------- */

larder_result larder__sim_mem_alloc(struct sim *sim, uint64_t bytes,
                                    larder_addr *out);
larder_result larder__sim_mem_free(struct sim *sim, larder_addr addr);
/* The allocation that contains the address.  NULL: none, or no longer. */
struct sim_range *larder__sim_mem_find(const struct sim *sim, larder_addr addr);
/* Return its memory. */
larder_result larder__sim_mem_end(struct sim *sim, struct sim_range *range);
void larder__sim_memory_close(struct sim *sim);
/* Whether the whole range may be accessed, in either region. */
bool larder__sim_is_accessible(const struct sim *sim, larder_addr addr,
                               uint64_t bytes);

larder_result larder__sim_pinned_alloc(struct sim *sim, uint64_t bytes,
                                       void **out);
/* ERR_DEVICE if no memory of larder__sim_pinned_alloc() begins at ptr. */
larder_result larder__sim_pinned_free(struct sim *sim, void *ptr);
void larder__sim_pinned_close(struct sim *sim);

/* ---- sim_page.c --------------------------------------------------------- */

larder_result larder__sim_page_create(struct sim *sim, uint64_t bytes,
                                      uint64_t *out);
larder_result larder__sim_page_release(struct sim *sim, uint64_t page);
/* Call it after a mapping of the page was removed. */
void larder__sim_page_unmapped(struct sim *sim, struct sim_page *page);
void larder__sim_pages_close(struct sim *sim);
/* Release the page's place in the file, and its bytes from the budget. */
void larder__sim_page_unplace(struct sim *sim, struct sim_range *place,
                              uint64_t bytes);

/* ---- sim_lend.c --------------------------------------------------------- */

/* Set the identity by which other processes recognise the device. */
void larder__sim_identify(struct sim *sim, const char *shared);
larder_result larder__sim_page_export(struct sim *sim, uint64_t page,
                                      larder_handle_kind kind,
                                      larder_page_handle *out);
/* `bytes` 0: the page's own size. */
larder_result larder__sim_page_import(struct sim *sim,
                                      const larder_page_handle *handle,
                                      uint64_t bytes, uint64_t *out);
/* Whether what is released stays because other processes use it. */
bool larder__sim_lend_keeps(struct sim *sim, struct sim_range *range);
/* Called when an imported page is destroyed. */
void larder__sim_lend_return(struct sim *sim, struct sim_page *page);
/* Release pages that other processes no longer use. */
void larder__sim_lend_sweep(struct sim *sim);
void larder__sim_lend_close(struct sim *sim);

/* ---- sim_ipc.c ---------------------------------------------------------- */

/* An allocation as another process can open it. */
enum { SIM_IPC_BYTES = 64 };

/* An allocation of another process, mapped here. */
struct sim_ipc {
    larder_addr addr; /* of the allocation; its granules begin at or before */
    uint64_t bytes;
    larder_addr granules;
    uint64_t granules_bytes;
};

/* Write the handle of the allocation that contains the address: the same one
 * each time. */
larder_result larder__sim_ipc_export(struct sim *sim, larder_addr addr,
                                     void *out);
/* Whether the bytes are a handle, and whether it belongs to this process. */
bool larder__sim_ipc_is_handle(const void *handle, bool *is_own);
/* ERR_DEVICE: it does not exist (any more). */
larder_result larder__sim_ipc_open(struct sim *sim, const void *handle,
                                   struct sim_ipc *out);
larder_result larder__sim_ipc_close(struct sim *sim, const struct sim_ipc *ipc);
/* Whether an allocation that is freed stays because other processes have it
 * open. */
bool larder__sim_ipc_keeps(struct sim *sim, struct sim_range *range);

/* ---- sim_vmm.c ---------------------------------------------------------- */

larder_result larder__sim_address_reserve(struct sim *sim, uint64_t bytes,
                                          larder_addr *out);
larder_result larder__sim_address_free(struct sim *sim, larder_addr addr,
                                       uint64_t bytes);
larder_result larder__sim_map(struct sim *sim, larder_addr addr, uint64_t bytes,
                              uint64_t page);
larder_result larder__sim_unmap(struct sim *sim, larder_addr addr,
                                uint64_t bytes);
larder_result larder__sim_set_access(struct sim *sim, larder_addr addr,
                                     uint64_t bytes);
bool larder__sim_vmm_is_accessible(const struct sim *sim, larder_addr addr,
                                   uint64_t bytes);
/* A number that identifies the pages mapped in the range: it differs for other
 * pages.  0: the range is not in the second region. */
uint64_t larder__sim_vmm_pages(const struct sim *sim, larder_addr addr,
                               uint64_t bytes);
void larder__sim_vmm_close(struct sim *sim);

/* ---- sim_stream.c ------------------------------------------------------- */

enum sim_work_kind {
    SIM_WORK_COPY,
    SIM_WORK_FILL,
    SIM_WORK_LAUNCH,
    SIM_WORK_WAIT
};

/* Maximum number of memory ranges that a work item accesses. */
enum { SIM_WORK_RANGES = 2 };

struct sim_work {
    struct sim_work *next;
    uint64_t ticket;
    enum sim_work_kind kind;
    uint64_t pages[SIM_WORK_RANGES]; /* the pages mapped there when queued */
    union {
        struct {
            uint64_t dst;
            uint64_t src;
            uint64_t bytes;
            larder_copy_kind kind;
        } copy;
        struct {
            larder_addr dst;
            uint64_t bytes;
            unsigned char value;
        } fill;
        struct {
            larder_sim_kernel *fn;
            void *ctx;
        } launch;
        struct {
            struct sim_stream *stream;
            uint64_t ticket;
        } wait;
    } as;
};

larder_result larder__sim_stream_check(larder_stream stream);
/* Find or create the stream's record. */
larder_result larder__sim_stream_get(struct sim *sim, larder_stream stream,
                                     struct sim_stream **out);
/* The stream's record.  NULL: it was never used. */
struct sim_stream *larder__sim_stream_find(const struct sim *sim,
                                           larder_stream stream);
/* The next record from number *at on; *at becomes the number after it.  NULL:
 * there are no more. */
struct sim_stream *larder__sim_stream_next(const struct sim *sim,
                                           larder_stream *at);
/* Run the work, or queue a copy of it. */
larder_result larder__sim_stream_queue(struct sim *sim, larder_stream stream,
                                       const struct sim_work *work);
/* Run the stream up to a ticket.  All of that work is done afterwards, even if
 * this returns an error, which is the first one. */
larder_result larder__sim_stream_run(struct sim *sim, struct sim_stream *s,
                                     uint64_t ticket);
larder_result larder__sim_stream_sync(struct sim *sim, larder_stream stream);
/* Do what freeing memory waits for: everything queued, or nothing. */
larder_result larder__sim_streams_wait(struct sim *sim);
void larder__sim_streams_close(struct sim *sim);

/* ---- sim_work.c --------------------------------------------------------- */

/* Whether the work can run; ERR_DEVICE names memory that it may not access. */
larder_result larder__sim_work_check(const struct sim *sim,
                                     const struct sim_work *work);
/* Run it, once it was checked. */
void larder__sim_work_do(const struct sim *sim, const struct sim_work *work);
/* Record the pages that the work will access, when it is queued. */
void larder__sim_work_queued(const struct sim *sim, struct sim_work *work);
/* Check and run it, when it is next; also ERR_DEVICE if other pages were mapped
 * at its memory meanwhile. */
larder_result larder__sim_work_turn(const struct sim *sim,
                                    const struct sim_work *work);

/* Whether it accesses any of these bytes. */
bool larder__sim_work_touches(const struct sim_work *work, larder_addr addr,
                              uint64_t bytes);

/* ---- sim_unordered.c ---------------------------------------------------- */

/* The table's entry.  O(queued work). */
larder_result larder__sim_unordered_use(struct sim *sim, larder_addr addr,
                                        uint64_t bytes,
                                        const larder_stream *streams,
                                        size_t count, larder_stream *out);

/* ---- sim_event.c -------------------------------------------------------- */

larder_result larder__sim_event_create(struct sim *sim, uint64_t *out);
larder_result larder__sim_event_destroy(struct sim *sim, uint64_t event);
larder_result larder__sim_event_record(struct sim *sim, uint64_t event,
                                       larder_stream stream);
larder_result larder__sim_event_query(struct sim *sim, uint64_t event);
larder_result larder__sim_event_sync(struct sim *sim, uint64_t event);
larder_result larder__sim_event_wait(struct sim *sim, larder_stream stream,
                                     uint64_t event);

/* ERR_CAPTURING while any stream is being captured. */
larder_result larder__sim_capture_forbids(const struct sim *sim);
larder_result larder__sim_capture_set(struct sim *sim, larder_stream stream,
                                      bool begin);

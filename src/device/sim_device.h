/* sim_device.h - the simulated GPU from within.  Private to it.
 *
 * One lock for each GPU guards all of it; the functions here are called with
 * the lock held, and return LARDER_OK or why not, having set the words of
 * sim_fail.h.  One that fails changed nothing. */
#ifndef LARDER_DEVICE_SIM_DEVICE_H
#define LARDER_DEVICE_SIM_DEVICE_H

#include <pthread.h>
#include <stdbool.h>

#include <larder/sim.h>

#include "base/witness.h"
#include "device/sim_backing.h"
#include "device/sim_share.h"
#include "device/sim_slots.h"
#include "device/sim_space.h"

/* Pages, and what they are mapped into, are multiples of this. */
#define SIM_GRANULE (UINT64_C(2) << 20)

/* What may be held, and is. */
struct sim_budget {
    uint64_t capacity_bytes;
    uint64_t context_bytes; /* charged at the first use */
    bool is_used;
    uint64_t held_bytes;     /* by this device, without the context */
    struct sim_share *share; /* NULL: the capacity is this device's alone */
};

struct sim_lent;
struct sim_foreign;

/* A physical handle.  It lives until it is released and mapped nowhere. */
struct sim_page {
    struct sim_slot slot;
    struct sim_range *place; /* in the file; NULL without real memory */
    uint64_t bytes;
    uint32_t mappings;
    bool is_released;
    struct sim_lent *lent;       /* once it was exported */
    struct sim_foreign *foreign; /* imported: the file it lies in, */
    uint64_t foreign_offset;     /* and where */
};

struct sim_event {
    struct sim_slot slot;
    larder_stream stream;
    uint64_t ticket; /* of the last record; 0: none */
};

/* A queue.  Everything put in it draws a ticket, from 1 upwards; `done` is the
 * last ticket whose work, like all before it, has completed. */
struct sim_stream {
    larder_stream number;
    uint64_t queued;
    uint64_t done;
    struct sim_work *first;
    struct sim_work *last;
    /* Among those with work in them. */
    struct sim_stream *busy_next;
    struct sim_stream **busy_link; /* what points to it */
    /* While it runs: up to where, and for whom. */
    uint64_t target;
    struct sim_stream *waiter;
    /* In sim_unordered.c: what is queued up to there is ordered. */
    uint64_t ordered;
    bool is_captured;
};

enum { SIM_STREAM_CHUNK = 256, SIM_STREAM_CHUNKS = LARDER_SIM_STREAMS / 256 };

struct sim {
    pthread_mutex_t lock;
    int ordinal;
    bool has_vmm;
    bool is_manual;
    bool frees_wait; /* manual, but for what a driver waits in */
    struct sim_budget budget;
    struct sim_backing backing;

    struct sim_space memory;    /* the first region: allocations */
    struct sim_space addresses; /* the second: reservations */
    struct sim_space file;      /* where pages lie in the memory file */
    struct sim_slots pages;
    struct sim_slots events;
    larder_handle_kind export_kind;
    unsigned char uuid[LARDER_UUID_BYTES];
    struct sim_lent *lent;       /* released, but still used elsewhere */
    struct sim_foreign *foreign; /* memory files of other devices */
    uint64_t allocations;
    uint64_t reservations;
    uint64_t mappings;

    struct sim_stream *streams[SIM_STREAM_CHUNKS]; /* made when first used */
    struct sim_stream *busy; /* those that have work in them, in no order */
    int captured;            /* streams */
};

/* ---- sim.c -------------------------------------------------------------- */

/* NULL: the device is not a simulated one. */
struct sim *larder__sim_of(const larder_device *dev);

static inline void sim_lock(struct sim *sim)
{
    mutex_take(&sim->lock, RANK_DEVICE);
}

static inline void sim_unlock(struct sim *sim)
{
    mutex_leave(&sim->lock);
}

/* Take the lock for a call that uses the device.  Not taken after a failure. */
larder_result larder__sim_enter(struct sim *sim);
/* Release it, and return r. */
larder_result larder__sim_leave(struct sim *sim, larder_result r);

/* ---- sim_budget.c ------------------------------------------------------- */

/* Charges the context if this is the first use. */
larder_result larder__sim_use(struct sim *sim);
/* ERR_OUT_OF_MEMORY if it does not fit. */
larder_result larder__sim_budget_take(struct sim_budget *b, uint64_t bytes);
void larder__sim_budget_give(struct sim_budget *b, uint64_t bytes);
struct sim_share_use larder__sim_budget_use(const struct sim_budget *b);

/* ---- sim_memory.c ------------------------------------------------------- */

larder_result larder__sim_mem_alloc(struct sim *sim, uint64_t bytes,
                                    larder_addr *out);
larder_result larder__sim_mem_free(struct sim *sim, larder_addr addr);
void larder__sim_memory_close(struct sim *sim);
/* Whether all of it may be touched, in either region. */
bool larder__sim_is_accessible(const struct sim *sim, larder_addr addr,
                               uint64_t bytes);

/* ---- sim_page.c --------------------------------------------------------- */

larder_result larder__sim_page_create(struct sim *sim, uint64_t bytes,
                                      uint64_t *out);
larder_result larder__sim_page_release(struct sim *sim, uint64_t page);
/* After a mapping of it is gone. */
void larder__sim_page_unmapped(struct sim *sim, struct sim_page *page);
void larder__sim_pages_close(struct sim *sim);
/* Release a page's place in the file, and what it counted. */
void larder__sim_page_unplace(struct sim *sim, struct sim_range *place,
                              uint64_t bytes);

/* ---- sim_lend.c --------------------------------------------------------- */

/* What makes the device known to other processes. */
void larder__sim_identify(struct sim *sim, const char *shared);
larder_result larder__sim_page_export(struct sim *sim, uint64_t page,
                                      larder_handle_kind kind,
                                      larder_page_handle *out);
/* `bytes` 0: as long as it is. */
larder_result larder__sim_page_import(struct sim *sim,
                                      const larder_page_handle *handle,
                                      uint64_t bytes, uint64_t *out);
/* Whether the exported page that ends stays for others: it is then taken care
 * of. */
bool larder__sim_lend_keeps(struct sim *sim, struct sim_page *page);
larder_result larder__sim_lend_map(struct sim *sim, larder_addr addr,
                                   const struct sim_page *page);
/* An imported page ends. */
void larder__sim_lend_return(struct sim *sim, struct sim_page *page);
/* Release what others kept until now. */
void larder__sim_lend_sweep(struct sim *sim);
void larder__sim_lend_close(struct sim *sim);

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
/* Stands for the pages that are mapped there: other pages have another number.
 * 0: it is not in the second region. */
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

/* Ranges of the device's memory that a piece of work touches, at most. */
enum { SIM_WORK_RANGES = 2 };

struct sim_work {
    struct sim_work *next;
    uint64_t ticket;
    enum sim_work_kind kind;
    uint64_t pages[SIM_WORK_RANGES]; /* mapped there when it was queued */
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
/* Its record, made if need be. */
larder_result larder__sim_stream_get(struct sim *sim, larder_stream stream,
                                     struct sim_stream **out);
/* Its record, or NULL if it was never used. */
struct sim_stream *larder__sim_stream_find(const struct sim *sim,
                                           larder_stream stream);
/* Run a copy of the work, or queue it. */
larder_result larder__sim_stream_queue(struct sim *sim, larder_stream stream,
                                       const struct sim_work *work);
/* Run the stream up to a ticket that was drawn.  All of that is then done,
 * whatever is returned: the first failure. */
larder_result larder__sim_stream_run(struct sim *sim, struct sim_stream *s,
                                     uint64_t ticket);
larder_result larder__sim_stream_sync(struct sim *sim, larder_stream stream);
/* What freeing memory waits for: all that is queued, or nothing. */
larder_result larder__sim_streams_wait(struct sim *sim);
void larder__sim_streams_close(struct sim *sim);

/* ---- sim_work.c --------------------------------------------------------- */

/* Whether it can be done; ERR_DEVICE names the memory it may not touch. */
larder_result larder__sim_work_check(const struct sim *sim,
                                     const struct sim_work *work);
/* Checks, and does it. */
larder_result larder__sim_work_do(const struct sim *sim,
                                  const struct sim_work *work);
/* Note which pages it is to touch, as it is queued. */
void larder__sim_work_queued(const struct sim *sim, struct sim_work *work);
/* The same as larder__sim_work_do() when its turn has come: ERR_DEVICE, too,
 * if its memory was mapped to other pages meanwhile. */
larder_result larder__sim_work_turn(const struct sim *sim,
                                    const struct sim_work *work);

/* Whether it touches any of the bytes. */
bool larder__sim_work_touches(const struct sim_work *work, larder_addr addr,
                              uint64_t bytes);

/* ---- sim_unordered.c ---------------------------------------------------- */

/* The entry of the table.  O(what is queued). */
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

/* ---- sim_capture.c ------------------------------------------------------ */

/* ERR_CAPTURING while any stream is captured. */
larder_result larder__sim_capture_forbids(const struct sim *sim);
larder_result larder__sim_capture_set(struct sim *sim, larder_stream stream,
                                      bool begin);

#endif

/* sim_backing.h - the memory behind the addresses of a simulated GPU.  Private
 * to it.
 *
 * Two regions of host addresses are empty until something is mapped: process
 * memory in the first, ranges of a memory file in the second.  Touching
 * anything else faults.  Without real memory addresses are only numbers, and no
 * call here does anything.
 *
 * Calls that return ERR_SYSTEM have changed nothing and set a message. */
#pragma once

#include <stdbool.h>

#include <larder/larder.h>

#include "base/process.h"

#define SIM_FILE_NAME "larder-sim"

struct sim_backing {
    bool is_real;
    struct own_fd file;
    larder_addr first;
    uint64_t region_bytes; /* of each; the second follows the first */
    uint64_t host_page_bytes;
    bool is_shared; /* the first region lies in the file, too */
};

/* Where the memory behind an address is. */
static inline void *sim_pointer(larder_addr addr)
{
    return (void *)(uintptr_t)addr;
}

larder_result larder__sim_backing_open(struct sim_backing *b, bool is_real,
                                       int ordinal, uint64_t capacity_bytes);
void larder__sim_backing_close(struct sim_backing *b);

/* Before anything is allocated: put the first region in the file, behind the
 * places of pages, so that other processes can map it.  It takes as much of the
 * host's memory as before.  After a failure the backing can only be closed. */
larder_result larder__sim_backing_share(struct sim_backing *b);
/* Where in the file an address of the first region is. */
uint64_t larder__sim_backing_offset(const struct sim_backing *b,
                                    larder_addr addr);

/* The first region. `commit` makes a range usable, together with whole host
 * pages around it; `decommit` empties the host pages that lie entirely
 * within. */
larder_result larder__sim_backing_commit(struct sim_backing *b,
                                         larder_addr addr, uint64_t bytes);
larder_result larder__sim_backing_decommit(struct sim_backing *b,
                                           larder_addr addr, uint64_t bytes);

/* The second region, and the file that contains its pages: the backing's own,
 * or another one. */
larder_result larder__sim_backing_map(struct sim_backing *b, larder_addr addr,
                                      uint64_t bytes, int file,
                                      uint64_t offset);
larder_result larder__sim_backing_unmap(struct sim_backing *b, larder_addr addr,
                                        uint64_t bytes);
larder_result larder__sim_backing_access(struct sim_backing *b,
                                         larder_addr addr, uint64_t bytes);
void larder__sim_backing_discard(struct sim_backing *b, uint64_t offset,
                                 uint64_t bytes);

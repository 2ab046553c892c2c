/* sim_lend.h - memory files of simulated GPUs, and the locks in them that show
 * what processes use.  Private to sim_lend.c and sim_ipc.c. */
#ifndef LARDER_DEVICE_SIM_LEND_H
#define LARDER_DEVICE_SIM_LEND_H

#include <fcntl.h>
#include <sys/types.h>

#include "device/sim_device.h"

/* What remains of an export after its release. */
struct sim_lent {
    struct sim_lent *next;
    struct sim_range *place; /* of a page; of an allocation: its range */
    uint64_t bytes;
    bool is_memory; /* an allocation */
    bool is_gone;   /* released */
};

/* A memory file that something was imported from. */
struct sim_foreign {
    struct sim_foreign *next;
    struct own_fd file; /* none: there is no memory behind the addresses */
    dev_t device;
    ino_t inode;
    uint32_t pages;
};

/* An error of the system, from errno. */
larder_result larder__lend_refused(const char *what);

/* Open another description of a process's open file.  -1: it cannot be. */
int larder__lend_open_again(const char *process, int file);

/* Locks of the file's description.  A lock excludes the last byte, so that
 * locks of neighbours do not merge and its length tells theirs. */
bool larder__lend_lock(int file, short type, uint64_t offset, uint64_t bytes);
/* A lock that another description holds in the range; l_type F_UNLCK: none. */
struct flock larder__lend_locked(int file, uint64_t offset, uint64_t bytes);

/* Whether the descriptor refers to a simulated GPU's memory file. */
bool larder__lend_is_file(int fd);

/* Find the descriptor's file, with a description of our own. */
larder_result larder__lend_foreign(struct sim *sim, int fd,
                                   struct sim_foreign **out);
/* Close files that nothing imported is in. */
void larder__lend_foreign_sweep(struct sim *sim);

#endif

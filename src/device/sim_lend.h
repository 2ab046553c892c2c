/* sim_lend.h - memory files of simulated GPUs, and the locks in them that show
 * what processes use.  Private to sim_lend.c and sim_ipc.c. */
#pragma once

#include <fcntl.h>

#include "device/sim_device.h"

/* Where something lies in which process's memory file: what a handle that is
 * bytes says. */
struct lend_place {
    uint64_t magic; /* of the kind of handle */
    int64_t pid;
    uint64_t start; /* of the process */
    int64_t file;   /* -1: there is no memory behind the addresses */
    uint64_t inode;
    uint64_t offset;
    uint64_t bytes;
};

larder_result larder__lend_place(const struct sim *sim, uint64_t magic,
                                 uint64_t offset, uint64_t bytes,
                                 struct lend_place *out);
/* Whether it is of this kind, and lies below the limit. */
bool larder__lend_place_is_sound(const struct lend_place *p, uint64_t magic,
                                 uint64_t limit);
/* Lock it in the descriptor's file.  False: that is not its file any more. */
bool larder__lend_place_lock(const struct lend_place *p, int fd);

/* An error of the system, from errno. */
larder_result larder__lend_refused(const char *what);

/* Open another description of a file that a process (0: this one) has open, or
 * had.  False: errno. */
bool larder__lend_open(int64_t pid, int64_t file, struct own_fd *out);

/* Locks of the file's description.  A lock excludes the last byte, so that
 * locks of neighbours do not merge and its length tells theirs. */
bool larder__lend_lock(int file, short type, uint64_t offset, uint64_t bytes);
/* A lock that another description holds in the range; l_type F_UNLCK: none. */
struct flock larder__lend_locked(int file, uint64_t offset, uint64_t bytes);

/* Find the descriptor's file, with a description of our own. */
larder_result larder__lend_foreign(struct sim *sim, int fd,
                                   struct sim_foreign **out);
/* A page in it, which is imported: locked, and counted. */
larder_result larder__lend_import(struct sim *sim, struct sim_foreign *f,
                                  uint64_t offset, uint64_t bytes,
                                  struct sim_page **out);
/* Close files that nothing imported is in. */
void larder__lend_foreign_sweep(struct sim *sim);

/* sim_lend.h - memory files of simulated GPUs, and the locks in them that show
 * what processes use.  Private to sim_lend.c and sim_ipc.c. */
#pragma once

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
/* Open the file, which the process may have closed since.  False: it cannot
 * be. */
bool larder__lend_place_open(const struct lend_place *p, struct own_fd *out);
/* Whether the descriptor's file is still that one. */
bool larder__lend_place_has(const struct lend_place *p, int fd);

/* An error of the system, from errno. */
larder_result larder__lend_refused(const char *what);

/* Open another description of a process's open file.  False: errno. */
bool larder__lend_open_own(const char *process, int file, struct own_fd *out);

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
/* A page in it, which is imported: locked, and counted. */
larder_result larder__lend_import(struct sim *sim, struct sim_foreign *f,
                                  uint64_t offset, uint64_t bytes,
                                  struct sim_page **out);
/* Whether what is released stays because other processes use it; if so the list
 * of what is lent keeps it.  If not `lent` is freed. */
bool larder__lend_keeps(struct sim *sim, struct sim_lent *lent);
/* Close files that nothing imported is in. */
void larder__lend_foreign_sweep(struct sim *sim);

/* shared_object.h - an object in shared memory that processes join and leave.
 * Private to the library.
 *
 * The system takes these back from a process that dies, at any instruction, or
 * executes another program:
 *
 *   the file lock   orders joining and leaving: no process sees an incomplete
 *                   object, or joins one that is being removed
 *   tokens          bytes of the file, each locked by one member: the lock
 *                   lasts as long as the member lives
 *
 * An object is for its user alone, or also for a group.  One that any other
 * user could have created or could change is rejected. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <larder/larder.h>

#include "base/process.h"

enum { SHARED_NAME_MAX = 127 };

/* Set by the caller; everything else is zero. */
struct shared_object {
    char name[SHARED_NAME_MAX + 1]; /* begins with a slash */
    size_t bytes;
    uint64_t magic;     /* its first word, set when it is complete; before: 0 */
    const char *kind;   /* what it is for, in messages: "a device" */
    const char *advice; /* what to do if the name is taken */
    bool is_of_group;
    gid_t group;
    /* Set by joining. */
    struct own_fd file;
    void *memory; /* NULL: not mapped; zeroed when new */
};

/* Open the object, or create it, and map it.  On LARDER_OK the file lock is
 * held.  ERR_SYSTEM, with a message: it is unavailable or cannot be trusted. */
larder_result larder__shared_join(struct shared_object *o);

/* Wait for the file lock.  False: the system reports an error. */
bool larder__shared_lock(struct shared_object *o);
void larder__shared_unlock(struct shared_object *o);

/* Remove it from the file system, with the file lock held. */
void larder__shared_remove(struct shared_object *o);

/* Close it, also if it was not joined. */
void larder__shared_close(struct shared_object *o);

/* Take the token if it is free. */
bool larder__token_take(const struct shared_object *o, size_t number);
void larder__token_leave(const struct shared_object *o, size_t number);

/* Whether another process holds the token: our own does not show.  True if in
 * doubt. */
bool larder__token_is_held(const struct shared_object *o, size_t number);

/* shared_object.h - an object in shared memory that processes join and leave.
 * Private to the library.
 *
 * What the system itself takes back from the dead, at whatever instruction
 * they died, and from who becomes another program:
 *
 *   the file lock   orders joining and leaving: nobody sees an object half
 *                   made, or joins one that is being removed
 *   tokens          bytes of the file, each kept locked by one member: as long
 *                   as it is, the member lives
 *
 * An object is for its user alone, or for a group too; one that anybody else
 * could have made, or can change, is refused. */
#ifndef LARDER_BASE_SHARED_OBJECT_H
#define LARDER_BASE_SHARED_OBJECT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <larder/larder.h>

#include "base/process.h"

enum { SHARED_NAME_MAX = 127 };

/* What is wanted: filled in by who joins, zero but for that. */
struct shared_object {
    char name[SHARED_NAME_MAX + 1]; /* with the slash before it */
    size_t bytes;
    const char *kind;   /* what it is of, for words: "a device" */
    const char *advice; /* what to do where something else has its name */
    bool is_of_group;
    gid_t group;
    /* Set by joining. */
    struct own_fd file;
    void *memory; /* NULL: not mapped; zeroed if nobody made it yet */
};

/* Open the object, or make it, and map it.  On LARDER_OK the file lock is
 * held.  LARDER_ERR_SYSTEM, with words, if it cannot be had or cannot be
 * trusted. */
larder_result larder__shared_join(struct shared_object *o);

/* Something else has its name: LARDER_ERR_SYSTEM, in words. */
larder_result larder__shared_foreign(const struct shared_object *o,
                                     const char *what);

/* Wait for the file lock; false: the system refuses. */
bool larder__shared_lock(struct shared_object *o);
void larder__shared_unlock(struct shared_object *o);

/* No longer in the file system; with the file lock. */
void larder__shared_remove(struct shared_object *o);

/* Let go of it; of what was not joined, too. */
void larder__shared_close(struct shared_object *o);

/* Take the token if nobody has it. */
bool larder__token_take(const struct shared_object *o, size_t number);
void larder__token_leave(const struct shared_object *o, size_t number);

/* Whether another has the token: one's own does not show.  When in doubt it
 * has. */
bool larder__token_is_held(const struct shared_object *o, size_t number);

#endif

/* device_list.h - which devices a snapshot says anything about. */
#ifndef LARDER_SNAPSHOT_DEVICE_LIST_H
#define LARDER_SNAPSHOT_DEVICE_LIST_H

#include "snapshot/snapshot.h"

/* No machine has more; a file may name any number. */
enum { DEVICE_LIST_MAX = 256 };

struct device_list {
    uint16_t numbers[DEVICE_LIST_MAX]; /* ascending */
    size_t count;
};

/* The devices of one snapshot, or of either of two (the second may be NULL),
 * that have events or segments; device 0 where there are none.  False: more
 * than DEVICE_LIST_MAX of them. */
bool device_list_make(const struct snapshot *s, const struct snapshot *other,
                      struct device_list *out, struct tool_error *error);

#endif

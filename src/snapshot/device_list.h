/* device_list.h - the devices that occur in a snapshot. */
#pragma once

#include "snapshot/snapshot.h"

/* No machine has more, but a file may name any number. */
enum { DEVICE_LIST_MAX = 256 };

struct device_list {
    uint16_t numbers[DEVICE_LIST_MAX]; /* ascending */
    size_t count;
};

/* The devices of one snapshot, or of two (the second may be NULL), that have
 * events or segments; device 0 if there are none.  False: more than
 * DEVICE_LIST_MAX. */
bool device_list_make(const struct snapshot *s, const struct snapshot *other,
                      struct device_list *out, struct tool_error *error);

/* top_pick.h - the selected process of the live table: the same one over looks,
 * orders and filters, wherever it is shown then. */
#ifndef LARDER_CLI_TOP_PICK_H
#define LARDER_CLI_TOP_PICK_H

#include "top_data.h"

/* A process of a device, or with pid 0 the device. */
struct top_key {
    int64_t pid;
    char id[LARDER_LEDGER_ID_BYTES]; /* of the ledger */
    unsigned char uuid[LARDER_UUID_BYTES];
};

struct top_key top_key_of(const struct top_device *d, int64_t pid);
bool top_key_is(const struct top_key *key, const struct top_device *d,
                int64_t pid);

struct top_pick {
    struct top_key key; /* of what was selected last; pid 0: nothing yet */
    size_t row;         /* its number among all processes shown */
    const struct top_device *device;
    const struct top_process *process; /* NULL: there is none to select */
};

/* Find what is selected in data that was read or arranged anew; if it is not
 * there, its neighbour is selected: what has its row now, or the last.  False:
 * it was there before and is not any more. */
bool top_pick_find(struct top_pick *pick, const struct top_data *data);

/* Select the process in the next row, or the one before; none beyond the
 * ends. */
void top_pick_next(struct top_pick *pick, const struct top_data *data);
void top_pick_previous(struct top_pick *pick, const struct top_data *data);

#endif

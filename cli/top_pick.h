/* top_pick.h - the selected process in the live table: it stays the same
 * through updates, sorting and filtering, wherever it is shown. */
#ifndef LARDER_CLI_TOP_PICK_H
#define LARDER_CLI_TOP_PICK_H

#include "top_data.h"

/* A process of a device; with pid 0, the device. */
struct top_key {
    int64_t pid;
    char id[LARDER_LEDGER_ID_BYTES]; /* of the ledger */
    unsigned char uuid[LARDER_UUID_BYTES];
};

struct top_key top_key_of(const struct top_device *d, int64_t pid);
bool top_key_is(const struct top_key *key, const struct top_device *d,
                int64_t pid);

struct top_pick {
    struct top_key key; /* of the last selection; pid 0: none yet */
    size_t row;         /* its index among all processes shown */
    const struct top_device *device;
    const struct top_process *process; /* NULL: there is none to select */
};

/* Find the selected process in data that was read or sorted again.  If it is
 * not there its neighbour is selected: the one now in its row, or the last.
 * False: it is gone. */
bool top_pick_find(struct top_pick *pick, const struct top_data *data);

/* Select the process in the next or previous row; no change at the ends. */
void top_pick_next(struct top_pick *pick, const struct top_data *data);
void top_pick_previous(struct top_pick *pick, const struct top_data *data);

#endif

/* cards.h - the table of cards (data/cards/cards.tsv). */
#ifndef LARDER_CLI_CARDS_H
#define LARDER_CLI_CARDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/tool_error.h"

enum { CARD_ID_MAX = 32, CARD_NAME_MAX = 64, CARDS_MAX = 128 };

struct card {
    char id[CARD_ID_MAX];     /* as `rtx4090` */
    char name[CARD_NAME_MAX]; /* as nvidia-smi has it */
    uint64_t total_bytes;     /* what PyTorch sees */
    uint64_t context_bytes;   /* of it, taken by the driver for a process */
};

struct cards {
    struct card items[CARDS_MAX];
    size_t count;
};

/* Read the table near the command.  False: there is none, or a line is wrong. */
bool cards_read(struct cards *out, struct tool_error *error);

/* Find a card by its id; `rtx` may be left out.  The error names the nearest. */
const struct card *cards_find(const struct cards *all, const char *name,
                              struct tool_error *error);

#endif

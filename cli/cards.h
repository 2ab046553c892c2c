/* cards.h - cards by name, as devices `sim:NAME` have them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <larder/device.h>

#include "trace/tool_error.h"

/* The usual name of the card of that number (larder_sim_card()), as `sim:NAME`
 * has it.  Returns its length; 0: there is none. */
size_t card_name(size_t number, char *out, size_t room);

/* Find a card: the name that nvidia-smi shows, its memory, and the part that
 * the driver uses for a process.  False: there is none of that name; the error
 * names the nearest. */
bool card_find(const char *name, larder_device_props *out,
               struct tool_error *error);

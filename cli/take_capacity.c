/* take_capacity.c - options that name the memory of a card. */
#include "take_capacity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <larder/larder.h>

#include "cards.h"
#include "help.h"

#define PAGE_BYTES ((uint64_t)2 << 20)
/* The largest simulated GPU (sim.h). */
#define CAPACITY_MAX ((uint64_t)16 << 40)

/* 4090 is one. */
static bool is_card(const char *text, int length)
{
    struct tool_error error;
    larder_device_props card;
    char name[64];

    return length < (int)sizeof name &&
           snprintf(name, sizeof name, "%.*s", length, text) > 0 &&
           card_find(name, &card, &error);
}

static bool lacks_unit(const char *text)
{
    size_t digits = strspn(text, "0123456789.");

    return digits > 0 && (text[digits] == '\0' || text[digits] == ',') &&
           strtod(text, NULL) > 0 && strtod(text, NULL) < (double)PAGE_BYTES;
}

static bool has_unit(const struct cli_args *a, int row, const char *text)
{
    int length = (int)strcspn(text, ",");

    if (!lacks_unit(text))
        return true;
    cli_bad_usage(a->command,
                  "--%s: %.*s bytes are less than a page of memory: expected a "
                  "unit, as in %.*sGiB",
                  a->command->options[row].name, length, text, length, text);
    return false;
}

bool take_capacity_check(const struct cli_args *a, int row)
{
    bool is_device = strncmp(a->value, "sim:", 4) == 0;
    const char *text = a->value + (is_device ? 4 : 0);

    return is_card(text, (int)strcspn(text, ",")) || has_unit(a, row, text);
}

bool take_capacity(const struct cli_args *a, int row, uint64_t *out)
{
    if (!has_unit(a, row, a->value))
        return false;
    if (larder_parse_size(a->value, out) == LARDER_OK && *out > 0 &&
        *out <= CAPACITY_MAX)
        return true;
    cli_bad_usage(a->command,
                  "--%s: '%s' is not a capacity: expected a size up to 16TiB, "
                  "such as 24GiB",
                  a->command->options[row].name, a->value);
    return false;
}

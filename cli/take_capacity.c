#include "take_capacity.h"

#include <stdlib.h>
#include <string.h>

#include <larder/larder.h>

#include "help.h"

#define PAGE_BYTES ((uint64_t)2 << 20)
/* The largest simulated GPU (sim.h). */
#define CAPACITY_MAX ((uint64_t)16 << 40)

static bool lacks_unit(const char *text)
{
    size_t digits = strspn(text, "0123456789.");

    return digits > 0 && (text[digits] == '\0' || text[digits] == ',') &&
           strtod(text, NULL) > 0 && strtod(text, NULL) < (double)PAGE_BYTES;
}

bool take_capacity_check(const struct cli_args *a, int row)
{
    bool is_device = strncmp(a->value, "sim:", 4) == 0;
    const char *text = a->value + (is_device ? 4 : 0);
    int length = (int)strcspn(text, ",");

    if (!lacks_unit(text))
        return true;
    cli_bad_usage(a->command,
                  "--%s: %.*s bytes are less than a page of memory: expected a "
                  "unit, as in %.*sGiB",
                  a->command->options[row].name, length, text, length, text);
    return false;
}

bool take_capacity(const struct cli_args *a, int row, uint64_t *out)
{
    if (!take_capacity_check(a, row))
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

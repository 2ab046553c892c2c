/* take_setting.c - options for the settings of an allocator, and for the memory of a
 * card. */
#include "take_setting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <larder/larder.h>

#include "cards.h"

bool take_policy(struct cli_args *a, void *out)
{
    return larder_policy_parse(a->value, out) == LARDER_OK ||
           cli_refuse(a, "--policy: %s", larder_last_error());
}

bool take_conf(struct cli_args *a, void *out)
{
    *(const char **)out = a->value;
    return larder_conf_check(a->value) == LARDER_OK ||
           cli_refuse(a, "--conf: %s", larder_last_error());
}

bool take_snapshot_name(struct cli_args *a, void *out)
{
    const char *dot = strrchr(a->value, '.');

    *(const char **)out = a->value;
    return (dot != NULL &&
            (strcmp(dot, ".pickle") == 0 || strcmp(dot, ".json") == 0)) ||
           cli_refuse(a,
                      "snapshot '%s': expected a name ending in .pickle or "
                      ".json",
                      a->value);
}

/* ---- the memory of a card ----------------------------------------------- */

#define PAGE_BYTES ((uint64_t)2 << 20)
/* The largest simulated GPU (sim.h). */
#define CAPACITY_MAX ((uint64_t)16 << 40)

/* The name of a card may be a number: 4090 is not a size. */
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

static bool has_unit(struct cli_args *a, const char *text)
{
    int length = (int)strcspn(text, ",");

    return !lacks_unit(text) ||
           cli_refuse(a,
                      "--%s: %.*s bytes are less than a page of memory: "
                      "expected a unit, as in %.*sGiB",
                      a->option->name, length, text, length, text);
}

bool take_device(struct cli_args *a, void *out)
{
    bool is_device = strncmp(a->value, "sim:", 4) == 0;
    const char *text = a->value + (is_device ? 4 : 0);

    *(const char **)out = a->value;
    return is_card(text, (int)strcspn(text, ",")) || has_unit(a, text);
}

bool take_capacity(struct cli_args *a, void *out)
{
    uint64_t *bytes = out;

    return has_unit(a, a->value) &&
           ((larder_parse_size(a->value, bytes) == LARDER_OK && *bytes > 0 &&
             *bytes <= CAPACITY_MAX) ||
            cli_refuse(a,
                       "--%s: '%s' is not a capacity: expected a size up to "
                       "16TiB, such as 24GiB",
                       a->option->name, a->value));
}

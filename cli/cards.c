/* cards.c - cards by name, as devices `sim:NAME` have them. */
#include "cards.h"

#include <stdio.h>
#include <string.h>

#include <larder/larder.h>
#include <larder/sim.h>

size_t card_name(size_t number, char *out, size_t room)
{
    const char *names = larder_sim_card(number);

    if (names == NULL)
        return 0;
    return (size_t)snprintf(out, room, "%.*s", (int)strcspn(names, ","), names);
}

/* No name is similar: list all of them. */
static bool fail_with_all(const char *name, struct tool_error *error)
{
    char all[sizeof error->text] = "";
    char one[64];
    size_t length = 0;
    size_t n;

    for (size_t i = 0; (n = card_name(i, one, sizeof one)) > 0 &&
                       length + n + sizeof ", " <= sizeof all;
         i++)
        length += (size_t)snprintf(all + length, sizeof all - length, "%s%s",
                                   i > 0 ? ", " : "", one);
    return tool_fail(error,
                     "'%s' is not in the table of cards; expected one of %s",
                     name, all);
}

bool card_find(const char *name, larder_device_props *out,
               struct tool_error *error)
{
    char spec[128];
    larder_device *dev = NULL;
    uint64_t bytes;
    int length = snprintf(spec, sizeof spec, "sim:%s,backing=none", name);

    *out = (larder_device_props){.size = sizeof *out};
    if (strchr(name, ',') != NULL || length >= (int)sizeof spec)
        return tool_fail(error, "'%.80s' is not the name of a card", name);
    if (larder_device_open(spec, 0, &dev) != LARDER_OK) {
        const char *nearest = strstr(larder_last_error(), "; did you mean");

        return nearest != NULL
                   ? tool_fail(error, "'%s' is not in the table of cards%s",
                               name, nearest)
                   : fail_with_all(name, error);
    }
    (void)larder_device_get_props(dev, out);
    larder_device_close(dev);
    if (larder_parse_size(name, &bytes) == LARDER_OK &&
        bytes == out->total_bytes)
        return tool_fail(error, "'%s' is a size, not the name of a card", name);
    return true;
}

/* fake_visible.c - which simulated GPUs CUDA_VISIBLE_DEVICES leaves to a
 * process, and in which order: as documented, the list ends before its first
 * entry that is not a device. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/fake_state.h"

/* Read one number and the comma behind it.  A UUID does not name a device here:
 * a simulated one has a different UUID in each process. */
static bool entry_read(const char **text, int *ordinal)
{
    char *end;
    long number;

    while (isspace((unsigned char)**text))
        (*text)++;
    if (!isdigit((unsigned char)**text))
        return false;
    number = strtol(*text, &end, 10);
    while (isspace((unsigned char)*end))
        end++;
    if ((*end != ',' && *end != '\0') || number >= FAKE_DEVICES)
        return false;
    *ordinal = (int)number;
    *text = *end == ',' ? end + 1 : end;
    return true;
}

static bool is_opened(int ordinal)
{
    for (int i = 0; i < FAKE_DEVICES; i++) {
        if (fake_devices[i].dev != NULL && fake_devices[i].ordinal == ordinal)
            return true;
    }
    return false;
}

static int open_listed(const char *spec, const char *text)
{
    const char *all = text;
    int count = 0;
    int ordinal;

    while (count < FAKE_DEVICES && entry_read(&text, &ordinal) &&
           !is_opened(ordinal) &&
           fake_device_open(&fake_devices[count], spec, ordinal) == LARDER_OK)
        count++;
    if (count == 0 && *all != '\0' && strcmp(all, "-1") != 0)
        fprintf(stderr,
                "CUDA_VISIBLE_DEVICES: '%s' does not begin with the number of "
                "a simulated GPU, of which there are as many as 'count=' in "
                "the device '%s' says: none is visible\n",
                all, spec);
    return count;
}

larder_result fake_visible_open(const char *spec, int *count)
{
    const char *listed = getenv("CUDA_VISIBLE_DEVICES");
    larder_result r = LARDER_OK;

    *count = 0;
    if (listed != NULL) {
        *count = open_listed(spec, listed);
        return LARDER_OK;
    }
    while (*count < FAKE_DEVICES && r == LARDER_OK) {
        r = fake_device_open(&fake_devices[*count], spec, *count);
        *count += r == LARDER_OK;
    }
    return *count > 0 ? LARDER_OK : r;
}

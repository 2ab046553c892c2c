/* device_log.c - logs the allocations and frees of the device's memory. */
#include "lab/device_log.h"

static char log_text[4096];
static uint64_t log_above_bytes;

static void note(void *context, const lab_event *event)
{
    size_t used = strlen(log_text);

    (void)context;
    if (event->bytes <= log_above_bytes)
        return;
    snprintf(log_text + used, sizeof log_text - used, "%s%c%llu",
             used == 0 ? "" : " ", event->freed ? '-' : '+',
             (unsigned long long)event->bytes);
}

static void start_above(lab *l, uint64_t bytes)
{
    log_text[0] = '\0';
    log_above_bytes = bytes;
    lab_set_observer(l, note, NULL);
}

void log_start(lab *l)
{
    start_above(l, 512);
}

void log_start_all(lab *l)
{
    start_above(l, 0);
}

void log_expect(lab *l, const char *want)
{
    assert_string_equal(want, log_text);
    start_above(l, log_above_bytes);
}

void log_end(lab *l)
{
    lab_set_observer(l, NULL, NULL);
}

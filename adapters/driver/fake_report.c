/* fake_report.c - at exit, one line of JSON for each simulated GPU that the
 * program used. */
#include "driver/fake_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void report_calls(FILE *f, const larder_device_counters *n)
{
    const char *comma = "";

    fputs("\"calls\":{", f);
    for (int i = 0; i < LARDER_CALL_COUNT; i++) {
        if (n->calls[i] + n->failed[i] == 0)
            continue;
        fprintf(f, "%s\"%s\":%" PRIu64, comma, larder_call_name(i),
                n->calls[i] + n->failed[i]);
        comma = ",";
    }
    fputs("}", f);
}

static void report_device(FILE *f, const struct fake_device *d,
                          unsigned long broken)
{
    larder_device_counters n = {.size = sizeof n};
    larder_sim_usage use = {.size = sizeof use};
    uint64_t failed = 0;

    if (larder_device_get_counters(d->dev, &n) != LARDER_OK ||
        larder_sim_get_usage(d->dev, &use) != LARDER_OK)
        return;
    for (int i = 0; i < LARDER_CALL_COUNT; i++)
        failed += n.failed[i];
    fprintf(f,
            "{\"pid\":%ld,\"device\":%d,\"capacity_bytes\":%" PRIu64
            ",\"peak_bytes\":%" PRIu64 ",\"held_bytes\":%" PRIu64 ",",
            (long)getpid(), d->ordinal, use.capacity_bytes, d->peak_bytes,
            use.self_bytes);
    report_calls(f, &n);
    fprintf(f,
            ",\"failed_calls\":%" PRIu64 ",\"launches\":%" PRIu64
            ",\"driver_time_ns\":%" PRIu64 ",\"broken_rules\":%lu}\n",
            failed, d->launches, n.time_ns, broken);
}

/* Several processes may write: each line is one write(). */
static void report_append(const char *path, const struct fake_device *d,
                          unsigned long broken)
{
    char line[4096];
    FILE *f = fmemopen(line, sizeof line, "w");
    FILE *out = fopen(path, "a");
    long length = 0;

    if (f != NULL) {
        report_device(f, d, broken);
        length = ftell(f);
        fclose(f);
    }
    if (out != NULL) {
        if (length > 0)
            fwrite(line, 1, (size_t)length, out);
        fclose(out);
    }
}

static bool is_used(const struct fake_device *d)
{
    larder_device_counters n = {.size = sizeof n};
    uint64_t calls = d->peak_bytes + d->launches;

    if (d->dev == NULL || larder_device_get_counters(d->dev, &n) != LARDER_OK)
        return false;
    for (int i = 0; i < LARDER_CALL_COUNT; i++)
        calls += n.calls[i] + n.failed[i];
    return calls != 0;
}

/* Broken rules belong to the process: its first line shows them. */
void fake_report(void)
{
    const char *path = getenv("LARDER_FAKECUDA_REPORT");
    unsigned long broken;

    /* A forked child has nothing to report. */
    if (path == NULL || *path == '\0' || getpid() != fake_owner)
        return;
    fake_lock();
    broken = fake_broken_count();
    for (int i = 0; i < fake_device_count; i++) {
        if (is_used(&fake_devices[i])) {
            report_append(path, &fake_devices[i], broken);
            broken = 0;
        }
    }
    if (broken != 0 && fake_device_count != 0)
        report_append(path, &fake_devices[0], broken);
    fake_unlock();
}

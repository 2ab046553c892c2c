/* refused_report.c - describes whether the request that failed in a recording
 * would succeed now. */
#include "refused_report.h"

#include <inttypes.h>

#include "units.h"
#include "snapshot/plain_text.h"

/* Print the device of the trial. */
static void print_device(const struct replay_refused *r)
{
    if (!r->on_card) {
        printf("  tried on a device of %s, as given\n",
               units_bytes(r->device_bytes));
        return;
    }
    printf("  tried on the recorded card, of which %s was available to this "
           "process: %s that it\n  held and %s that the driver had left\n",
           units_bytes(r->device_bytes), units_bytes(r->card.reserved),
           units_bytes(r->card.driver_free));
}

static void print_setting(const struct replay_setting *s)
{
    char conf[REPLAY_CONF_MAX];

    replay_setting_conf(s, NULL, conf);
    if (s->policy == LARDER_POLICY_LARDER)
        printf("Larder's own policy");
    else
        printf("%s", conf[0] != '\0' ? conf : "the defaults");
}

/* Whether both set the same keys, to whatever values: of such settings only the
 * first is printed. */
static bool same_key(const struct replay_setting *a,
                     const struct replay_setting *b)
{
    return a->policy == b->policy && a->expandable == b->expandable &&
           (a->max_split_mb != 0) == (b->max_split_mb != 0) &&
           (a->gc_percent != 0) == (b->gc_percent != 0) &&
           (a->roundup != 0) == (b->roundup != 0) &&
           (a->segment_mb != 0) == (b->segment_mb != 0);
}

static void print_cures(const struct replay_refused *r)
{
    if (r->cure_count == 0) {
        printf("; it fails under all of %zu other settings\n", r->tried);
        return;
    }
    printf("; it would succeed under: ");
    for (size_t i = 0; i < r->cure_count; i++) {
        if (i > 0 && same_key(&r->cures[i], &r->cures[i - 1]))
            continue;
        printf("%s", i > 0 ? "; " : "");
        print_setting(&r->cures[i]);
    }
    printf(" (`larder tune` says which is best)\n");
}

static void print_verdict(const struct replay_refused *r)
{
    if (r->fits && r->by_beginning)
        printf("it succeeds here, but also under the recorded settings: it "
               "failed because of how memory\nwas laid out before the "
               "recording began, which an empty device does not show\n");
    else if (r->fits && r->min_bytes < r->device_bytes)
        printf("it would now succeed, with %s to spare\n",
               units_bytes(r->device_bytes - r->min_bytes));
    else if (r->fits)
        printf("it would now succeed, with nothing to spare\n");
    else if (r->by_beginning)
        printf("it fails by %s, because of how memory was laid out before the "
               "recording began: on an\nempty device it succeeds under these "
               "settings, so other settings cannot be judged\n",
               units_bytes(r->short_bytes));
    else {
        printf("it fails again: %s more is needed",
               units_bytes(r->short_bytes));
        print_cures(r);
    }
}

void refused_report_print(const char *path, const struct replay_snapshot *s)
{
    const struct replay_refused *r = &s->refused;

    if (!r->card.found)
        return;
    printf("\n");
    plain_text_put(stdout, path);
    printf(", device %zu: the recording ran out of memory on a request for %s "
           "(event %" PRIu32 ")\n",
           s->device, units_bytes(r->card.asked), r->card.event);
    print_device(r);
    print_verdict(r);
}

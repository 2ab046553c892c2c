/* recorded_report.c - describes how a replayed snapshot compares with the
 * recording. */
#include "recorded_report.h"

#include <inttypes.h>

#include "snapshot/plain_text.h"

static void print_note(FILE *out, uint64_t n, const char *one, const char *many)
{
    if (n != 0)
        fprintf(out, "; %" PRIu64 " %s", n, n == 1 ? one : many);
}

void recorded_report_notes(FILE *out, const char *path, size_t device,
                           const struct snap_trace_notes *n)
{
    plain_text_put(out, path);
    fprintf(out,
            ", device %zu: %" PRIu64 " allocation%s from before the recording",
            device, n->rolled_back, n->rolled_back == 1 ? "" : "s");
    print_note(out, n->unmatched_frees, "free without an allocation left out",
               "frees without an allocation left out");
    print_note(out, n->overwritten,
               "allocation never seen freed, though another took its place",
               "allocations never seen freed, though others took their place");
    print_note(out, n->zero_sizes, "allocation of 0 bytes",
               "allocations of 0 bytes");
    print_note(out, n->deferred, "free that waited for a stream",
               "frees that waited for a stream");
    print_note(out, n->empty_caches, "time the cache was emptied",
               "times the cache was emptied");
    print_note(out, n->recorded_ooms, "request that failed",
               "requests that failed");
    print_note(out, n->pool_allocs, "allocation in a private pool",
               "allocations in private pools");
    print_note(out, n->unpooled, "of them in the default pool here",
               "of them in the default pool here");
    putc('\n', out);
}

static void print_first(const struct recorded_difference *d)
{
    printf("  first difference: event %" PRIu32 ", %" PRIu64
           " bytes, recorded at 0x%" PRIx64,
           d->event, d->bytes, d->expected);
    if (d->got != 0)
        printf(", replayed at 0x%" PRIx64 ",\n", d->got);
    else
        printf(", replayed: out of memory,\n");
    printf("  in the segment of %" PRIu64 " bytes at 0x%" PRIx64 "%s%s\n",
           d->segment_bytes, d->segment, d->frame[0] != '\0' ? ", from " : "",
           d->frame);
}

static void print_compared(const struct recorded_result *r)
{
    if (!r->compared) {
        printf("  not compared with what was recorded: %s\n", r->reason);
        return;
    }
    printf("  of %" PRIu64 " allocations %" PRIu64
           " are where they were recorded\n",
           r->placements, r->same);
    if (r->same < r->placements)
        print_first(&r->first);
    if (r->segments_same)
        printf("  segments: all %" PRIu64 " events as recorded\n",
               r->segment_events);
    else
        printf("  segments: the first difference at %s\n", r->segment_words);
    if (r->end_same)
        printf("  at the end: all %" PRIu64 " blocks as recorded\n",
               r->end_blocks);
    else
        printf("  at the end: %s\n", r->end_words);
}

void recorded_report_print(const char *path, const struct replay_snapshot *s)
{
    putchar('\n');
    recorded_report_notes(stdout, path, s->device, &s->notes);
    if (!s->recorded_settings)
        return;
    /* The run in the table begins with an empty device, this one with the
     * recorded state. */
    printf("  replayed from the recorded initial state, under the recorded "
           "settings "
           "(%s):\n",
           s->conf[0] != '\0' ? s->conf : "PyTorch's defaults");
    print_compared(&s->recorded);
}

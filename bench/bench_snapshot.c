/* bench_snapshot.c - the time it takes to read a snapshot.
 *
 *   bench_snapshot FILE     a line: seconds, bytes, bytes of memory, events */
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "snapshot/snapshot.h"
#include "support/read_file.h"

static double now_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    static struct tool_error error;
    struct snapshot *s;
    struct rusage use;
    double begin = now_seconds();

    if (argc != 2) {
        fprintf(stderr, "usage: bench_snapshot FILE\n");
        return 2;
    }
    if (!snapshot_read(argv[1], NULL, &s, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return 2;
    }
    begin = now_seconds() - begin;
    getrusage(RUSAGE_SELF, &use);
    printf("%.3f %" PRIu64 " %" PRIu64 " %zu\n", begin, s->input_bytes,
           (uint64_t)use.ru_maxrss * 1024, s->event_count);
    snapshot_free(s);
    return 0;
}

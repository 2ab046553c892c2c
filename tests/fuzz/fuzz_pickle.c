/* fuzz_pickle.c - any bytes as a pickled snapshot: read, or refused with a
 * message that says where. */
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "snapshot/snapshot.h"
#include "snapshot/snapshot_write.h"

/* Writes the snapshot and reads it back with all its events and blocks. */
static void write_and_read_back(const struct snapshot *s)
{
    static struct tool_error error;
    struct snapshot *again;
    char name[64];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    FILE *out = fdopen(dup(fd), "wb");

    REQUIRE(out != NULL);
    REQUIRE(snapshot_write_pickle(s, out, &error));
    REQUIRE(fclose(out) == 0);
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    if (!snapshot_read(name, NULL, &again, &error)) {
        fprintf(stderr, "%s\n", error.text);
        abort();
    }
    REQUIRE(again->event_count == s->event_count);
    REQUIRE(again->block_count == s->block_count);
    snapshot_free(again);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tool_error error;
    struct snapshot *s;
    uint64_t peak = 0;
    struct snapshot_read_options options = {.peak_memory_bytes = &peak};
    char name[64];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);

    REQUIRE(fd >= 0);
    REQUIRE(size == 0 || write(fd, data, size) == (ssize_t)size);
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    if (snapshot_read(name, &options, &s, &error)) {
        REQUIRE(s->input_bytes >= 1);
        for (size_t i = 0; i < s->event_count; i++)
            REQUIRE(s->events[i].stack < s->stack_count);
        write_and_read_back(s);
    } else {
        REQUIRE(s == NULL);
        REQUIRE(strstr(error.text, "byte ") != NULL);
    }
    snapshot_free(s);
    close(fd);
    return 0;
}

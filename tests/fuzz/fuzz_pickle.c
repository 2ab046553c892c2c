/* fuzz_pickle.c - any bytes as a pickled snapshot: read, or refused with a
 * message that says where. */
#include "fuzz_snapshot.h"
#include "support/read_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tool_error error;
    struct snapshot *s;
    uint64_t peak = 0;
    struct snapshot_read_options options = {.peak_memory_bytes = &peak};
    char name[FUZZ_NAME_MAX];
    int fd = fuzz_file(data, size, name);

    if (snapshot_read(name, &options, &s, &error)) {
        REQUIRE(s->input_bytes >= 1);
        for (size_t i = 0; i < s->event_count; i++)
            REQUIRE(s->events[i].stack < s->stack_count);
        fuzz_snapshot_rewrite(s, snapshot_write_pickle);
    } else {
        REQUIRE(s == NULL);
        REQUIRE(strstr(error.text, "byte ") != NULL);
    }
    snapshot_free(s);
    close(fd);
    return 0;
}

/* fuzz_snapshot_json.c - any bytes as a snapshot in JSON: read, or refused with
 * a message that says where.  The input is what follows the first `{`. */
#include "fuzz_snapshot.h"
#include "support/read_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tool_error error;
    struct snapshot *s;
    uint64_t peak = 0;
    struct snapshot_read_options options = {.peak_memory_bytes = &peak};
    char name[FUZZ_NAME_MAX];
    /* Always JSON; other first bytes belong to the other target. */
    int fd = fuzz_file("{", 1, name);

    REQUIRE(size == 0 || write(fd, data, size) == (ssize_t)size);
    if (snapshot_read(name, &options, &s, &error)) {
        REQUIRE(s->is_json);
        for (size_t i = 0; i < s->event_count; i++)
            REQUIRE(s->events[i].stack < s->stack_count);
        fuzz_snapshot_rewrite(s, snapshot_write_json);
    } else {
        REQUIRE(s == NULL);
        REQUIRE(strstr(error.text, "byte ") != NULL);
    }
    snapshot_free(s);
    close(fd);
    return 0;
}

/* snapshot_bytes.c - reads a snapshot that a test has in memory. */
#include "support/snapshot_bytes.h"
#include "support/read_file.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

bool snapshot_read_bytes(const void *bytes, size_t count,
                         const struct snapshot_read_options *options,
                         struct snapshot **out, struct tool_error *error)
{
    static struct tool_error raw;
    int fd = memfd_create("snapshot", MFD_CLOEXEC);
    char name[64];
    bool fine;

    assert(fd >= 0);
    assert(count == 0 || write(fd, bytes, count) == (ssize_t)count);
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    fine = snapshot_read(name, options, out, &raw);
    close(fd);
    if (!fine) {
        assert(strncmp(raw.text, name, strlen(name)) == 0);
        tool_set_error(error, "FILE%s", raw.text + strlen(name));
    }
    return fine;
}

unsigned char *snapshot_load_file(const char *path, size_t *count)
{
    unsigned char *bytes = malloc(1 << 20);
    FILE *in = fopen(path, "rb");

    assert(bytes != NULL && in != NULL);
    *count = fread(bytes, 1, 1 << 20, in);
    fclose(in);
    return bytes;
}

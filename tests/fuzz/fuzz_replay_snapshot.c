/* fuzz_replay_snapshot.c - any bytes as a snapshot: if readable, it is replayed
 * under its own settings and under the policy larder, or refused with a
 * message. */
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "replay/replay.h"

/* A file in memory that holds the bytes, and its name. */
static int snapshot_file(const uint8_t *data, size_t size, char name[64])
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);

    REQUIRE(fd >= 0);
    REQUIRE(size == 0 || write(fd, data, size) == (ssize_t)size);
    snprintf(name, 64, "/proc/self/fd/%d", fd);
    return fd;
}

static void replay_as(const char *name, const struct replay_options *options)
{
    struct tool_error error = {.text = ""};
    struct replay_job job = {.path = name};

    replay_run_jobs(&job, 1, 1, options, NULL, NULL);
    error = job.error;
    if (job.ok)
        replay_result_free(&job.result);
    else
        REQUIRE(error.text[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct replay_options recorded = {.repeat = 0};
    const struct replay_options ours = {.policy = LARDER_POLICY_LARDER,
                                        .device = "sim:1GiB"};
    char name[64];
    int fd = snapshot_file(data, size, name);

    replay_as(name, &recorded);
    replay_as(name, &ours);
    close(fd);
    return 0;
}

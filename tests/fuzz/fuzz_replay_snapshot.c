/* fuzz_replay_snapshot.c - any bytes as a snapshot: if readable, it is replayed
 * under its own settings and under the policy larder, or refused with a
 * message. */
#include "fuzz.h"
#include "replay/replay.h"

static void replay_as(const char *name, const struct replay_options *options)
{
    struct replay_job job = {.path = name};

    replay_run_jobs(&job, 1, 1, options, NULL, NULL);
    if (job.ok)
        replay_result_free(&job.result);
    else
        REQUIRE(job.error.text[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct replay_options recorded = {.repeat = 0};
    const struct replay_options ours = {.policy = LARDER_POLICY_LARDER,
                                        .device = "sim:1GiB"};
    char name[FUZZ_NAME_MAX];
    int fd = fuzz_file(data, size, name);

    replay_as(name, &recorded);
    replay_as(name, &ours);
    close(fd);
    return 0;
}

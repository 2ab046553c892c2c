/* test_replay_jobs.c - several inputs at once, wrong options, and results as
 * JSON. */
#include "unit/replay_rig.h"

#include <pthread.h>

#include <jansson.h>

enum { JOBS = 6 };

/* ---- several inputs ---------------------------------------------------- */

static const char *const bundled[JOBS] = {
    LARDER_SOURCE_DIR "/tests/data/traces/lab_mlp.trace.zst",
    LARDER_SOURCE_DIR "/tests/data/traces/e1_rebind.trace.zst",
    LARDER_SOURCE_DIR "/tests/data/traces/none.trace.zst",
    LARDER_SOURCE_DIR "/tests/data/traces/lab_block.trace.zst",
    LARDER_SOURCE_DIR "/tests/data/traces/churn_streams_b.trace.zst",
    LARDER_SOURCE_DIR "/tests/data/traces/e4_case7.trace.zst",
};

/* Everything that does not depend on time, as JSON. */
static char *line_of(struct replay_job *job, const struct replay_options *o)
{
    char *line;

    if (!job->ok)
        return strdup(job->error.text);
    line = replay_result_json(&job->result, job->path, o);
    assert_non_null(line);
    return line;
}

static void run_bundled(unsigned threads, struct replay_job *jobs,
                        const struct replay_options *o)
{
    memset(jobs, 0, JOBS * sizeof *jobs);
    for (int i = 0; i < JOBS; i++)
        jobs[i].path = bundled[i];
    replay_run_jobs(jobs, JOBS, threads, o, NULL, NULL);
}

static void parallel_replays_are_the_same_as_single_ones(void **state)
{
    static struct replay_job single[JOBS];
    static struct replay_job parallel[JOBS];
    struct replay_options o = pytorch_on("sim:2GiB");

    (void)state;
    run_bundled(1, single, &o);
    run_bundled(4, parallel, &o);
    for (int i = 0; i < JOBS; i++) {
        char *a = line_of(&single[i], &o);
        char *b = line_of(&parallel[i], &o);

        assert_int_equal(single[i].ok, i != 2);
        assert_string_equal(a, b);
        free(a);
        free(b);
        if (single[i].ok) {
            replay_result_free(&single[i].result);
            replay_result_free(&parallel[i].result);
        }
    }
}

/* Waits in the first job of each thread until all have one. */
struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t here, wanted;
};

static void meet(void *ctx, size_t job)
{
    struct meeting *m = ctx;

    (void)job;
    pthread_mutex_lock(&m->lock);
    m->here++;
    pthread_cond_broadcast(&m->changed);
    while (m->here < m->wanted)
        pthread_cond_wait(&m->changed, &m->lock);
    pthread_mutex_unlock(&m->lock);
}

static void jobs_meet(size_t count, unsigned threads, size_t wanted)
{
    static struct replay_job jobs[JOBS];
    struct replay_options o = pytorch_on("sim:2GiB");
    struct meeting m = {.lock = PTHREAD_MUTEX_INITIALIZER,
                        .changed = PTHREAD_COND_INITIALIZER,
                        .wanted = wanted};

    memset(jobs, 0, sizeof jobs);
    for (size_t i = 0; i < count; i++)
        jobs[i].path = bundled[1];
    replay_run_jobs(jobs, count, threads, &o, meet, &m);
    assert_int_equal(m.here, count);
    for (size_t i = 0; i < count; i++) {
        assert_true(jobs[i].ok);
        replay_result_free(&jobs[i].result);
    }
}

/* Otherwise this would never end. */
static void as_many_jobs_run_at_once_as_there_are_threads(void **state)
{
    (void)state;
    jobs_meet(3, 3, 3);
    jobs_meet(3, 9, 3);
    jobs_meet(2, 2, 2);
    jobs_meet(2, 1, 1);
    jobs_meet(2, 0, 1);
    jobs_meet(1, 2, 1);
    jobs_meet(0, 2, 0);
}

/* ---- options and JSON -------------------------------------------------- */

static void wrong_options_are_named_before_anything_runs(void **state)
{
    struct replay_options o = pytorch_on(NULL);
    struct tool_error error;

    (void)state;
    assert_true(replay_check(&o, &error));
    o.conf = "colour:red";
    assert_false(replay_check(&o, &error));
    assert_non_null(strstr(error.text, "colour"));
    o.conf = NULL;
    o.device = "sim:1GiB,colour=red";
    assert_false(replay_check(&o, &error));
    assert_non_null(strstr(error.text, "colour"));
    o.device = "sim:1GiB";
    o.min_capacity = true;
    assert_true(replay_check(&o, &error));
    o.device = NULL;
    assert_true(replay_check(&o, &error));
    o.device = "cuda:0";
    assert_false(replay_check(&o, &error));
    assert_string_equal(error.text,
                        "device 'cuda:0' has one size only; expected sim:SIZE "
                        "for the smallest capacity");
    o.device = "sim:1GiB,shared=x";
    assert_false(replay_check(&o, &error));
    assert_non_null(strstr(error.text, "needs a device of its own"));
}

static void json_has_every_field_with_its_type(void **state)
{
    static const char *const counts[] = {
        "ops",           "oom_count",
        "driver_allocs", "peak_requested_bytes",
        "driver_frees",  "peak_allocated_bytes",
        "pages_created", "peak_reserved_bytes",
        "pages_mapped",  "pages_unmapped",
        "stream_syncs",  "driver_time_ns",
    };
    struct replay_options o = pytorch_on("sim:16MiB");
    struct replay_result r;
    json_t *json;
    char *line;

    (void)state;
    o.repeat = 1;
    o.min_capacity = true;
    o.conf = "max_split_size_mb:64";
    r = run("a 0 512\na 1 99999999\n", &o);
    line = replay_result_json(&r, "a \"b\"\xff.trace", &o);
    assert_non_null(line);
    assert_null(strchr(line, '\n'));
    json = json_loads(line, 0, NULL);
    assert_non_null(json);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        assert_true(json_is_integer(json_object_get(json, counts[i])));
    assert_string_equal(json_string_value(json_object_get(json, "trace")),
                        "a \"b\"\xef\xbf\xbd.trace");
    assert_string_equal(json_string_value(json_object_get(json, "policy")),
                        "pytorch");
    assert_string_equal(json_string_value(json_object_get(json, "conf")),
                        "max_split_size_mb:64");
    assert_int_equal(json_integer_value(json_object_get(json, "oom_op")), 2);
    assert_true(json_is_real(json_object_get(json, "ns_per_op")));
    assert_int_equal(
        json_integer_value(json_object_get(json, "min_capacity_bytes")),
        MIB(98));
    json_decref(json);
    free(line);
    replay_result_free(&r);
}

static void json_says_null_for_what_there_is_not(void **state)
{
    struct replay_options o = {.conf = NULL};
    struct replay_result r = run("", &o);
    char *line = replay_result_json(&r, "x", &o);

    (void)state;
    assert_non_null(line);
    assert_non_null(strstr(line, "\"oom_op\":null"));
    assert_non_null(strstr(line, "\"ns_per_op\":null"));
    assert_non_null(strstr(line, "\"conf\":\"\""));
    assert_null(strstr(line, "min_capacity_bytes"));
    free(line);
    replay_result_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parallel_replays_are_the_same_as_single_ones),
        cmocka_unit_test(as_many_jobs_run_at_once_as_there_are_threads),
        cmocka_unit_test(wrong_options_are_named_before_anything_runs),
        cmocka_unit_test(json_has_every_field_with_its_type),
        cmocka_unit_test(json_says_null_for_what_there_is_not),
    };

    return cmocka_run_group_tests_name("replay_jobs", tests, NULL, NULL);
}

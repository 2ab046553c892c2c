/* test_nccl_ranks.c - ranks of NCCL that are processes meet.  Each scene is
 * played by two: this program as rank 0, and started with --rank as rank 1,
 * which reads the group's identity from a pipe. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "rt_calls.h"

enum { INT8, UINT8, INT32, UINT32, INT64, UINT64, HALF, FLOAT, DOUBLE, BFLOAT };

enum { SUM, PRODUCT, MAX, MIN, AVERAGE };

enum {
    SYSTEM_ERROR = 2,
    INVALID_ARGUMENT = 4,
    INVALID_USAGE = 5,
    REMOTE_ERROR = 6
};

enum { OTHER_FD = 3, COUNT = 4, LARGE = 40000 };

struct id {
    char bytes[128];
};

typedef struct communicator *comm;

int ncclGetUniqueId(struct id *);
int ncclCommInitRank(comm *, int, struct id, int);
int ncclCommInitAll(comm *, int, const int *);
int ncclCommSplit(comm, int, int, comm *, void *);
int ncclCommDestroy(comm);
int ncclCommAbort(comm);
int ncclCommCount(comm, int *);
int ncclCommUserRank(comm, int *);
int ncclCommCuDevice(comm, int *);
int ncclCommGetAsyncError(comm, int *);
const char *ncclGetLastError(comm);
int ncclAllGather(const void *, void *, size_t, int, comm, void *);
int ncclAllReduce(const void *, void *, size_t, int, int, comm, void *);
int ncclReduce(const void *, void *, size_t, int, int, int, comm, void *);
int ncclReduceScatter(const void *, void *, size_t, int, int, comm, void *);
int ncclBroadcast(const void *, void *, size_t, int, int, comm, void *);
int ncclBcast(void *, size_t, int, int, comm, void *);
int ncclAlltoAll(const void *, void *, size_t, int, comm, void *);
int ncclGather(const void *, void *, size_t, int, int, comm, void *);
int ncclScatter(const void *, void *, size_t, int, int, comm, void *);
int ncclSend(const void *, size_t, int, int, comm, void *);
int ncclRecv(void *, size_t, int, int, comm, void *);
int ncclGroupStart(void);
int ncclGroupEnd(void);

#define OK(call) assert_int_equal(call, 0)

/* Memory of the GPU with these bytes; zeros for NULL. */
static void *new_memory(const void *from, size_t bytes)
{
    void *ptr = NULL;

    OK(cudaMalloc(&ptr, bytes));
    if (from != NULL)
        OK(cudaMemcpy(ptr, from, bytes, 1));
    return ptr;
}

static void expect(const void *ptr, const void *bytes, size_t count)
{
    char *got = malloc(count);

    assert_non_null(got);
    OK(cudaMemcpy(got, ptr, count, RT_DEVICE_TO_HOST));
    assert_memory_equal(got, bytes, count);
    free(got);
}

#define NEW(list) new_memory(list, sizeof(list))
#define EXPECT(ptr, ...)                                                       \
    do {                                                                       \
        const int32_t expected_[] = {__VA_ARGS__};                             \
        expect(ptr, expected_, sizeof expected_);                              \
    } while (0)

static void expect_reason(const char *words)
{
    if (strstr(ncclGetLastError(NULL), words) == NULL)
        fail_msg("'%s' does not say '%s'", ncclGetLastError(NULL), words);
}

/* ---- scenes; each is what both ranks do ---------------------------------------- */

static void gather_all(comm c, int rank)
{
    const int32_t mine[] = {10 + 100 * rank, 11};
    int32_t none[4] = {0};
    void *part = NEW(mine);
    void *whole = NEW(none);

    OK(ncclAllGather(part, whole, 2, INT32, c, NULL));
    EXPECT(whole, 10, 11, 110, 11);
    /* In place. */
    OK(ncclAllGather((char *)whole + 8 * rank, whole, 2, INT32, c, NULL));
    EXPECT(whole, 10, 11, 110, 11);
}

static void reduce_whole(comm c, int rank)
{
    const int32_t mine[] = {rank == 0 ? 7 : -3, 5};
    const int64_t large[] = {INT64_C(1) << 40};
    const int64_t twice[] = {INT64_C(1) << 41};
    const uint8_t bytes[] = {200, 100};
    const uint8_t wrapped[] = {144, 200};
    void *values = NEW(mine);

    OK(ncclAllReduce(values, values, 2, INT32, SUM, c, NULL));
    EXPECT(values, 4, 10);
    values = NEW(mine);
    OK(ncclAllReduce(values, values, 2, INT32, PRODUCT, c, NULL));
    EXPECT(values, -21, 25);
    values = NEW(mine);
    OK(ncclAllReduce(values, values, 2, INT32, MAX, c, NULL));
    EXPECT(values, 7, 5);
    values = NEW(mine);
    OK(ncclAllReduce(values, values, 2, INT32, MIN, c, NULL));
    EXPECT(values, -3, 5);
    values = NEW(mine);
    OK(ncclAllReduce(values, values, 2, INT32, AVERAGE, c, NULL));
    EXPECT(values, 2, 5);
    values = NEW(large);
    OK(ncclAllReduce(values, values, 1, INT64, SUM, c, NULL));
    expect(values, twice, sizeof twice);
    values = NEW(bytes);
    OK(ncclAllReduce(values, values, 2, UINT8, SUM, c, NULL));
    expect(values, wrapped, sizeof wrapped);
}

static void reduce_floats(comm c, int rank)
{
    const float singles[] = {1.5f, rank == 0 ? -1.0f : 3.0f};
    const float sums[] = {3.0f, 2.0f};
    const double doubles[] = {0.1};
    const double doubled[] = {0.2};
    /* 1, 1/3 rounded, the largest, the smallest */
    const uint16_t halves[] = {0x3c00, 0x3555, 0x7bff, 0x0001};
    const uint16_t half_sums[] = {0x4000, 0x3955, 0x7c00, 0x0002};
    const uint16_t half_same[] = {0x3c00, 0x3555, 0x7c00, 0x0001};
    const uint16_t brain[] = {0x3f80, 0x3eab, 0xc000};
    const uint16_t brain_sums[] = {0x4000, 0x3f2b, 0xc080};
    void *values = NEW(singles);

    OK(ncclAllReduce(values, values, 2, FLOAT, SUM, c, NULL));
    expect(values, sums, sizeof sums);
    values = NEW(doubles);
    OK(ncclAllReduce(values, values, 1, DOUBLE, SUM, c, NULL));
    expect(values, doubled, sizeof doubled);
    values = NEW(halves);
    OK(ncclAllReduce(values, values, 4, HALF, SUM, c, NULL));
    expect(values, half_sums, sizeof half_sums);
    values = NEW(halves);
    OK(ncclAllReduce(values, values, 4, HALF, AVERAGE, c, NULL));
    expect(values, half_same, sizeof half_same);
    values = NEW(brain);
    OK(ncclAllReduce(values, values, 3, BFLOAT, SUM, c, NULL));
    expect(values, brain_sums, sizeof brain_sums);
}

/* 2048 and 2050 in halves, 256 and 258 in bfloat16, and 1: ties. */
static void round_to_even(comm c, int rank)
{
    const uint16_t halves[2][2] = {{0x6800, 0x6801}, {0x3c00, 0x3c00}};
    const uint16_t half_sums[] = {0x6800, 0x6802};
    const uint16_t brain[2][2] = {{0x4380, 0x4381}, {0x3f80, 0x3f80}};
    const uint16_t brain_sums[] = {0x4380, 0x4382};
    void *values = NEW(halves[rank]);

    OK(ncclAllReduce(values, values, 2, HALF, SUM, c, NULL));
    expect(values, half_sums, sizeof half_sums);
    values = NEW(brain[rank]);
    OK(ncclAllReduce(values, values, 2, BFLOAT, SUM, c, NULL));
    expect(values, brain_sums, sizeof brain_sums);
}

static void send_from_a_root(comm c, int rank)
{
    const int32_t mine[] = {rank, 5 + rank, 20, 30};
    const int32_t none[4] = {0};
    void *given = NEW(mine);
    void *got = NEW(none);

    OK(ncclBroadcast(given, got, 2, INT32, 1, c, NULL));
    EXPECT(got, 1, 6);
    OK(ncclScatter(given, got, 2, INT32, 0, c, NULL));
    if (rank == 0)
        EXPECT(got, 0, 5);
    else
        EXPECT(got, 20, 30);
    OK(ncclBcast(given, 1, INT32, 1, c, NULL));
    EXPECT(given, 1, 5 + rank);
}

static void send_to_a_root(comm c, int rank)
{
    const int32_t mine[] = {1 + rank, 5};
    const int32_t none[4] = {0};
    void *given = NEW(mine);
    void *got = NEW(none);

    OK(ncclGather(given, got, 2, INT32, 1, c, NULL));
    if (rank == 1)
        EXPECT(got, 1, 5, 2, 5);
    else
        EXPECT(got, 0, 0, 0, 0);
    OK(ncclReduce(given, got, 2, INT32, SUM, 1, c, NULL));
    if (rank == 1)
        EXPECT(got, 3, 10);
    else
        EXPECT(got, 0, 0);
}

static void exchange_parts(comm c, int rank)
{
    const int32_t mine[] = {10 * rank, 10 * rank + 1};
    const int32_t none[2] = {0};
    void *given = NEW(mine);
    void *got = NEW(none);

    OK(ncclAlltoAll(given, got, 1, INT32, c, NULL));
    EXPECT(got, rank, 10 + rank);
    OK(ncclReduceScatter(given, got, 1, INT32, SUM, c, NULL));
    EXPECT(got, rank == 0 ? 10 : 12);
}

/* More than there is place for, and each receives first. */
static void pass_messages(comm c, int rank)
{
    enum { MESSAGES = 9 };
    const int32_t none[MESSAGES] = {0};
    int32_t mine[MESSAGES];
    void *given;
    void *got = NEW(none);
    int i;

    for (i = 0; i < MESSAGES; i++)
        mine[i] = 100 * rank + i;
    given = NEW(mine);
    OK(ncclGroupStart());
    for (i = 0; i < MESSAGES; i++) {
        OK(ncclRecv((int32_t *)got + i, 1, INT32, 1 - rank, c, NULL));
        OK(ncclSend((int32_t *)given + i, 1, INT32, 1 - rank, c, NULL));
    }
    EXPECT(got, 0);
    OK(ncclGroupEnd());
    EXPECT((int32_t *)got + 8, 100 * (1 - rank) + 8);
    if (rank == 0)
        OK(ncclSend(given, 2, INT32, 1, c, NULL));
    else
        OK(ncclRecv(got, 2, INT32, 0, c, NULL));
    EXPECT(got, rank == 0 ? 100 : 0, rank == 0 ? 101 : 1);
    if (rank == 0) {
        OK(ncclSend(given, 2, INT32, 1, c, NULL));
        return;
    }
    assert_int_equal(ncclRecv(got, 1, INT64, 0, c, NULL), INVALID_USAGE);
    expect_reason("rank 0 sends 2 of int32, and rank 1 receives 1 of int64");
}

static void gather_large(comm c, int rank)
{
    int32_t *mine = calloc(LARGE, 4);
    void *part;
    void *whole = new_memory(NULL, 2 * LARGE * 4);

    assert_non_null(mine);
    mine[LARGE - 1] = 7 + rank;
    part = new_memory(mine, LARGE * 4);
    OK(ncclAllGather(part, whole, LARGE, INT32, c, NULL));
    EXPECT((int32_t *)whole + LARGE - 1, 7 + rank);
    EXPECT((int32_t *)whole + 2 * LARGE - 1, 7 + rank);
    free(mine);
}

static void call_different_things(comm c, int rank)
{
    const int32_t mine[4] = {1};
    void *values = NEW(mine);
    int failed = 0;
    int result = rank == 0
                     ? ncclAllReduce(values, values, 4, INT32, SUM, c, NULL)
                     : ncclAllGather(values, values, 2, INT32, c, NULL);

    assert_int_equal(result, INVALID_USAGE);
    expect_reason(rank == 0 ? "as number 1: rank 0 ncclAllReduce (4 of int32, "
                              "sum), rank 1 ncclAllGather (2 of int32)"
                            : "as number 1: rank 1 ncclAllGather (2 of int32), "
                              "rank 0 ncclAllReduce (4 of int32, sum)");
    OK(ncclCommGetAsyncError(c, &failed));
    assert_int_equal(failed, INVALID_USAGE);
    assert_int_equal(ncclAllReduce(values, values, 4, INT32, SUM, c, NULL),
                     INVALID_USAGE);
}

static void count_differently(comm c, int rank)
{
    const int32_t mine[4] = {1};
    void *values = NEW(mine);

    OK(ncclAllReduce(values, values, 4, INT32, SUM, c, NULL));
    assert_int_equal(
        ncclAllReduce(values, values, 4, INT32, rank == 0 ? SUM : MAX, c, NULL),
        INVALID_USAGE);
    expect_reason("as number 2");
}

static void call_for_more(comm c, int rank)
{
    void *values = new_memory(NULL, 8);

    assert_int_equal(
        ncclAllReduce(values, values, 1 + (size_t)rank, INT32, SUM, c, NULL),
        INVALID_USAGE);
    expect_reason("rank 0 ncclAllReduce (1 of int32, sum)");
    expect_reason("rank 1 ncclAllReduce (2 of int32, sum)");
}

static void one_dies(comm c, int rank)
{
    void *values = new_memory(NULL, 4);

    OK(ncclAllReduce(values, values, 1, INT32, SUM, c, NULL));
    if (rank == 1)
        _exit(0);
    assert_int_equal(ncclAllReduce(values, values, 1, INT32, SUM, c, NULL),
                     REMOTE_ERROR);
    expect_reason("ncclAllReduce waits for rank 1, whose process is gone");
}

/* The other stays until this one has seen it leave. */
static void one_leaves(comm c, int rank)
{
    void *values = new_memory(NULL, 4);
    char byte;

    if (rank == 1) {
        OK(ncclCommDestroy(c));
        (void)!read(OTHER_FD, &byte, 1);
        _exit(0);
    }
    assert_int_equal(ncclRecv(values, 1, INT32, 1, c, NULL), REMOTE_ERROR);
    expect_reason("ncclRecv waits for rank 1, which has left the group");
}

static void one_is_late(comm c, int rank)
{
    void *values = new_memory(NULL, 4);
    char byte;

    if (rank == 1) {
        (void)!read(OTHER_FD, &byte, 1);
        _exit(0);
    }
    setenv("LARDER_NCCL_SECONDS", "0.2", 1);
    assert_int_equal(ncclAllReduce(values, values, 1, INT32, SUM, c, NULL),
                     REMOTE_ERROR);
    expect_reason("waits for rank 1, which did not call it within 0.2 s");
    unsetenv("LARDER_NCCL_SECONDS");
}

static void split_in_two_ways(comm c, int rank)
{
    const int32_t mine[] = {rank};
    const int32_t none[2] = {0};
    void *part = NEW(mine);
    void *whole = NEW(none);
    comm turned = NULL;
    comm some = NULL;
    int number = -1;

    OK(ncclCommSplit(c, 3, -rank, &turned, NULL));
    OK(ncclCommUserRank(turned, &number));
    assert_int_equal(number, 1 - rank);
    OK(ncclAllGather(part, whole, 1, INT32, turned, NULL));
    EXPECT(whole, 1, 0);
    OK(ncclCommSplit(c, rank == 0 ? 0 : -1, 0, &some, NULL));
    if (rank == 0) {
        OK(ncclCommCount(some, &number));
        assert_int_equal(number, 1);
        OK(ncclCommDestroy(some));
    } else {
        assert_null(some);
    }
    OK(ncclAllGather(part, whole, 1, INT32, c, NULL));
    EXPECT(whole, 0, 1);
    OK(ncclCommDestroy(turned));
}

/* Many, one after the other, with a second communicator in between. */
static void go_on_for_long(comm c, int rank)
{
    const int32_t mine[] = {1 + rank};
    void *values = NEW(mine);
    comm second = NULL;
    int i;

    OK(ncclCommSplit(c, 0, rank, &second, NULL));
    for (i = 0; i < 500; i++) {
        OK(ncclAllReduce(values, values, 1, INT32, MAX, c, NULL));
        OK(ncclAllReduce(values, values, 1, INT32, MIN, second, NULL));
    }
    EXPECT(values, 2);
    OK(ncclCommDestroy(second));
}

static void capture(comm c, int rank)
{
    void *values = new_memory(NULL, 4);
    cud_stream stream = NULL;
    void *graph = NULL;

    OK(cudaStreamCreateWithFlags(&stream, 1));
    if (rank == 0) { /* the other has nothing to call */
        OK(cudaStreamBeginCapture(stream, 0));
        OK(ncclAllReduce(values, values, 1, INT32, SUM, c, stream));
        OK(cudaStreamEndCapture(stream, &graph));
    }
    OK(ncclAllReduce(values, values, 1, INT32, SUM, c, stream));
}

static const struct scene {
    const char *name;
    void (*play)(comm c, int rank);
} scenes[] = {
#define SCENE(name)                                                            \
    {                                                                          \
#name, name                                                            \
    }
    SCENE(round_to_even),
    SCENE(call_for_more),
    SCENE(gather_all),
    SCENE(reduce_whole),
    SCENE(reduce_floats),
    SCENE(send_from_a_root),
    SCENE(send_to_a_root),
    SCENE(exchange_parts),
    SCENE(pass_messages),
    SCENE(gather_large),
    SCENE(call_different_things),
    SCENE(count_differently),
    SCENE(one_dies),
    SCENE(one_leaves),
    SCENE(one_is_late),
    SCENE(split_in_two_ways),
    SCENE(go_on_for_long),
    SCENE(capture),
#undef SCENE
};

enum { SCENES = sizeof scenes / sizeof scenes[0] };

static const struct scene *scene_of(const char *name)
{
    int i = 0;

    while (i < SCENES && strcmp(scenes[i].name, name) != 0)
        i++;
    assert_in_range(i, 0, SCENES - 1);
    return &scenes[i];
}

/* ---- both ranks ---------------------------------------------------------------- */

static struct {
    const char *scene;
    struct id id;
    comm c; /* most scenes end without its end, as killed ranks do */
} other;

static void other_plays(void **state)
{
    (void)state;
    OK(ncclCommInitRank(&other.c, 2, other.id, 1));
    scene_of(other.scene)->play(other.c, 1);
}

static int other_main(const char *scene)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(other_plays)};

    other.scene = scene;
    if (read(OTHER_FD, &other.id, sizeof other.id) != (ssize_t)sizeof other.id)
        return 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

struct process {
    pid_t pid;
    int fd;
};

static struct process process_start(const char *scene)
{
    struct process p;
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    p.pid = fork();
    assert_true(p.pid >= 0);
    if (p.pid == 0) {
        if (dup2(ends[0], OTHER_FD) == OTHER_FD)
            execl("/proc/self/exe", "test_nccl_ranks", "--rank", scene,
                  (char *)NULL);
        _exit(127);
    }
    close(ends[0]);
    p.fd = ends[1];
    return p;
}

static void process_end(struct process p)
{
    int status;

    close(p.fd);
    assert_int_equal(waitpid(p.pid, &status, 0), p.pid);
    assert_int_equal(status, 0);
}

static void play(const char *scene)
{
    struct process p = process_start(scene);
    struct id id;
    comm c = NULL;

    OK(ncclGetUniqueId(&id));
    assert_int_equal(write(p.fd, &id, sizeof id), sizeof id);
    OK(ncclCommInitRank(&c, 2, id, 0));
    scene_of(scene)->play(c, 0);
    process_end(p);
    OK(ncclCommDestroy(c));
}

#define CLAIM(name, scene)                                                     \
    static void name(void **state)                                             \
    {                                                                          \
        (void)state;                                                           \
        play(#scene);                                                          \
    }

CLAIM(each_rank_gathers_what_all_have, gather_all)
CLAIM(whole_numbers_are_reduced, reduce_whole)
CLAIM(floats_are_reduced_and_rounded, reduce_floats)
CLAIM(halves_are_rounded_to_even, round_to_even)
CLAIM(a_root_s_values_reach_all, send_from_a_root)
CLAIM(all_values_reach_the_root, send_to_a_root)
CLAIM(parts_go_to_their_ranks, exchange_parts)
CLAIM(messages_of_a_group_pass_each_other, pass_messages)
CLAIM(large_values_are_taken_to_be_the_same, gather_large)
CLAIM(different_calls_are_named, call_different_things)
CLAIM(a_different_operation_is_named, count_differently)
CLAIM(a_different_count_is_named, call_for_more)
CLAIM(a_rank_that_died_is_named, one_dies)
CLAIM(a_rank_that_left_is_named, one_leaves)
CLAIM(a_rank_that_does_not_call_is_named, one_is_late)
CLAIM(a_group_is_split_by_color_and_key, split_in_two_ways)
CLAIM(places_are_used_again, go_on_for_long)
CLAIM(a_captured_operation_meets_nobody, capture)

static void a_rank_that_does_not_come_is_named(void **state)
{
    struct id id;
    comm c = NULL;

    (void)state;
    setenv("LARDER_NCCL_SECONDS", "0.1", 1);
    OK(ncclGetUniqueId(&id));
    assert_int_equal(ncclCommInitRank(&c, 2, id, 1), REMOTE_ERROR);
    expect_reason("rank 0 of a group of 2 did not join within 0.1 s");
    assert_null(c);
    unsetenv("LARDER_NCCL_SECONDS");
    assert_int_equal(ncclCommInitRank(&c, 2, id, 2), INVALID_ARGUMENT);
}

static void alone_a_rank_needs_no_others(void **state)
{
    const int32_t mine[] = {5};
    const int32_t none[2] = {0};
    void *part = NEW(mine);
    void *whole = NEW(none);
    struct id id;
    comm c = NULL;
    comm half = NULL;

    (void)state;
    setenv("LARDER_NCCL", "alone", 1);
    OK(ncclGetUniqueId(&id));
    OK(ncclCommInitRank(&c, 2, id, 1));
    OK(ncclAllGather(part, whole, 1, INT32, c, NULL));
    EXPECT(whole, 5, 5);
    OK(ncclRecv(whole, 1, INT32, 0, c, NULL));
    OK(ncclCommSplit(c, 0, 0, &half, NULL));
    OK(ncclAllReduce(part, whole, 1, INT32, SUM, half, NULL));
    EXPECT(whole, 5);
    OK(ncclCommDestroy(half));
    OK(ncclCommDestroy(c));
    unsetenv("LARDER_NCCL");
}

static void ranks_of_one_process_meet_in_a_group(void **state)
{
    comm c[2];
    void *values[2];
    int device = -1;
    int i;

    (void)state;
    OK(ncclCommInitAll(c, 2, NULL));
    for (i = 0; i < 2; i++) {
        const int32_t mine[] = {3 + i};

        OK(cudaSetDevice(i));
        values[i] = NEW(mine);
    }
    OK(ncclCommCuDevice(c[1], &device));
    assert_int_equal(device, 1);
    OK(ncclGroupStart());
    for (i = 0; i < 2; i++) {
        OK(cudaSetDevice(i));
        OK(ncclAllReduce(values[i], values[i], 1, INT32, SUM, c[i], NULL));
    }
    OK(ncclGroupEnd());
    for (i = 0; i < 2; i++) {
        OK(cudaSetDevice(i));
        EXPECT(values[i], 7);
        OK(ncclCommDestroy(c[i]));
    }
    OK(cudaSetDevice(0));
    assert_int_equal(ncclGroupEnd(), INVALID_USAGE);
}

static void one_identity_has_one_size_and_one_of_each_rank(void **state)
{
    struct id id;
    comm c = NULL;
    comm same = NULL;

    (void)state;
    OK(ncclGetUniqueId(&id));
    OK(ncclGroupStart());
    OK(ncclCommInitRank(&c, 3, id, 0));
    assert_int_equal(ncclCommInitRank(&same, 2, id, 1), INVALID_USAGE);
    expect_reason("one process says that a group has 3 ranks, another 2");
    assert_int_equal(ncclCommInitRank(&same, 3, id, 0), INVALID_USAGE);
    expect_reason("are rank 0 of one group");
    OK(ncclGroupEnd());
    OK(ncclCommDestroy(c));
}

/* ---- aborting -------------------------------------------------------------------- */

static void *call_alone(void *c)
{
    const int32_t mine[] = {1};
    void *values = NEW(mine);

    return (void *)(intptr_t)ncclAllReduce(values, values, 1, INT32, SUM, c,
                                           NULL);
}

/* As a watchdog does: the other rank never calls it. */
static void a_thread_that_waits_can_be_aborted(void **state)
{
    comm both[2];
    pthread_t thread;
    void *answer;

    (void)state;
    OK(ncclCommInitAll(both, 2, NULL));
    OK(pthread_create(&thread, NULL, call_alone, both[0]));
    OK(usleep(100000));
    OK(ncclCommAbort(both[0]));
    OK(pthread_join(thread, &answer));
    assert_int_equal((intptr_t)answer, SYSTEM_ERROR);
    OK(ncclCommAbort(both[1]));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rank_gathers_what_all_have),
        cmocka_unit_test(whole_numbers_are_reduced),
        cmocka_unit_test(floats_are_reduced_and_rounded),
        cmocka_unit_test(halves_are_rounded_to_even),
        cmocka_unit_test(a_root_s_values_reach_all),
        cmocka_unit_test(all_values_reach_the_root),
        cmocka_unit_test(parts_go_to_their_ranks),
        cmocka_unit_test(messages_of_a_group_pass_each_other),
        cmocka_unit_test(large_values_are_taken_to_be_the_same),
        cmocka_unit_test(different_calls_are_named),
        cmocka_unit_test(a_thread_that_waits_can_be_aborted),
        cmocka_unit_test(a_different_operation_is_named),
        cmocka_unit_test(a_different_count_is_named),
        cmocka_unit_test(a_rank_that_died_is_named),
        cmocka_unit_test(a_rank_that_left_is_named),
        cmocka_unit_test(a_rank_that_does_not_call_is_named),
        cmocka_unit_test(a_group_is_split_by_color_and_key),
        cmocka_unit_test(places_are_used_again),
        cmocka_unit_test(a_captured_operation_meets_nobody),
        cmocka_unit_test(a_rank_that_does_not_come_is_named),
        cmocka_unit_test(alone_a_rank_needs_no_others),
        cmocka_unit_test(ranks_of_one_process_meet_in_a_group),
        cmocka_unit_test(one_identity_has_one_size_and_one_of_each_rank),
    };

    if (argc == 3 && strcmp(argv[1], "--rank") == 0)
        return other_main(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

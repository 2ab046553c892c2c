/* test_standins.c - the stand-ins for libraries above the runtime return what
 * programs rely on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <dlfcn.h>

#include <cmocka.h>

typedef int call_fn(uintptr_t, ...);

static void *library_of(const char *name)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);

    if (library == NULL)
        fail_msg("%s", dlerror());
    return library;
}

static call_fn *call_of(const char *library, const char *symbol)
{
    void *found = dlsym(library_of(library), symbol);
    call_fn *call;

    assert_non_null(found);
    memcpy(&call, &found, sizeof call);
    return call;
}

#define P(pointer) ((uintptr_t)(pointer))

static void every_handle_is_different(void **state)
{
    call_fn *create = call_of("libcublas.so.13", "cublasCreate_v2");
    call_fn *destroy = call_of("libcublas.so.13", "cublasDestroy_v2");
    void *first = NULL;
    void *second = NULL;

    (void)state;
    assert_int_equal(create(P(&first)), 0);
    assert_int_equal(create(P(&second)), 0);
    assert_non_null(first);
    assert_ptr_not_equal(first, second);
    assert_int_equal(destroy(P(first)), 0);
    assert_int_equal(destroy(P(second)), 0);
}

/* cuDNN's own benchmark records events on the stream it gets from the
 * handle. */
static void a_handle_returns_the_stream_that_was_set(void **state)
{
    static const char *const calls[][5] = {
        {"libcublas.so.12", "cublasCreate_v2", "cublasSetStream_v2",
         "cublasGetStream_v2", "cublasDestroy_v2"},
        {"libcudnn.so.9", "cudnnCreate", "cudnnSetStream", "cudnnGetStream",
         "cudnnDestroy"},
        {"libcusolver.so.11", "cusolverDnCreate", "cusolverDnSetStream",
         "cusolverDnGetStream", "cusolverDnDestroy"},
        {"libcusparse.so.12", "cusparseCreate", "cusparseSetStream",
         "cusparseGetStream", "cusparseDestroy"},
    };
    int stream;

    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        const char *library = calls[i][0];
        void *handle = NULL;
        void *told = &stream;

        assert_int_equal(call_of(library, calls[i][1])(P(&handle)), 0);
        assert_int_equal(call_of(library, calls[i][3])(P(handle), P(&told)), 0);
        assert_null(told);
        assert_int_equal(call_of(library, calls[i][2])(P(handle), P(&stream)),
                         0);
        assert_int_equal(call_of(library, calls[i][3])(P(handle), P(&told)), 0);
        assert_ptr_equal(told, &stream);
        assert_int_equal(call_of(library, calls[i][4])(P(handle)), 0);
    }
}

/* JAX refuses libraries older than those it was built with. */
static void versions_are_recent_enough(void **state)
{
    static const struct {
        const char *library, *symbol;
        int least;
    } calls[] = {
        {"libcufft.so.11", "cufftGetVersion", 11401},
        {"libcurand.so.10", "curandGetVersion", 10310},
        {"libcusolver.so.11", "cusolverGetVersion", 11701},
        {"libcupti.so.12", "cuptiGetVersion", 26},
        {"libcupti.so.13", "cuptiGetVersion", 130000},
    };
    int version = 0;

    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        assert_int_equal(
            call_of(calls[i].library, calls[i].symbol)(P(&version)), 0);
        assert_in_range(version, calls[i].least, calls[i].least + 20000);
    }
    assert_int_equal(
        call_of("libcusparse.so.12", "cusparseGetVersion")(0, P(&version)), 0);
    assert_in_range(version, 12501, 12999);
    assert_int_equal(
        call_of("libcublas.so.12", "cublasGetVersion_v2")(0, P(&version)), 0);
    assert_in_range(version, 120805, 129999);
    assert_int_equal(
        call_of("libcusparse.so.12", "cusparseGetProperty")(0, P(&version)), 0);
    assert_int_equal(version, 12);
}

static void the_only_algorithm_needs_no_workspace(void **state)
{
    call_fn *ask =
        call_of("libcublasLt.so.12", "cublasLtMatmulAlgoGetHeuristic");
    struct {
        uint64_t algorithm[8];
        size_t workspace;
        int rest[6];
    } found[2];
    int count = -1;

    (void)state;
    memset(found, 0xff, sizeof found);
    assert_int_equal(ask(0, P(NULL), P(NULL), P(NULL), P(NULL), P(NULL),
                         P(NULL), P(2), P(found), P(&count)),
                     0);
    assert_int_equal(count, 1);
    assert_int_equal(found[0].workspace, 0);
    assert_int_equal(found[1].workspace, SIZE_MAX);
}

static void a_workspace_of_0_bytes_is_asked_for(void **state)
{
    call_fn *ask = call_of("libcusolver.so.12", "cusolverDnSgetrf_bufferSize");
    int size = -1;

    (void)state;
    assert_int_equal(ask(0, P(4), P(4), P(NULL), P(4), P(&size)), 0);
    assert_int_equal(size, 0);
}

static void what_is_linked_at_run_time_has_a_size(void **state)
{
    call_fn *version = call_of("libnvJitLink.so.12", "nvJitLinkVersion");
    unsigned major = 0;
    unsigned minor = 0;
    void *handle = NULL;
    size_t bytes = 0;
    char code[64] = "";

    (void)state;
    assert_int_equal(version(P(&major), P(&minor)), 0);
    assert_int_equal(major, 12);
    assert_int_equal(call_of("libnvJitLink.so.12",
                             "nvJitLinkCreate")(P(&handle), P(0), P(NULL)),
                     0);
    assert_non_null(handle);
    assert_int_equal(
        call_of("libnvJitLink.so.12", "nvJitLinkGetLinkedCubinSize")(P(handle),
                                                                     P(&bytes)),
        0);
    assert_in_range(bytes, 1, sizeof code);
    assert_int_equal(call_of("libnvJitLink.so.12",
                             "nvJitLinkGetLinkedCubin")(P(handle), P(code)),
                     0);
    assert_int_equal(strlen(code) + 1, bytes);
    assert_int_equal(
        call_of("libnvJitLink.so.12", "nvJitLinkDestroy")(P(&handle)), 0);
    assert_null(handle);
}

/* ---- cuDNN ---------------------------------------------------------------------- */

#define CUDNN(name) call_of("libcudnn.so.9", #name)

enum { LSTM = 2, GRU = 3, FLOAT = 0, HALF = 2 };

static void *new_network(int cell, int both_ways, int type)
{
    void *network = NULL;

    assert_int_equal(CUDNN(cudnnCreateRNNDescriptor)(P(&network)), 0);
    /* Two layers: 10 in, 20 hidden, two biases. */
    assert_int_equal(CUDNN(cudnnSetRNNDescriptor_v8)(
                         P(network), P(0), P(cell), P(2), P(both_ways), P(0),
                         P(type), P(type), P(0), P(10), P(20), P(20), P(2),
                         P(NULL), P(1)),
                     0);
    return network;
}

static size_t weights_of(void *network)
{
    size_t bytes = 0;

    assert_int_equal(
        CUDNN(cudnnGetRNNWeightSpaceSize)(0, P(network), P(&bytes)), 0);
    return bytes;
}

static void drop_network(void *network)
{
    assert_int_equal(CUDNN(cudnnDestroyRNNDescriptor)(P(network)), 0);
}

static void expect_weights(int cell, int both_ways, int type, size_t bytes)
{
    void *network = new_network(cell, both_ways, type);

    assert_int_equal(weights_of(network), bytes);
    drop_network(network);
}

static void all_weights_of_a_network_have_a_place(void **state)
{
    const size_t of_lstm = 80 * (10 + 20) + 80 * (20 + 20) + 4 * 80;
    const size_t of_gru = 60 * (10 + 20) + 60 * (20 + 20) + 4 * 60;
    const size_t both_ways = 2 * (80 * (10 + 20) + 80 * (40 + 20)) + 2 * 4 * 80;

    (void)state;
    expect_weights(LSTM, 0, FLOAT, 4 * of_lstm);
    expect_weights(GRU, 0, HALF, 2 * of_gru);
    expect_weights(LSTM, 1, FLOAT, 4 * both_ways);
}

struct place {
    char *matrix;
    char *bias;
    int sizes[3];
};

static struct place place_of(void *network, int layer, int number, char *space)
{
    struct place p = {NULL, NULL, {0, 0, 0}};
    void *matrix = NULL;
    void *bias = NULL;
    int type = -1;
    int count = 0;
    int strides[3];

    assert_int_equal(CUDNN(cudnnCreateTensorDescriptor)(P(&matrix)), 0);
    assert_int_equal(CUDNN(cudnnCreateTensorDescriptor)(P(&bias)), 0);
    assert_int_equal(CUDNN(cudnnGetRNNWeightParams)(
                         0, P(network), P(layer), P(weights_of(network)),
                         P(space), P(number), P(matrix), P(&p.matrix), P(bias),
                         P(&p.bias)),
                     0);
    assert_int_equal(CUDNN(cudnnGetTensorNdDescriptor)(P(matrix), P(3),
                                                       P(&type), P(&count),
                                                       P(p.sizes), P(strides)),
                     0);
    assert_int_equal(count, 3);
    assert_int_equal(CUDNN(cudnnDestroyTensorDescriptor)(P(matrix)), 0);
    assert_int_equal(CUDNN(cudnnDestroyTensorDescriptor)(P(bias)), 0);
    return p;
}

/* Matrices one after the other, then all the biases. */
static void weights_lie_one_after_the_other(void **state)
{
    static char space[32768];
    void *network = new_network(LSTM, 0, FLOAT);
    struct place first = place_of(network, 0, 0, space);
    struct place second = place_of(network, 0, 1, space);
    struct place of_state = place_of(network, 0, 4, space);
    struct place next_layer = place_of(network, 1, 0, space);

    (void)state;
    assert_ptr_equal(first.matrix, space);
    assert_int_equal(first.sizes[1], 20);
    assert_int_equal(first.sizes[2], 10);
    assert_int_equal(second.matrix - first.matrix, 4 * 200);
    assert_int_equal(of_state.matrix - first.matrix, 4 * 800);
    assert_int_equal(of_state.sizes[2], 20);
    assert_int_equal(next_layer.matrix - first.matrix, 4 * 80 * 30);
    assert_int_equal(next_layer.sizes[2], 20);
    assert_int_equal(first.bias - space, 4 * (80 * 30 + 80 * 40));
    assert_int_equal(next_layer.bias - first.bias, 4 * 160);
    drop_network(network);
}

/* A program may need only the matrix, or only the bias. */
static void matrix_and_bias_may_be_asked_for_alone(void **state)
{
    static char space[32768];
    void *network = new_network(GRU, 0, FLOAT);
    struct place both = place_of(network, 0, 0, space);
    void *matrix = NULL;
    void *bias = NULL;

    (void)state;
    assert_int_equal(CUDNN(cudnnGetRNNWeightParams)(0, P(network), P(0), P(0),
                                                    P(space), P(0), P(NULL),
                                                    P(NULL), P(NULL), P(&bias)),
                     0);
    assert_ptr_equal(bias, both.bias);
    assert_int_equal(CUDNN(cudnnGetRNNWeightParams)(
                         0, P(network), P(0), P(0), P(space), P(0), P(NULL),
                         P(&matrix), P(NULL), P(NULL)),
                     0);
    assert_ptr_equal(matrix, both.matrix);
    drop_network(network);
}

static void attributes_set_in_a_descriptor_are_read_back(void **state)
{
    enum { INT64 = 3, DESCRIPTOR = 15, RESULTS = 202, WORKSPACE = 402 };
    int64_t set[] = {3, 4, 5};
    int64_t got[] = {0, 0, -1};
    int64_t count = 0;
    void *d = NULL;
    void *theirs = set;

    (void)state;
    assert_int_equal(CUDNN(cudnnBackendCreateDescriptor)(P(17), P(&d)), 0);
    assert_int_equal(
        CUDNN(cudnnBackendSetAttribute)(P(d), P(900), P(INT64), P(3), P(set)),
        0);
    assert_int_equal(CUDNN(cudnnBackendGetAttribute)(P(d), P(900), P(INT64),
                                                     P(2), P(&count), P(got)),
                     0);
    assert_int_equal(count, 3);
    assert_int_equal(got[1], 4);
    assert_int_equal(got[2], -1);
    assert_int_equal(CUDNN(cudnnBackendGetAttribute)(
                         P(d), P(WORKSPACE), P(INT64), P(1), P(&count), P(got)),
                     0);
    assert_int_equal(got[0], 0);
    assert_int_equal(CUDNN(cudnnBackendGetAttribute)(P(d), P(RESULTS),
                                                     P(DESCRIPTOR), P(1),
                                                     P(&count), P(&theirs)),
                     0);
    assert_int_equal(count, 1);
    assert_ptr_equal(theirs, set);
    assert_int_equal(CUDNN(cudnnBackendDestroyDescriptor)(P(d)), 0);
}

/* ---- NCCL: the other processes hold what this one holds ------------------------- */

enum { NCCL_INT32 = 2, NCCL_BFLOAT16 = 9, NCCL_RANKS = 3, NCCL_COUNT = 4 };

struct gathering {
    int32_t *part;
    int32_t *whole;
    uintptr_t communicator;
};

/* Memory shared by GPU and host: numbers in the part, zeros in the whole. */
static struct gathering gathering_of(int ranks)
{
    struct gathering g;
    call_fn *allocate = call_of("libcudart.so.13", "cudaMallocManaged");
    void *library = library_of("libnccl.so.2");
    struct unique_id {
        char bytes[128];
    } id = {{0}};
    int (*make)(uintptr_t *, int, struct unique_id, int);
    void *found = dlsym(library, "ncclCommInitRank");
    int i;

    assert_int_equal(allocate(P(&g.part), P(NCCL_COUNT * 4), P(1)), 0);
    assert_int_equal(
        allocate(P(&g.whole), P(NCCL_RANKS * NCCL_COUNT * 4), P(1)), 0);
    memcpy(&make, &found, sizeof make);
    assert_int_equal(make(&g.communicator, ranks, id, 0), 0);
    for (i = 0; i < NCCL_COUNT; i++)
        g.part[i] = 10 + i;
    memset(g.whole, 0, NCCL_RANKS * NCCL_COUNT * 4);
    return g;
}

static void gathering_end(struct gathering g)
{
    call_fn *release = call_of("libcudart.so.13", "cudaFree");

    assert_int_equal(call_of("libnccl.so.2", "ncclCommDestroy")(g.communicator),
                     0);
    assert_int_equal(release(P(g.part)), 0);
    assert_int_equal(release(P(g.whole)), 0);
}

static void synchronize(void)
{
    assert_int_equal(call_of("libcudart.so.13", "cudaDeviceSynchronize")(P(0)),
                     0);
}

static void all_gather_repeats_its_part_for_each_rank(void **state)
{
    struct gathering g = gathering_of(NCCL_RANKS);
    call_fn *gather = call_of("libnccl.so.2", "ncclAllGather");
    int i;

    (void)state;
    assert_int_equal(gather(P(g.part), P(g.whole), P(NCCL_COUNT), P(NCCL_INT32),
                            g.communicator, P(NULL)),
                     0);
    synchronize();
    for (i = 0; i < NCCL_RANKS * NCCL_COUNT; i++)
        assert_int_equal(g.whole[i], 10 + i % NCCL_COUNT);
    assert_int_equal(gather(P(g.part), P(g.whole), P(NCCL_COUNT), P(99),
                            g.communicator, P(NULL)),
                     4);
    gathering_end(g);
}

static void a_reduction_leaves_the_values_unchanged(void **state)
{
    struct gathering g = gathering_of(NCCL_RANKS);
    call_fn *reduce = call_of("libnccl.so.2", "ncclAllReduce");
    call_fn *scatter = call_of("libnccl.so.2", "ncclReduceScatter");

    (void)state;
    /* Two bytes each: half of the part. */
    assert_int_equal(reduce(P(g.part), P(g.whole), P(NCCL_COUNT),
                            P(NCCL_BFLOAT16), P(0), g.communicator, P(NULL)),
                     0);
    synchronize();
    assert_int_equal(g.whole[1], 11);
    assert_int_equal(g.whole[2], 0);
    g.whole[0] = 7;
    assert_int_equal(scatter(P(g.whole), P(g.part), P(1), P(NCCL_INT32), P(0),
                             g.communicator, P(NULL)),
                     0);
    synchronize();
    assert_int_equal(g.part[0], 7);
    assert_int_equal(g.part[1], 11);
    gathering_end(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_handle_is_different),
        cmocka_unit_test(a_handle_returns_the_stream_that_was_set),
        cmocka_unit_test(versions_are_recent_enough),
        cmocka_unit_test(the_only_algorithm_needs_no_workspace),
        cmocka_unit_test(a_workspace_of_0_bytes_is_asked_for),
        cmocka_unit_test(what_is_linked_at_run_time_has_a_size),
        cmocka_unit_test(all_weights_of_a_network_have_a_place),
        cmocka_unit_test(weights_lie_one_after_the_other),
        cmocka_unit_test(matrix_and_bias_may_be_asked_for_alone),
        cmocka_unit_test(attributes_set_in_a_descriptor_are_read_back),
        cmocka_unit_test(all_gather_repeats_its_part_for_each_rank),
        cmocka_unit_test(a_reduction_leaves_the_values_unchanged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* cudnn_rnn.c - tensors and recurrent networks: the layout of their weights,
 * which programs rely on, and the memory they need.
 *
 * Only cuDNN knows the size of the reserve: here it is the gates and states
 * that a step keeps. */
#include "standin.h"

enum { DIMENSIONS = 8 };

struct tensor {
    int type;
    int count;
    int sizes[DIMENSIONS];
    int strides[DIMENSIONS];
};

_Static_assert(sizeof(struct tensor) <= STANDIN_HANDLE_BYTES,
               "a tensor's descriptor is a handle");

struct network {
    int cell;
    int has_bias;
    int directions;
    int type;
    int input;
    int hidden;
    int projection; /* equal to `hidden`: there is none */
    int layers;
};

_Static_assert(sizeof(struct network) <= STANDIN_HANDLE_BYTES,
               "a network's descriptor is a handle");

struct sequence {
    int longest;
    int batch;
};

/* cudnnDataType_t */
static size_t type_bytes(int type)
{
    enum { DOUBLE = 1, HALF = 2, BFLOAT16 = 9 };

    return type == DOUBLE ? 8 : type == HALF || type == BFLOAT16 ? 2 : 4;
}

/* ---- tensors ------------------------------------------------------------------ */

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

STANDIN_OWN(int, cudnnSetTensorNdDescriptor,
            (struct tensor * t, int type, int count, const int sizes[],
             const int strides[]))
{
    t->type = type;
    t->count = smaller(count, DIMENSIONS);
    for (int i = 0; i < t->count; i++) {
        t->sizes[i] = sizes[i];
        t->strides[i] = strides[i];
    }
    return 0;
}

STANDIN_OWN(int, cudnnGetTensorNdDescriptor,
            (const struct tensor *t, int room, int *type, int *count,
             int sizes[], int strides[]))
{
    size_t bytes = (size_t)smaller(room, t->count) * sizeof(int);

    if (type != NULL)
        *type = t->type;
    if (count != NULL)
        *count = t->count;
    if (sizes != NULL)
        memcpy(sizes, t->sizes, bytes);
    if (strides != NULL)
        memcpy(strides, t->strides, bytes);
    return 0;
}

/* Does nothing if the program passes NULL. */
static void tensor_set(struct tensor *t, int type, int rows, int columns)
{
    if (t == NULL)
        return;
    *t = (struct tensor){.type = type,
                         .count = 3,
                         .sizes = {1, rows, columns},
                         .strides = {rows * columns, columns, 1}};
}

/* ---- networks ------------------------------------------------------------------- */

STANDIN_OWN(int, cudnnSetRNNDescriptor_v8,
            (struct network * n, int algorithm, int cell, int bias,
             int direction, int input_mode, int type, int precision, int math,
             int32_t input, int32_t hidden, int32_t projection, int32_t layers,
             void *dropout, uint32_t flags))
{
    (void)algorithm;
    (void)input_mode;
    (void)precision;
    (void)math;
    (void)dropout;
    (void)flags;
    *n = (struct network){.cell = cell,
                          .has_bias = bias != 0,
                          .directions = 1 + direction,
                          .type = type,
                          .input = input,
                          .hidden = hidden,
                          .projection = projection,
                          .layers = layers};
    return 0;
}

STANDIN_OWN(int, cudnnSetRNNDataDescriptor,
            (struct sequence * s, int type, int layout, int longest, int batch,
             int vector, const int lengths[], void *padding))
{
    (void)type;
    (void)layout;
    (void)vector;
    (void)lengths;
    (void)padding;
    s->longest = longest;
    s->batch = batch;
    return 0;
}

/* cudnnRNNMode_t: two plain modes, LSTM, GRU */
static int gates_of(const struct network *n)
{
    enum { LSTM = 2, GRU = 3 };

    return n->cell == LSTM ? 4 : n->cell == GRU ? 3 : 1;
}

static int has_projection(const struct network *n)
{
    return n->projection != 0 && n->projection != n->hidden;
}

/* The width of a layer's output in one direction. */
static int output_of(const struct network *n)
{
    return has_projection(n) ? n->projection : n->hidden;
}

static int input_of(const struct network *n, int layer)
{
    return layer < n->directions ? n->input : output_of(n) * n->directions;
}

/* The number of values in a layer's matrices in one direction: for its input,
 * for its state, and for the projection. */
static size_t matrices_of(const struct network *n, int layer)
{
    size_t rows = (size_t)gates_of(n) * (size_t)n->hidden;
    size_t projected =
        has_projection(n) ? (size_t)n->projection * (size_t)n->hidden : 0;

    return rows * (size_t)(input_of(n, layer) + output_of(n)) + projected;
}

static size_t all_matrices_of(const struct network *n)
{
    size_t sum = 0;

    for (int layer = 0; layer < n->layers * n->directions; layer++)
        sum += matrices_of(n, layer);
    return sum;
}

static size_t biases_of(const struct network *n)
{
    return n->has_bias ? 2 * (size_t)gates_of(n) * (size_t)n->hidden : 0;
}

STANDIN_OWN(int, cudnnGetRNNWeightSpaceSize,
            (void *handle, const struct network *n, size_t *out))
{
    size_t layers = (size_t)n->layers * (size_t)n->directions;

    (void)handle;
    *out = (all_matrices_of(n) + layers * biases_of(n)) * type_bytes(n->type);
    return 0;
}

/* The number of values before matrix `number` of the layer, and its shape. */
static size_t matrix_place(const struct network *n, int layer, int number,
                           int *rows, int *columns)
{
    int gates = gates_of(n);
    size_t before = 0;

    *rows = n->hidden;
    for (int i = 0; i < layer; i++)
        before += matrices_of(n, i);
    for (int i = 0; i < number; i++)
        before += (size_t)n->hidden *
                  (size_t)(i < gates ? input_of(n, layer) : output_of(n));
    if (number >= 2 * gates)
        *rows = n->projection;
    *columns = number < gates       ? input_of(n, layer)
               : number < 2 * gates ? output_of(n)
                                    : n->hidden;
    return before;
}

STANDIN_OWN(int, cudnnGetRNNWeightParams,
            (void *handle, const struct network *n, int32_t layer, size_t bytes,
             const void *space, int32_t number, struct tensor *matrix,
             void **matrix_addr, struct tensor *bias, void **bias_addr))
{
    size_t each = type_bytes(n->type);
    int rows = 0;
    int columns = 0;
    size_t before = matrix_place(n, layer, number, &rows, &columns);

    (void)handle;
    (void)bytes;
    tensor_set(matrix, n->type, rows, columns);
    if (matrix_addr != NULL)
        *matrix_addr = (char *)space + before * each;
    if (bias_addr == NULL)
        return 0;
    *bias_addr = NULL;
    if (!n->has_bias || number >= 2 * gates_of(n))
        return 0;
    tensor_set(bias, n->type, n->hidden, 1);
    before = all_matrices_of(n) + (size_t)layer * biases_of(n) +
             (size_t)number * (size_t)n->hidden;
    *bias_addr = (char *)space + before * each;
    return 0;
}

STANDIN_OWN(int, cudnnGetRNNTempSpaceSizes,
            (void *handle, const struct network *n, int mode,
             const struct sequence *s, size_t *workspace, size_t *reserve))
{
    size_t states = (size_t)s->longest * (size_t)s->batch * (size_t)n->hidden *
                    (size_t)n->layers * (size_t)n->directions;

    size_t kept = gates_of(n) == 1 ? 1 : (size_t)gates_of(n) + 2;

    (void)handle;
    if (workspace != NULL)
        *workspace = 0;
    if (reserve != NULL)
        *reserve = mode == 0 ? 0 : states * kept * type_bytes(n->type);
    return 0;
}

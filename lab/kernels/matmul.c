/* matmul.c - matrix products, in blocks.
 *
 * The result is divided into tasks of TASK_ROWS × TASK_COLUMNS, or of fewer
 * rows if there would be too few tasks for all threads.  A task traverses the
 * inner dimension in steps of DEPTH.  In each step it packs its part of b into
 * panels as wide as the kernel, and then, BLOCK_ROWS at a time, its part of a
 * into panels as high as the kernel.  So the kernel reads both sequentially,
 * whatever their strides were, and what it reads repeatedly is in the
 * caches. */
#include "kernels/kernels.h"

#include <stdatomic.h>
#include <string.h>

#include "tensor/host_memory.h"
#include "tensor/wide.h"

enum {
    BLOCK_ROWS = 96, /* a multiple of every kernel's height */
    TASK_ROWS = 192, /* a multiple of BLOCK_ROWS */
    TASK_ROWS_MIN = 48,
    TASK_COLUMNS = 512, /* a multiple of every kernel's width */
    DEPTH = 256,
    TILE_ROWS_MAX = 6,
    TILE_COLUMNS_MAX = 16,
    ALIGN_FLOATS = 16,    /* a cache line */
    TASK_GRAIN = 1 << 20, /* minimum number of products for a thread */
    SMALL_FLOATS = 4096   /* packed operands up to this use the stack */
};

/* ---- tiles: the innermost part --------------------------------------------- */

/* A kernel computes a full tile of a panel of a (depth × rows) and one of b
 * (depth × columns), to `out` with `row` floats between rows; if `adds` it adds
 * to the old values. */
typedef void (*tile_fn)(const float *a, const float *b, int64_t depth,
                        float *out, int64_t row, bool adds);

struct tile_kernel {
    int rows, columns;
    tile_fn fn;
};

/* What to multiply and where to store it; rows and columns may be fewer than
 * the kernel's. */
struct tile {
    const float *a, *b;
    int64_t depth;
    float *out;
    int64_t row, column; /* strides */
    int rows, columns;
    bool adds;
};

/* Vectors of 4 and 8 floats, as gcc and clang support them; their addresses are
 * aligned only to a float. */
typedef float vec4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef float vec8 __attribute__((vector_size(32), aligned(4), may_alias));

/* ROWS × (2 vectors): the sums stay in registers over the whole depth; 6 × 2
 * uses 12 of the 16. */
#define TILE_FN(name, vec, lanes, ROWS, attribute)                             \
    attribute static void name(const float *a, const float *b, int64_t depth,  \
                               float *out, int64_t row, bool adds)             \
    {                                                                          \
        vec sums[ROWS][2];                                                     \
                                                                               \
        for (int i = 0; i < ROWS; i++) {                                       \
            const vec zero = {0};                                              \
                                                                               \
            sums[i][0] = adds ? *(const vec *)(out + i * row) : zero;          \
            sums[i][1] = adds ? *(const vec *)(out + i * row + lanes) : zero;  \
        }                                                                      \
        for (int64_t k = 0; k < depth; k++, a += ROWS, b += 2 * lanes) {       \
            vec left = *(const vec *)b, right = *(const vec *)(b + lanes);     \
                                                                               \
            for (int i = 0; i < ROWS; i++) {                                   \
                sums[i][0] += a[i] * left;                                     \
                sums[i][1] += a[i] * right;                                    \
            }                                                                  \
        }                                                                      \
        for (int i = 0; i < ROWS; i++) {                                       \
            *(vec *)(out + i * row) = sums[i][0];                              \
            *(vec *)(out + i * row + lanes) = sums[i][1];                      \
        }                                                                      \
    }

TILE_FN(tile_6x8, vec4, 4, 6, )

static const struct tile_kernel kernel_any = {6, 8, tile_6x8};

#ifdef LAB__HAS_WIDE

TILE_FN(tile_6x16, vec8, 8, 6, LAB__WIDE)

static const struct tile_kernel kernel_wide = {6, 16, tile_6x16};

static const struct tile_kernel *kernel_best(void)
{
    return lab__is_wide() ? &kernel_wide : &kernel_any;
}

#else

static const struct tile_kernel *kernel_best(void)
{
    return &kernel_any;
}

#endif

/* At the edges, and where columns are not adjacent, the kernel writes to a
 * temporary tile, and the needed part is copied. */
static void tile_multiply(const struct tile_kernel *kernel,
                          const struct tile *t)
{
    float whole[TILE_ROWS_MAX * TILE_COLUMNS_MAX];

    if (t->rows == kernel->rows && t->columns == kernel->columns &&
        t->column == 1) {
        kernel->fn(t->a, t->b, t->depth, t->out, t->row, t->adds);
        return;
    }
    kernel->fn(t->a, t->b, t->depth, whole, kernel->columns, false);
    for (int i = 0; i < t->rows; i++) {
        for (int j = 0; j < t->columns; j++) {
            float *to = t->out + i * t->row + j * t->column;
            float product = whole[i * kernel->columns + j];

            *to = t->adds ? *to + product : product;
        }
    }
}

/* ---- matrices ------------------------------------------------------------ */

struct matrix {
    float *data;
    int64_t row, column; /* strides */
};

struct product {
    const struct tile_kernel *kernel;
    int64_t rows, columns, depth;
    int64_t batches, tasks_down, tasks_across;
    int64_t task_rows;
    const lab_tensor *out, *a, *b;
    int64_t a_floats, b_floats; /* packed operands of a task */
    float *room;                /* for `rooms` simultaneous tasks */
    unsigned rooms;
    atomic_flag *taken; /* which of them are in use */
};

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t rounded_up(int64_t n, int64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

/* ---- packing ------------------------------------------------------------ */

/* Pack `count` lines of the matrix's rows (or, with the strides exchanged,
 * columns), `depth` long, into panels of `width` lines side by side.  The last
 * panel is padded with zeros. */
static void panels_pack(const float *from, int64_t line, int64_t along,
                        int64_t count, int64_t depth, int64_t width, float *to)
{
    for (int64_t i = 0; i < count; i += width, to += width * depth) {
        int64_t n = smaller(width, count - i);
        const float *first = from + i * line;

        if (n < width)
            memset(to, 0, (size_t)(width * depth) * sizeof *to);
        if (line == 1) {
            for (int64_t k = 0; k < depth; k++)
                memcpy(to + k * width, first + k * along,
                       (size_t)n * sizeof *to);
        } else {
            for (int64_t j = 0; j < n; j++) {
                for (int64_t k = 0; k < depth; k++)
                    to[k * width + j] = first[j * line + k * along];
            }
        }
    }
}

/* ---- a task ------------------------------------------------------------- */

/* A part of the result, with its operands. */
struct task {
    struct matrix out, a, b;
    int64_t rows, columns;
    float *a_panels, *b_panels;
};

/* Compute the tiles of a block of rows: full tiles go straight to the
 * result. */
static void block_multiply(const struct tile_kernel *kernel,
                           const struct task *t, int64_t first_row,
                           int64_t rows, int64_t depth, bool adds)
{
    for (int64_t j = 0; j < t->columns; j += kernel->columns) {
        for (int64_t i = 0; i < rows; i += kernel->rows) {
            struct tile tile = {
                .a = t->a_panels + i * depth,
                .b = t->b_panels + j * depth,
                .depth = depth,
                .out = t->out.data + (first_row + i) * t->out.row +
                       j * t->out.column,
                .row = t->out.row,
                .column = t->out.column,
                .rows = (int)smaller(kernel->rows, rows - i),
                .columns = (int)smaller(kernel->columns, t->columns - j),
                .adds = adds,
            };

            tile_multiply(kernel, &tile);
        }
    }
}

static void task_multiply(const struct product *p, const struct task *t)
{
    for (int64_t k = 0; k < p->depth; k += DEPTH) {
        int64_t depth = smaller(DEPTH, p->depth - k);

        panels_pack(t->b.data + k * t->b.row, t->b.column, t->b.row, t->columns,
                    depth, p->kernel->columns, t->b_panels);
        for (int64_t i = 0; i < t->rows; i += BLOCK_ROWS) {
            int64_t rows = smaller(BLOCK_ROWS, t->rows - i);

            panels_pack(t->a.data + i * t->a.row + k * t->a.column, t->a.row,
                        t->a.column, rows, depth, p->kernel->rows, t->a_panels);
            block_multiply(p->kernel, t, i, rows, depth, k > 0);
        }
    }
}

/* ---- tasks -------------------------------------------------------------- */

/* Matrix number n among t's leading dimensions. */
static struct matrix matrix_of(const lab_tensor *t, int64_t n)
{
    struct matrix m = {lab__floats(t), t->strides[t->ndim - 2],
                       t->strides[t->ndim - 1]};

    for (int i = t->ndim - 2; i-- > 0;) {
        m.data += n % t->sizes[i] * t->strides[i];
        n /= t->sizes[i];
    }
    return m;
}

static struct task task_of(const struct product *p, int64_t n)
{
    int64_t across = n % p->tasks_across * TASK_COLUMNS;
    int64_t down = n / p->tasks_across % p->tasks_down * p->task_rows;
    int64_t batch = n / p->tasks_across / p->tasks_down;
    struct task t = {
        .out = matrix_of(p->out, batch),
        .a = matrix_of(p->a, batch),
        .b = matrix_of(p->b, batch),
        .rows = smaller(p->task_rows, p->rows - down),
        .columns = smaller(TASK_COLUMNS, p->columns - across),
    };

    t.out.data += down * t.out.row + across * t.out.column;
    t.a.data += down * t.a.row;
    t.b.data += across * t.b.column;
    return t;
}

/* There is one for each thread, so one is free. */
static unsigned room_take(const struct product *p)
{
    for (unsigned i = 0;; i = (i + 1) % p->rooms) {
        if (!atomic_flag_test_and_set_explicit(&p->taken[i],
                                               memory_order_acquire))
            return i;
    }
}

static void tasks_run(void *context, int64_t begin, int64_t end)
{
    const struct product *p = context;
    unsigned room = room_take(p);
    float *panels = p->room + room * (p->a_floats + p->b_floats);

    for (int64_t i = begin; i < end; i++) {
        struct task t = task_of(p, i);

        t.a_panels = panels;
        t.b_panels = panels + p->a_floats;
        task_multiply(p, &t);
    }
    atomic_flag_clear_explicit(&p->taken[room], memory_order_release);
}

/* ---- the product -------------------------------------------------------- */

static int64_t parts(int64_t n, int64_t part)
{
    return (n + part - 1) / part;
}

/* Rows of a task: few enough for every thread to get some, and equal for all
 * tasks. */
static void task_rows_choose(struct product *p, int64_t threads)
{
    int64_t others = p->batches * p->tasks_across, most = TASK_ROWS;

    while (most > TASK_ROWS_MIN && parts(p->rows, most) * others < 2 * threads)
        most /= 2;
    p->tasks_down = parts(p->rows, most);
    p->task_rows = rounded_up(parts(p->rows, p->tasks_down), p->kernel->rows);
    p->tasks_down = parts(p->rows, p->task_rows);
}

static void product_plan(struct product *p)
{
    int ndim = p->out->ndim;
    int64_t depth;

    p->kernel = kernel_best();
    p->rows = p->out->sizes[ndim - 2];
    p->columns = p->out->sizes[ndim - 1];
    p->depth = p->a->sizes[ndim - 1];
    p->batches = lab__count(ndim - 2, p->out->sizes);
    p->tasks_across = parts(p->columns, TASK_COLUMNS);
    task_rows_choose(p, lab__threads(p->out->storage->session));
    depth = smaller(DEPTH, p->depth);
    p->a_floats =
        depth * rounded_up(smaller(BLOCK_ROWS, p->task_rows), p->kernel->rows);
    p->b_floats = depth * rounded_up(smaller(TASK_COLUMNS, p->columns),
                                     p->kernel->columns);
    p->a_floats = rounded_up(p->a_floats, ALIGN_FLOATS);
    p->b_floats = rounded_up(p->b_floats, ALIGN_FLOATS);
}

/* How many tasks together are worth a thread. */
static int64_t product_grain(const struct product *p)
{
    return lab__grain(TASK_GRAIN, p->task_rows *
                                      smaller(TASK_COLUMNS, p->columns) *
                                      p->depth);
}

/* The C library caches the memory of one product for the next. */
static larder_result product_run(struct product *p)
{
    lab *l = p->out->storage->session;
    int64_t tasks = p->batches * p->tasks_down * p->tasks_across;
    size_t floats = (size_t)(p->a_floats + p->b_floats);
    size_t bytes, misfit;
    char *room;

    p->rooms = (unsigned)smaller(lab__threads(l), tasks);
    bytes = p->rooms * (floats * sizeof(float) + sizeof *p->taken) +
            ALIGN_FLOATS * sizeof(float);
    room = lab__host_alloc(bytes);
    if (room == NULL)
        return lab__fail_host(bytes);
    misfit = (uintptr_t)room % (ALIGN_FLOATS * sizeof(float));
    p->room = (float *)(void *)(room + ALIGN_FLOATS * sizeof(float) - misfit);
    p->taken = (atomic_flag *)(void *)(p->room + floats * p->rooms);
    for (unsigned i = 0; i < p->rooms; i++)
        atomic_flag_clear(&p->taken[i]);
    lab__parallel(l, tasks, product_grain(p), tasks_run, p);
    lab__host_free(room);
    return LARDER_OK;
}

static bool product_is_small(const struct product *p)
{
    return p->a_floats + p->b_floats <= SMALL_FLOATS &&
           p->batches < 2 * product_grain(p);
}

/* Small products need no memory and no other thread. */
static void product_run_small(struct product *p)
{
    _Alignas(64) float room[SMALL_FLOATS];
    atomic_flag taken = ATOMIC_FLAG_INIT;

    p->room = room;
    p->rooms = 1;
    p->taken = &taken;
    tasks_run(p, 0, p->batches * p->tasks_down * p->tasks_across);
    p->room = NULL;
    p->taken = NULL;
}

larder_result lab__matmul(lab_tensor *out, const lab_tensor *a,
                          const lab_tensor *b)
{
    struct product p = {.out = out, .a = a, .b = b};

    if (!LAB__READABLE(out, a, b) || lab_numel(out) == 0)
        return LARDER_OK;
    product_plan(&p);
    if (p.depth == 0)
        return lab__fill(out, 0);
    if (!product_is_small(&p))
        return product_run(&p);
    product_run_small(&p);
    return LARDER_OK;
}

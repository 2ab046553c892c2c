/* matmul_tile.c - the innermost part of a product, for matmul.c only. */
#include "kernels/matmul_tile.h"

#include "tensor/wide.h"

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

static const struct lab__tile_kernel kernel_any = {6, 8, tile_6x8};

#ifdef LAB__HAS_WIDE

TILE_FN(tile_6x16, vec8, 8, 6, LAB__WIDE)

static const struct lab__tile_kernel kernel_wide = {6, 16, tile_6x16};

const struct lab__tile_kernel *lab__tile_kernel_best(void)
{
    return lab__is_wide() ? &kernel_wide : &kernel_any;
}

#else

const struct lab__tile_kernel *lab__tile_kernel_best(void)
{
    return &kernel_any;
}

#endif

/* At the edges, and where columns are not adjacent, the kernel writes to a
 * temporary tile, and the needed part is copied. */
void lab__tile_multiply(const struct lab__tile_kernel *kernel,
                        const struct lab__tile *t)
{
    float whole[LAB__TILE_ROWS_MAX * LAB__TILE_COLUMNS_MAX];

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

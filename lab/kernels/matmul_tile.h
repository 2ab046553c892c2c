/* matmul_tile.h - the innermost part of a product, for matmul.c only. */
#ifndef LARDER_LAB_KERNELS_MATMUL_TILE_H
#define LARDER_LAB_KERNELS_MATMUL_TILE_H

#include <stdbool.h>
#include <stdint.h>

#define LAB__TILE_ROWS_MAX 6
#define LAB__TILE_COLUMNS_MAX 16

/* A kernel computes a full tile of a panel of a (depth × rows) and one of b
 * (depth × columns), to `out` with `row` floats between rows; if `adds` it adds
 * to the old values. */
typedef void (*lab__tile_fn)(const float *a, const float *b, int64_t depth,
                             float *out, int64_t row, bool adds);

struct lab__tile_kernel {
    int rows, columns;
    lab__tile_fn fn;
};

const struct lab__tile_kernel *lab__tile_kernel_best(void);

/* What to multiply and where to store it; rows and columns may be fewer than
 * the kernel's. */
struct lab__tile {
    const float *a, *b;
    int64_t depth;
    float *out;
    int64_t row, column; /* strides */
    int rows, columns;
    bool adds;
};

void lab__tile_multiply(const struct lab__tile_kernel *kernel,
                        const struct lab__tile *tile);

#endif

/* cublaslt_heuristic.c - the version of cuBLASLt, and its only algorithm, which
 * needs no workspace. */
#include "standin.h"

/* cublasLtMatmulHeuristicResult_t */
struct heuristic {
    uint64_t algorithm[8];
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
};

STANDIN_OWN(size_t, cublasLtGetVersion, (void))
{
    return STANDIN_MAJOR * 10000;
}

STANDIN_OWN(size_t, cublasLtGetCudartVersion, (void))
{
    return STANDIN_MAJOR * 1000;
}

STANDIN_OWN(int, cublasLtMatmulAlgoGetHeuristic,
            (void *handle, void *operation, void *a, void *b, void *c, void *d,
             void *preference, int room, struct heuristic *out, int *count))
{
    (void)handle;
    (void)operation;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    (void)preference;
    *count = room > 0;
    if (room > 0)
        memset(out, 0, sizeof *out);
    return 0;
}

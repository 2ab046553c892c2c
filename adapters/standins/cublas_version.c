/* cublas_version.c - the version of cuBLAS, in its own numbering. */
#include "standin.h"

STANDIN_OWN(int, cublasGetVersion_v2, (void *handle, int *out))
{
    (void)handle;
    *out = STANDIN_MAJOR * 10000 + STANDIN_MINOR * 100;
    return 0;
}

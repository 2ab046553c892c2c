/* cublas_version.c - which cuBLAS it is. */
#include "standin.h"

/* libraryPropertyType: major, minor, patch */
STANDIN_OWN(int, cublasGetProperty, (int which, int *out))
{
    *out = which == 0 ? STANDIN_MAJOR : 0;
    return 0;
}

STANDIN_OWN(int, cublasGetVersion_v2, (void *handle, int *out))
{
    (void)handle;
    *out = STANDIN_MAJOR * 10000;
    return 0;
}

/* cudnn_version.c - the version of cuDNN: the newest one tested, because
 * programs reject one older than they were built for. */
#include "standin.h"

enum { CUDNN_MAJOR = 9, CUDNN_MINOR = 26 };

STANDIN_OWN(size_t, cudnnGetVersion, (void))
{
    return CUDNN_MAJOR * 10000 + CUDNN_MINOR * 100;
}

STANDIN_OWN(size_t, cudnnGetCudartVersion, (void))
{
    return 13000;
}

/* libraryPropertyType: major, minor, patch */
STANDIN_OWN(int, cudnnGetProperty, (int which, int *out))
{
    *out = which == 0 ? CUDNN_MAJOR : which == 1 ? CUDNN_MINOR : 0;
    return 0;
}

STANDIN_OWN(void, cudnnGetLastErrorString, (char *out, size_t room))
{
    if (room > 0)
        *out = '\0';
}

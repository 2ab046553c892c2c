/* nvjitlink_program.c - linking at run time: the result is a few bytes that the
 * simulated driver accepts. */
#include "standin.h"

static const char code[] = "not linked";

STANDIN_VERSION(nvJitLinkVersion, unsigned)

STANDIN_OWN(int, nvJitLinkCreate, (void **handle))
{
    standin_handle((uintptr_t)handle);
    return 0;
}

STANDIN_DESTROY(nvJitLinkDestroy)
STANDIN_RESULT(nvJitLinkGetLinkedCubinSize, nvJitLinkGetLinkedCubin, code)
STANDIN_RESULT(nvJitLinkGetLinkedPtxSize, nvJitLinkGetLinkedPtx, code)
STANDIN_RESULT(nvJitLinkGetErrorLogSize, nvJitLinkGetErrorLog, "")
STANDIN_RESULT(nvJitLinkGetInfoLogSize, nvJitLinkGetInfoLog, "")

/* nvrtc_program.c - run-time compilation: the result is a few bytes that the
 * simulated driver accepts. */
#include "standin.h"

static const char code[] = "not compiled";

STANDIN_VERSION(nvrtcVersion, int)

/* Compute capabilities that this version compiles for. */
static const int known[] = {75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121};

STANDIN_OWN(int, nvrtcGetNumSupportedArchs, (int *out))
{
    *out = sizeof known / sizeof known[0];
    return 0;
}

STANDIN_OWN(int, nvrtcGetSupportedArchs, (int *out))
{
    memcpy(out, known, sizeof known);
    return 0;
}

STANDIN_OWN(int, nvrtcGetLoweredName,
            (void *program, const char *expression, const char **out))
{
    (void)program;
    *out = expression;
    return 0;
}

STANDIN_RESULT(nvrtcGetPTXSize, nvrtcGetPTX, code)
STANDIN_RESULT(nvrtcGetCUBINSize, nvrtcGetCUBIN, code)
STANDIN_RESULT(nvrtcGetLTOIRSize, nvrtcGetLTOIR, code)
STANDIN_RESULT(nvrtcGetProgramLogSize, nvrtcGetProgramLog, "")

/* The handle that nvrtcCreateProgram(), from the list, created. */
STANDIN_DESTROY(nvrtcDestroyProgram)

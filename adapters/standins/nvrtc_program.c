/* nvrtc_program.c - run-time compilation: the result is a few bytes that the
 * simulated driver accepts. */
#include "standin.h"

static const char code[] = "compiled by nobody";

STANDIN_OWN(int, nvrtcVersion, (int *major, int *minor))
{
    *major = STANDIN_MAJOR;
    *minor = STANDIN_MAJOR == 12 ? 9 : 0;
    return 0;
}

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

/* The size and the bytes of one kind of result. */
#define RESULT(size_name, name, bytes)                                         \
    STANDIN_OWN(int, size_name, (void *program, size_t *out))                  \
    {                                                                          \
        (void)program;                                                         \
        *out = sizeof(bytes);                                                  \
        return 0;                                                              \
    }                                                                          \
    STANDIN_OWN(int, name, (void *program, char *out))                         \
    {                                                                          \
        (void)program;                                                         \
        memcpy(out, bytes, sizeof(bytes));                                     \
        return 0;                                                              \
    }

RESULT(nvrtcGetPTXSize, nvrtcGetPTX, code)
RESULT(nvrtcGetCUBINSize, nvrtcGetCUBIN, code)
RESULT(nvrtcGetLTOIRSize, nvrtcGetLTOIR, code)
RESULT(nvrtcGetProgramLogSize, nvrtcGetProgramLog, "")

/* The handle that nvrtcCreateProgram(), from the list, created. */
STANDIN_OWN(int, nvrtcDestroyProgram, (void **program))
{
    free(*program);
    *program = NULL;
    return 0;
}

/* fake_symbols.c - error texts, calls by name, and calls that are missing. */
#include "driver/fake_state.h"

#include <string.h>

/* ---- errors ------------------------------------------------------------- */

static const struct {
    int answer;
    const char *name;
} names[] = {
#define X(ours, value, theirs) {value, #theirs},
    CUD_CONSTANT_MAP(X)
#undef X
};

/* The list also has other constants, after the errors. */
static const char *error_find(cud_result answer)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i].answer == answer &&
            strncmp(names[i].name, "CUDA_", 5) == 0)
            return names[i].name;
    }
    return NULL;
}

cud_result cuGetErrorName(cud_result answer, const char **out)
{
    *out = error_find(answer);
    return *out == NULL ? CUD_INVALID_VALUE : CUD_SUCCESS;
}

cud_result cuGetErrorString(cud_result answer, const char **out)
{
    *out = NULL;
    if (error_find(answer) == NULL)
        return CUD_INVALID_VALUE;
    switch (answer) {
    case CUD_SUCCESS:
        *out = "no error";
        break;
    case CUD_OUT_OF_MEMORY:
        *out = "out of memory";
        break;
    case CUD_INVALID_VALUE:
        *out = "invalid argument";
        break;
    case CUD_NOT_READY:
        *out = "not ready";
        break;
    case CUD_CAPTURE_UNSUPPORTED:
        *out = "operation not permitted when stream is capturing";
        break;
    default:
        *out = "refused by the simulated driver";
        break;
    }
    return CUD_SUCCESS;
}

/* ---- by name ------------------------------------------------------------ */

static const struct {
    const char *symbol;
    void (*call)(void);
} entries[] = {
#define X(symbol, arguments) {#symbol, (void (*)(void))symbol},
    FAKE_ENTRY_MAP(X)
#undef X
#define X(need, name, cuda, hip, arguments) {#cuda, (void (*)(void))cuda},
        CUD_CALL_MAP(X)
#undef X
};

/* A name without a version means the latest; a per-thread or legacy stream
 * variant means the call itself. */
static bool is_named(const char *symbol, const char *name)
{
    size_t length = strlen(name);
    const char *rest;

    if (length > 5 && (strcmp(name + length - 5, "_ptsz") == 0 ||
                       strcmp(name + length - 5, "_ptds") == 0))
        length -= 5;
    if (strncmp(symbol, name, length) != 0)
        return false;
    rest = symbol + length;
    return *rest == '\0' || (rest[0] == '_' && rest[1] == 'v');
}

/* Names that mean a variant with other arguments to programs of older
 * releases. */
static const struct {
    const char *name;
    int before;
    const char *symbol;
} older[] = {
    {"cuGetProcAddress", 12000, "cuGetProcAddress"},
    {"cuMemAdvise", 12020, "cuMemAdvise"},
    {"cuMemPrefetchAsync", 12020, "cuMemPrefetchAsync"},
    {"cuStreamGetCaptureInfo", 11030, "cuStreamGetCaptureInfo"},
    {"cuStreamGetCaptureInfo", 12030, "cuStreamGetCaptureInfo_v2"},
};

static const char *variant_of(const char *name, int release)
{
    for (size_t i = 0; i < sizeof older / sizeof older[0]; i++) {
        if (release < older[i].before && is_named(older[i].name, name))
            return older[i].symbol;
    }
    return NULL;
}

static cud_result find(const char *name, int release, void **out)
{
    const char *variant = variant_of(name, release);

    *out = NULL;
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        if (variant != NULL ? strcmp(entries[i].symbol, variant) == 0
                            : is_named(entries[i].symbol, name)) {
            memcpy(out, &entries[i].call, sizeof *out);
            return CUD_SUCCESS;
        }
    }
    return CUD_NOT_FOUND;
}

cud_result cuGetProcAddress_v2(const char *name, void **out, int version,
                               unsigned long long flags, int *status)
{
    cud_result answer = CUD_INVALID_VALUE;

    (void)flags;
    if (name != NULL && out != NULL)
        answer = find(version >= FAKE_TOMORROW ? "cuOfTomorrow" : name, version,
                      out);
    if (status != NULL)
        *status = answer != CUD_SUCCESS;
    /* As in the driver, the status reports it, if there is one. */
    return answer == CUD_NOT_FOUND && status != NULL ? CUD_SUCCESS : answer;
}

cud_result cuGetProcAddress(const char *name, void **out, int version,
                            unsigned long long flags)
{
    return cuGetProcAddress_v2(name, out, version, flags, NULL);
}

/* Sums its arguments, each with a different weight. */
cud_result cuOfTomorrow(uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                        uint64_t e, uint64_t f, uint64_t g, double x,
                        uint64_t *out)
{
    *out =
        a + 2 * b + 3 * c + 5 * d + 7 * e + 11 * f + 13 * g + 17 * (uint64_t)x;
    return CUD_SUCCESS;
}

/* ---- what is not simulated ---------------------------------------------- */

cud_result cuMulticastCreate(void *out, const void *properties)
{
    (void)out;
    (void)properties;
    return CUD_NOT_SUPPORTED;
}

cud_result cuMulticastAddDevice(unsigned long long handle, cud_device device)
{
    (void)handle;
    (void)device;
    return CUD_NOT_SUPPORTED;
}

cud_result cuMulticastBindMem(unsigned long long handle, size_t offset,
                              unsigned long long page, size_t page_offset,
                              size_t bytes, unsigned long long flags)
{
    (void)handle;
    (void)offset;
    (void)page;
    (void)page_offset;
    (void)bytes;
    (void)flags;
    return CUD_NOT_SUPPORTED;
}

cud_result cuMulticastUnbind(unsigned long long handle, cud_device device,
                             size_t offset, size_t bytes)
{
    (void)handle;
    (void)device;
    (void)offset;
    (void)bytes;
    return CUD_NOT_SUPPORTED;
}

cud_result cuStreamWriteValue32(cud_stream stream, cud_addr addr,
                                unsigned value, unsigned flags)
{
    (void)stream;
    (void)addr;
    (void)value;
    (void)flags;
    return CUD_NOT_SUPPORTED;
}

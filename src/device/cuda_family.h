/* cuda_family.h - the two drivers that one code serves: where each is, and
 * what it calls things.  Private to the device layer. */
#ifndef LARDER_DEVICE_CUDA_FAMILY_H
#define LARDER_DEVICE_CUDA_FAMILY_H

#include <larder/larder.h>

#include "device/cuda_driver.h"

enum cuda_attribute {
#define X(name, cuda, hip, theirs) CUDA_ATTRIBUTE_##name,
    CUD_ATTRIBUTE_MAP(X)
#undef X
        CUDA_ATTRIBUTE_COUNT
};

enum {
#define X(need, name, cuda, hip, arguments) +1
    CUDA_CALL_COUNT = 0 CUD_CALL_MAP(X)
#undef X
};

struct cuda_family {
    const char *name;             /* "cuda": of the spec and of the device */
    const char *const *libraries; /* ended by NULL */
    const char *const *symbols;   /* in the order of the list of calls */
    int attributes[CUDA_ATTRIBUTE_COUNT]; /* -1: there is no such */
};

extern const struct cuda_family larder__cuda_family;
extern const struct cuda_family larder__hip_family;

/* Load the driver and find its calls.  What was loaded stays: drivers do not
 * like to be taken out of a process.  ERR_UNSUPPORTED says what could not be
 * loaded, or which call it lacks. */
larder_result larder__cuda_load(const struct cuda_family *family,
                                struct cud_calls *out);

#endif

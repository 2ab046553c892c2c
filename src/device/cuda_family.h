/* cuda_family.h - the two drivers served by the same code: their libraries and
 * the names of their calls.  Private to the device layer. */
#pragma once

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

enum { CUDA_FAMILIES = 2, CUDA_LIBRARIES_MAX = 5 };

struct cuda_family {
    const char *name; /* "cuda": of the spec and of the device */
    const char *libraries[CUDA_LIBRARIES_MAX]; /* ended by NULL */
    int column; /* in the lists of cuda_driver.h, from CUDA's on */
};

extern const struct cuda_family larder__cuda_family;
extern const struct cuda_family larder__hip_family;

/* Its driver's number; -1: it has no such attribute. */
int larder__cuda_attribute(const struct cuda_family *family,
                           enum cuda_attribute which);

/* Load the driver and find its calls.  The library is never unloaded: drivers
 * do not support that.  ERR_UNSUPPORTED says what could not be loaded, or which
 * call is missing. */
larder_result larder__cuda_load(const struct cuda_family *family,
                                struct cud_calls *out);

/* fake_attributes.c - device attributes, by number. */
#include "driver/fake_state.h"

#include <stdio.h>

int fake_capability = 800;

bool fake_capability_read(const char *text)
{
    int major;
    int minor;
    char rest;

    if (sscanf(text, "%2d.%2d%c", &major, &minor, &rest) != 2 || major < 1 ||
        minor < 0)
        return false;
    fake_capability = 100 * major + minor;
    return true;
}

/* The tables of the CUDA programming guide; the entry for the highest
 * capability at or below the device's applies. */
static const struct {
    int capability;
    int threads;
    int shared_kib;
} processors[] = {
    {100, 2048, 48},   {700, 2048, 96},  {705, 1024, 64}, {800, 2048, 163},
    {806, 1536, 99},   {807, 1536, 163}, {809, 1536, 99}, {900, 2048, 227},
    {1000, 2048, 227}, {1200, 1536, 99},
};

static size_t processor_of_capability(void)
{
    size_t i = sizeof processors / sizeof processors[0] - 1;

    while (i > 0 && processors[i].capability > fake_capability)
        i--;
    return i;
}

int fake_threads(void)
{
    return processors[processor_of_capability()].threads;
}

int fake_shared_bytes(void)
{
    return processors[processor_of_capability()].shared_kib << 10;
}

int fake_processors(const struct fake_device *d)
{
    return d->sim->spec.card != NULL ? d->sim->spec.card->processors : 108;
}

#ifdef FAKE_IS_HIP

enum {
#define X(name, cuda, hip, theirs) ATTRIBUTE_##name = (hip),
    CUD_ATTRIBUTE_MAP(X)
#undef X
};

static int fixed_attribute(int which)
{
    (void)which;
    return 0;
}

#else

enum {
#define X(name, cuda, hip, theirs) ATTRIBUTE_##name = (cuda),
    CUD_ATTRIBUTE_MAP(X)
#undef X
};

/* Attributes that are the same for every simulated GPU, whatever its compute
 * capability: those of a large GPU of capability 8.0.  The runtime uses the
 * same numbers. */
static const struct {
    int which;
    int value;
} fixed[] = {
    {1, 1024}, /* threads per block */
    {2, 1024}, /* and per dimension */
    {3, 1024},
    {4, 64},
    {5, 2147483647}, /* dimensions of a grid */
    {6, 65535},
    {7, 65535},
    {8, 48 << 10},    /* shared memory per block */
    {9, 64 << 10},    /* constant memory */
    {10, 32},         /* threads per warp */
    {11, 2147483647}, /* maximum pitch, bytes */
    {12, 65536},      /* registers per block */
    {13, 1410000},    /* clock, kHz */
    {14, 512},        /* alignment of textures */
    {15, 1},          /* copies concurrent with kernels */
    {19, 1},          /* host memory can be mapped */
    {30, 512},        /* alignment of surfaces */
    {31, 1},          /* concurrent kernels */
    {36, 1215000},    /* memory clock, kHz */
    {37, 5120},       /* memory bus width */
    {38, 40 << 20},   /* second-level cache */
    {40, 3},          /* copy engines */
    {41, 1},          /* unified addressing */
    {51, 32},         /* alignment of texture pitches */
    {78, 1},          /* priorities of streams */
    {79, 1},          /* first-level caches */
    {80, 1},
    {82, 65536}, /* registers per multiprocessor */
    {90, 1},     /* preemption */
    {91, 1},     /* registered memory under its own address */
    {95, 1},     /* cooperative launches */
    {99, 1},     /* host memory can be registered */
    {106, FAKE_BLOCKS},
    {111, 1 << 10}, /* shared memory reserved per block */
    {115, 1},       /* pools */
};

static int fixed_attribute(int which)
{
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
        if (fixed[i].which == which)
            return fixed[i].value;
    }
    return 0;
}

#endif

enum {
    ATTRIBUTE_PROCESSORS = 16,
    ATTRIBUTE_BUS = 33,
    ATTRIBUTE_THREADS = 39,
    ATTRIBUTE_MAJOR = 75,
    ATTRIBUTE_MINOR = 76,
    ATTRIBUTE_SHARED_OF_PROCESSOR = 81,
    ATTRIBUTE_MANAGED = 83,
    ATTRIBUTE_SHARED_OF_BLOCK = 97
};

static int attribute_of(const struct fake_device *d, int which)
{
    switch (which) {
    case ATTRIBUTE_integrated:
        return fake_trait_integrated;
    case ATTRIBUTE_virtual_memory:
        return d->sim->spec.has_vmm;
#ifndef FAKE_IS_HIP
    case ATTRIBUTE_export_fd:
        return 1;
    case ATTRIBUTE_export_fabric:
        return fake_trait_fabric;
    case ATTRIBUTE_PROCESSORS:
        return fake_processors(d);
    case ATTRIBUTE_BUS:
        return fake_number(d) + 1;
    case ATTRIBUTE_MAJOR:
        return fake_capability / 100;
    case ATTRIBUTE_MINOR:
        return fake_capability % 100;
    case ATTRIBUTE_MANAGED:
        return d->sim->backing.is_real;
    case ATTRIBUTE_THREADS:
        return fake_threads();
    case ATTRIBUTE_SHARED_OF_PROCESSOR:
        return fake_shared_bytes() + (1 << 10);
    case ATTRIBUTE_SHARED_OF_BLOCK:
        return fake_shared_bytes();
#endif
    default:
        return fixed_attribute(which);
    }
}

cud_result cuDeviceGetAttribute(int *out, cud_attribute which,
                                cud_device device)
{
    struct fake_device *d;
    cud_result answer = fake_begin_device(__func__, device, &d);

    if (answer != CUD_SUCCESS)
        return answer;
    *out = attribute_of(d, which);
    return fake_end(CUD_SUCCESS);
}

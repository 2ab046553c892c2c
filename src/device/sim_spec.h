/* sim_spec.h - "sim:80GiB,vmm=off": what kind of GPU is wanted.  Private to
 * the simulated GPU. */
#ifndef LARDER_DEVICE_SIM_SPEC_H
#define LARDER_DEVICE_SIM_SPEC_H

#include <stdbool.h>

#include <larder/device.h>

enum {
    SIM_COUNT_MAX = 64,
    SIM_SHARED_MAX = 64, /* longest name, without the NUL */
    SIM_PATH_MAX = 4095
};

struct sim_spec {
    uint64_t capacity_bytes;
    uint64_t context_bytes;
    bool is_real; /* addresses are memory */
    bool has_vmm;
    bool is_manual;                 /* work waits to be told, */
    bool frees_wait;                /* or for what a driver waits in */
    larder_handle_kind export_kind; /* of the pages it makes */
    int count;
    char shared[SIM_SHARED_MAX + 1]; /* "": alone */
    char costs[SIM_PATH_MAX + 1];    /* "": the bundled table */
};

/* ERR_INVALID names the part that is wrong and what is accepted. */
larder_result larder__sim_spec_parse(const char *text, struct sim_spec *out);

#endif

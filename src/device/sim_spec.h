/* sim_spec.h - parses "sim:80GiB,vmm=off": the kind of GPU to simulate.
 * Private to the simulated GPU. */
#pragma once

#include <stdbool.h>

#include <larder/device.h>

enum {
    SIM_COUNT_MAX = 64,
    SIM_SHARED_MAX = 64, /* maximum length of a name, without the NUL */
    SIM_PATH_MAX = 4095
};

struct sim_card;

struct sim_spec {
    const struct sim_card *card; /* NULL: given by its size */
    uint64_t capacity_bytes;
    uint64_t context_bytes;
    bool is_real;        /* addresses have memory behind them, */
    uint64_t most_bytes; /* which copies and fills of more leave alone */
    bool has_vmm;
    bool is_manual;                 /* work completes only when told to, */
    bool frees_wait;                /* or by calls that wait in a driver */
    larder_handle_kind export_kind; /* of pages that it creates */
    int count;
    char shared[SIM_SHARED_MAX + 1]; /* "": not shared */
    char costs[SIM_PATH_MAX + 1];    /* "": the bundled table */
};

/* ERR_INVALID names the wrong part and what is accepted. */
larder_result larder__sim_spec_parse(const char *text, struct sim_spec *out);

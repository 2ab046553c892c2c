/* nvml_device.h - the simulated GPUs as NVML's callers see them. */
#pragma once

#include <stdbool.h>

#include <larder/device.h>
#include <larder/sim.h>

#include "nvml_types.h"

enum { NVML_DEVICES = 64 };

/* What nvmlDevice_t points to. */
struct nvml_device {
    larder_device *own; /* of the same spec; NULL: no device of this number */
    larder_device_props props;
    int capability; /* 100 times the major number plus the minor one */
};

/* Open the devices of LARDER_FAKECUDA; counted, as nvmlInit() is.  Otherwise an
 * nvmlReturn_t. */
int nvml_open(void);
int nvml_close(void);

/* NVML_SUCCESS, or what is wrong: not open, or there is no such device. */
int nvml_check(const struct nvml_device *d);
unsigned nvml_count(void);
struct nvml_device *nvml_get(unsigned index);
unsigned nvml_index(const struct nvml_device *d);

/* The device whose memory counts: that of the driver in this process if it was
 * opened there, whose memory may be nobody else's to see, or our own. */
larder_device *nvml_counted(const struct nvml_device *d);

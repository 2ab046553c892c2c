/* open.h - opens a device of each kind.  Private to the device layer. */
#pragma once

#include <larder/device.h>

#include "device/cuda_family.h"

/* Remove the calls of virtual memory from a table, and those on its pages. */
void larder__device_without_vmm(larder_device_ops *ops);

/* `spec` begins with "sim:". */
larder_result larder__sim_open(const char *spec, int ordinal,
                               larder_device **out);

/* `spec` begins with the family's name and a colon. */
larder_result larder__cuda_open(const struct cuda_family *family,
                                const char *spec, int ordinal,
                                larder_device **out);

/* top_nvml.h - what NVIDIA's management library knows of GPUs and processes. */
#ifndef LARDER_CLI_TOP_NVML_H
#define LARDER_CLI_TOP_NVML_H

#include "top_data.h"

/* Add to `data` what it says: GPUs without a ledger, processes that keep none,
 * and how much of each GPU is in use.  Why there is nothing, or NULL. */
const char *top_nvml_add(struct top_data *data);

#endif

/* top_nvml.h - GPUs and processes known to NVIDIA's management library. */
#ifndef LARDER_CLI_TOP_NVML_H
#define LARDER_CLI_TOP_NVML_H

#include "top_data.h"

/* Add to `data`: GPUs without a ledger, processes without one, and how much of
 * each GPU is in use.  Returns why there is no NVML, or NULL. */
const char *top_nvml_add(struct top_data *data);

#endif

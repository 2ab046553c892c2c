/* sim_open.h - opens a simulated GPU.  Private to the device layer. */
#ifndef LARDER_DEVICE_SIM_OPEN_H
#define LARDER_DEVICE_SIM_OPEN_H

#include <larder/larder.h>

/* `spec` begins with "sim:". */
larder_result larder__sim_open(const char *spec, int ordinal,
                               larder_device **out);

#endif

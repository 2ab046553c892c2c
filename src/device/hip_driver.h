/* hip_driver.h - where HIP's driver is, as CUDA's list of calls and attributes
 * has its names and numbers.  Private to the device layer.
 *
 * HIP's handles, addresses and enumerations travel as CUDA's do: pointers or
 * 64-bit numbers in the same registers, results with the same values.  Not
 * tried on hardware. */
#ifndef LARDER_DEVICE_HIP_DRIVER_H
#define LARDER_DEVICE_HIP_DRIVER_H

/* The first that can be loaded. */
#define HIP_LIBRARY_MAP(X)                                                     \
    X("libamdhip64.so.7")                                                      \
    X("libamdhip64.so.6")                                                      \
    X("libamdhip64.so.5")                                                      \
    X("libamdhip64.so")

#endif

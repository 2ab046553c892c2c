/* hip_driver.h - HIP's driver libraries; CUDA's list of calls and attributes
 * has HIP's names and numbers too.  Private to the device layer.
 *
 * HIP's handles, addresses and enumerations are passed like CUDA's: pointers or
 * 64-bit numbers in the same registers, results with the same values.  Not
 * tested on hardware. */
#ifndef LARDER_DEVICE_HIP_DRIVER_H
#define LARDER_DEVICE_HIP_DRIVER_H

/* The first one that can be loaded is used. */
#define HIP_LIBRARY_MAP(X)                                                     \
    X("libamdhip64.so.7")                                                      \
    X("libamdhip64.so.6")                                                      \
    X("libamdhip64.so.5")                                                      \
    X("libamdhip64.so")

#endif

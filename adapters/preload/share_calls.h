/* share_calls.h - the driver's calls that let others use memory: after them
 * memory in use no longer moves (work.c). */
#pragma once

#include <stdint.h>

#include "work_calls.h"

/* What a program presents to an EGL stream: CUeglFrame's layout. */
struct preload_frame {
    void *planes[3];
    unsigned words[9];
};

#define SHARE_VDPAU(X, symbol, since)                                          \
    X(symbol, "cuVDPAUCtxCreate", since, false,                                \
      (cud_context *, unsigned, cud_device, unsigned, void *),                 \
      (cud_context * out, unsigned flags, cud_device device, unsigned display, \
       void *lookup),                                                          \
      (out, flags, device, display, lookup))

/* As in work_calls.h. */
/* Calls after which memory may be accessed past the hooks: by others without the
 * driver (the network, say), or by work that is not waited for (in another
 * context than a device's primary one).  Then memory in use must never move. */
#define PRELOAD_SHARE_MAP(X)                                                   \
    X(cuCtxCreate, "cuCtxCreate", 2000, false,                                 \
      (cud_context *, unsigned, cud_device),                                   \
      (cud_context * out, unsigned flags, cud_device device),                  \
      (out, flags, device))                                                    \
    X(cuCtxCreate_v2, "cuCtxCreate", 3020, false,                              \
      (cud_context *, unsigned, cud_device),                                   \
      (cud_context * out, unsigned flags, cud_device device),                  \
      (out, flags, device))                                                    \
    X(cuCtxCreate_v3, "cuCtxCreate", 11040, false,                             \
      (cud_context *, void *, int, unsigned, cud_device),                      \
      (cud_context * out, void *affinities, int count, unsigned flags,         \
       cud_device device),                                                     \
      (out, affinities, count, flags, device))                                 \
    X(cuCtxCreate_v4, "cuCtxCreate", 12050, false,                             \
      (cud_context *, void *, unsigned, cud_device),                           \
      (cud_context * out, void *params, unsigned flags, cud_device device),    \
      (out, params, flags, device))                                            \
    X(cuGreenCtxCreate, "cuGreenCtxCreate", 12040, false,                      \
      (void **, void *, cud_device, unsigned),                                 \
      (void **out, void *resources, cud_device device, unsigned flags),        \
      (out, resources, device, flags))                                         \
    X(cuGLCtxCreate, "cuGLCtxCreate", 2000, false,                             \
      (cud_context *, unsigned, cud_device),                                   \
      (cud_context * out, unsigned flags, cud_device device),                  \
      (out, flags, device))                                                    \
    X(cuGLCtxCreate_v2, "cuGLCtxCreate", 3020, false,                          \
      (cud_context *, unsigned, cud_device),                                   \
      (cud_context * out, unsigned flags, cud_device device),                  \
      (out, flags, device))                                                    \
    SHARE_VDPAU(X, cuVDPAUCtxCreate, 3010)                                     \
    SHARE_VDPAU(X, cuVDPAUCtxCreate_v2, 3020)                                  \
    PRELOAD_WORK_A(X, cuStreamBeginCaptureToCig, "cuStreamBeginCaptureToCig",  \
                   13010, (cud_stream, void *),                                \
                   (cud_stream stream, void *params), (stream, params))        \
    X(cuEGLStreamProducerPresentFrame, "cuEGLStreamProducerPresentFrame",      \
      7000, false, (void *, struct preload_frame, cud_stream *),               \
      (void *connection, struct preload_frame frame, cud_stream *stream),      \
      (connection, frame, stream))                                             \
    X(cuPointerSetAttribute, "cuPointerSetAttribute", 6000, false,             \
      (const void *, int, cud_addr),                                           \
      (const void *value, int which, cud_addr at), (value, which, at))         \
    X(cuMemGetHandleForAddressRange, "cuMemGetHandleForAddressRange", 11070,   \
      false, (void *, cud_addr, size_t, int, unsigned long long),              \
      (void *out, cud_addr at, size_t bytes, int kind,                         \
       unsigned long long flags),                                              \
      (out, at, bytes, kind, flags))                                           \
    X(cuMulticastBindAddr, "cuMulticastBindAddr", 12010, false,                \
      (unsigned long long, size_t, cud_addr, size_t, unsigned long long),      \
      (unsigned long long group, size_t offset, cud_addr at, size_t bytes,     \
       unsigned long long flags),                                              \
      (group, offset, at, bytes, flags))                                       \
    X(cuMulticastBindAddr_v2, "cuMulticastBindAddr", 13010, false,             \
      (unsigned long long, cud_device, size_t, cud_addr, size_t,               \
       unsigned long long),                                                    \
      (unsigned long long group, cud_device device, size_t offset,             \
       cud_addr at, size_t bytes, unsigned long long flags),                   \
      (group, device, offset, at, bytes, flags))                               \
    X(cuLogicalEndpointBindAddr, "cuLogicalEndpointBindAddr", 13030, false,    \
      (unsigned long long, cud_device, uint64_t, void *, uint64_t,             \
       unsigned long long),                                                    \
      (unsigned long long endpoint, cud_device device, uint64_t offset,        \
       void *at, uint64_t bytes, unsigned long long flags),                    \
      (endpoint, device, offset, at, bytes, flags))

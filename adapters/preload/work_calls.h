/* work_calls.h - the driver's calls that queue work on memory, or do it: they
 * are held back while memory in use moves (work.c). */
#pragma once

#include "look_calls.h"

/* Each entry: X(symbol, name for cuGetProcAddress(), the CUDA version from
 * which that name means this symbol, whether it is the variant for per-thread
 * default streams, types, parameters, arguments).
 *
 * A and S: such a call, and its variant for per-thread default streams. */
#define PRELOAD_WORK_A(X, symbol, name, since, types, params, args)            \
    X(symbol, name, since, false, types, params, args)                         \
    X(symbol##_ptsz, name, since, true, types, params, args)
#define PRELOAD_WORK_S(X, symbol, name, since, types, params, args)            \
    X(symbol, name, since, false, types, params, args)                         \
    X(symbol##_ptds, name, since, true, types, params, args)

/* Parameters shared by several calls. */
#define WORK_COPY_TYPES(dst, src) (dst, src, size_t)
#define WORK_COPY(dst, src) (dst to, src from, size_t bytes)
#define WORK_COPY_ASYNC_TYPES(dst, src) (dst, src, size_t, cud_stream)
#define WORK_COPY_ASYNC(dst, src)                                              \
    (dst to, src from, size_t bytes, cud_stream stream)
#define WORK_GRID_TYPES                                                        \
    void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,        \
        unsigned, cud_stream, void **
#define WORK_GRID                                                              \
    void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,        \
        unsigned by, unsigned bz, unsigned shared, cud_stream stream,          \
        void **arguments

#define PRELOAD_LAUNCH_MAP(X)                                                  \
    PRELOAD_WORK_A(                                                            \
        X, cuLaunchKernel, "cuLaunchKernel", 4000, (WORK_GRID_TYPES, void **), \
        (WORK_GRID, void **extra),                                             \
        (function, gx, gy, gz, bx, by, bz, shared, stream, arguments, extra))  \
    PRELOAD_WORK_A(                                                            \
        X, cuLaunchKernelEx, "cuLaunchKernelEx", 11060,                        \
        (const void *, void *, void **, void **),                              \
        (const void *config, void *function, void **arguments, void **extra),  \
        (config, function, arguments, extra))                                  \
    PRELOAD_WORK_A(                                                            \
        X, cuLaunchCooperativeKernel, "cuLaunchCooperativeKernel", 9000,       \
        (WORK_GRID_TYPES), (WORK_GRID),                                        \
        (function, gx, gy, gz, bx, by, bz, shared, stream, arguments))         \
    X(cuLaunchCooperativeKernelMultiDevice,                                    \
      "cuLaunchCooperativeKernelMultiDevice", 9000, false,                     \
      (void *, unsigned, unsigned),                                            \
      (void *launches, unsigned count, unsigned flags),                        \
      (launches, count, flags))                                                \
    X(cuLaunch, "cuLaunch", 2000, false, (void *), (void *function),           \
      (function))                                                              \
    X(cuLaunchGrid, "cuLaunchGrid", 2000, false, (void *, int, int),           \
      (void *function, int x, int y), (function, x, y))                        \
    X(cuLaunchGridAsync, "cuLaunchGridAsync", 2000, false,                     \
      (void *, int, int, cud_stream),                                          \
      (void *function, int x, int y, cud_stream stream),                       \
      (function, x, y, stream))                                                \
    PRELOAD_WORK_A(X, cuGraphLaunch, "cuGraphLaunch", 10000,                   \
                   (void *, cud_stream), (void *graph, cud_stream stream),     \
                   (graph, stream))

#define PRELOAD_COPY_MAP(X)                                                    \
    PRELOAD_WORK_S(X, cuMemcpy, "cuMemcpy", 4000,                              \
                   WORK_COPY_TYPES(cud_addr, cud_addr),                        \
                   WORK_COPY(cud_addr, cud_addr), (to, from, bytes))           \
    PRELOAD_WORK_S(X, cuMemcpyHtoD_v2, "cuMemcpyHtoD", 3020,                   \
                   WORK_COPY_TYPES(cud_addr, const void *),                    \
                   WORK_COPY(cud_addr, const void *), (to, from, bytes))       \
    PRELOAD_WORK_S(X, cuMemcpyDtoH_v2, "cuMemcpyDtoH", 3020,                   \
                   WORK_COPY_TYPES(void *, cud_addr),                          \
                   WORK_COPY(void *, cud_addr), (to, from, bytes))             \
    PRELOAD_WORK_S(X, cuMemcpyDtoD_v2, "cuMemcpyDtoD", 3020,                   \
                   WORK_COPY_TYPES(cud_addr, cud_addr),                        \
                   WORK_COPY(cud_addr, cud_addr), (to, from, bytes))           \
    PRELOAD_WORK_S(X, cuMemcpyPeer, "cuMemcpyPeer", 4000,                      \
                   (cud_addr, cud_context, cud_addr, cud_context, size_t),     \
                   (cud_addr to, cud_context there, cud_addr from,             \
                    cud_context here, size_t bytes),                           \
                   (to, there, from, here, bytes))                             \
    PRELOAD_WORK_S(X, cuMemcpyDtoA_v2, "cuMemcpyDtoA", 3020,                   \
                   (void *, size_t, cud_addr, size_t),                         \
                   (void *array, size_t at, cud_addr from, size_t bytes),      \
                   (array, at, from, bytes))                                   \
    PRELOAD_WORK_S(X, cuMemcpyAtoD_v2, "cuMemcpyAtoD", 3020,                   \
                   (cud_addr, void *, size_t, size_t),                         \
                   (cud_addr to, void *array, size_t at, size_t bytes),        \
                   (to, array, at, bytes))                                     \
    PRELOAD_WORK_S(X, cuMemcpyHtoA_v2, "cuMemcpyHtoA", 3020,                   \
                   (void *, size_t, const void *, size_t),                     \
                   (void *array, size_t at, const void *from, size_t bytes),   \
                   (array, at, from, bytes))                                   \
    PRELOAD_WORK_S(X, cuMemcpyAtoH_v2, "cuMemcpyAtoH", 3020,                   \
                   (void *, void *, size_t, size_t),                           \
                   (void *to, void *array, size_t at, size_t bytes),           \
                   (to, array, at, bytes))                                     \
    PRELOAD_WORK_S(                                                            \
        X, cuMemcpyAtoA_v2, "cuMemcpyAtoA", 3020,                              \
        (void *, size_t, void *, size_t, size_t),                              \
        (void *array, size_t at, void *from, size_t there, size_t bytes),      \
        (array, at, from, there, bytes))                                       \
    PRELOAD_WORK_A(X, cuMemcpyHtoAAsync_v2, "cuMemcpyHtoAAsync", 3020,         \
                   (void *, size_t, const void *, size_t, cud_stream),         \
                   (void *array, size_t at, const void *from, size_t bytes,    \
                    cud_stream stream),                                        \
                   (array, at, from, bytes, stream))                           \
    PRELOAD_WORK_A(                                                            \
        X, cuMemcpyAtoHAsync_v2, "cuMemcpyAtoHAsync", 3020,                    \
        (void *, void *, size_t, size_t, cud_stream),                          \
        (void *to, void *array, size_t at, size_t bytes, cud_stream stream),   \
        (to, array, at, bytes, stream))                                        \
    PRELOAD_WORK_S(X, cuMemcpy2D_v2, "cuMemcpy2D", 3020, (const void *),       \
                   (const void *copy), (copy))                                 \
    PRELOAD_WORK_S(X, cuMemcpy2DUnaligned_v2, "cuMemcpy2DUnaligned", 3020,     \
                   (const void *), (const void *copy), (copy))                 \
    PRELOAD_WORK_S(X, cuMemcpy3D_v2, "cuMemcpy3D", 3020, (const void *),       \
                   (const void *copy), (copy))                                 \
    PRELOAD_WORK_S(X, cuMemcpy3DPeer, "cuMemcpy3DPeer", 4000, (const void *),  \
                   (const void *copy), (copy))                                 \
    PRELOAD_WORK_A(X, cuMemcpyAsync, "cuMemcpyAsync", 4000,                    \
                   WORK_COPY_ASYNC_TYPES(cud_addr, cud_addr),                  \
                   WORK_COPY_ASYNC(cud_addr, cud_addr),                        \
                   (to, from, bytes, stream))                                  \
    PRELOAD_WORK_A(X, cuMemcpyHtoDAsync_v2, "cuMemcpyHtoDAsync", 3020,         \
                   WORK_COPY_ASYNC_TYPES(cud_addr, const void *),              \
                   WORK_COPY_ASYNC(cud_addr, const void *),                    \
                   (to, from, bytes, stream))                                  \
    PRELOAD_WORK_A(X, cuMemcpyDtoHAsync_v2, "cuMemcpyDtoHAsync", 3020,         \
                   WORK_COPY_ASYNC_TYPES(void *, cud_addr),                    \
                   WORK_COPY_ASYNC(void *, cud_addr),                          \
                   (to, from, bytes, stream))                                  \
    PRELOAD_WORK_A(X, cuMemcpyDtoDAsync_v2, "cuMemcpyDtoDAsync", 3020,         \
                   WORK_COPY_ASYNC_TYPES(cud_addr, cud_addr),                  \
                   WORK_COPY_ASYNC(cud_addr, cud_addr),                        \
                   (to, from, bytes, stream))                                  \
    PRELOAD_WORK_A(                                                            \
        X, cuMemcpyPeerAsync, "cuMemcpyPeerAsync", 4000,                       \
        (cud_addr, cud_context, cud_addr, cud_context, size_t, cud_stream),    \
        (cud_addr to, cud_context there, cud_addr from, cud_context here,      \
         size_t bytes, cud_stream stream),                                     \
        (to, there, from, here, bytes, stream))                                \
    PRELOAD_WORK_A(X, cuMemcpy2DAsync_v2, "cuMemcpy2DAsync", 3020,             \
                   (const void *, cud_stream),                                 \
                   (const void *copy, cud_stream stream), (copy, stream))      \
    PRELOAD_WORK_A(X, cuMemcpy3DAsync_v2, "cuMemcpy3DAsync", 3020,             \
                   (const void *, cud_stream),                                 \
                   (const void *copy, cud_stream stream), (copy, stream))      \
    PRELOAD_WORK_A(X, cuMemcpy3DPeerAsync, "cuMemcpy3DPeerAsync", 4000,        \
                   (const void *, cud_stream),                                 \
                   (const void *copy, cud_stream stream), (copy, stream))      \
    PRELOAD_WORK_A(                                                            \
        X, cuMemcpyBatchAsync, "cuMemcpyBatchAsync", 12080,                    \
        (cud_addr *, cud_addr *, size_t *, size_t, void *, size_t *, size_t,   \
         size_t *, cud_stream),                                                \
        (cud_addr * to, cud_addr * from, size_t * bytes, size_t count,         \
         void *attributes, size_t *which, size_t kinds, size_t *failed,        \
         cud_stream stream),                                                   \
        (to, from, bytes, count, attributes, which, kinds, failed, stream))    \
    PRELOAD_WORK_A(X, cuMemcpyBatchAsync_v2, "cuMemcpyBatchAsync", 13000,      \
                   (cud_addr *, cud_addr *, size_t *, size_t, void *,          \
                    size_t *, size_t, cud_stream),                             \
                   (cud_addr * to, cud_addr * from, size_t * bytes,            \
                    size_t count, void *attributes, size_t *which,             \
                    size_t kinds, cud_stream stream),                          \
                   (to, from, bytes, count, attributes, which, kinds, stream)) \
    PRELOAD_WORK_A(X, cuMemcpy3DBatchAsync, "cuMemcpy3DBatchAsync", 12080,     \
                   (size_t, void *, size_t *, unsigned long long, cud_stream), \
                   (size_t count, void *copies, size_t *failed,                \
                    unsigned long long flags, cud_stream stream),              \
                   (count, copies, failed, flags, stream))                     \
    PRELOAD_WORK_A(X, cuMemcpy3DBatchAsync_v2, "cuMemcpy3DBatchAsync", 13000,  \
                   (size_t, void *, unsigned long long, cud_stream),           \
                   (size_t count, void *copies, unsigned long long flags,      \
                    cud_stream stream),                                        \
                   (count, copies, flags, stream))                             \
    PRELOAD_WORK_A(X, cuMemcpyWithAttributesAsync,                             \
                   "cuMemcpyWithAttributesAsync", 13020,                       \
                   (cud_addr, cud_addr, size_t, void *, cud_stream),           \
                   (cud_addr to, cud_addr from, size_t bytes,                  \
                    void *attributes, cud_stream stream),                      \
                   (to, from, bytes, attributes, stream))                      \
    PRELOAD_WORK_A(X, cuMemcpy3DWithAttributesAsync,                           \
                   "cuMemcpy3DWithAttributesAsync", 13020,                     \
                   (void *, unsigned long long, cud_stream),                   \
                   (void *copy, unsigned long long flags, cud_stream stream),  \
                   (copy, flags, stream))                                      \
    PRELOAD_WORK_A(X, cuFabricCpyBatchAsync, "cuFabricCpyBatchAsync", 13050,   \
                   (size_t, void *, unsigned long long, cud_stream),           \
                   (size_t count, void *copies, unsigned long long flags,      \
                    cud_stream stream),                                        \
                   (count, copies, flags, stream))                             \
    PRELOAD_WORK_A(X, cuMemBatchDecompressAsync, "cuMemBatchDecompressAsync",  \
                   12060, (void *, size_t, unsigned, size_t *, cud_stream),    \
                   (void *list, size_t count, unsigned flags, size_t *failed,  \
                    cud_stream stream),                                        \
                   (list, count, flags, failed, stream))

#define WORK_FILL(X, bits, type)                                               \
    PRELOAD_WORK_S(X, cuMemsetD##bits##_v2, "cuMemsetD" #bits, 3020,           \
                   (cud_addr, type, size_t),                                   \
                   (cud_addr to, type value, size_t count),                    \
                   (to, value, count))                                         \
    PRELOAD_WORK_A(X, cuMemsetD##bits##Async, "cuMemsetD" #bits "Async", 3020, \
                   (cud_addr, type, size_t, cud_stream),                       \
                   (cud_addr to, type value, size_t count, cud_stream stream), \
                   (to, value, count, stream))                                 \
    PRELOAD_WORK_S(                                                            \
        X, cuMemsetD2D##bits##_v2, "cuMemsetD2D" #bits, 3020,                  \
        (cud_addr, size_t, type, size_t, size_t),                              \
        (cud_addr to, size_t pitch, type value, size_t width, size_t height),  \
        (to, pitch, value, width, height))                                     \
    PRELOAD_WORK_A(X, cuMemsetD2D##bits##Async, "cuMemsetD2D" #bits "Async",   \
                   3020, (cud_addr, size_t, type, size_t, size_t, cud_stream), \
                   (cud_addr to, size_t pitch, type value, size_t width,       \
                    size_t height, cud_stream stream),                         \
                   (to, pitch, value, width, height, stream))

#define PRELOAD_FILL_MAP(X)                                                    \
    WORK_FILL(X, 8, unsigned char)                                             \
    WORK_FILL(X, 16, unsigned short)                                           \
    WORK_FILL(X, 32, unsigned)

/* Each of these has two versions. */
#define WORK_WORD(X, symbol, name, since, type)                                \
    PRELOAD_WORK_A(                                                            \
        X, symbol, name, since, (cud_stream, cud_addr, type, unsigned),        \
        (cud_stream stream, cud_addr at, type value, unsigned flags),          \
        (stream, at, value, flags))                                            \
    PRELOAD_WORK_A(                                                            \
        X, symbol##_v2, name, 11070, (cud_stream, cud_addr, type, unsigned),   \
        (cud_stream stream, cud_addr at, type value, unsigned flags),          \
        (stream, at, value, flags))
#define WORK_WORDS(X, symbol, since)                                           \
    PRELOAD_WORK_A(                                                            \
        X, symbol, "cuStreamBatchMemOp", since,                                \
        (cud_stream, unsigned, void *, unsigned),                              \
        (cud_stream stream, unsigned count, void *list, unsigned flags),       \
        (stream, count, list, flags))

#define PRELOAD_WORD_MAP(X)                                                    \
    WORK_WORD(X, cuStreamWaitValue32, "cuStreamWaitValue32", 8000, unsigned)   \
    WORK_WORD(X, cuStreamWaitValue64, "cuStreamWaitValue64", 9000,             \
              unsigned long long)                                              \
    WORK_WORD(X, cuStreamWriteValue32, "cuStreamWriteValue32", 8000, unsigned) \
    WORK_WORD(X, cuStreamWriteValue64, "cuStreamWriteValue64", 9000,           \
              unsigned long long)                                              \
    WORK_WORDS(X, cuStreamBatchMemOp, 8000)                                    \
    WORK_WORDS(X, cuStreamBatchMemOp_v2, 11070)

/* All other stream operations; most are on managed memory, which never moves,
 * but holding them back needlessly costs little. */
#define PRELOAD_QUEUE_MAP(X)                                                   \
    PRELOAD_WORK_A(X, cuLaunchHostFunc, "cuLaunchHostFunc", 10000,             \
                   (cud_stream, void (*)(void *), void *),                     \
                   (cud_stream stream, void (*fn)(void *), void *data),        \
                   (stream, fn, data))                                         \
    PRELOAD_WORK_A(                                                            \
        X, cuLaunchHostFunc_v2, "cuLaunchHostFunc", 13010,                     \
        (cud_stream, void (*)(void *), void *, unsigned),                      \
        (cud_stream stream, void (*fn)(void *), void *data, unsigned mode),    \
        (stream, fn, data, mode))                                              \
    PRELOAD_WORK_A(X, cuStreamAddCallback, "cuStreamAddCallback", 5000,        \
                   (cud_stream, void (*)(cud_stream, cud_result, void *),      \
                    void *, unsigned),                                         \
                   (cud_stream stream,                                         \
                    void (*fn)(cud_stream, cud_result, void *), void *data,    \
                    unsigned flags),                                           \
                   (stream, fn, data, flags))                                  \
    PRELOAD_WORK_A(X, cuGraphUpload, "cuGraphUpload", 11010,                   \
                   (void *, cud_stream), (void *graph, cud_stream stream),     \
                   (graph, stream))                                            \
    WORK_GRAPHICS(X, cuGraphicsMapResources, "cuGraphicsMapResources")         \
    WORK_GRAPHICS(X, cuGraphicsUnmapResources, "cuGraphicsUnmapResources")     \
    WORK_SEMAPHORES(X, cuSignalExternalSemaphoresAsync,                        \
                    "cuSignalExternalSemaphoresAsync")                         \
    WORK_SEMAPHORES(X, cuWaitExternalSemaphoresAsync,                          \
                    "cuWaitExternalSemaphoresAsync")                           \
    PRELOAD_WORK_A(X, cuMemMapArrayAsync, "cuMemMapArrayAsync", 11010,         \
                   (void *, unsigned, cud_stream),                             \
                   (void *list, unsigned count, cud_stream stream),            \
                   (list, count, stream))                                      \
    PRELOAD_WORK_A(                                                            \
        X, cuStreamAttachMemAsync, "cuStreamAttachMemAsync", 6000,             \
        (cud_stream, cud_addr, size_t, unsigned),                              \
        (cud_stream stream, cud_addr at, size_t bytes, unsigned flags),        \
        (stream, at, bytes, flags))                                            \
    X(cuMemAdvise, "cuMemAdvise", 8000, false,                                 \
      (cud_addr, size_t, int, cud_device),                                     \
      (cud_addr at, size_t bytes, int advice, cud_device device),              \
      (at, bytes, advice, device))                                             \
    X(cuMemAdvise_v2, "cuMemAdvise", 12020, false,                             \
      (cud_addr, size_t, int, cud_location),                                   \
      (cud_addr at, size_t bytes, int advice, cud_location place),             \
      (at, bytes, advice, place))                                              \
    PRELOAD_WORK_A(                                                            \
        X, cuMemPrefetchAsync, "cuMemPrefetchAsync", 8000,                     \
        (cud_addr, size_t, cud_device, cud_stream),                            \
        (cud_addr at, size_t bytes, cud_device device, cud_stream stream),     \
        (at, bytes, device, stream))                                           \
    PRELOAD_WORK_A(X, cuMemPrefetchAsync_v2, "cuMemPrefetchAsync", 12020,      \
                   (cud_addr, size_t, cud_location, unsigned, cud_stream),     \
                   (cud_addr at, size_t bytes, cud_location place,             \
                    unsigned flags, cud_stream stream),                        \
                   (at, bytes, place, flags, stream))                          \
    PRELOAD_WORK_A(                                                            \
        X, cuMemDiscardBatchAsync, "cuMemDiscardBatchAsync", 13000,            \
        (cud_addr *, size_t *, size_t, unsigned long long, cud_stream),        \
        (cud_addr * at, size_t * bytes, size_t count,                          \
         unsigned long long flags, cud_stream stream),                         \
        (at, bytes, count, flags, stream))                                     \
    WORK_PREFETCH(X, cuMemPrefetchBatchAsync, "cuMemPrefetchBatchAsync")       \
    WORK_PREFETCH(X, cuMemDiscardAndPrefetchBatchAsync,                        \
                  "cuMemDiscardAndPrefetchBatchAsync")

#define WORK_GRAPHICS(X, symbol, name)                                         \
    PRELOAD_WORK_A(X, symbol, name, 3000, (unsigned, void *, cud_stream),      \
                   (unsigned count, void *resources, cud_stream stream),       \
                   (count, resources, stream))
#define WORK_SEMAPHORES(X, symbol, name)                                       \
    PRELOAD_WORK_A(X, symbol, name, 10000,                                     \
                   (const void *, const void *, unsigned, cud_stream),         \
                   (const void *semaphores, const void *params,                \
                    unsigned count, cud_stream stream),                        \
                   (semaphores, params, count, stream))
#define WORK_PREFETCH(X, symbol, name)                                         \
    PRELOAD_WORK_A(X, symbol, name, 13000,                                     \
                   (cud_addr *, size_t *, size_t, cud_location *, size_t *,    \
                    size_t, unsigned long long, cud_stream),                   \
                   (cud_addr * at, size_t * bytes, size_t count,               \
                    cud_location * places, size_t * which, size_t kinds,       \
                    unsigned long long flags, cud_stream stream),              \
                   (at, bytes, count, places, which, kinds, flags, stream))

/* All of them. */
#define PRELOAD_WORK_MAP(X)                                                    \
    PRELOAD_LAUNCH_MAP(X)                                                      \
    PRELOAD_COPY_MAP(X)                                                        \
    PRELOAD_FILL_MAP(X)                                                        \
    PRELOAD_WORD_MAP(X)                                                        \
    PRELOAD_QUEUE_MAP(X)                                                       \
    PRELOAD_LOOK_MAP(X)

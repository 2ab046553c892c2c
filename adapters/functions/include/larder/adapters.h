/* adapters.h - Larder as plain functions for libraries that accept an allocator
 * in that form: CuPy, RMM, ONNX Runtime.  In liblarder_adapters.so.
 *
 *   larder_adapter *ad;
 *   larder_adapter_open(NULL, &ad);
 *   // CuPy: CFunctionAllocator(ad, larder_cupy_malloc, larder_cupy_free, ..)
 *   // RMM:  callback_memory_resource(larder_rmm_allocate,
 *   //                                larder_rmm_deallocate, ad, ad)
 *   larder_adapter_close(ad);
 *
 * Python needs none of this: larder.cupy, larder.rmm and larder.onnxruntime
 * do it (docs/ADAPTERS.md).
 *
 * Failures   The functions that other libraries call return NULL if there is no
 *            memory, or have no way to report a failure; larder_last_error()
 *            describes it.  The caller must check for NULL: RMM and CuPy's
 *            CFunctionAllocator do not.
 * Threads    Every call except larder_adapter_close() may come from any thread.
 * The rules of larder.h for ownership and growing structs apply here too.
 */
#ifndef LARDER_ADAPTERS_H
#define LARDER_ADAPTERS_H

#include <larder/larder.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One allocator per device, created by the first request for that device. */
typedef struct larder_adapter larder_adapter;

typedef struct larder_adapter_options {
    size_t size; /* set by larder_adapter_options_init() */
    /* As for larder_device_open(); NULL: "cuda:0".  Device n of the adapter is
     * this one with ordinal n. */
    const char *device;
    larder_policy policy; /* 0: LARDER_POLICY_DEFAULT */
    const char *conf;     /* as in larder_options */
} larder_adapter_options;

LARDER_API void larder_adapter_options_init_sized(larder_adapter_options *opt,
                                                  size_t size);
#define larder_adapter_options_init(opt)                                       \
    larder_adapter_options_init_sized((opt), sizeof *(opt))

/* `opt` may be NULL; what it points to is copied.  The first device is opened
 * at once, so that a wrong option is reported here. */
LARDER_API larder_result larder_adapter_open(const larder_adapter_options *opt,
                                             larder_adapter **out);

/* Releases all memory.  NULL is a no-op. */
LARDER_API larder_result larder_adapter_close(larder_adapter *adapter);

/* The allocator of a device, for statistics, limits and snapshots; created if
 * needed.  The adapter owns it. */
LARDER_API larder_result larder_adapter_allocator(larder_adapter *adapter,
                                                  int device,
                                                  larder_allocator **out);

/* ---- CuPy --------------------------------------------------------------- */

/* The stream for everything this thread allocates through larder_cupy_malloc()
 * from now on, because CuPy's interface passes none; initially the default
 * stream.  Freed memory is reused on its stream at once, as in CuPy's own
 * pools. larder_cupy_malloc() returns NULL for per-thread default streams
 * (handle 2). */
LARDER_API void larder_cupy_set_stream(larder_stream stream);

/* malloc and free of cupy.cuda.CFunctionAllocator; `adapter` is its param. */
LARDER_API void *larder_cupy_malloc(void *adapter, size_t bytes, int device);
LARDER_API void larder_cupy_free(void *adapter, void *ptr, int device);

/* ---- RMM ----------------------------------------------------------------- */

/* The functions of rmm::mr::callback_memory_resource, for the adapter's device
 * 0; `adapter` is their argument.  Memory freed on another stream than its own
 * is reused when that stream has reached the free.  Per-thread default streams
 * (handle 2) are synchronised instead, because all threads share that one
 * handle. */
LARDER_API void *larder_rmm_allocate(size_t bytes, void *stream, void *adapter);
LARDER_API void larder_rmm_deallocate(void *ptr, size_t bytes, void *stream,
                                      void *adapter);

/* ---- ONNX Runtime ---------------------------------------------------------- */

enum { LARDER_ORT_SETS = 16 };

/* What the CUDA provider's options gpu_external_alloc, _free and _empty_cache
 * take, written as decimal numbers. */
typedef struct larder_ort_functions {
    void *(*alloc)(size_t bytes);
    void (*free)(void *ptr);
    void (*empty_cache)(void);
} larder_ort_functions;

/* Functions without an argument, with their own allocator on a device of the
 * adapter.  Use one set per session: freed memory is reused at once, in the
 * order of the one stream on which a session computes.  ERR_BUSY if all
 * LARDER_ORT_SETS are taken. */
LARDER_API larder_result larder_ort_functions_take(larder_adapter *adapter,
                                                   int device,
                                                   larder_ort_functions *out);

/* Release a set and its memory after its session is gone.  ERR_INVALID if it
 * was not taken. */
LARDER_API larder_result
larder_ort_functions_release(const larder_ort_functions *functions);

#ifdef __cplusplus
}
#endif
#endif

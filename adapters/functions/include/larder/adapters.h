/* adapters.h - Larder as the plain functions that other libraries take for an
 * allocator: CuPy, RMM, ONNX Runtime.  In liblarder_adapters.so.
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
 * Failures   The functions that others call return NULL where there is no
 *            memory, or have nowhere to say anything; larder_last_error() has
 *            the words.  Who calls them must look at the NULL: RMM and CuPy's
 *            CFunctionAllocator do not.
 * Threads    Every call may come from any thread, but larder_adapter_close().
 * What larder.h says of ownership and growth holds here.
 */
#ifndef LARDER_ADAPTERS_H
#define LARDER_ADAPTERS_H

#include <larder/larder.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An allocator for each device, made with the first request for it. */
typedef struct larder_adapter larder_adapter;

typedef struct larder_adapter_options {
    size_t size; /* set by larder_adapter_options_init() */
    /* As for larder_device_open(); NULL: "cuda:0".  Device n of an adapter is
     * ordinal n of it. */
    const char *device;
    larder_policy policy; /* 0: LARDER_POLICY_DEFAULT */
    const char *conf;     /* as in larder_options */
} larder_adapter_options;

LARDER_API void larder_adapter_options_init_sized(larder_adapter_options *opt,
                                                  size_t size);
#define larder_adapter_options_init(opt)                                       \
    larder_adapter_options_init_sized((opt), sizeof *(opt))

/* `opt` may be NULL; what it points to is copied.  The first device is opened
 * now, so that what is wrong is said now. */
LARDER_API larder_result larder_adapter_open(const larder_adapter_options *opt,
                                             larder_adapter **out);

/* Give all memory back.  NULL is a no-op. */
LARDER_API larder_result larder_adapter_close(larder_adapter *adapter);

/* The allocator of a device, for statistics, limits and snapshots; made if it
 * is not there yet.  It is the adapter's. */
LARDER_API larder_result larder_adapter_allocator(larder_adapter *adapter,
                                                  int device,
                                                  larder_allocator **out);

/* ---- CuPy --------------------------------------------------------------- */

/* The stream of what this thread allocates through larder_cupy_malloc() from
 * now on: CuPy's interface names none.  At the start the default stream.
 * Memory is reused on its stream at once when it was freed, as in CuPy's own
 * pools.  Threads' own default streams (handle 2) get NULL. */
LARDER_API void larder_cupy_set_stream(larder_stream stream);

/* cupy.cuda.CFunctionAllocator's malloc and free; `adapter` is its param. */
LARDER_API void *larder_cupy_malloc(void *adapter, size_t bytes, int device);
LARDER_API void larder_cupy_free(void *adapter, void *ptr, int device);

/* ---- RMM ----------------------------------------------------------------- */

/* rmm::mr::callback_memory_resource's functions, of the adapter's device 0:
 * `adapter` is their argument.  Memory freed on another stream than its
 * own is reused when that has passed.  Threads' own default streams (handle 2)
 * are waited for, as all threads have one handle for them. */
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

/* Functions without an argument, with an allocator of their own on a device
 * of the adapter.  One session takes one set: memory that is freed is reused
 * at once, in the order of the one stream that a session computes on.
 * ERR_BUSY when all LARDER_ORT_SETS are taken. */
LARDER_API larder_result larder_ort_functions_take(larder_adapter *adapter,
                                                   int device,
                                                   larder_ort_functions *out);

/* Give a set and its memory back, when the session is gone.  ERR_INVALID if it
 * is none that was taken. */
LARDER_API larder_result
larder_ort_functions_release(const larder_ort_functions *functions);

#ifdef __cplusplus
}
#endif
#endif

/* torch.h - liblarder_torch: Larder as PyTorch's allocator of GPU memory.
 *
 * The first part is called by PyTorch: the functions of a pluggable allocator
 * (torch.cuda.memory.CUDAPluggableAllocator), found by their names, with
 * PyTorch's own signatures (torch/csrc/cuda/CUDAPluggableAllocator.h).  The
 * second part sets the allocator up, as python/larder/torch does.
 *
 * Each of PyTorch's devices has one allocator, created by the first call that
 * needs it, on cuda:0 + its number, in the device's primary context, which
 * PyTorch uses too.  LARDER_TORCH_DEVICE names another first device
 * ("sim:8GiB,count=2"); LARDER_CONF holds the settings.
 *
 * Errors     PyTorch does not check what an allocation returns, and would make
 *            a tensor over memory that does not exist.  Calls that fail
 *            therefore raise a C++ exception: c10::OutOfMemoryError if PyTorch
 *            is in the process, otherwise std::runtime_error.  In a process
 *            without libstdc++ they return NULL; a caller that cannot catch
 *            exceptions uses larder_torch_pool_alloc(), which always returns
 *            NULL.  Calls that may come from a destructor never raise.  In
 *            every case larder_torch_last_error() describes the failure.
 * Threads    Every call except larder_torch_close() may come from any thread.
 * Forks      A child forked after the first allocator was created shares its
 *            parent's device memory.  In it, frees, recorded streams and the
 *            other calls without a result do nothing and take no lock that a
 *            thread of the parent may hold; allocations fail with a message.
 */
#ifndef LARDER_TORCH_H
#define LARDER_TORCH_H

#include <larder/history.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- called by PyTorch ----------------------------------------------------- */

/* Streams are cudaStream_t. */

/* Memory of `device` for use on `stream`.  0 bytes: NULL, as PyTorch expects.
 * Raises on failure; see above.  Cost: that of larder_alloc(), and one atomic
 * load. */
LARDER_API void *larder_torch_alloc(size_t bytes, int device, void *stream);

/* Release memory; NULL is a no-op.  Size and stream are those of the allocation
 * and are not used.  Never raises. */
LARDER_API void larder_torch_free(void *ptr, size_t bytes, int device,
                                  void *stream);

/* Like larder_torch_alloc(), but returns NULL on failure and never raises: for
 * torch.cuda.MemPool, which retries after it has released memory. */
LARDER_API void *larder_torch_pool_alloc(size_t bytes, int device,
                                         void *stream);

/* set_init_fn.  Does nothing: devices are opened on first use. */
LARDER_API void larder_torch_init(int device_count);

/* set_reset_fn: larder_empty_cache() of every device in use.  Does nothing
 * while allocations go to a pool, as in PyTorch. */
LARDER_API void larder_torch_reset(void);

/* set_memory_fraction_fn: larder_set_memory_fraction().  Raises. */
LARDER_API void larder_torch_fraction(double fraction, int device);

/* set_base_alloc_fn: larder_base_allocation().  Raises. */
LARDER_API void *larder_torch_base(void *ptr, size_t *bytes);

/* set_record_stream_fn: larder_record_stream().  Ignores memory that is not
 * Larder's, as in PyTorch.  Every other failure raises, because memory might be
 * reused while work still uses it. */
LARDER_API void larder_torch_record_stream(void *ptr, void *stream);

/* set_begin_allocate_to_pool, set_end_allocate_to_pool_fn, set_release_pool.
 * PyTorch passes a pair of numbers by value: two arguments in the calling
 * conventions of x86-64 and AArch64.
 *
 * `filter` (a std::function by value: its address) is not called.  Between
 * begin and end, memory comes from a pool by the first rule that applies:
 *   - the calling thread began pools: the last of them that it has not ended;
 *   - the stream is being captured, and the thread that began a pool has
 *     allocated from that pool on this stream: that pool;
 *   - the stream is being captured, and only one pool is begun on the device.
 * With several pools begun, a request for any other captured stream is refused:
 * memory from the wrong graph's pool could be reused while that graph is
 * replayed.  Begin raises; the others, which destructors call, do not. */
LARDER_API void larder_torch_begin_pool(int device, uint64_t id_first,
                                        uint64_t id_second, void *filter);
LARDER_API void larder_torch_end_pool(int device, uint64_t id_first,
                                      uint64_t id_second);
LARDER_API void larder_torch_release_pool(int device, uint64_t id_first,
                                          uint64_t id_second);

/* ---- setting up -------------------------------------------------------------- */

enum { LARDER_TORCH_DEVICES = 64 };

/* Options of the allocators to be created.  `device`: the spec of the first
 * device; NULL: LARDER_TORCH_DEVICE, or else cuda:0.  `conf` as in
 * larder_options.  Both are copied.  ERR_BUSY once an allocator exists;
 * ERR_INVALID for a string of more than 4000 bytes; ERR_CONF for an invalid
 * `conf`. */
LARDER_API larder_result larder_torch_configure(const char *device,
                                                larder_policy policy,
                                                const char *conf);

/* Use the device `spec` for one of PyTorch's device numbers.  ERR_BUSY if its
 * allocator exists. */
LARDER_API larder_result larder_torch_set_device(int device, const char *spec);

/* The allocator of PyTorch's device, created if needed, and the device itself.
 * Both stay owned by the library. */
LARDER_API larder_result larder_torch_allocator(int device,
                                                larder_allocator **out);
LARDER_API larder_result larder_torch_device(int device, larder_device **out);

/* Whether that allocator exists. */
LARDER_API int larder_torch_is_made(int device);

/* larder_history_start() with Python stacks, which are available to threads
 * that hold the interpreter's lock.  In other threads (backward, C++ threads)
 * the stack holds the native callers if `native` is not 0, and is empty
 * otherwise. opt->stacks and opt->stack_fn are replaced.  Up to 65536 distinct
 * lines are kept, with references to their code objects. */
LARDER_API larder_result larder_torch_history_start(
    int device, const larder_history_options *opt, int native);

/* What a failing allocation raises in this process. */
typedef enum larder_torch_exception {
    LARDER_TORCH_NOTHING = 0,       /* no C++ library is loaded: NULL */
    LARDER_TORCH_RUNTIME_ERROR = 1, /* std::runtime_error */
    LARDER_TORCH_OUT_OF_MEMORY = 2  /* c10::OutOfMemoryError */
} larder_torch_exception;
LARDER_API larder_torch_exception larder_torch_raises(void);

/* The message of the last failure in a function of the first part, on any
 * thread; "" if there was none.  Valid until this thread calls this function
 * again.  And the number of such failures. */
LARDER_API const char *larder_torch_last_error(void);
LARDER_API uint64_t larder_torch_error_count(void);

/* Advance a CPU generator by `count` numbers of 32 bits.  `state` is what
 * torch.get_rng_state() returns, of LARDER_TORCH_RANDOM_BYTES; ERR_INVALID if
 * it is not. torch.float64 uses two numbers for each value.  Cost: less than a
 * nanosecond per number. */
enum { LARDER_TORCH_RANDOM_BYTES = 5056 };
LARDER_API larder_result larder_torch_random_skip(void *state, size_t bytes,
                                                  uint64_t count);

/* Destroy all allocators and forget all settings: for tests.  No other thread
 * may be in a call, and no memory may be in use. */
LARDER_API larder_result larder_torch_close(void);

#ifdef __cplusplus
}
#endif
#endif

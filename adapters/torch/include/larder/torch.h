/* torch.h - liblarder_torch: Larder as PyTorch's allocator of GPU memory.
 *
 * The first part is what PyTorch calls: the functions of a pluggable allocator
 * (torch.cuda.memory.CUDAPluggableAllocator), found by their names, with
 * PyTorch's own signatures (torch/csrc/cuda/CUDAPluggableAllocator.h).  The
 * second is for whoever sets it up, which python/larder/torch does.
 *
 * There is one allocator for each of PyTorch's devices, made by the first
 * call that needs it, on cuda:0 + its number, in the device's primary context,
 * which is PyTorch's too.  LARDER_TORCH_DEVICE names another first device
 * ("sim:8GiB,count=2"); LARDER_CONF has the settings.
 *
 * Errors     A tensor must never be made over memory that is not there, and
 *            PyTorch does not look at what an allocation returns: those that
 *            fail raise a C++ exception, c10::OutOfMemoryError where PyTorch
 *            is in the process, else std::runtime_error.  In a process
 *            without libstdc++ they return NULL; a caller that cannot catch
 *            asks larder_torch_pool_alloc(), which always does.  Calls that
 *            may come from a destructor raise nothing.  Either way the
 *            failure is kept for larder_torch_last_error().
 * Threads    Every call may come from any thread, but larder_torch_close().
 * Forks      A child forked after the first allocator was made has its
 *            parent's memory: frees, recorded streams and the other calls
 *            without a result do nothing in it and take no lock of a thread
 *            that is not there; allocations fail, saying so.
 */
#ifndef LARDER_TORCH_H
#define LARDER_TORCH_H

#include <larder/history.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what PyTorch calls ---------------------------------------------------- */

/* Streams are cudaStream_t. */

/* Memory of `device` for use on `stream`.  0 bytes: NULL, which PyTorch
 * expects.  Raises if it fails; see above.  Cost: larder_alloc()'s, and one
 * atomic load. */
LARDER_API void *larder_torch_alloc(size_t bytes, int device, void *stream);

/* Release memory; NULL is a no-op.  Size and stream are those of the
 * allocation and not needed.  Raises nothing. */
LARDER_API void larder_torch_free(void *ptr, size_t bytes, int device,
                                  void *stream);

/* The same as larder_torch_alloc(), but NULL if it fails, and nothing is
 * raised: for torch.cuda.MemPool, which asks again after it gave memory
 * back. */
LARDER_API void *larder_torch_pool_alloc(size_t bytes, int device,
                                         void *stream);

/* set_init_fn.  Does nothing: devices are opened when they are needed. */
LARDER_API void larder_torch_init(int device_count);

/* set_reset_fn: larder_empty_cache() of every device in use.  Nothing while
 * memory goes to a pool, as in PyTorch. */
LARDER_API void larder_torch_reset(void);

/* set_memory_fraction_fn: larder_set_memory_fraction().  Raises. */
LARDER_API void larder_torch_fraction(double fraction, int device);

/* set_base_alloc_fn: larder_base_allocation().  Raises. */
LARDER_API void *larder_torch_base(void *ptr, size_t *bytes);

/* set_record_stream_fn: larder_record_stream().  Memory that is not Larder's
 * is left alone, as in PyTorch; what else fails raises, for memory might be
 * reused under work that uses it. */
LARDER_API void larder_torch_record_stream(void *ptr, void *stream);

/* set_begin_allocate_to_pool, set_end_allocate_to_pool_fn, set_release_pool.
 * PyTorch passes a pair of numbers, by value: two arguments in the calling
 * conventions of x86-64 and AArch64.
 *
 * `filter` (a std::function by value: its address) is not called.  From
 * begin to end, memory comes from the pool if
 *   - the thread that began the pool asks for it; of several it began and has
 *     not ended, the last; else if
 *   - the stream is being captured, on which that thread asked for memory of
 *     the pool; else if
 *   - the stream is being captured, and one pool alone is begun on the device.
 * With several pools begun, memory for another stream that is captured is
 * refused: that of the wrong graph could be reused under its replay.
 * Begin raises; the others, called in destructors, do not. */
LARDER_API void larder_torch_begin_pool(int device, uint64_t id_first,
                                        uint64_t id_second, void *filter);
LARDER_API void larder_torch_end_pool(int device, uint64_t id_first,
                                      uint64_t id_second);
LARDER_API void larder_torch_release_pool(int device, uint64_t id_first,
                                          uint64_t id_second);

/* ---- setting up -------------------------------------------------------------- */

enum { LARDER_TORCH_DEVICES = 64 };

/* What allocators will be made of.  `device`: the spec of the first, NULL:
 * LARDER_TORCH_DEVICE or else cuda:0.  `conf` as in larder_options.  Both are
 * copied.  ERR_BUSY once an allocator was made; ERR_INVALID for a text of more
 * than 4000 bytes.  `conf` is checked: ERR_CONF. */
LARDER_API larder_result larder_torch_configure(const char *device,
                                                larder_policy policy,
                                                const char *conf);

/* Another device than `spec` and number for one of PyTorch's numbers.
 * ERR_BUSY if its allocator was made. */
LARDER_API larder_result larder_torch_set_device(int device, const char *spec);

/* PyTorch's device: its allocator, made if it is not there yet, and its
 * device.  Both stay the library's. */
LARDER_API larder_result larder_torch_allocator(int device,
                                                larder_allocator **out);
LARDER_API larder_result larder_torch_device(int device, larder_device **out);

/* Whether that allocator was made. */
LARDER_API int larder_torch_is_made(int device);

/* larder_history_start() with stacks of Python's callers, which are known
 * where a thread holds the interpreter's lock.  Elsewhere (backward, in
 * threads of C++) the stack is that of native callers if `native` is not 0,
 * else empty.  opt->stacks and opt->stack_fn are replaced.  The lines that
 * appear are kept, 65536 at most, and their code with them. */
LARDER_API larder_result larder_torch_history_start(
    int device, const larder_history_options *opt, int native);

/* What a failing allocation raises in this process now. */
typedef enum larder_torch_exception {
    LARDER_TORCH_NOTHING = 0,       /* no C++ library is loaded: NULL */
    LARDER_TORCH_RUNTIME_ERROR = 1, /* std::runtime_error */
    LARDER_TORCH_OUT_OF_MEMORY = 2  /* c10::OutOfMemoryError */
} larder_torch_exception;
LARDER_API larder_torch_exception larder_torch_raises(void);

/* The last failure of any call of the first part, on any thread, in words; ""
 * if there was none.  Valid until this thread's next call of this function.
 * And how many there were. */
LARDER_API const char *larder_torch_last_error(void);
LARDER_API uint64_t larder_torch_error_count(void);

/* Let a generator for processors pass over `count` numbers of 32 bits.  `state` is
 * what torch.get_rng_state() gives, of LARDER_TORCH_RANDOM_BYTES; ERR_INVALID if it
 * is not.  A generator of torch.float64 takes two numbers for each.  Cost: less than
 * a nanosecond a number. */
enum { LARDER_TORCH_RANDOM_BYTES = 5056 };
LARDER_API larder_result larder_torch_random_skip(void *state, size_t bytes,
                                                  uint64_t count);

/* Destroy all allocators and forget all settings: for tests.  Not while
 * another thread is in a call, or memory is in use. */
LARDER_API larder_result larder_torch_close(void);

#ifdef __cplusplus
}
#endif
#endif

/* device.h - what Larder needs from a GPU: for implementers of other devices,
 * and for tools that inspect the driver calls an allocator makes.
 *
 * A device is a table of functions and a context pointer.  Larder calls them
 * through a layer that counts each call, adds its price to an estimated time
 * and can inject a failure, so that counters, estimates and injected faults
 * work the same on every device.
 */
#ifndef LARDER_DEVICE_H
#define LARDER_DEVICE_H

#include <larder/larder.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- calls ------------------------------------------------------------- */

/* The kinds of calls, in the order of the table below. */
#define LARDER_CALL_MAP(X)                                                     \
    X(mem_alloc)                                                               \
    X(mem_free)                                                                \
    X(mem_info)                                                                \
    X(address_reserve)                                                         \
    X(address_free)                                                            \
    X(page_create)                                                             \
    X(page_release)                                                            \
    X(map)                                                                     \
    X(unmap)                                                                   \
    X(set_access)                                                              \
    X(event_create)                                                            \
    X(event_destroy)                                                           \
    X(event_record)                                                            \
    X(event_query)                                                             \
    X(event_sync)                                                              \
    X(stream_sync)                                                             \
    X(copy)                                                                    \
    X(fill)                                                                    \
    X(host_alloc)                                                              \
    X(host_free)                                                               \
    X(page_export)                                                             \
    X(page_import)

#define X(name) LARDER_CALL_##name,
typedef enum larder_call { LARDER_CALL_MAP(X) LARDER_CALL_COUNT } larder_call;
#undef X

/* "mem_alloc"; NULL for an unknown value.  Static. */
LARDER_API const char *larder_call_name(larder_call call);

/* ---- the table --------------------------------------------------------- */

/* How a page is sent to another process. */
typedef enum larder_handle_kind {
    LARDER_HANDLE_NONE = 0,  /* not supported */
    LARDER_HANDLE_FD = 1,    /* as a file descriptor */
    LARDER_HANDLE_FABRIC = 2 /* as bytes, valid on any machine of a fabric */
} larder_handle_kind;

enum { LARDER_FABRIC_BYTES = 64, LARDER_UUID_BYTES = 16 };

typedef struct larder_page_handle {
    larder_handle_kind kind;
    int fd; /* the caller of page_export() closes it */
    unsigned char fabric[LARDER_FABRIC_BYTES];
} larder_page_handle;

typedef struct larder_device_props {
    size_t size; /* set by the caller */
    uint64_t total_bytes;
    /* Sizes of pages, and of the ranges they are mapped into, are multiples of
     * this; 0 if the device has no virtual memory calls. */
    uint64_t granularity_bytes;
    uint64_t context_bytes; /* used by the driver per process; 0 = unknown */
    int ordinal;
    char name[64];
    /* Its memory is the host's: programs on the host use it too, and
     * total_bytes may be all of it. */
    int is_integrated;
    /* The kind of handle that page_export() creates. */
    larder_handle_kind export_kind;
    /* Unique to this device, the same in every process; all zero: unknown. */
    unsigned char uuid[LARDER_UUID_BYTES];
    /* No other process can use it, so it has no ledger (ledger.h). */
    int is_exclusive;
} larder_device_props;
#define LARDER_DEVICE_PROPS_INIT LARDER_SIZED_INIT(larder_device_props)

/* A process that holds memory of the device. */
typedef struct larder_device_process {
    int64_t pid;
    uint64_t bytes; /* held in total, context included */
    int is_self;
} larder_device_process;
typedef void larder_process_fn(void *ctx, const larder_device_process *process);

/* How copy() moves bytes. */
typedef enum larder_copy_kind {
    LARDER_COPY_TO_DEVICE = 0,
    LARDER_COPY_TO_HOST = 1,
    LARDER_COPY_ON_DEVICE = 2
} larder_copy_kind;

/* All functions receive `self`, return LARDER_OK or an error, and write outputs
 * only on LARDER_OK.  They may be called from several threads at once.
 * Functions marked "Required" must not be NULL; the virtual memory functions
 * must be all present or all NULL; any other may be NULL.
 *
 * mem_alloc and page_create return LARDER_ERR_OUT_OF_MEMORY if the memory does
 * not fit, and so does the first call if the context does not.  Every other
 * failure is LARDER_ERR_DEVICE, or LARDER_ERR_CAPTURING for a call that stream
 * capture forbids, LARDER_ERR_UNKNOWN_STREAM, or LARDER_ERR_NO_HOST_MEMORY and
 * LARDER_ERR_SYSTEM for failures of the host. */
typedef struct larder_device_ops {
    size_t size;               /* the caller's sizeof(larder_device_ops) */
    const char *name;          /* "sim", "cuda": static */
    void (*close)(void *self); /* required; last call */
    larder_result (*props)(void *self, larder_device_props *out); /* required */

    /* Required.  Address alignment: at least 512.  mem_free() and host_free()
     * return when no queued work uses the memory any more; unmap() and
     * page_release() need not wait: the allocator has. */
    larder_result (*mem_alloc)(void *self, uint64_t bytes, larder_addr *out);
    larder_result (*mem_free)(void *self, larder_addr addr);
    larder_result (*mem_info)(void *self, uint64_t *free_bytes,
                              uint64_t *total_bytes);

    /* Virtual memory.  Sizes and addresses are multiples of the granularity.
     * A page is one physical handle of any such size.  map() maps a whole page
     * into a reserved range where nothing is mapped; it is usable after
     * set_access() on the range.  unmap() takes a range that covers whole
     * handles.  A released page lives until it is unmapped. */
    larder_result (*address_reserve)(void *self, uint64_t bytes,
                                     larder_addr *out);
    larder_result (*address_free)(void *self, larder_addr addr, uint64_t bytes);
    larder_result (*page_create)(void *self, uint64_t bytes, uint64_t *out);
    larder_result (*page_release)(void *self, uint64_t page);
    larder_result (*map)(void *self, larder_addr addr, uint64_t bytes,
                         uint64_t page);
    larder_result (*unmap)(void *self, larder_addr addr, uint64_t bytes);
    larder_result (*set_access)(void *self, larder_addr addr, uint64_t bytes);

    /* Order.  Required: all but the last two.  event_query() returns
     * LARDER_ERR_NOT_READY while work recorded before it has not completed;
     * an event never recorded is complete. */
    larder_result (*event_create)(void *self, uint64_t *out);
    larder_result (*event_destroy)(void *self, uint64_t event);
    larder_result (*event_record)(void *self, uint64_t event,
                                  larder_stream stream);
    larder_result (*event_query)(void *self, uint64_t event);
    larder_result (*event_sync)(void *self, uint64_t event);
    larder_result (*stream_sync)(void *self, larder_stream stream);
    /* LARDER_ERR_UNKNOWN_STREAM if there is no such stream.  NULL: any value
     * is assumed to be a stream. */
    larder_result (*stream_check)(void *self, larder_stream stream);
    /* Sets *out to 1 or 0.  NULL: never. */
    larder_result (*stream_is_capturing)(void *self, larder_stream stream,
                                         int *out);

    /* Data, in stream order.  A host address is a pointer. */
    larder_result (*copy)(void *self, uint64_t dst, uint64_t src,
                          uint64_t bytes, larder_copy_kind kind,
                          larder_stream stream);
    larder_result (*fill)(void *self, larder_addr dst, unsigned char value,
                          uint64_t bytes, larder_stream stream);

    /* Pinned host memory. */
    larder_result (*host_alloc)(void *self, uint64_t bytes, void **out);
    larder_result (*host_free)(void *self, void *ptr);

    /* Calls fn for every process that holds memory of this device. */
    larder_result (*processes)(void *self, larder_process_fn *fn, void *ctx);

    /* The driver's message for the last failure on this thread; static or valid
     * until this thread's next call; "" if it has none. */
    const char *(*error_text)(void *self);

    /* Pages between processes: both or none.  page_export() creates a handle of
     * the kind export_kind; the page lives while any process uses it.
     * page_import() creates a page of `bytes`, which is released like one of
     * page_create(); the handle remains the caller's. */
    larder_result (*page_export)(void *self, uint64_t page,
                                 larder_page_handle *out);
    larder_result (*page_import)(void *self, const larder_page_handle *handle,
                                 uint64_t bytes, uint64_t *out);

    /* For debug:2.  LARDER_ERR_NOT_READY, and the stream, if queued work uses
     * any of these bytes and none of `streams` is ordered after it, neither by
     * being its stream nor by waiting for it.  NULL: the device does not know
     * the addresses that queued work uses. */
    larder_result (*unordered_use)(void *self, larder_addr addr, uint64_t bytes,
                                   const larder_stream *streams, size_t count,
                                   larder_stream *out);
} larder_device_ops;
#define LARDER_DEVICE_OPS_INIT LARDER_SIZED_INIT(larder_device_ops)

/* Create a device from a table and its context.  The table is copied; functions
 * that a shorter (older) table lacks are NULL.  On failure `self` is not
 * closed. */
LARDER_API larder_result larder_device_create(const larder_device_ops *ops,
                                              void *self, larder_device **out);

/* ---- properties and direct use ------------------------------------------ */

LARDER_API larder_result larder_device_get_props(larder_device *dev,
                                                 larder_device_props *out);
LARDER_API const char *larder_device_name(larder_device *dev); /* "sim" */
LARDER_API larder_result larder_device_mem_info(larder_device *dev,
                                                uint64_t *free_bytes,
                                                uint64_t *total_bytes);
LARDER_API larder_result larder_device_copy(larder_device *dev, uint64_t dst,
                                            uint64_t src, uint64_t bytes,
                                            larder_copy_kind kind,
                                            larder_stream stream);
LARDER_API larder_result larder_device_fill(larder_device *dev, larder_addr dst,
                                            unsigned char value, uint64_t bytes,
                                            larder_stream stream);
LARDER_API larder_result larder_device_stream_sync(larder_device *dev,
                                                   larder_stream stream);
/* Sets *out to 1 or 0; 0 for a device without stream capture. */
LARDER_API larder_result larder_device_stream_is_capturing(larder_device *dev,
                                                           larder_stream stream,
                                                           int *out);

/* The event functions of the table.  query: LARDER_ERR_NOT_READY while work
 * recorded before it has not completed; it leaves the last error unchanged. */
LARDER_API larder_result larder_device_event_create(larder_device *dev,
                                                    uint64_t *out);
LARDER_API larder_result larder_device_event_destroy(larder_device *dev,
                                                     uint64_t event);
LARDER_API larder_result larder_device_event_record(larder_device *dev,
                                                    uint64_t event,
                                                    larder_stream stream);
LARDER_API larder_result larder_device_event_query(larder_device *dev,
                                                   uint64_t event);
LARDER_API larder_result larder_device_event_sync(larder_device *dev,
                                                  uint64_t event);

/* Pinned host memory.  ERR_DEVICE for an address that is not pinned memory of
 * this device; freeing NULL is a no-op. */
LARDER_API larder_result larder_device_host_alloc(larder_device *dev,
                                                  uint64_t bytes, void **out);
LARDER_API larder_result larder_device_host_free(larder_device *dev, void *ptr);

/* ---- counters, prices, injected faults ----------------------------------- */

/* Nanoseconds that each call takes on a card, for estimates: nothing waits.  A
 * failed call costs its fixed part.  `_per_mib` of mem_alloc and page_create is
 * for each MiB above 2, that of copies for each MiB: within the device, or from
 * or to the host. */
#define LARDER_PRICE_MAP(X)                                                    \
    X(mem_alloc, 60000)                                                        \
    X(mem_alloc_per_mib, 100)                                                  \
    X(mem_free, 60000)                                                         \
    X(address_reserve, 20000)                                                  \
    X(page_create, 190000)                                                     \
    X(page_create_per_mib, 1000)                                               \
    X(page_release, 50000)                                                     \
    X(map, 1500)                                                               \
    X(set_access, 36000)                                                       \
    X(unmap, 26000)                                                            \
    X(wait, 10000)                                                             \
    X(event_record, 1000)                                                      \
    X(event_query, 500)                                                        \
    X(copy, 2000)                                                              \
    X(copy_per_mib, 1750)                                                      \
    X(copy_host_per_mib, 87000)

typedef struct larder_prices {
    size_t size; /* set by larder_prices_init() */
#define X(name, ns) uint64_t name;
    LARDER_PRICE_MAP(X)
#undef X
} larder_prices;

/* The bundled table. */
LARDER_API void larder_prices_init_sized(larder_prices *p, size_t size);
#define larder_prices_init(p) larder_prices_init_sized((p), sizeof *(p))

/* Read a price table from a file with lines `name nanoseconds` and `#`
 * comments; names that are missing keep their bundled price.  The error names
 * the file and the line.  ERR_SYSTEM if the file cannot be read. */
LARDER_API larder_result larder_prices_read(const char *path,
                                            larder_prices *out);

LARDER_API larder_result larder_device_set_prices(larder_device *dev,
                                                  const larder_prices *p);

typedef struct larder_device_counters {
    size_t size;                        /* set by the caller */
    uint64_t calls[LARDER_CALL_COUNT];  /* calls that succeeded */
    uint64_t failed[LARDER_CALL_COUNT]; /* calls that failed */
    uint64_t pages_mapped;              /* handles mapped */
    uint64_t pages_unmapped;            /* handles unmapped */
    uint64_t time_ns;                   /* by the price table */
} larder_device_counters;
#define LARDER_DEVICE_COUNTERS_INIT LARDER_SIZED_INIT(larder_device_counters)

LARDER_API larder_result
larder_device_get_counters(larder_device *dev, larder_device_counters *out);
LARDER_API larder_result larder_device_reset_counters(larder_device *dev);

/* Make calls of one kind fail: the `nth` from now (1 = the next) and the
 * `times` - 1 after it; times 0 = all after it.  nth 0 ends this.  A failing
 * call does not reach the device and returns `with`. */
LARDER_API larder_result larder_device_fail(larder_device *dev,
                                            larder_call call, uint64_t nth,
                                            uint64_t times, larder_result with);

#ifdef __cplusplus
}
#endif
#endif

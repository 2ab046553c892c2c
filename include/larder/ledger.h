/* ledger.h - the processes on a device, and how much of its memory each holds.
 *
 * Allocators on a device that several processes can use (cuda:N, hip:N, and a
 * simulated GPU with shared=NAME) keep a ledger of it in shared memory: one for
 * the user's processes, or, with the setting `ledger_group`, for a group's.
 * When a request runs out of memory, the processes that cache most beyond their
 * minimum are asked to release it.  They do at their next request, or, with the
 * setting `ledger_thread`, at once.  larder-conf(5) has the settings.
 *
 * These calls inspect ledgers from any process, as `larder top` does.  A
 * process that may use a ledger can write to it, and is trusted to do so only
 * through the library.  Corrupt contents cause wrong numbers and needless
 * releases, nothing worse; truncating the ledger's file kills the processes
 * that use it.
 *
 * Units are bytes.  Any thread may call at any time.
 */
#ifndef LARDER_LEDGER_H
#define LARDER_LEDGER_H

#include <larder/device.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { LARDER_LEDGER_ID_BYTES = 96, LARDER_LEDGER_NAME_BYTES = 32 };

/* A device with a ledger. */
typedef struct larder_ledger_device {
    size_t size;                     /* set by the library */
    char id[LARDER_LEDGER_ID_BYTES]; /* of the ledger, for the calls below */
    char name[64];                   /* of the device */
    unsigned char uuid[LARDER_UUID_BYTES];
    uint64_t total_bytes;
    /* Held outside of the ledger, as last measured: it is measured while a
     * process holds less than its minimum. */
    uint64_t others_bytes;
    int64_t group; /* that owns the ledger; -1: the user only */
    int is_simulated;
} larder_ledger_device;
#define LARDER_LEDGER_DEVICE_INIT LARDER_SIZED_INIT(larder_ledger_device)

/* A process on the device. */
typedef struct larder_ledger_process {
    size_t size; /* set by the library */
    int64_t pid;
    char name[LARDER_LEDGER_NAME_BYTES];
    uint64_t context_bytes;  /* used by the driver; 0: unknown */
    uint64_t reserved_bytes; /* held from the device */
    uint64_t in_use_bytes; /* of these, allocated: to within 64 MiB a stream */
    uint64_t minimum_bytes;
    uint64_t limit_bytes;       /* of the process; 0: none */
    uint64_t group_limit_bytes; /* that it sets for all together; 0: none */
    int is_own;                 /* belongs to the calling user */
    int is_self;
} larder_ledger_process;
#define LARDER_LEDGER_PROCESS_INIT LARDER_SIZED_INIT(larder_ledger_process)

typedef void larder_ledger_fn(void *ctx, const larder_ledger_device *device,
                              const larder_ledger_process *processes,
                              size_t count);

/* Call fn for each ledger that the caller may use, in no particular order.
 * Asks each process to update its entry, which it does at its next request.
 * Removes ledgers without processes. */
LARDER_API larder_result larder_ledger_each(larder_ledger_fn *fn, void *ctx);

/* Ask a process to release `bytes` that it caches beyond its minimum.  It does
 * so at its next request.  ERR_INVALID if there is no such ledger or no such
 * process in it; ERR_BUSY if a stopped process holds the ledger's lock. */
LARDER_API larder_result larder_ledger_trim(const char *id, int64_t pid,
                                            uint64_t bytes);

/* Limit what a process holds, from its next request on; a lower limit of its
 * own remains in force.  0 removes this limit.  Errors as above. */
LARDER_API larder_result larder_ledger_limit(const char *id, int64_t pid,
                                             uint64_t bytes);

#ifdef __cplusplus
}
#endif
#endif

/* ledger.h - the processes on a device: who has how much of its memory.
 *
 * Allocators on a device that several processes can have (cuda:N, hip:N, and a
 * simulated GPU with shared=NAME) keep a ledger of it in shared memory: of the
 * user's processes, or with the setting `ledger_group` of those of a group.
 * When a request finds nothing, the processes that cache most beyond their
 * minimum are asked to give back, and do so at their next request, or, with
 * the setting `ledger_thread`, at once.  larder-conf(5) has the settings.
 *
 * This is for looking at it from anywhere, as `larder top` does.  Whoever may
 * use a ledger may write to it, and so to the processes in it: they are
 * trusted not to do that but through these calls, though whatever stands in it
 * does no more harm than wrong numbers and wrong requests to give back.  (Who
 * makes its file shorter ends the processes in it.)
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
    uint64_t
        others_bytes; /* held by who is not in the ledger, as last measured,
                              which is while somebody lacks of a minimum */
    int64_t group;    /* whose it is; -1: the user's alone */
    int is_simulated;
} larder_ledger_device;

/* A process that has it. */
typedef struct larder_ledger_process {
    size_t size; /* set by the library */
    int64_t pid;
    char name[LARDER_LEDGER_NAME_BYTES];
    uint64_t context_bytes;  /* the driver's part; 0 if it does not tell */
    uint64_t reserved_bytes; /* held from the device */
    uint64_t in_use_bytes;   /* of these, handed out when it last said so */
    uint64_t minimum_bytes;
    uint64_t limit_bytes;       /* of the process; 0: none */
    uint64_t group_limit_bytes; /* that it sets for all together; 0: none */
    int is_own;                 /* of the user who asks */
    int is_self;
} larder_ledger_process;

typedef void larder_ledger_fn(void *ctx, const larder_ledger_device *device,
                              const larder_ledger_process *processes,
                              size_t count);

/* Call fn for each ledger that the caller may use, in no order.  Each process
 * is asked to say anew what it has, which it does at its next request.
 * Ledgers that nobody is in any more are removed. */
LARDER_API larder_result larder_ledger_each(larder_ledger_fn *fn, void *ctx);

/* Ask a process to give back `bytes` that it caches beyond its minimum.  It
 * does at its next request.  ERR_INVALID if there is no such ledger, or
 * process in it. */
LARDER_API larder_result larder_ledger_trim(const char *id, int64_t pid,
                                            uint64_t bytes);

/* Have a process hold no more than this from its next request on, what its own
 * setting says if that is less; 0 takes that back.  ERR_INVALID as above. */
LARDER_API larder_result larder_ledger_limit(const char *id, int64_t pid,
                                             uint64_t bytes);

#ifdef __cplusplus
}
#endif
#endif

/* share.h - memory shared by two processes: one exports an allocation, sends it
 * over a UNIX socket, and the other maps the same memory at an address of its
 * own.
 *
 *   larder_export_open(a, addr, &e);          larder_import_receive(dev, s, &m);
 *   larder_export_send(e, s);                 larder_import_get(m, &info);
 *   ...                                       ... use info.addr ...
 *   larder_export_close(e);                   larder_import_close(m);
 *
 * What can be exported is chosen when pages are made: by the device's setting
 * `export` (larder_device_open()), and by what makes an allocation lie in
 * pages at all: the policy larder, or expandable_segments:True.
 *
 * Order.  Work queued by one process is not known to the other: the exporter
 * waits for what it wrote before it tells anyone, the importer waits for its
 * own use before it closes.
 *
 * Lifetime.  From larder_export_open() to larder_export_close() the pages are
 * neither released nor put to another use, even if the allocation is freed
 * in between; it is then free with the close.  The importer's mapping holds the
 * physical memory by itself: it stays valid whatever the exporter does, and
 * whether or not that lives.  It counts in no allocator of the importer.
 *
 * Memory is mapped whole, as it came from the driver: under the policy larder
 * that is 2 MiB at least and a 2560th of the device's memory at most, with
 * whatever else of the exporter lies in it.
 *
 * Whoever connects to the socket is trusted with the memory, and sends memory
 * that is mapped here: use a socket that only the right processes can reach. */
#ifndef LARDER_SHARE_H
#define LARDER_SHARE_H

#include <larder/device.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct larder_export larder_export; /* opaque */
typedef struct larder_import larder_import; /* opaque */

/* Hold the live allocation that begins at addr for others.  It may be open
 * several times.
 *
 * ERR_UNKNOWN_ADDRESS if no allocation begins there.  ERR_UNSUPPORTED says why
 * it cannot be exported: it does not lie in pages, or the device makes pages
 * that cannot leave the process.  ERR_NO_HOST_MEMORY.
 * Cost: host memory of 16 bytes a page. */
LARDER_API larder_result larder_export_open(larder_allocator *a,
                                            larder_addr addr,
                                            larder_export **out);

/* Send it over a connected UNIX socket, stream or sequenced packets; as often
 * and to as many as wanted.  Blocks while the socket is full.  The allocator's
 * lock is not held.
 *
 * ERR_SYSTEM: the peer is gone, or the socket refused; what was sent before is
 * of no use to the peer.  ERR_INVALID: it is not such a socket.  ERR_DEVICE: the
 * driver made no handle.  ERR_DESTROYED: the allocator is gone.
 * Cost: one driver call a handle; descriptors go in batches, so that at most 64
 * are open at once. */
LARDER_API larder_result larder_export_send(larder_export *e, int socket);

/* Let go of the allocation: from here on it is used and freed as any
 * other, or is free, if it was freed before.  The export is gone in any case,
 * and importers keep what they have.  After larder_destroy() too; NULL is a
 * no-op.  Nothing here waits for importers: they have to tell when they are
 * done with what must not be reused. */
LARDER_API larder_result larder_export_close(larder_export *e);

/* Receive what larder_export_send() sends and map it.  Blocks until it is
 * there, or the socket's SO_RCVTIMEO ends.  `dev` must outlive it and be the
 * device the memory is on.
 *
 * ERR_SYSTEM: the peer closed the socket or nothing came in time.  ERR_INVALID:
 * what came is no message of this version, or the memory is of another device;
 * the words say what was expected.  ERR_UNSUPPORTED: this device has no such
 * calls.  ERR_DEVICE, ERR_OUT_OF_MEMORY, ERR_NO_HOST_MEMORY.  Nothing is left
 * behind on failure, but the socket may be amid a message: close it. */
LARDER_API larder_result larder_import_receive(larder_device *dev, int socket,
                                               larder_import **out);

typedef struct larder_import_info {
    size_t size;           /* set by the caller */
    larder_addr addr;      /* of the allocation, here */
    uint64_t bytes;        /* of the allocation, as its owner asked */
    uint64_t mapped_bytes; /* whole handles: what is mapped for it */
} larder_import_info;

LARDER_API larder_result larder_import_get(const larder_import *m,
                                           larder_import_info *out);

/* Unmap it; the caller has waited for the work that uses it.  NULL is a no-op.
 * ERR_DEVICE if the device refused: what is left stays, to be closed again. */
LARDER_API larder_result larder_import_close(larder_import *m);

#ifdef __cplusplus
}
#endif
#endif

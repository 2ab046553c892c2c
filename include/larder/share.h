/* share.h - memory shared by two processes: one exports an allocation and sends
 * it over a UNIX socket; the other maps the same memory at an address of its
 * own.
 *
 *   larder_export_open(a, addr, &e);         larder_import_receive(dev, s, &m);
 *   larder_export_send(e, s);                larder_import_get(m, &info);
 *   ...                                      ... use info.addr ...
 *   larder_export_close(e);                  larder_import_close(m);
 *
 * Only pages that were created exportable can be exported: the device must be
 * opened with `export` (larder_device_open()), and the allocation must lie in
 * pages, which takes the policy `larder` or expandable_segments:True.
 *
 * Order.  A process does not see work that the other has queued: the exporter
 * must wait for its writes before it tells the importer, and the importer for
 * its own uses before it closes.
 *
 * Lifetime.  From larder_export_open() to larder_export_close() the pages are
 * neither released nor reused, even if the allocation is freed meanwhile; the
 * close then makes them available.  The importer's mapping has a reference of
 * its own to the physical memory: it stays valid whatever the exporter does,
 * even if that exits.  It counts in no allocator of the importer.
 *
 * Whole driver handles are mapped: under the policy `larder` at least 2 MiB and
 * at most 1/128 of the device's memory (20 MiB if that is more), with
 * everything else of the exporter that lies in them.
 *
 * The peer on the socket gets access to the memory, and the importer maps what
 * the peer sends: use a socket that only trusted processes can reach. */
#ifndef LARDER_SHARE_H
#define LARDER_SHARE_H

#include <larder/device.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct larder_export larder_export; /* opaque */
typedef struct larder_import larder_import; /* opaque */

/* Open an export of the live allocation that begins at addr.  An allocation may
 * have several exports.
 *
 * ERR_UNKNOWN_ADDRESS if no allocation begins there.  ERR_UNSUPPORTED: the
 * allocation does not lie in pages, or the device's pages are not exportable.
 * ERR_PAUSED: its tag is paused.  ERR_NO_HOST_MEMORY.
 * Cost: 16 bytes of host memory per page. */
LARDER_API larder_result larder_export_open(larder_allocator *a,
                                            larder_addr addr,
                                            larder_export **out);

/* Send it over a connected UNIX socket (stream or sequenced packets), any
 * number of times and to any number of peers.  Blocks while the socket is full,
 * without holding the allocator's lock.
 *
 * ERR_SYSTEM: the peer closed the socket, or it failed; what was sent so far is
 * useless to the peer.  ERR_INVALID: not such a socket.  ERR_DEVICE: the driver
 * did not create a handle.  ERR_DESTROYED: the allocator was destroyed.
 * Cost: one driver call per handle; descriptors are sent in batches, so that at
 * most 64 are open at once. */
LARDER_API larder_result larder_export_send(larder_export *e, int socket);

/* Close the export, which is freed in any case but ERR_FORKED (larder.h);
 * importers keep their mappings.  An allocation that was freed meanwhile becomes
 * available for reuse.  May be called after larder_destroy(); NULL is a no-op.
 * This does not wait for importers: if the memory must not be reused under them,
 * they have to tell the exporter when they are done. */
LARDER_API larder_result larder_export_close(larder_export *e);

/* Receive an export from larder_export_send() and map it.  Blocks until it
 * arrives or the socket's SO_RCVTIMEO expires.  `dev` must be the device that
 * has the memory (a simulated GPU: by the same shared=NAME), and must outlive
 * the import.
 *
 * ERR_SYSTEM: the peer closed the socket, or a timeout.  ERR_INVALID: not a
 * message of this version, or memory of another device; the message says what
 * was expected.  ERR_UNSUPPORTED: this device cannot import pages.  ERR_DEVICE,
 * ERR_OUT_OF_MEMORY, ERR_NO_HOST_MEMORY.  A failure leaves nothing behind, but
 * the socket may be in the middle of a message: close it. */
LARDER_API larder_result larder_import_receive(larder_device *dev, int socket,
                                               larder_import **out);

typedef struct larder_import_info {
    size_t size;           /* set by the caller */
    larder_addr addr;      /* of the allocation, here */
    uint64_t bytes;        /* of the allocation, as requested by its owner */
    uint64_t mapped_bytes; /* of the whole handles mapped for it */
} larder_import_info;
#define LARDER_IMPORT_INFO_INIT LARDER_SIZED_INIT(larder_import_info)

LARDER_API larder_result larder_import_get(const larder_import *m,
                                           larder_import_info *out);

/* Unmap it.  The caller must have waited for the work that uses it.  NULL is a
 * no-op.  ERR_DEVICE if the device failed: the rest stays mapped, and the close
 * may be tried again. */
LARDER_API larder_result larder_import_close(larder_import *m);

#ifdef __cplusplus
}
#endif
#endif

/* share_socket.h - bytes and descriptors over a UNIX socket.  Private to
 * core. */
#ifndef LARDER_CORE_SHARE_SOCKET_H
#define LARDER_CORE_SHARE_SOCKET_H

#include <stddef.h>

#include <larder/larder.h>

/* Send all of it; the descriptors go with the first byte. */
larder_result larder__socket_send(int socket, const void *bytes, size_t count,
                                  const int *fds, size_t fd_count);

/* Receive exactly so many bytes, and with them up to `capacity` descriptors,
 * which are closed on exec and the caller's to close.  On failure no
 * descriptor is left open. */
larder_result larder__socket_receive(int socket, void *bytes, size_t count,
                                     int *fds, size_t capacity,
                                     size_t *fd_count);

void larder__fds_close(const int *fds, size_t count);

#endif

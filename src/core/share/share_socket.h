/* share_socket.h - sends bytes and descriptors over a UNIX socket.  Private to
 * core. */
#pragma once

#include <stddef.h>

#include <larder/larder.h>

/* Send all bytes; the descriptors go with the first byte. */
larder_result larder__socket_send(int socket, const void *bytes, size_t count,
                                  const int *fds, size_t fd_count);

/* Receive exactly `count` bytes and up to `capacity` descriptors.  They are
 * closed on exec, and the caller closes them.  On failure none is left open. */
larder_result larder__socket_receive(int socket, void *bytes, size_t count,
                                     int *fds, size_t capacity,
                                     size_t *fd_count);

/* Close them all; errors are ignored. */
void larder__fds_close(const int *fds, size_t count);

/* draw.h - memory from the device and back: the device's calls, with what the
 * ledger of the device's processes has to say.  Private to core.
 *
 * Where that refuses, it is as if the device had: LARDER_ERR_OUT_OF_MEMORY.
 * The locks are held. */
#ifndef LARDER_CORE_DRAW_H
#define LARDER_CORE_DRAW_H

#include "core/state/allocator.h"

larder_result larder__draw_memory(struct allocator *a, uint64_t bytes,
                                  larder_addr *out);
larder_result larder__draw_page(struct allocator *a, uint64_t bytes,
                                uint64_t *out);

/* As many bytes as were drawn. */
larder_result larder__return_memory(struct allocator *a, larder_addr addr,
                                    uint64_t bytes);
larder_result larder__return_page(struct allocator *a, uint64_t page,
                                  uint64_t bytes);

#endif

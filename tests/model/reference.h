/* reference.h - a naive model of the `pytorch` policy, against which the
 * library is tested.
 *
 * It is written from the description of the policy alone, with arrays and
 * linear scans and nothing clever, so that it is unlikely to share a mistake
 * with the library.  It includes its own model of the simulated device:
 * addresses and capacity, no memory.
 *
 * Left out: reserved pieces, checkpoints, reclaim callbacks, error messages.
 * Not thread safe.  Ends the program if the host runs out of memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <larder/larder.h>

enum { REFERENCE_STREAMS = 64 }; /* streams are the numbers below this */

struct reference; /* opaque */

/* A device of `capacity` bytes.  `immediate` events are complete as soon as
 * they are queried, others when reference_complete() or a wait says so.  `conf`
 * must be well formed. */
struct reference *reference_create(uint64_t capacity, bool immediate,
                                   const char *conf);
void reference_destroy(struct reference *r);

/* The same as the functions of larder.h with these names, results included.
 * Addresses are offsets from the first region's base plus
 * REFERENCE_ADDRESS_BASE, so that none is 0. */
#define REFERENCE_ADDRESS_BASE (UINT64_C(1) << 44)

void reference_configure(struct reference *r, const char *conf);
void reference_set_fraction(struct reference *r, double fraction);
larder_result reference_alloc(struct reference *r, uint64_t bytes,
                              larder_stream stream, larder_addr *out);
/* LARDER_ERR_UNKNOWN_ADDRESS for an address that is not live. */
larder_result reference_free(struct reference *r, larder_addr addr);
larder_result reference_record_stream(struct reference *r, larder_addr addr,
                                      larder_stream stream);
larder_result reference_empty_cache(struct reference *r);
larder_result reference_pool_begin(struct reference *r, larder_pool_id id,
                                   larder_pool_filter *filter, void *ctx);
larder_result reference_pool_end(struct reference *r, larder_pool_id id);
larder_result reference_pool_release(struct reference *r, larder_pool_id id);
void reference_stats(const struct reference *r, larder_stats *out);
void reference_reset_peak(struct reference *r);
void reference_reset_accumulated(struct reference *r);
void reference_walk(const struct reference *r, larder_segment_fn *segment_fn,
                    larder_block_fn *block_fn, void *ctx);

/* Everything queued on the stream so far has completed. */
void reference_complete(struct reference *r, larder_stream stream);

/* Bytes of the device in use. */
uint64_t reference_used_bytes(const struct reference *r);

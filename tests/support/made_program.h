/* made_program.h - memory snapshots of made-up programs, from a seed.
 *
 * A program allocates on a small caching allocator (made_device.h) as training,
 * inference, or without any plan; the seed also chooses the release that writes,
 * what it records, devices, streams, pools, marks, failures, and how much of the
 * history was lost.  Sizes are few multiples of a unit, and what is in use at the
 * peak of training is a multiple of twenty units, so that shares lie on the
 * bounds of rules as often as beside them. */
#pragma once

#include <stdint.h>

#include <jansson.h>

/* The document of a snapshot, as json.load() would give it; a new reference. */
json_t *made_document(uint64_t seed);

/* In a few words, what the seed chose; valid until the next call. */
const char *made_words(uint64_t seed);

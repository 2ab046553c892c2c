/* snap_rest.h - keys nobody here knows, kept to be written again: as a text of
 * tokens, a string like any other, so that equal ones are kept once.
 *
 *   ,            an item of a list follows     [ ] { }   lists and dicts
 *   kN           the key that is string N      N T F     None, True, False
 *   iN  uN       integers                      rN        a float, its bits in hex
 *   sN  pN  fN   string, pool, frame N         eN:M gN:M events, segments: a list
 *                                              of M records from number N on
 *
 * Numbers are followed by a blank.  What is no plain data (what was built by
 * running code, keys that are no strings, deeper than SNAP_REST_DEPTH) is left
 * out; a pair comes back as a tuple, tuples of another length as lists. */
#ifndef LARDER_SNAPSHOT_SNAP_REST_H
#define LARDER_SNAPSHOT_SNAP_REST_H

#include "snapshot/snap_builder.h"

enum { SNAP_REST_DEPTH = 16 };

/* What a key belongs to: a record's lists go as soon as it is whole, and its
 * values can be no records themselves. */
enum snap_rest_of { SNAP_REST_RECORD, SNAP_REST_ROOT };

/* Add a key and its value to the text on its way.  False: no memory. */
bool snap_rest_add(struct snap_builder *b, enum snap_rest_of of,
                   const struct snap_value *key,
                   const struct snap_value *value);

/* The text as a string, 0: nothing was added; the next one begins. */
bool snap_rest_end(struct snap_builder *b, uint32_t *string);

/* A record has such keys.  False: no memory. */
bool snap_rest_of_record(struct snap_builder *b, enum snapshot_record kind,
                         uint64_t record, uint32_t string);

#endif

/* snap_rest.h - keeps unknown keys so that they can be written again: as a text
 * of tokens, stored like other strings, so that equal ones are stored once.
 *
 *   [ ] { }      lists and dicts               N T F     None, True, False
 *   kN           the key that is string N      rN        a float, its bits in hex
 *   iN  uN       integers
 *   sN  pN  fN   string, pool, frame N         eN:M gN:M events, segments: a list
 *                                              of M records from number N on
 *
 * Numbers are followed by a blank.  What is not plain data (built by running
 * code, keys that are not strings, nested deeper than SNAP_REST_DEPTH) is left
 * out.  A pair is written as a tuple, tuples of any other length as lists. */
#pragma once

#include "snapshot/snap_builder.h"

enum { SNAP_REST_DEPTH = 16 };

/* What a key belongs to.  A record's lists are freed as soon as it is complete,
 * and its values cannot be records themselves. */
enum snap_rest_of { SNAP_REST_RECORD, SNAP_REST_ROOT };

/* Add a key and its value to the current text. */
void snap_rest_add(struct snap_builder *b, enum snap_rest_of of,
                   const struct snap_value *key,
                   const struct snap_value *value);

/* Finish the text and begin the next.  Returns its string; 0: nothing was
 * added. */
uint32_t snap_rest_end(struct snap_builder *b);

/* Attach such keys to a record. */
void snap_rest_of_record(struct snap_builder *b, enum snapshot_record kind,
                         uint64_t record, uint32_t string);

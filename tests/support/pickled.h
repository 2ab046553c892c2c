/* pickled.h - a JSON document as a pickle, in any of the ways there are to write
 * one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

/* The seed chooses the protocol, among equivalent opcodes, what is memoized, in
 * what parts lists and dicts are filled, and where something is pushed and taken
 * away again.  Seed 0: always the first choice, protocol 4.  malloc'd. */
unsigned char *pickled(const json_t *document, uint64_t seed, size_t *count);

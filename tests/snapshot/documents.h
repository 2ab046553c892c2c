/* documents.h - what a snapshot's document becomes when it is read and written
 * again, computed from the document alone. */
#pragma once

#include <stdint.h>

#include <jansson.h>

#include "snapshot/snapshot.h"

/* Add unknown keys with values of every kind, and known ones without a value, to
 * some of its dicts, and lists of records under unknown keys. */
void document_spice(json_t *document, uint64_t seed);

/* How often each unknown key of the outermost dict and of records occurs, by
 * name.  A new reference. */
json_t *document_unknown(const json_t *document);

/* The document as it is written again: known keys under their new names, and
 * without those that have no value.  A new reference. */
json_t *document_expected(const json_t *document);

/* A snapshot as it is written in JSON, with its stacks in place of their
 * numbers.  A new reference. */
json_t *document_written(const struct snapshot *s);

/* snapshot_conf.h - the settings under which a snapshot was recorded, as a
 * configuration for larder_options.conf: all of them, with the release. */
#pragma once

#include <larder/larder.h>

#include "snapshot/snapshot.h"

/* Under the rules of this release; NULL: of snapshot_release().  "" if no
 * setting was recorded.  Keys are not checked: larder_conf_check() names one
 * that cannot be replayed.  NULL: no host memory.  The caller frees it. */
char *snapshot_conf(const struct snapshot *s, const char *release);

/* The policy that recorded it: PyTorch's, unless Larder wrote another. */
larder_policy snapshot_policy(const struct snapshot *s);

/* The release of PyTorch whose rules apply: that recorded by Larder; otherwise
 * the newest that writes such keys.  NULL: any release may have written it. */
const char *snapshot_release(const struct snapshot *s);

/* larder_conf_segment() under the recorded settings, or PyTorch's defaults if
 * these cannot be used.  False: no host memory. */
bool snapshot_segment(const struct snapshot *s, uint64_t bytes,
                      uint64_t *segment_bytes, uint64_t *page_bytes);

/* Whether the text of the settings sets a key to a value; NULL: to any. */
bool snapshot_set_to(const struct snapshot *s, const char *key,
                     const char *value);

/* The number that a key has in it; 0: none. */
uint64_t snapshot_set_number(const struct snapshot *s, const char *key);

/* The beginning of a key's value in a configuration, and its length up to the
 * next key.  NULL: the key is not set. */
const char *snapshot_conf_value(const char *conf, const char *key,
                                size_t *length);

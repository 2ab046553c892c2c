/* snapshot_words.c - the strings that have a meaning in a snapshot. */
#include "base/snapshot_words.h"

const char *const larder__snapshot_words[SNAP_WORD_COUNT] = {[WORD_EMPTY] = "",
#define X(word, text) [word] = (text),
                                                             SNAP_WORDS(X)
#undef X
};

/* emit.h - writes nested values as a pickle or as JSON, through a buffer.
 * Private to core.
 *
 * Pickles have protocol 4 and use only opcodes that PyTorch's MemoryViz.js
 * knows.  Errors are remembered: after the first one nothing more is written,
 * so it is enough to check at the end. */
#ifndef LARDER_CORE_OBSERVE_EMIT_H
#define LARDER_CORE_OBSERVE_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <larder/history.h>

/* Strings that occur often; a pickle contains each once. */
#define EMIT_WORD_MAP(X)                                                       \
    X(segments)                                                                \
    X(device_traces)                                                           \
    X(allocator_settings)                                                      \
    X(external_annotations)                                                    \
    X(host_segments)                                                           \
    X(host_traces)                                                             \
    X(device)                                                                  \
    X(address)                                                                 \
    X(total_size)                                                              \
    X(allocated_size)                                                          \
    X(active_size)                                                             \
    X(requested_size)                                                          \
    X(stream)                                                                  \
    X(segment_type)                                                            \
    X(segment_pool_id)                                                         \
    X(is_expandable)                                                           \
    X(is_reserved)                                                             \
    X(frames)                                                                  \
    X(blocks)                                                                  \
    X(size)                                                                    \
    X(state)                                                                   \
    X(active_allocated)                                                        \
    X(active_pending_free)                                                     \
    X(inactive)                                                                \
    X(small)                                                                   \
    X(large)                                                                   \
    X(user_metadata)                                                           \
    X(compile_context)                                                         \
    X(action)                                                                  \
    X(addr)                                                                    \
    X(device_free)                                                             \
    X(time_us)                                                                 \
    X(pool_id)                                                                 \
    X(filename)                                                                \
    X(line)                                                                    \
    X(name)                                                                    \
    X(offset)                                                                  \
    X(stage)                                                                   \
    X(START)                                                                   \
    X(alloc)                                                                   \
    X(free_requested)                                                          \
    X(free_completed)                                                          \
    X(segment_alloc)                                                           \
    X(segment_free)                                                            \
    X(segment_map)                                                             \
    X(segment_unmap)                                                           \
    X(snapshot)                                                                \
    X(oom)

enum emit_word {
#define X(word) WORD_##word,
    EMIT_WORD_MAP(X)
#undef X
        EMIT_WORDS
};

enum { EMIT_BUFFER = 1 << 15, EMIT_DEPTH = 12, EMIT_BATCH = 1000 };

struct emit {
    larder_write_fn *write;
    void *ctx;
    bool json;
    bool failed;     /* a write failed */
    bool after_item; /* JSON: the next item needs a comma before it */
    unsigned depth;
    uint32_t batched[EMIT_DEPTH]; /* pickle: items since the last APPENDS */
    uint32_t memo_count;
    uint32_t words[EMIT_WORDS]; /* memo number + 1; 0: not written yet */
    size_t used;
    unsigned char buffer[EMIT_BUFFER];
};

/* Clear all of *e except the buffer, and begin. */
void larder__emit_begin(struct emit *e, larder_write_fn *write, void *ctx,
                        bool json);

/* End the one value that was written.  False: something failed. */
bool larder__emit_end(struct emit *e);

void larder__emit_dict_begin(struct emit *e);
void larder__emit_dict_end(struct emit *e);
void larder__emit_list_begin(struct emit *e);
void larder__emit_list_next(struct emit *e); /* before each item */
void larder__emit_list_end(struct emit *e);

/* Write two numbers: a tuple in a pickle, a list in JSON. */
void larder__emit_pair(struct emit *e, uint64_t first, uint64_t second);

/* Write a key of a dict; its value must follow. */
void larder__emit_key(struct emit *e, enum emit_word word);
void larder__emit_key_text(struct emit *e, const char *text);

void larder__emit_word(struct emit *e, enum emit_word word);
/* Bytes that are not UTF-8 become U+FFFD. */
void larder__emit_text(struct emit *e, const char *text);
void larder__emit_unsigned(struct emit *e, uint64_t value);
void larder__emit_signed(struct emit *e, int64_t value);
void larder__emit_real(struct emit *e, double value);
void larder__emit_bool(struct emit *e, bool value);

/* Pickles only: memoize the list or dict just begun, and write it again by its
 * number. */
uint32_t larder__emit_keep(struct emit *e);
void larder__emit_again(struct emit *e, uint32_t number);

#endif

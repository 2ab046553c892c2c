/* snap_write_settings.c - writes allocator_settings as PyTorch does. */
#include <stdio.h>

#include "snapshot/snap_put.h"

static void some_bool(struct snap_writer *w, enum snap_word key, bool has,
                      bool value)
{
    if (has)
        put_bool(&w->emit, key, value);
}

static void write_roundup(struct snap_writer *w)
{
    const struct snapshot_settings *t = &w->s->settings;
    char text[32];

    if (!t->has_roundup)
        return;
    larder__emit_word(&w->emit, KEY_ROUNDUP);
    larder__emit_dict_begin(&w->emit);
    for (size_t i = 0; i < t->roundup_count; i++) {
        snprintf(text, sizeof text, "%llu",
                 (unsigned long long)t->roundup[i].size_mib);
        larder__emit_text(&w->emit, text);
        larder__emit_signed(&w->emit, t->roundup[i].divisions);
    }
    larder__emit_close(&w->emit);
}

static void write_confs(struct snap_writer *w)
{
    const uint32_t *confs = w->s->settings.confs;

    for (unsigned i = 0; i < SNAPSHOT_CONFS; i++) {
        if (confs[i] != 0)
            put_string(w, (enum snap_word)(KEY_CUDA_CONF + i), confs[i] - 1);
    }
}

void snap_write_settings(struct snap_writer *w)
{
    const struct snapshot_settings *t = &w->s->settings;
    struct emit *e = &w->emit;

    larder__emit_word(e, KEY_ALLOCATOR_SETTINGS);
    larder__emit_dict_begin(e);
    write_confs(w);
    if (t->has_max_split_size)
        put_signed(e, KEY_MAX_SPLIT, t->max_split_size);
    if (t->has_garbage_collection_threshold) {
        larder__emit_word(e, KEY_GC_THRESHOLD);
        larder__emit_real(e, t->garbage_collection_threshold);
    }
    some_bool(w, KEY_EXPANDABLE, t->has_expandable_segments,
              t->expandable_segments);
    if (t->has_pinned_num_register_threads)
        put_signed(e, KEY_PINNED_THREADS, t->pinned_num_register_threads);
    some_bool(w, KEY_RELEASE_LOCK, t->has_release_lock_on_cudamalloc,
              t->release_lock_on_cudamalloc);
    some_bool(w, KEY_PINNED_REGISTER, t->has_pinned_use_cuda_host_register,
              t->pinned_use_cuda_host_register);
    some_bool(w, KEY_CAPTURE_REUSE, t->has_graph_capture_record_stream_reuse,
              t->graph_capture_record_stream_reuse);
    write_roundup(w);
    snap_write_rest(w, t->rest);
    larder__emit_close(e);
}

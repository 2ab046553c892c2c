/* snap_write_settings.c - writes allocator_settings as PyTorch does. */
#include <stdio.h>

#include "snapshot/snap_put.h"

static void some_bool(struct snap_sink *k, enum snap_word key, bool has,
                      bool value)
{
    if (has)
        put_bool(k, key, value);
}

static void write_roundup(struct snap_sink *k)
{
    const struct snapshot_settings *t = &k->s->settings;
    char text[32];

    if (!t->has_roundup)
        return;
    k->form->key(k, KEY_ROUNDUP);
    k->form->begin(k, true);
    for (size_t i = 0; i < t->roundup_count; i++) {
        snprintf(text, sizeof text, "%llu",
                 (unsigned long long)t->roundup[i].size_mib);
        k->form->text(k, text);
        k->form->integer(k, (uint64_t)t->roundup[i].divisions, true);
    }
    k->form->end(k);
}

static void write_confs(struct snap_sink *k)
{
    const uint32_t *confs = k->s->settings.confs;

    for (unsigned i = 0; i < SNAPSHOT_CONFS; i++) {
        if (confs[i] != 0)
            put_string(k, (enum snap_word)(KEY_CUDA_CONF + i), confs[i] - 1);
    }
}

void snap_write_settings(struct snap_sink *k)
{
    const struct snapshot_settings *t = &k->s->settings;

    k->form->key(k, KEY_ALLOCATOR_SETTINGS);
    k->form->begin(k, true);
    write_confs(k);
    if (t->has_max_split_size)
        put_signed(k, KEY_MAX_SPLIT, t->max_split_size);
    if (t->has_garbage_collection_threshold) {
        k->form->key(k, KEY_GC_THRESHOLD);
        k->form->real(k, t->garbage_collection_threshold);
    }
    some_bool(k, KEY_EXPANDABLE, t->has_expandable_segments,
              t->expandable_segments);
    if (t->has_pinned_num_register_threads)
        put_signed(k, KEY_PINNED_THREADS, t->pinned_num_register_threads);
    some_bool(k, KEY_RELEASE_LOCK, t->has_release_lock_on_cudamalloc,
              t->release_lock_on_cudamalloc);
    some_bool(k, KEY_PINNED_REGISTER, t->has_pinned_use_cuda_host_register,
              t->pinned_use_cuda_host_register);
    some_bool(k, KEY_CAPTURE_REUSE, t->has_graph_capture_record_stream_reuse,
              t->graph_capture_record_stream_reuse);
    write_roundup(k);
    snap_write_rest(k, t->rest);
    k->form->end(k);
}

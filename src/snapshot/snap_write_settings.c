/* snap_write_settings.c - writes allocator_settings as PyTorch does. */
#include <stdio.h>

#include "snapshot/snap_put.h"
#include "snapshot/snap_settings.h"

static void put_real(struct emit *e, enum snap_word key, double value)
{
    larder__emit_word(e, key);
    larder__emit_real(e, value);
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
#define X(type, key, name)                                                     \
    if (t->has_##name)                                                         \
        put_##type(e, key, t->name);
    SNAP_SETTINGS(X)
#undef X
    write_roundup(w);
    snap_write_rest(w, t->rest);
    larder__emit_close(e);
}

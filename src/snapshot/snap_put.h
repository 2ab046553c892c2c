/* snap_put.h - writes keys with their values, for all parts of the snapshot
 * writer. */
#ifndef LARDER_SNAPSHOT_SNAP_PUT_H
#define LARDER_SNAPSHOT_SNAP_PUT_H

#include "snapshot/snap_sink.h"

static inline void put_size(struct snap_sink *k, enum snap_word key,
                            uint64_t value)
{
    k->form->key(k, key);
    k->form->integer(k, value, false);
}

static inline void put_signed(struct snap_sink *k, enum snap_word key,
                              int64_t value)
{
    k->form->key(k, key);
    k->form->integer(k, (uint64_t)value, true);
}

static inline void put_string(struct snap_sink *k, enum snap_word key,
                              uint32_t string)
{
    k->form->key(k, key);
    k->form->string(k, string);
}

static inline void put_some_string(struct snap_sink *k, enum snap_word key,
                                   uint32_t string)
{
    if (string != 0)
        put_string(k, key, string);
}

static inline void put_word(struct snap_sink *k, enum snap_word key,
                            enum snap_word word)
{
    k->form->key(k, key);
    k->form->word(k, word);
}

static inline void put_bool(struct snap_sink *k, enum snap_word key, bool value)
{
    k->form->key(k, key);
    k->form->boolean(k, value);
}

static inline void put_stream(struct snap_sink *k, uint32_t stream)
{
    put_size(k, KEY_STREAM, snapshot_stream(k->s, stream));
}

static inline void put_pool(struct snap_sink *k, enum snap_word key,
                            uint32_t pool)
{
    k->form->key(k, key);
    k->form->pool(k, pool);
}

static inline void begin_list(struct snap_sink *k, enum snap_word key)
{
    k->form->key(k, key);
    k->form->begin(k, false);
}

static inline void begin_item(struct snap_sink *k)
{
    k->form->item(k);
    k->form->begin(k, true);
}

/* Write allocator_settings, with its key (snap_write_settings.c). */
void snap_write_settings(struct snap_sink *k);

/* Write unknown keys kept by snap_rest.h; records in them are written like
 * regular ones (snapshot_write.c). */
void snap_write_rest(struct snap_sink *k, uint32_t pairs);

#endif

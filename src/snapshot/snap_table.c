/* snap_table.c - a hash table of numbers: finds an item, kept in an array
 * elsewhere, by its content. */
#include "snapshot/snap_table.h"

#include <pthread.h>
#include <string.h>
#include <time.h>
#include <sys/random.h>

enum { FIRST_SLOTS = 64 };

uint32_t snap_table_find(const struct snap_table *t, uint32_t hash,
                         snap_same *same, const void *owner, const void *wanted)
{
    size_t mask = t->capacity - 1;

    if (t->capacity == 0)
        return SNAP_NONE;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        const struct snap_slot *slot = &t->slots[i];

        if (slot->number_plus_1 == 0)
            return SNAP_NONE;
        if (slot->hash == hash && same(owner, slot->number_plus_1 - 1, wanted))
            return slot->number_plus_1 - 1;
    }
}

static void table_put(struct snap_slot *slots, size_t capacity,
                      struct snap_slot what)
{
    size_t i = what.hash & (capacity - 1);

    while (slots[i].number_plus_1 != 0)
        i = (i + 1) & (capacity - 1);
    slots[i] = what;
}

static bool table_grow(struct snap_memory *m, struct snap_table *t)
{
    size_t capacity = t->capacity == 0 ? FIRST_SLOTS : t->capacity * 2;
    struct snap_slot *slots = snap_alloc(m, capacity, sizeof *slots);

    if (slots == NULL)
        return false;
    for (size_t i = 0; i < t->capacity; i++) {
        if (t->slots[i].number_plus_1 != 0)
            table_put(slots, capacity, t->slots[i]);
    }
    snap_release(m, t->slots, t->capacity * sizeof *slots);
    t->slots = slots;
    t->capacity = capacity;
    return true;
}

bool snap_table_add(struct snap_memory *m, struct snap_table *t, uint32_t hash,
                    uint32_t number)
{
    if (t->count >= t->capacity - t->capacity / 4 && !table_grow(m, t))
        return false;
    table_put(t->slots, t->capacity, (struct snap_slot){hash, number + 1});
    t->count++;
    return true;
}

void snap_table_free(struct snap_memory *m, struct snap_table *t)
{
    snap_release(m, t->slots, t->capacity * sizeof *t->slots);
    *t = (struct snap_table){0};
}

/* ---- hashing -------------------------------------------------------------- */

static uint64_t hash_seed;
static pthread_once_t hash_seed_once = PTHREAD_ONCE_INIT;

static void hash_seed_make(void)
{
    if (getrandom(&hash_seed, sizeof hash_seed, GRND_NONBLOCK) !=
        (ssize_t)sizeof hash_seed)
        hash_seed = (uint64_t)time(NULL) * UINT64_C(0x9e3779b97f4a7c15);
}

static uint64_t hash_word(uint64_t h, uint64_t word)
{
    h = (h ^ word) * UINT64_C(0xd6e8feb86659fd93);
    return h ^ h >> 32;
}

uint32_t snap_hash(const void *bytes, size_t count)
{
    const unsigned char *p = bytes;
    uint64_t h, other, word;

    pthread_once(&hash_seed_once, hash_seed_make);
    h = hash_word(hash_seed, count);
    /* Two words at a time, so that the multiplications are independent. */
    other = ~h;
    for (; count >= 16; p += 16, count -= 16) {
        memcpy(&word, p, 8);
        h = hash_word(h, word);
        memcpy(&word, p + 8, 8);
        other = hash_word(other, word);
    }
    h ^= other << 1;
    if (count >= 8) {
        memcpy(&word, p, 8);
        h = hash_word(h, word);
        p += 8;
        count -= 8;
    }
    word = 0;
    memcpy(&word, p, count);
    h = hash_word(h, word);
    return (uint32_t)(h ^ h >> 29);
}

/* annotation.c - texts that threads attach to their operations. */
#include "core/history/history_tables.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include <larder/history.h>

#include "base/assert.h"
#include "base/host.h"

enum {
    TEXT_STEP = 16,
    TEXT_STEPS = 1 << 16, /* so that a number fits 16 bits */
    TEXT_SLOTS = 1 << 17
};

/* ---- texts of a thread ---------------------------------------------------- */

struct annotations {
    uint32_t depth;        /* of pushed texts, above the one that is only set */
    uint16_t number;       /* number of the innermost text ... */
    uint64_t known_serial; /* ... in this table; 0: in none yet */
    char texts[LARDER_ANNOTATION_DEPTH + 1][LARDER_ANNOTATION_MAX + 1];
};

static _Thread_local struct annotations mine;

/* Truncate, but not within a UTF-8 character. */
static void copy_text(char *out, const char *text)
{
    size_t n = strnlen(text, LARDER_ANNOTATION_MAX + 1);

    if (n > LARDER_ANNOTATION_MAX) {
        n = LARDER_ANNOTATION_MAX;
        while (n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80)
            n--;
    }
    memcpy(out, text, n);
    out[n] = '\0';
}

void larder_annotate(const char *text)
{
    if (mine.depth <= LARDER_ANNOTATION_DEPTH)
        copy_text(mine.texts[mine.depth], text != NULL ? text : "");
    mine.known_serial = 0;
}

void larder_annotate_push(const char *text)
{
    mine.depth++;
    larder_annotate(text);
}

void larder_annotate_pop(void)
{
    if (mine.depth > 0)
        mine.depth--;
    mine.known_serial = 0;
}

uint16_t larder__annotation_now(struct text_table *t)
{
    uint32_t level = mine.depth < LARDER_ANNOTATION_DEPTH
                         ? mine.depth
                         : LARDER_ANNOTATION_DEPTH;

    larder__assert(t->serial != 0);
    if (mine.known_serial != t->serial) {
        mine.number = larder__texts_put(t, mine.texts[level]);
        mine.known_serial = t->serial;
    }
    return mine.number;
}

/* ---- texts of a history --------------------------------------------------- */

bool larder__texts_init(struct text_table *t)
{
    static _Atomic uint64_t serials;

    *t = (struct text_table){.used = 1};
    t->serial = atomic_fetch_add(&serials, 1) + 1;
    t->bytes = larder__host_alloc(TEXT_STEPS, TEXT_STEP);
    t->slots = larder__host_alloc(TEXT_SLOTS, sizeof *t->slots);
    if (t->bytes != NULL && t->slots != NULL)
        return true;
    larder__texts_destroy(t);
    return false;
}

void larder__texts_destroy(struct text_table *t)
{
    larder__host_free(t->bytes);
    larder__host_free(t->slots);
    *t = (struct text_table){0};
}

const char *larder__texts_get(const struct text_table *t, uint16_t number)
{
    static_assert(UINT16_MAX < TEXT_STEPS, "any number is within");
    return &t->bytes[(size_t)number * TEXT_STEP];
}

static uint32_t text_hash(const char *text)
{
    uint32_t h = UINT32_C(2166136261); /* FNV-1a */

    for (; *text != '\0'; text++)
        h = (h ^ (unsigned char)*text) * UINT32_C(16777619);
    return h;
}

uint16_t larder__texts_put(struct text_table *t, const char *text)
{
    char cut[LARDER_ANNOTATION_MAX + 1];
    uint32_t slot;
    uint32_t steps;

    copy_text(cut, text);
    if (cut[0] == '\0')
        return 0;
    slot = text_hash(cut) % TEXT_SLOTS;
    for (; t->slots[slot] != 0; slot = (slot + 1) % TEXT_SLOTS) {
        if (strcmp(larder__texts_get(t, t->slots[slot]), cut) == 0)
            return t->slots[slot];
    }
    larder__assert(strlen(cut) <= LARDER_ANNOTATION_MAX);
    steps = (uint32_t)(strlen(cut) / TEXT_STEP) + 1;
    if (TEXT_STEPS - t->used < steps) {
        t->lost++;
        return 0;
    }
    t->slots[slot] = (uint16_t)t->used;
    strcpy(&t->bytes[(size_t)t->used * TEXT_STEP], cut);
    t->used += steps;
    larder__assert(t->used <= TEXT_STEPS && t->slots[slot] != 0);
    return t->slots[slot];
}

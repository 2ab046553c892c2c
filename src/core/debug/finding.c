/* finding.c - an error in the program, as a message, until it is reported. */
#include "core/debug/debug.h"

#include <stdarg.h>
#include <string.h>

#include "base/fail.h"
#include "base/symbol.h"
#include "base/text.h"
#include "core/history/recording.h"

enum { PLACES = 6 /* how many callers are named */ };

/* A return address points behind the call, possibly into the next function. */
static void add_place(struct text *t, uint64_t address)
{
    struct symbol symbol;

    if (!larder__symbol_find(address - 1, &symbol))
        larder__text_add(t, "0x%llx", (unsigned long long)address);
    else
        larder__symbol_add(t, &symbol);
}

/* Add where the block was allocated, innermost caller first. */
static void add_origin(struct text *t, const struct allocator *a,
                       const struct block *b)
{
    const struct history *h = a->history;
    const struct block_note *note =
        h == NULL ? NULL : larder__history_note(h, b->self);
    const uint64_t *frames;
    size_t depth;

    if (note == NULL)
        return;
    if (note->annotation != 0)
        larder__text_add(t, ", as '%s'",
                         larder__texts_get(&h->texts, note->annotation));
    if (note->stack == 0 || h->stacks.words == NULL)
        return;
    frames = stack_frames(&h->stacks, note->stack);
    depth = stack_depth(&h->stacks, note->stack);
    larder__text_add(t, ", allocated by ");
    for (size_t i = 0; i < depth && i < PLACES; i++) {
        larder__text_add(t, "%s", i == 0 ? "" : " < ");
        add_place(t, frames[i]);
    }
}

void larder__finding_note(struct allocator *a, const struct block *b,
                          larder_result r, const char *format, ...)
{
    struct finding *f = &a->debug->finding;
    struct text t;
    va_list args;

    if (f->result != LARDER_OK)
        return;
    f->result = r;
    larder__text_init(&t, f->words, sizeof f->words);
    va_start(args, format);
    larder__text_add_list(&t, format, args);
    va_end(args);
    if (b != NULL)
        add_origin(&t, a, b);
}

larder_result larder__finding_report(struct allocator *a)
{
    struct finding *f = &a->debug->finding;
    larder_result r = f->result;

    if (r != LARDER_OK)
        larder__set_error("%s", f->words);
    f->result = LARDER_OK;
    return r;
}

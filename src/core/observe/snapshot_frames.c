/* snapshot_frames.c - writes stacks with their functions' names. */
#include "core/observe/snapshot_frames.h"

#include <string.h>

#include "base/fail.h"
#include "base/host.h"
#include "base/symbol.h"
#include "base/text.h"

/* Looking up a frame takes a microsecond, and a run has thousands.  A
 * direct-mapped cache of this size avoids nearly all lookups and bounds the
 * memory.  An evicted frame is looked up, and written, again. */
enum { KNOWN_LOG2 = 11, KNOWN_FRAMES = 1 << KNOWN_LOG2 };

struct known_frame {
    uint64_t address;
    uint32_t memo; /* a place of the emitter */
    bool is_known;
    bool has_offset;
    uint64_t offset;
    larder_frame frame;
};

larder_result larder__frames_init(struct frames *f, const struct snapshot *s)
{
    *f = (struct frames){.snapshot = s};
    if (s->history == NULL || s->history->stacks.words == NULL)
        return LARDER_OK; /* 0 is no stack's number */
    f->known = larder__host_alloc(KNOWN_FRAMES, sizeof *f->known);
    f->lists = larder__host_alloc(s->stack_words, sizeof *f->lists);
    return f->known != NULL && f->lists != NULL
               ? LARDER_OK
               : larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
}

void larder__frames_free(struct frames *f)
{
    larder__host_free(f->known);
    larder__host_free(f->lists);
}

/* ---- names ---------------------------------------------------------------- */

/* A return address points behind the call, possibly into the next function. */
static void look_up(struct known_frame *k)
{
    uint64_t call = k->address - 1;
    struct symbol symbol;
    struct text file, name;

    larder__text_init(&file, k->frame.filename, sizeof k->frame.filename);
    larder__text_init(&name, k->frame.name, sizeof k->frame.name);
    k->has_offset = larder__symbol_find(call, &symbol);
    if (!k->has_offset) {
        larder__text_add(&file, "??");
        larder__text_add(&name, "0x%llx", (unsigned long long)call);
        return;
    }
    larder__text_add(&file, "%s", symbol.object);
    larder__symbol_add(&name, &symbol);
    k->offset = symbol.offset;
}

static struct known_frame *know(struct frames *f, uint64_t address)
{
    uint64_t hash = address * UINT64_C(0x9E3779B97F4A7C15);
    struct known_frame *k = &f->known[hash >> (64 - KNOWN_LOG2)];
    const struct snapshot *s = f->snapshot;

    if (k->is_known && k->address == address)
        return k;
    *k = (struct known_frame){.address = address, .is_known = true};
    if (s->frame_fn == NULL || !s->frame_fn(s->frame_ctx, address, &k->frame)) {
        k->frame = (larder_frame){.line = 0};
        look_up(k);
    }
    k->frame.filename[sizeof k->frame.filename - 1] = '\0';
    k->frame.name[sizeof k->frame.name - 1] = '\0';
    return k;
}

/* ---- writing -------------------------------------------------------------- */

static void emit_frame(struct frames *f, struct emit *e, uint64_t address)
{
    struct known_frame *k = know(f, address);

    if (larder__emit_again(e, &k->memo))
        return;
    larder__emit_dict_begin(e);
    larder__emit_keep(e, &k->memo);
    larder__emit_word(e, KEY_FILENAME);
    larder__emit_text(e, k->frame.filename);
    put_unsigned(e, KEY_LINE, k->frame.line);
    larder__emit_word(e, KEY_NAME);
    larder__emit_text(e, k->frame.name);
    if (k->has_offset)
        put_unsigned(e, KEY_OFFSET, k->offset);
    larder__emit_close(e);
}

void larder__frames_emit(struct frames *f, struct emit *e, uint32_t stack)
{
    const struct stack_table *stacks;

    if (stack != 0 && larder__emit_again(e, &f->lists[stack]))
        return;
    larder__emit_list_begin(e);
    if (stack != 0) {
        stacks = &f->snapshot->history->stacks;
        larder__emit_keep(e, &f->lists[stack]);
        for (size_t i = 0; i < stack_depth(stacks, stack); i++) {
            emit_frame(f, e, stack_frames(stacks, stack)[i]);
        }
    }
    larder__emit_close(e);
}

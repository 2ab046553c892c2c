/* snapshot_settings.c - the allocator's settings and statistics in a
 * snapshot. */
#include <string.h>

#include "base/bits.h"
#include "base/text.h"
#include "core/observe/snapshot_state.h"

enum { SETTINGS_TEXT = 1024 };

static void key_text(struct emit *e, const char *key, const char *value)
{
    larder__emit_text(e, key);
    larder__emit_text(e, value);
}

static void key_signed(struct emit *e, const char *key, int64_t value)
{
    larder__emit_text(e, key);
    larder__emit_signed(e, value);
}

static void key_unsigned(struct emit *e, const char *key, uint64_t value)
{
    larder__emit_text(e, key);
    larder__emit_unsigned(e, value);
}

/* As in PyTorch, -1 means no limit. */
static void put_limit(struct emit *e, const char *key, uint64_t bytes)
{
    key_signed(e, key, bytes == CONF_UNLIMITED ? -1 : (int64_t)bytes);
}

static void key_bool(struct emit *e, const char *key, bool value)
{
    larder__emit_text(e, key);
    larder__emit_bool(e, value);
}

/* ---- settings as text ----------------------------------------------------- */

static unsigned long long mib(uint64_t bytes)
{
    return bytes / LARDER_MIB;
}

/* Add a key and its colon, after a comma unless it is the first. */
static void add_key(struct text *t, const char *key)
{
    larder__text_add(t, "%s%s:", t->length > 0 ? "," : "", key);
}

static void add_real(struct text *t, const char *key, double value)
{
    size_t from;

    add_key(t, key);
    from = t->length;
    larder__text_add(t, "%.15g", value);
    for (size_t i = from; i < t->length && i < t->capacity; i++) {
        if (t->out[i] == ',') /* decimal comma of some locales */
            t->out[i] = '.';
    }
}

static void add_divisions(struct text *t, const struct conf *c)
{
    bool differ = false;
    bool some = false;

    for (int i = 0; i < CONF_SIZE_CLASSES; i++) {
        some |= c->divisions[i] != 0;
        differ |= c->divisions[i] != c->divisions[0];
    }
    if (!some)
        return;
    add_key(t, "roundup_power2_divisions");
    for (int i = 0; differ && i < CONF_SIZE_CLASSES; i++)
        larder__text_add(t, "%c%d:%u", i == 0 ? '[' : ',', 1 << i,
                         c->divisions[i]);
    if (differ)
        larder__text_add(t, "]");
    else
        larder__text_add(t, "%u", c->divisions[0]);
}

static void add_number(struct text *t, const char *key, uint64_t value,
                       uint64_t if_not)
{
    if (value == if_not)
        return;
    add_key(t, key);
    larder__text_add(t, "%llu", (unsigned long long)value);
}

/* NULL: nothing. */
static void add_word(struct text *t, const char *key, const char *word)
{
    if (word == NULL)
        return;
    add_key(t, key);
    larder__text_add(t, "%s", word);
}

static struct conf defaults_of(void)
{
    struct conf c;

    larder__conf_init(&c);
    return c;
}

/* PyTorch's settings that differ from their defaults. */
static void add_pytorch(struct text *t, const struct snapshot *s)
{
    const struct conf *c = &s->conf;
    const struct conf defaults = defaults_of();

    add_number(t, "max_split_size_mb", mib(c->max_split_bytes),
               mib(CONF_UNLIMITED));
    add_number(t, "max_non_split_rounding_mb",
               mib(c->max_non_split_rounding_bytes),
               mib(defaults.max_non_split_rounding_bytes));
    add_number(t, "large_segment_size_mb", mib(c->large_segment_bytes),
               mib(defaults.large_segment_bytes));
    if (c->reserve > 0) {
        add_real(t, "expandable_segments_reserve", c->reserve);
        larder__text_add(t, "%s", c->reserve_is_gib ? "G" : "");
    }
    add_divisions(t, c);
    if (c->gc_threshold > 0)
        add_real(t, "garbage_collection_threshold", c->gc_threshold);
    if (s->fraction_is_set)
        add_real(t, "per_process_memory_fraction", s->fraction);
    add_word(t, "expandable_segments", c->expandable_segments ? "True" : NULL);
    add_word(t, "throw_on_cudamalloc_oom", c->throw_on_oom ? "True" : NULL);
}

/* What PyTorch itself does not know: its release, and our own settings that
 * decide where memory comes from. */
static void add_own(struct text *t, const struct snapshot *s)
{
    const struct conf *c = &s->conf;
    static const char *const defrags[] = {"off", NULL, "eager"};
    const struct conf defaults = defaults_of();

    if (c->rules != defaults.rules && strcmp(s->policy, "pytorch") == 0)
        add_word(t, "pytorch", c->rules->version);
    add_number(t, "preallocate", c->preallocate_bytes, 0);
    add_number(t, "limit", c->limit_bytes, CONF_UNLIMITED);
    add_number(t, "pending_limit", c->pending_limit_bytes, CONF_UNLIMITED);
    add_number(t, "reclaim_budget_ms", c->reclaim_budget_ms, CONF_UNLIMITED);
    add_number(t, "minimum", c->minimum_bytes, 0);
    add_number(t, "process_limit", c->process_limit_bytes, CONF_UNLIMITED);
    add_number(t, "group_limit", c->group_limit_bytes, CONF_UNLIMITED);
    add_number(t, "debug", c->debug, 0);
    if (c->trim_age_ns != 0)
        add_real(t, "trim_age", (double)c->trim_age_ns / 1e9);
    add_number(t, "handle_mib", c->handle_mib, 0);
    add_number(t, "small_kib", c->small_kib, defaults.small_kib);
    add_word(t, "defrag", defrags[c->defrag]);
    add_word(t, "lifetimes", c->lifetimes == CONF_LIFETIMES_OFF ? "off" : NULL);
    add_word(t, "migrate", c->migrate == CONF_MIGRATE_ON ? "on" : NULL);
}

/* ---- allocator_settings --------------------------------------------------- */

static void emit_divisions(struct emit *e, const struct conf *c)
{
    char key[16];
    struct text t;

    larder__emit_text(e, "roundup_power2_divisions");
    larder__emit_dict_begin(e);
    for (int i = 0; i < CONF_SIZE_CLASSES; i++) {
        larder__text_init(&t, key, sizeof key);
        larder__text_add(&t, "%d", 1 << i);
        key_unsigned(e, key, c->divisions[i]);
    }
    larder__emit_close(e);
}

void larder__emit_settings(struct emit *e, const struct snapshot *s)
{
    const struct conf *c = &s->conf;
    char text[SETTINGS_TEXT];
    struct text t;

    larder__text_init(&t, text, sizeof text);
    add_pytorch(&t, s);
    larder__emit_dict_begin(e);
    key_text(e, "PYTORCH_CUDA_ALLOC_CONF", text);
    key_signed(e, "max_split_size", s->stats.max_split_size);
    larder__emit_text(e, "garbage_collection_threshold");
    larder__emit_real(e, c->gc_threshold);
    key_bool(e, "expandable_segments", c->expandable_segments);
    /* PyTorch's settings that have no effect here: its defaults. */
    key_unsigned(e, "pinned_num_register_threads", 1);
    key_bool(e, "release_lock_on_cudamalloc", false);
    key_bool(e, "pinned_use_cuda_host_register", false);
    key_bool(e, "graph_capture_record_stream_reuse", false);
    put_limit(e, "max_round_threshold", c->pinned_round_max_bytes);
    put_limit(e, "max_cached_size", c->pinned_cached_max_bytes);
    emit_divisions(e, c);
    larder__emit_close(e);
}

/* ---- larder --------------------------------------------------------------- */

static void emit_history(struct emit *e, const struct snapshot *s)
{
    static const char *const stacks[] = {"off", "fp", "unwind", "callback"};
    const larder_history_info *i = &s->info;

    key_bool(e, "history", i->is_on != 0);
    key_unsigned(e, "history_max_events", i->max_events);
    key_unsigned(e, "history_lost_events", i->lost_events);
    key_text(e, "history_stacks",
             stacks[s->history != NULL ? (int)s->history->options.stacks : 0]);
    key_unsigned(e, "history_stack_count", i->stack_count);
    key_unsigned(e, "history_lost_stacks", i->lost_stacks);
    key_unsigned(e, "history_lost_notes", i->lost_notes);
}

/* Named as in torch.cuda.memory_stats(). */
static void emit_stat(struct emit *e, const char *name, const char *pool,
                      const larder_stat *st)
{
    const char *const parts[] = {"current", "peak", "allocated", "freed"};
    const int64_t values[] = {st->current, st->peak, st->allocated, st->freed};
    char key[80];
    struct text t;

    for (int i = 0; i < 4; i++) {
        larder__text_init(&t, key, sizeof key);
        larder__text_add(&t, "%s%s.%s", name, pool, parts[i]);
        key_signed(e, key, values[i]);
    }
}

static void emit_stats(struct emit *e, const larder_stats *st)
{
    larder__emit_text(e, "stats");
    larder__emit_dict_begin(e);
#define X(name, text)                                                          \
    emit_stat(e, #name, ".all", &st->name.all);                                \
    emit_stat(e, #name, ".small_pool", &st->name.small_pool);                  \
    emit_stat(e, #name, ".large_pool", &st->name.large_pool);
    LARDER_METRIC_MAP(X)
#undef X
    emit_stat(e, "oversize_allocations", "", &st->oversize_allocations);
    emit_stat(e, "oversize_segments", "", &st->oversize_segments);
#define X(name, text) key_signed(e, #name, st->name);
    LARDER_COUNTER_MAP(X)
#undef X
    key_signed(e, "max_split_size", st->max_split_size);
    larder__emit_close(e);
}

void larder__emit_larder(struct emit *e, const struct snapshot *s)
{
    char text[SETTINGS_TEXT];
    struct text t;

    larder__text_init(&t, text, sizeof text);
    add_pytorch(&t, s);
    add_own(&t, s);
    larder__emit_dict_begin(e);
    key_text(e, "version", LARDER_VERSION_STRING);
    key_text(e, "policy", s->policy);
    key_text(e, "conf", text);
    key_text(e, "device_name", s->props.name);
    key_unsigned(e, "device_total_bytes", s->props.total_bytes);
    if (s->allowed_bytes != CONF_UNLIMITED)
        key_unsigned(e, "allowed_bytes", s->allowed_bytes);
    emit_history(e, s);
    emit_stats(e, &s->stats);
    larder__emit_close(e);
}

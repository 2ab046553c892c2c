/* prompt_cuda.c - torch.cuda: queries and operations of the allocator. */
#include <stdlib.h>
#include <string.h>

#include "prompt_function.h"

typedef struct prompt_value value;

enum figure {
    FIGURE_ALLOCATED,
    FIGURE_RESERVED,
    FIGURE_MAX_ALLOCATED,
    FIGURE_MAX_RESERVED
};

static bool read_stats(struct prompt *p, larder_stats *st)
{
    larder_result r;

    larder_stats_init(st);
    r = larder_stats_get(lab_allocator(p->lab), st);
    return r == LARDER_OK || prompt_fail(p, "%s", larder_result_text(r));
}

static PROMPT_FUNCTION(cuda_figure)
{
    larder_stats st;

    (void)args;
    if (!read_stats(p, &st))
        return false;
    switch ((enum figure)self->number) {
    case FIGURE_ALLOCATED:
        *out = prompt_int(st.allocated_bytes.all.current);
        break;
    case FIGURE_RESERVED:
        *out = prompt_int(st.reserved_bytes.all.current);
        break;
    case FIGURE_MAX_ALLOCATED:
        *out = prompt_int(st.allocated_bytes.all.peak);
        break;
    case FIGURE_MAX_RESERVED:
        *out = prompt_int(st.reserved_bytes.all.peak);
        break;
    }
    return true;
}

/* The text of a function like snprintf() as a string value. */
static bool text_value(struct prompt *p,
                       size_t (*write)(lab *l, char *buf, size_t cap),
                       value *out)
{
    size_t length = write(p->lab, NULL, 0);
    char *text = malloc(length + 1);
    bool ok;

    if (text == NULL)
        return prompt_fail_memory(p);
    write(p->lab, text, length + 1);
    ok = prompt_string(text, length, out);
    free(text);
    return ok || prompt_fail_memory(p);
}

static size_t write_summary(lab *l, char *buf, size_t cap)
{
    size_t needed = 0;

    if (larder_memory_summary(lab_allocator(l), 0, buf, cap, &needed) !=
        LARDER_OK)
        return 0;
    return needed;
}

static PROMPT_FUNCTION(cuda_summary)
{
    (void)self;
    (void)args;
    return text_value(p, write_summary, out);
}

static PROMPT_FUNCTION(cuda_stats)
{
    (void)self;
    (void)args;
    return text_value(p, lab_memory_stats, out);
}

static PROMPT_FUNCTION(cuda_snapshot)
{
    (void)self;
    (void)args;
    return text_value(p, lab_snapshot_json, out);
}

static bool allocator_call(struct prompt *p, larder_result r)
{
    return r == LARDER_OK || prompt_fail(p, "%s", larder_last_error());
}

static PROMPT_FUNCTION(cuda_empty_cache)
{
    (void)self;
    (void)args;
    (void)out;
    return allocator_call(p, larder_empty_cache(lab_allocator(p->lab)));
}

static PROMPT_FUNCTION(cuda_reset_peak)
{
    (void)self;
    (void)args;
    (void)out;
    return allocator_call(p, larder_stats_reset_peak(lab_allocator(p->lab)));
}

static PROMPT_FUNCTION(cuda_set_fraction)
{
    double fraction;

    (void)self;
    (void)out;
    return prompt_read_number(p, args[0], "fraction", &fraction) &&
           allocator_call(
               p, larder_set_memory_fraction(lab_allocator(p->lab), fraction));
}

/* (free, total) as reported by the driver. */
static PROMPT_FUNCTION(cuda_mem_get_info)
{
    lab_memory m;
    value tuple;

    (void)self;
    (void)args;
    lab_memory_init(&m);
    if (!prompt_check(p, lab_memory_get(p->lab, &m)))
        return false;
    if (!prompt_sequence(VALUE_TUPLE, &tuple))
        return prompt_fail_memory(p);
    if (!prompt_sequence_add(tuple.object, prompt_int((int64_t)m.free_bytes)) ||
        !prompt_sequence_add(tuple.object,
                             prompt_int((int64_t)m.device_bytes))) {
        prompt_value_drop(&tuple);
        return prompt_fail_memory(p);
    }
    *out = tuple;
    return true;
}

static PROMPT_FUNCTION(cuda_constant)
{
    (void)p;
    (void)args;
    if (self->number == 0)
        *out = prompt_bool(true);
    else if (self->number == 1)
        *out = prompt_int(1);
    return true;
}

#define CUDA(name, parameters, text, function, which)                          \
    PROMPT_ROW(OWNER_CUDA, name, parameters, text, function, number, which)

const struct prompt_builtin prompt_cuda_table[] = {
    CUDA("memory_allocated", "", "bytes in live tensors, after rounding",
         cuda_figure, FIGURE_ALLOCATED),
    CUDA("memory_reserved", "", "bytes held from the driver", cuda_figure,
         FIGURE_RESERVED),
    CUDA("max_memory_allocated", "", "the most of the first at once",
         cuda_figure, FIGURE_MAX_ALLOCATED),
    CUDA("max_memory_reserved", "", "the most of the second at once",
         cuda_figure, FIGURE_MAX_RESERVED),
    CUDA("reset_peak_memory_stats", "", "the most becomes what is now",
         cuda_reset_peak, 0),
    CUDA("empty_cache", "", "release unused segments to the driver",
         cuda_empty_cache, 0),
    CUDA("memory_summary", "", "a table; print() shows it", cuda_summary, 0),
    CUDA("memory_stats", "", "every statistic; print() shows them", cuda_stats,
         0),
    CUDA("memory_snapshot", "", "segments and blocks, as JSON", cuda_snapshot,
         0),
    CUDA("mem_get_info", "", "(free, total) as the driver tells them",
         cuda_mem_get_info, 0),
    CUDA("set_per_process_memory_fraction", "fraction",
         "hold at most this part of the device", cuda_set_fraction, 0),
    CUDA("is_available", "", "True: the simulated one", cuda_constant, 0),
    CUDA("device_count", "", "1", cuda_constant, 1),
    CUDA("synchronize", "", "nothing to wait for here", cuda_constant, 2),
    {OWNER_NONE, NULL, NULL, NULL, NULL, {.number = 0}},
};

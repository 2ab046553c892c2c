/* cuda_context.c - what surrounds each call of a driver: the device's context,
 * acquired when first needed, is made current, with the thread's own restored
 * afterwards; then the result is translated, with the driver's message. */
#include "device/cuda_device.h"

#include <stdio.h>

#include "base/witness.h"

/* ---- results -------------------------------------------------------------- */

static _Thread_local char words[256];

static void words_set(const struct cuda *c, cud_result answer)
{
    const char *name = NULL;
    const char *text = NULL;

    if (c->call.error_name(answer, &name) != CUD_SUCCESS || name == NULL)
        name = "unknown error";
    if (c->call.error_string(answer, &text) != CUD_SUCCESS || text == NULL)
        text = "the driver has no description of it";
    snprintf(words, sizeof words, "%s (%d): %s", name, (int)answer, text);
}

static larder_result meaning(const struct cuda_scope *s, cud_result answer)
{
    if (answer == CUD_OUT_OF_MEMORY)
        return s->no_memory != LARDER_OK ? s->no_memory
                                         : LARDER_ERR_OUT_OF_MEMORY;
    if (answer == CUD_INVALID_HANDLE && s->bad_handle != LARDER_OK)
        return s->bad_handle;
    if (answer >= CUD_CAPTURE_UNSUPPORTED && answer <= CUD_CAPTURE_WRONG_THREAD)
        return LARDER_ERR_CAPTURING;
    return LARDER_ERR_DEVICE;
}

larder_result larder__cuda_result(const struct cuda *c,
                                  const struct cuda_scope *s, cud_result answer)
{
    static const struct cuda_scope plain = {0};

    if (s == NULL)
        s = &plain;
    if (answer == CUD_SUCCESS)
        return LARDER_OK;
    if (answer == CUD_NOT_READY)
        return LARDER_ERR_NOT_READY;
    if (answer == CUD_DEINITIALIZED && s->is_release)
        return LARDER_OK;
    words_set(c, answer);
    return meaning(s, answer);
}

const char *larder__cuda_error_text(void *self)
{
    (void)self;
    return words;
}

/* ---- contexts ------------------------------------------------------------- */

static cud_result context_take(struct cuda *c, cud_context *out)
{
    cud_result answer = CUD_SUCCESS;

    mutex_take(&c->lock, RANK_DEVICE);
    *out = atomic_load_explicit(&c->context, memory_order_relaxed);
    if (*out == NULL) {
        answer = c->call.primary_retain(out, c->device);
        if (answer == CUD_SUCCESS)
            atomic_store_explicit(&c->context, *out, memory_order_release);
    }
    mutex_leave(&c->lock);
    return answer;
}

/* Usually the context exists and is current already; then this is one call. */
static cud_result context_make_current(struct cuda *c, struct cuda_scope *s)
{
    cud_context own = atomic_load_explicit(&c->context, memory_order_acquire);
    cud_context current = NULL;
    cud_result answer = CUD_SUCCESS;

    if (own == NULL)
        answer = context_take(c, &own);
    if (answer == CUD_SUCCESS)
        answer = c->call.context_get(&current);
    if (answer != CUD_SUCCESS || current == own)
        return answer;
    answer = c->call.context_push(own);
    s->was_pushed = answer == CUD_SUCCESS;
    return answer;
}

/* Capture modes belong to the thread. */
static cud_result capture_relax(const struct cuda *c, struct cuda_scope *s)
{
    cud_result answer;

    if (!s->is_relaxed || c->call.capture_mode == NULL)
        return CUD_SUCCESS;
    s->mode = CUD_CAPTURE_RELAXED;
    answer = c->call.capture_mode(&s->mode);
    s->was_relaxed = answer == CUD_SUCCESS;
    return answer;
}

const struct cuda_scope larder__cuda_scopes[CUDA_SCOPES] = {
    [CUDA_RELAXED] = {.is_relaxed = true},
    [CUDA_RELEASE] = {.is_release = true},
    [CUDA_RELAXED_RELEASE] = {.is_release = true, .is_relaxed = true},
    [CUDA_RECORD] = {0},
    [CUDA_ON_STREAM] = {.bad_handle = LARDER_ERR_UNKNOWN_STREAM},
    [CUDA_WAIT_STREAM] = {.is_release = true,
                          .bad_handle = LARDER_ERR_UNKNOWN_STREAM},
};

bool larder__cuda_enter(struct cuda *c, struct cuda_scope *s)
{
    s->answer = context_make_current(c, s);
    if (s->answer == CUD_SUCCESS)
        s->answer = capture_relax(c, s);
    return s->answer == CUD_SUCCESS;
}

larder_result larder__cuda_leave(struct cuda *c, struct cuda_scope *s,
                                 cud_result answer)
{
    cud_context popped;

    if (s->was_relaxed)
        (void)c->call.capture_mode(&s->mode);
    if (s->was_pushed)
        (void)c->call.context_pop(&popped);
    return larder__cuda_result(c, s, answer);
}

void larder__cuda_context_close(struct cuda *c)
{
    if (atomic_load(&c->context) != NULL)
        (void)c->call.primary_release(c->device);
}

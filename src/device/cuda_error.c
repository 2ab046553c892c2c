/* cuda_error.c - translates a driver's results, with its message. */
#include "device/cuda_device.h"

#include <stdio.h>

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

const char *larder__cuda_words(void)
{
    return words;
}

/* cuda_device.h - internals of a real driver's device.  Private to it.
 *
 * Each driver call is made between larder__cuda_enter(), which makes the
 * device's context current, and larder__cuda_leave(), which restores the
 * thread's context and translates the driver's result. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <larder/device.h>

#include "device/cuda_driver.h"

enum cuda_attribute {
#define X(name, cuda, hip, theirs) CUDA_ATTRIBUTE_##name,
    CUD_ATTRIBUTE_MAP(X)
#undef X
        CUDA_ATTRIBUTE_COUNT
};

enum {
#define X(need, name, cuda, hip, arguments) +1
    CUDA_CALL_COUNT = 0 CUD_CALL_MAP(X)
#undef X
};

enum { CUDA_FAMILIES = 2, CUDA_LIBRARIES_MAX = 5, CUDA_DEVICES_MAX = 64 };

/* One of the two drivers served by the same code. */
struct cuda_family {
    const char *name; /* "cuda": of the spec and of the device */
    const char *libraries[CUDA_LIBRARIES_MAX]; /* ended by NULL */
    int column; /* in the lists of cuda_driver.h, from CUDA's on */
};

struct cuda {
    const struct cuda_family *family;
    struct cud_calls call;
    cud_device device;
    int handle_type;
    cud_page_prop page_prop; /* of every page */
    larder_device_props props;

    /* The primary context, which other users of the driver in this process
     * share; acquired by the first call that needs it. */
    pthread_mutex_t lock;
    _Atomic(cud_context) context;

    /* This device and every other device that can reach its memory. */
    cud_access access[CUDA_DEVICES_MAX];
    size_t access_count;
};

/* Options of one call: set those that apply, the rest is zero. */
struct cuda_scope {
    /* The call releases something or waits for work: if the driver has shut
     * down, both are done already. */
    bool is_release;
    /* Allowed during a stream capture, although the driver would reject it. */
    bool is_relaxed;
    larder_result no_memory;  /* meaning of "no memory"; 0: of the device */
    larder_result bad_handle; /* 0: LARDER_ERR_DEVICE */

    cud_result answer; /* if the call was not made */
    bool was_pushed;
    bool was_relaxed;
    cud_capture_mode mode;
};

enum cuda_scope_kind {
    CUDA_RELAXED,
    CUDA_RELEASE,
    CUDA_RELAXED_RELEASE,
    CUDA_RECORD,
    CUDA_ON_STREAM,   /* which may not exist */
    CUDA_WAIT_STREAM, /* the same, and waits */
    CUDA_SCOPES
};

/* ---- cuda_load.c -------------------------------------------------------- */

/* The driver that a spec names. */
const struct cuda_family *larder__cuda_family(const char *spec);

/* Its driver's number; -1: it has no such attribute. */
int larder__cuda_attribute(const struct cuda_family *family,
                           enum cuda_attribute which);

/* Load the driver and find its calls.  The library is never unloaded: drivers
 * do not support that.  ERR_UNSUPPORTED says what could not be loaded, or which
 * call is missing. */
larder_result larder__cuda_load(const struct cuda_family *family,
                                struct cud_calls *out);

/* ---- cuda_context.c ----------------------------------------------------- */

extern const struct cuda_scope larder__cuda_scopes[CUDA_SCOPES];

/* False: the call cannot be made, and s->answer is the driver's reason. */
bool larder__cuda_enter(struct cuda *c, struct cuda_scope *s);
larder_result larder__cuda_leave(struct cuda *c, struct cuda_scope *s,
                                 cud_result answer);
/* Make the call `name` with these arguments. */
#define CUDA_CALL(c, s, name, ...)                                             \
    larder__cuda_leave((c), (s),                                               \
                       larder__cuda_enter((c), (s))                            \
                           ? (c)->call.name(__VA_ARGS__)                       \
                           : (s)->answer)

/* Define op_NAME(), which makes the call of that name within one of the scopes
 * above; what follows are the call's arguments, for which the device is `c`. */
#define CUDA_OP(name, scope, parameters, ...)                                  \
    static larder_result op_##name parameters                                  \
    {                                                                          \
        struct cuda *c = self;                                                 \
        struct cuda_scope s = larder__cuda_scopes[scope];                      \
                                                                               \
        return CUDA_CALL(c, &s, name, __VA_ARGS__);                            \
    }

/* The same where the driver makes something: `made`, whose number is *out. */
#define CUDA_OP_MADE(name, scope, type, parameters, ...)                       \
    static larder_result op_##name parameters                                  \
    {                                                                          \
        struct cuda *c = self;                                                 \
        struct cuda_scope s = larder__cuda_scopes[scope];                      \
        type made = 0;                                                         \
        larder_result r = CUDA_CALL(c, &s, name, __VA_ARGS__);                 \
                                                                               \
        if (r == LARDER_OK)                                                    \
            *out = (uintptr_t)made;                                            \
        return r;                                                              \
    }

/* Release the context, if it was acquired. */
void larder__cuda_context_close(struct cuda *c);

/* Translate a driver's result; its name and text become this thread's message.
 * `s` may be NULL. */
larder_result larder__cuda_result(const struct cuda *c,
                                  const struct cuda_scope *s,
                                  cud_result answer);
/* The message of this thread's last failure. */
const char *larder__cuda_error_text(void *self);

/* ---- cuda_calls.c ------------------------------------------------------- */

/* The calls; the rest of the table is in cuda.c. */
extern const larder_device_ops larder__cuda_ops;

/* cuda_device.h - a device of a real driver from within.  Private to it.
 *
 * A call is made between larder__cuda_enter(), which makes the device's context
 * the thread's, and larder__cuda_leave(), which puts back what was there and
 * says what the driver's answer means. */
#ifndef LARDER_DEVICE_CUDA_DEVICE_H
#define LARDER_DEVICE_CUDA_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <larder/device.h>

#include "device/cuda_family.h"
#include "device/cuda_spec.h"

struct cuda {
    const struct cuda_family *family;
    struct cud_calls call;
    cud_device device;
    int handle_type;
    larder_device_props props;

    /* The primary context, which other users of the driver in this process
     * share; taken with the first call that needs it. */
    pthread_mutex_t lock;
    _Atomic(cud_context) context;

    /* This device and each one that can reach its memory. */
    cud_access access[CUDA_DEVICES_MAX];
    size_t access_count;
};

/* What goes with one call: set what applies, the rest is zero. */
struct cuda_scope {
    /* Releases something, or waits for work: where the driver has gone, both
     * have gone too. */
    bool is_release;
    /* Allowed while a stream is captured, though the driver is wary of it. */
    bool is_relaxed;
    larder_result no_memory;  /* what that means; 0: of the device's */
    larder_result bad_handle; /* 0: LARDER_ERR_DEVICE */

    bool was_pushed;
    bool was_relaxed;
    cud_capture_mode mode;
};

/* ---- cuda_context.c ----------------------------------------------------- */

cud_result larder__cuda_enter(struct cuda *c, struct cuda_scope *s);
larder_result larder__cuda_leave(struct cuda *c, struct cuda_scope *s,
                                 cud_result answer);
/* Give the context back, if it was taken. */
void larder__cuda_context_close(struct cuda *c);

/* ---- cuda_error.c ------------------------------------------------------- */

/* What an answer means, with the driver's name and text for it kept as this
 * thread's words.  `s` may be NULL. */
larder_result larder__cuda_result(const struct cuda *c,
                                  const struct cuda_scope *s,
                                  cud_result answer);
/* Of this thread's last failure. */
const char *larder__cuda_words(void);

/* ---- cuda_memory.c, cuda_order.c ---------------------------------------- */

/* Put their calls into a table. */
void larder__cuda_memory_ops(larder_device_ops *ops);
void larder__cuda_virtual_ops(larder_device_ops *ops);
void larder__cuda_share_ops(larder_device_ops *ops);
void larder__cuda_order_ops(larder_device_ops *ops);

#endif

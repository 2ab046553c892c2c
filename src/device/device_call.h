/* device_call.h - what surrounds every call to a device: an injected fault may
 * replace it; then it is counted and charged, and described if it failed.
 * Private to the device layer. */
#pragma once

#include "device/device_object.h"

struct device_call {
    larder_device *dev;
    larder_call kind;
    larder_result result;
    bool was_injected;
    bool is_by_host; /* of a copy: from or to the host */
};

/* Make the call `op` with these arguments.  True if it succeeded. `bytes`
 * determines its price; 0 if the price does not depend on a size. c->dev must
 * be set. */
#define DEVICE_CALL(c, op, bytes, ...)                                         \
    (larder__call_begin(c, LARDER_CALL_##op, (c)->dev->ops.op != NULL) &&      \
     larder__call_end(c, (c)->dev->ops.op((c)->dev->self, __VA_ARGS__),        \
                      bytes))

/* Whether to call the device; if not, c->result is the reason. */
bool larder__call_begin(struct device_call *c, larder_call kind, bool is_there);

/* Whether `r` is a success; c->result is set to it in any case. */
bool larder__call_end(struct device_call *c, larder_result r, uint64_t bytes);

/* Why a function of the device just returned `r`: the device's own message if
 * it has one. */
const char *larder__device_reason(const larder_device *dev, larder_result r);

/* Set the thread's last error and return c->result. `about` is printed after
 * the name of the call, for example "of 512 bytes". */
__attribute__((format(printf, 2, 3))) larder_result larder__call_fail(
    const struct device_call *c, const char *about, ...);

/* Add to a counter that any thread may read at any time. */
void larder__call_count(_Atomic uint64_t *counter, uint64_t n);

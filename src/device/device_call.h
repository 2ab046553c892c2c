/* device_call.h - what happens around every call to a device: an injected
 * fault may take its place, then it is counted, charged, and put into words
 * if it failed.  Private to the device layer. */
#ifndef LARDER_DEVICE_CALL_H
#define LARDER_DEVICE_CALL_H

#include "device/device_object.h"

struct device_call {
    larder_device *dev;
    larder_call kind;
    larder_result result;
    bool was_injected;
};

/* Make the call `op` with these arguments; whether it succeeded.  `bytes` is
 * for its price: 0 if that does not depend on a size.  c->dev is set. */
#define DEVICE_CALL(c, op, bytes, ...)                                         \
    (larder__call_begin(c, LARDER_CALL_##op, (c)->dev->ops.op != NULL) &&      \
     larder__call_end(c, (c)->dev->ops.op((c)->dev->self, __VA_ARGS__),        \
                      bytes))

/* Whether to go on to the device; if not, c->result says why. */
bool larder__call_begin(struct device_call *c, larder_call kind, bool is_there);

/* Whether `r` is a success; it is then c->result in any case. */
bool larder__call_end(struct device_call *c, larder_result r, uint64_t bytes);

/* Set the thread's last error and return c->result.  `about` is printed after
 * the name of the call: "of 512 bytes". */
__attribute__((format(printf, 2, 3))) larder_result larder__call_fail(
    const struct device_call *c, const char *about, ...);

/* To the counters, which anyone may read at any time. */
void larder__call_count(_Atomic uint64_t *counter, uint64_t n);

#endif

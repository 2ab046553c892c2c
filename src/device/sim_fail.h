/* sim_fail.h - the simulated GPU's message for a failure, which its table
 * returns from error_text().  Private to it. */
#pragma once

#include <larder/larder.h>

/* Set this thread's message. */
__attribute__((format(printf, 1, 2))) void larder__sim_set_error(
    const char *format, ...);

/* The same, as an expression with value r, for `return larder__sim_fail(...)`;
 * see base/fail.h. */
#define larder__sim_fail(r, ...) (larder__sim_set_error(__VA_ARGS__), (r))

/* The same with the result's own text. */
static inline larder_result larder__sim_fail_plain(larder_result r)
{
    return larder__sim_fail(r, "%s", larder_result_text(r));
}

/* The message of this thread's last failure. */
const char *larder__sim_fail_text(void);

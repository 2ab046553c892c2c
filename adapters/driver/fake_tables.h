/* fake_tables.h - what a driver provides to NVIDIA's runtime in addition to its
 * public calls. */
#pragma once

#include "driver/fake_state.h"

/* ---- fake_integrity.c --------------------------------------------------- */

/* The tables as the runtime received them, and the function that it called. */
struct fake_tables {
    const void *interface;
    const void *integrity;
    void (*check)(void);
};

/* A driver's answer to a runtime of this version, at that time. */
void fake_integrity_answer(unsigned version, uint64_t seconds,
                           const struct fake_tables *tables, uint64_t out[2]);

/* ---- fake_locals.c ------------------------------------------------------ */

/* A value that a caller stores with a context (NULL: the current one) under a
 * key; `end`, if not NULL, is called with all three when the context is
 * destroyed.  These are called without the lock. */
typedef void fake_local_end(cud_context context, void *key, void *value);

cud_result fake_local_put(cud_context context, void *key, void *value,
                          fake_local_end *end);
cud_result fake_local_drop(cud_context context, void *key);
cud_result fake_local_get(void **out, cud_context context, void *key);
/* The context is destroyed. */
void fake_locals_end(cud_context context);

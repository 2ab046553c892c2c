/* symbol.h - finds what is at a code address.  Private to the library. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

struct symbol {
    const char *object; /* file name; valid while it is loaded */
    const char *name;   /* NULL: unknown to the dynamic linker */
    uint64_t offset;    /* address in the object, for addr2line */
};

/* False: it is in no object. */
bool larder__symbol_find(uint64_t address, struct symbol *out);

/* Add its name; if that is unknown the object's, without folders, and the
 * offset. */
void larder__symbol_add(struct text *t, const struct symbol *symbol);

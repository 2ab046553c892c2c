/* symbol.h - what is at an address of code.  Private to the library. */
#ifndef LARDER_BASE_SYMBOL_H
#define LARDER_BASE_SYMBOL_H

#include <stdbool.h>
#include <stdint.h>

struct symbol {
    const char *object; /* the file; valid as long as it is loaded */
    const char *name;   /* NULL: none that the dynamic linker knows */
    uint64_t offset;    /* of the address in the object, as addr2line wants */
};

/* False: in no object. */
bool larder__symbol_find(uint64_t address, struct symbol *out);

#endif

/* symbol.c - finds what is at a code address. */
#include "base/symbol.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

bool larder__symbol_find(uint64_t address, struct symbol *out)
{
    struct link_map *map = NULL;
    Dl_info info;

    if (dladdr1((const void *)(uintptr_t)address, &info, (void **)&map,
                RTLD_DL_LINKMAP) == 0 ||
        info.dli_fname == NULL)
        return false;
    out->object = info.dli_fname;
    out->name = info.dli_sname;
    /* The load address: 0 for a program that is not position independent. */
    out->offset =
        address - (map != NULL ? map->l_addr : (uintptr_t)info.dli_fbase);
    return true;
}

void larder__symbol_add(struct text *t, const struct symbol *symbol)
{
    const char *slash = strrchr(symbol->object, '/');

    if (symbol->name != NULL)
        larder__text_add(t, "%s", symbol->name);
    else
        larder__text_add(t, "%s+0x%llx",
                         slash != NULL ? slash + 1 : symbol->object,
                         (unsigned long long)symbol->offset);
}

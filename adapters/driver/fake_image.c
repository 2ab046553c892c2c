/* fake_image.c - reads which variables device code has: an ELF file, or a bundle
 * of them for several architectures ("fat binary").  Images are part of a
 * program and trusted, as the driver trusts them. */
#include "driver/fake_module.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

/* As in the toolkit's fatbinary_section.h; the rest was observed in programs
 * built with CUDA 12 and 13. */
struct wrapper {
    uint32_t magic;
    uint32_t version;
    const void *bundle;
};

struct bundle {
    uint32_t magic;
    uint16_t version;
    uint16_t header_bytes;
    uint64_t bytes; /* after the header */
};

struct part {
    uint16_t kind;
    uint16_t version;
    uint32_t header_bytes;
    uint64_t bytes; /* after the header */
};

static const uint32_t wrapper_magic = 0x466243b1;
static const uint32_t bundle_magic = 0xba55ed50;

/* The size of a variable whose size is unknown. */
enum { LARGE_BYTES = 2 << 20 };

static bool variable_add(struct fake_image *image, const char *name,
                         size_t bytes, const void *values)
{
    struct fake_variable *v = calloc(1, sizeof *v);

    if (v == NULL)
        return false;
    v->next = image->variables;
    image->variables = v;
    v->bytes = bytes;
    v->name = strdup(name);
    if (values != NULL && bytes > 0 && (v->values = malloc(bytes)) != NULL)
        memcpy(v->values, values, bytes);
    return v->name != NULL && (values == NULL || v->values != NULL);
}

/* ---- ELF ---------------------------------------------------------------- */

static const Elf64_Shdr *section_of(const Elf64_Ehdr *elf, unsigned which)
{
    return (const Elf64_Shdr *)((const char *)elf + elf->e_shoff) + which;
}

static bool symbol_read(struct fake_image *image, const Elf64_Ehdr *elf,
                        const Elf64_Sym *symbol, const char *name)
{
    const Elf64_Shdr *in;

    if (ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT || symbol->st_size == 0 ||
        symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= elf->e_shnum)
        return true;
    in = section_of(elf, symbol->st_shndx);
    return variable_add(image, name, symbol->st_size,
                        in->sh_type == SHT_NOBITS
                            ? NULL
                            : (const char *)elf + in->sh_offset +
                                  symbol->st_value);
}

static bool elf_read(struct fake_image *image, const Elf64_Ehdr *elf)
{
    unsigned i = 0;
    const Elf64_Shdr *table;
    const Elf64_Sym *symbols;
    const char *names;

    while (i < elf->e_shnum && section_of(elf, i)->sh_type != SHT_SYMTAB)
        i++;
    if (i == elf->e_shnum)
        return true;
    table = section_of(elf, i);
    symbols = (const Elf64_Sym *)((const char *)elf + table->sh_offset);
    names = (const char *)elf + section_of(elf, table->sh_link)->sh_offset;
    image->is_read = true;
    for (size_t s = 0; s < table->sh_size / sizeof *symbols; s++) {
        if (!symbol_read(image, elf, &symbols[s], names + symbols[s].st_name))
            return false;
    }
    return true;
}

/* ---- bundles ------------------------------------------------------------ */

/* The first part that is not compressed: all have the same variables. */
static bool bundle_read(struct fake_image *image, const struct bundle *b)
{
    const char *at = (const char *)b + b->header_bytes;
    const char *end = at + b->bytes;

    while (at < end) {
        const struct part *p = (const struct part *)at;

        at += p->header_bytes;
        if (memcmp(at, ELFMAG, SELFMAG) == 0)
            return elf_read(image, (const Elf64_Ehdr *)at);
        at += p->bytes;
    }
    return true;
}

bool fake_image_read(struct fake_image *image, const void *data)
{
    const char *bytes = data;

    /* Text may be shorter than a number. */
    if (strncmp(bytes, ELFMAG, SELFMAG) == 0)
        return elf_read(image, data);
    if (strncmp(bytes, (const char *)&wrapper_magic, sizeof wrapper_magic) == 0)
        return fake_image_read(image, ((const struct wrapper *)data)->bundle);
    if (strncmp(bytes, (const char *)&bundle_magic, sizeof bundle_magic) == 0)
        return bundle_read(image, data);
    return true;
}

void fake_image_free(struct fake_image *image)
{
    while (image->variables != NULL) {
        struct fake_variable *v = image->variables;

        image->variables = v->next;
        free(v->name);
        free(v->values);
        free(v->managed);
        free(v);
    }
}

struct fake_variable *fake_image_find(struct fake_image *image,
                                      const char *name, bool is_sure)
{
    struct fake_variable *v = image->variables;

    while (v != NULL && strcmp(v->name, name) != 0)
        v = v->next;
    if (v != NULL || !is_sure || image->is_read)
        return v;
    return variable_add(image, name, LARGE_BYTES, NULL) ? image->variables
                                                        : NULL;
}

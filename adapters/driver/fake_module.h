/* fake_module.h - device code: its functions and variables. */
#pragma once

#include "driver/fake_state.h"

struct fake_variable {
    struct fake_variable *next;
    char *name;
    size_t bytes;
    void *values; /* at the beginning; NULL: zeros */
    /* Its address, once requested; 0: not allocated yet. */
    cud_addr addr[FAKE_DEVICES];
    void *managed;
};

/* What was found in an image. */
struct fake_image {
    struct fake_variable *variables;
    bool is_read; /* false: it is compressed, or text: there may be others */
};

struct fake_function {
    struct fake_handle handle;
    struct fake_function *next;
    struct fake_module *module;
    char name[256];
};

/* A module, or a library: a module without a context. */
struct fake_module {
    struct fake_handle handle;
    const struct fake_device *device; /* NULL: none, or a library */
    struct fake_function *functions;
    struct fake_image image;
};

/* ---- fake_image.c ------------------------------------------------------- */

/* Read the image's variables.  False: no host memory. */
bool fake_image_read(struct fake_image *image, const void *data);
void fake_image_free(struct fake_image *image);
/* The variable of this name.  With `is_sure`, one of an image that was not read
 * is there too, with room for a large variable.  NULL: none, or no host
 * memory. */
struct fake_variable *fake_image_find(struct fake_image *image,
                                      const char *name, bool is_sure);

/* ---- fake_variable.c ---------------------------------------------------- */

/* Release the memory of the module's variables. */
void fake_variables_release(struct fake_module *m);
/* Their memory on this device was freed. */
void fake_variables_forget(struct fake_module *m, const struct fake_device *d);

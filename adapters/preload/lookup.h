/* lookup.h - what dlsym() is to answer in place of a call of the driver. */
#ifndef LARDER_ADAPTERS_PRELOAD_LOOKUP_H
#define LARDER_ADAPTERS_PRELOAD_LOOKUP_H

/* NULL: what the dynamic linker finds. */
__attribute__((visibility("hidden"))) void *preload_dlsym_hook(
    void *handle, const char *name);

/* For the jump to the real dlsym(): never NULL once a program runs. */
__attribute__((visibility("hidden"))) void *preload_dlsym_target(void);

#endif

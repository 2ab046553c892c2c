/* lookup.h - what dlsym() returns for driver calls. */
#pragma once

/* NULL: not hooked; use the dynamic linker's result. */
__attribute__((visibility("hidden"))) void *preload_dlsym_hook(
    void *handle, const char *name);

/* The target of the jump to the real dlsym(); never NULL once a program
 * runs. */
__attribute__((visibility("hidden"))) void *preload_dlsym_target(void);

/* fakecuda.h - how a program that loaded the simulated driver, like a real one,
 * controls it.
 *
 * The driver has its own simulated GPUs: these functions are those of its
 * copy of the library and work on its devices. */
#pragma once

#include <larder/sim.h>

/* The symbol to look up: a function without arguments. */
#define FAKECUDA_CONTROL "fakecuda_control"

struct fakecuda_control {
    /* Add a GPU with a spec "sim:..." and number it: `ordinal`, if that is
     * free.  On it any number below LARDER_SIM_STREAMS is a stream. */
    larder_result (*add)(const char *spec, int ordinal, int *number);
    void (*remove)(int number);
    larder_device *(*device)(int number);
    /* NULL: the device of the machine is hidden (CUDA_VISIBLE_DEVICES), or
     * there is none. */
    larder_device *(*device_of_machine)(int ordinal);
    const char *(*last_error)(void);

    /* For the result of device(). */
    larder_result (*complete)(larder_device *, larder_stream);
    larder_result (*launch)(larder_device *, larder_stream, larder_sim_kernel *,
                            void *);
    larder_result (*capture_begin)(larder_device *, larder_stream);
    larder_result (*capture_end)(larder_device *, larder_stream);
    larder_result (*regions)(larder_device *, larder_addr *, larder_addr *);
    larder_result (*get_usage)(larder_device *, larder_sim_usage *);
    /* The event as the driver's callers know it. */
    larder_result (*wait_event)(int number, larder_stream, uint64_t event);

    /* Return `answer` for the nth call of a symbol from now, and for the times
     * - 1 calls after it (0: all).  NULL as symbol: every call. nth 0 ends the
     * plan. */
    void (*plan)(const char *symbol, unsigned long nth, unsigned long times,
                 int answer);
    /* Whether the devices share the host's memory; whether pages can be
     * exported as fabric handles; whether devices can access each other. */
    void (*traits)(int integrated, int fabric, int peers);

    /* Broken rules since the last forget(): their number and their lines. */
    unsigned long (*broken)(void);
    const char *(*lines)(void);
    void (*forget)(void);
    /* Calls of a symbol, and the length of the last list of devices given to
     * cuMemSetAccess(). */
    unsigned long (*calls)(const char *symbol);
    unsigned long (*last_access_count)(void);
};

typedef const struct fakecuda_control *fakecuda_control_fn(void);

/* A symbol too: while a thread has it on, what it copies to the host is zeros, as
 * no kernel has written what its program is about to read. */
void fakecuda_blank(int is_on);

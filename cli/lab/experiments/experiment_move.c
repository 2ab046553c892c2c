/* experiment_move.c - experiment 0: tensors created, moved, overwritten and
 * deleted. */
#include "experiment.h"

enum { A, B, C, D, E };

static const int64_t sizes[] = {256, 1024, 1024}; /* 1 GiB of float32 */

static bool after(struct exp *e, const char *statement, uint64_t reserved,
                  uint64_t allocated, uint64_t host)
{
    return exp_after(e, statement, EXP_RESERVED, reserved * GIB) &&
           exp_expect(e, EXP_ALLOCATED, allocated * GIB) &&
           exp_expect(e, EXP_HOST, host * GIB);
}

static bool experiment_move_make(struct exp *e, int v)
{
    return exp_zeros(e, v, LAB_DEVICE, 3, sizes);
}

/* The new one is created while the old one exists: there are three for a
 * moment. */
static bool rebind_c(struct exp *e)
{
    uint64_t old = lab_address(e->t[C]);
    lab_memory m;

    return experiment_move_make(e, C) &&
           after(e, "c = zeros(256, 1024, 1024) # again", 3, 2, 1) &&
           exp_memory(e, &m) &&
           exp_number(e, "most allocated at once while c was rebound",
                      EXP_BYTES, 3 * GIB, m.allocated_peak) &&
           experiment_move_make(e, D) &&
           after(e, "d = zeros(256, 1024, 1024)", 3, 3, 1) &&
           exp_yes(e, "d is where the first c was",
                   lab_address(e->t[D]) == old);
}

static bool experiment_move_run(struct exp *e)
{
    uint64_t b;

    if (!exp_open(e, NULL) || !experiment_move_make(e, A) ||
        !after(e, "a = zeros(256, 1024, 1024)", 1, 1, 0) ||
        !experiment_move_make(e, B) ||
        !after(e, "b = zeros(256, 1024, 1024)", 2, 2, 0))
        return false;
    b = lab_address(e->t[B]);
    return exp_to(e, B, LAB_HOST) && after(e, "b = b.to(cpu)", 2, 1, 1) &&
           experiment_move_make(e, C) &&
           after(e, "c = zeros(256, 1024, 1024)", 2, 2, 1) &&
           exp_yes(e, "c is where b was", lab_address(e->t[C]) == b) &&
           rebind_c(e) && exp_drop(e, D) && after(e, "del d", 3, 2, 1) &&
           exp_zeros(e, E, LAB_HOST, 3, sizes) &&
           after(e, "e = zeros(256, 1024, 1024, cpu)", 3, 2, 2) &&
           exp_to(e, E, LAB_DEVICE) && after(e, "e = e.to(cuda)", 3, 3, 1);
}

const struct experiment experiment_move_and_reuse = {
    .number = 0,
    .name = "move_and_reuse",
    .title = "creating, moving, overwriting and deleting tensors",
    .text =
        "Each tensor here is 1 GiB, on the device unless the code says cpu. "
        "Watch two figures that are often confused: allocated is what live "
        "tensors take, reserved is what the process holds from the driver, and "
        "nvidia-smi shows the second (plus the context).\n\n"
        "When b moves to the host, its memory on the device is free but stays "
        "reserved, and c is placed there. The second c = zeros(...) creates "
        "the new tensor first and then frees the old one, so for a moment "
        "there must be room for both. `del d` releases nothing to the driver. "
        "Host memory has no such cache: it is returned at once.",
    .verdict = "Memory freed on the device stays reserved for the next "
               "tensor; rebinding needs room for the old tensor and "
               "the new one; host memory is released at once.",
    .run = experiment_move_run,
};

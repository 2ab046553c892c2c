/* made_frames.c - call stacks of a made-up program. */
#include "support/made_frames.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define TORCH "/v/lib/python3.11/site-packages/torch/"

struct place {
    const char *file;
    const char *name;
    int line;
};

/* By role: PyTorch's own Python, and its C++ below that. */
static const struct {
    struct place python;
    struct place cpp;
} inner[MADE_ROLES] = {
    [MADE_SETUP] = {{TORCH "nn/modules/module.py", "_apply", 900},
                    {"??", "at::_ops::to_copy::call", 0}},
    [MADE_DATA] = {{TORCH "utils/data/dataloader.py", "__next__", 630},
                   {"??", "at::native::copy_", 0}},
    [MADE_FORWARD] = {{TORCH "nn/modules/linear.py", "forward", 116},
                      {"??", "at::native::linear", 0}},
    [MADE_ATTENTION] = {{TORCH "nn/functional.py", "softmax", 1841},
                        {"??", "at::native::softmax", 0}},
    [MADE_LOSS] = {{TORCH "nn/functional.py", "cross_entropy", 3053},
                   {"??", "at::native::nll_loss_forward", 0}},
    [MADE_BACKWARD] = {{TORCH "autograd/__init__.py", "backward", 204},
                       {"??", "torch::autograd::MmBackward0::apply(x&&)", 0}},
    [MADE_OPTIMIZER] = {{TORCH "optim/adam.py", "_init_group", 120},
                        {"??", "at::native::zeros_like", 0}},
    [MADE_ZERO_GRAD] = {{TORCH "optim/optimizer.py", "zero_grad", 800},
                        {"??", "THPVariable_set_grad", 0}},
    [MADE_LOG] = {{"/usr/lib/python3.11/logging/__init__.py", "info", 1489},
                  {"??", "at::native::clone", 0}},
};

/* By role: the program's own line. */
static const struct place outer[MADE_ROLES] = {
    [MADE_SETUP] = {"/home/u/train/model.py", "__init__", 3},
    [MADE_DATA] = {"/home/u/train/data.py", "batches", 40},
    [MADE_FORWARD] = {"/home/u/train/model.py", "forward", 20},
    [MADE_ATTENTION] = {"/home/u/train/attention.py", "forward", 60},
    [MADE_LOSS] = {"/home/u/train/loss.py", "compute", 7},
    [MADE_BACKWARD] = {"/home/u/train/main.py", "train_step", 100},
    [MADE_OPTIMIZER] = {"/home/u/train/main.py", "train_step", 110},
    [MADE_ZERO_GRAD] = {"/home/u/train/main.py", "train_step", 90},
    [MADE_LOG] = {"/home/u/train/main.py", "log_loss", 130},
};

static const struct place packages[] = {
    {"/v/lib/python3.11/site-packages/timm/models/vit.py", "forward", 200},
    {"/v/lib/python3.11/site-packages/transformers/models/llama/"
     "modeling_llama.py",
     "forward", 310},
    {"/v/lib/python3.11/site-packages/einops.py", "rearrange", 12},
    {"/tmp/torchinductor_u/ab/graph.py", "call", 55},
};

static void add(json_t *frames, const struct place *at, unsigned further)
{
    json_array_append_new(
        frames, json_pack("{s:s, s:i, s:s}", "filename", at->file, "line",
                          at->line + (int)further, "name", at->name));
}

/* A cell is named by its content or by its number. */
static struct place cell_of(enum made_role role)
{
    static const struct place cells[] = {
        {"/tmp/ipykernel_77/1234567.py", "<module>", 4},
        {"/tmp/ipykernel_77/2345678.py", "train", 9},
        {"<ipython-input-12-0123abcd>", "<module>", 2},
    };

    return cells[role % (sizeof cells / sizeof cells[0])];
}

static void add_cpp(json_t *frames, enum made_role role)
{
    static const struct place plumbing[] = {
        {"??", "torch::unwind::unwind()", 0},
        {"??", "c10::cuda::CUDACachingAllocator::malloc", 0},
        {"??", "at::detail::empty_generic", 0},
    };

    for (size_t i = role % 2; i < sizeof plumbing / sizeof plumbing[0]; i++)
        add(frames, &plumbing[i], 0);
    add(frames, &inner[role].cpp, 0);
}

/* Python code does not run below the backward pass's own threads. */
static bool is_of_engine(enum made_unwinding unwinding, enum made_role role)
{
    return role == MADE_BACKWARD && unwinding != MADE_PYTHON;
}

json_t *made_frames(enum made_unwinding unwinding, enum made_role role,
                    unsigned layer, unsigned library)
{
    static const struct place engine = {
        "??", "torch::autograd::Engine::thread_main", 0};
    static const struct place start = {"/usr/lib/python3.11/runpy.py",
                                       "_run_code", 88};
    static const struct place whole = {"/home/u/train/main.py", "main", 5};
    json_t *frames = json_array();
    struct place own = outer[role];

    if (unwinding == MADE_NO_FRAMES)
        return frames;
    if (unwinding == MADE_NOTEBOOK)
        own = cell_of(role);
    if (unwinding == MADE_BOTH || unwinding == MADE_CPP ||
        is_of_engine(unwinding, role))
        add_cpp(frames, role);
    if (unwinding == MADE_CPP || is_of_engine(unwinding, role)) {
        add(frames, &engine, 0);
        return frames;
    }
    add(frames, &inner[role].python, layer % 3);
    for (unsigned i = 0; i < library % 5; i++)
        add(frames, &packages[library % 4], i);
    add(frames, &own, layer);
    if (library % 6 != 5)
        add(frames, &whole, role);
    if (library % 2 == 0)
        add(frames, &start, 0);
    return frames;
}

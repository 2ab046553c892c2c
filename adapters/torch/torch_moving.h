/* torch_moving.h - live memory moves while the program's work is held back by the
 * preload library, if the program was started with LARDER_PRELOAD=gate. */
#pragma once

#include <larder/larder.h>

/* For a new allocator.  Without effect in a program that was not started so. */
larder_result larder__torch_guard(larder_allocator *a);

/* cuda_spec.h - parses "cuda:0,export=fd": which device of a driver to open,
 * and how.  Private to the device layer. */
#pragma once

#include <larder/larder.h>

enum { CUDA_DEVICES_MAX = 64 };

struct cuda_spec {
    int number;
    int handle_type; /* CUD_HANDLE_*: how pages are exported */
};

/* `text` begins with `family` and a colon.  ERR_INVALID names the wrong part
 * and what is accepted. */
larder_result larder__cuda_spec_parse(const char *text, const char *family,
                                      struct cuda_spec *out);

/* frame_kind.c - classifies frames: the program's, a package's, PyTorch's, the
 * standard library's, C++. */
#include "report/frame_kind.h"

#include <stdlib.h>
#include <string.h>

static const char *const plumbing[] = {
    "unwind",
    "CapturedTraceback",
    "gather_with_cpp",
    "CachingAllocator",
    "c10::",
    "at::detail::",
    "at::empty",
    "empty_",
    "set_output_",
    "create_out",
    "_Py",
    "Py_",
    "method_vectorcall",
    "pthread",
    "start_thread",
    "clone",
    "native_thread",
};

/* Longer than any path: texts that are searched as often as frames occur need a
 * bound. */
enum { TEXT_MAX = 4096 };

const char *frame_text(const struct snapshot *s, uint32_t string)
{
    return snapshot_string_length(s, string) <= TEXT_MAX
               ? snapshot_string(s, string)
               : "";
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text);
    size_t m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

/* The part of the path after the last folder of this name, with either kind of
 * separator.  NULL: there is none. */
static const char *below(const char *path, const char *folder)
{
    const char *found = NULL;
    const char *at = path;
    size_t n = strlen(folder);

    while ((at = strstr(at, folder)) != NULL) {
        if (at > path && frame_separator(at[-1]) && frame_separator(at[n]))
            found = at + n + 1;
        at += n;
    }
    return found;
}

const char *frame_package(const char *file, size_t *length)
{
    const char *at = below(file, "site-packages");

    if (at == NULL)
        at = below(file, "dist-packages");
    if (at == NULL)
        return NULL;
    *length = strcspn(at, "/\\");
    if (at[*length] == '\0' && *length > 3 && ends_with(at, ".py"))
        *length -= 3; /* a package of one file */
    return at;
}

/* For a C++ frame; a node of the backward pass tells what was computed. */
static enum frame_kind kind_compiled(const char *name)
{
    if (strstr(name, "Backward") != NULL && strstr(name, "::apply(") != NULL &&
        strstr(name, "c10::") != name)
        return FRAME_BACKWARD;
    for (size_t i = 0; i < sizeof plumbing / sizeof plumbing[0]; i++) {
        if (strstr(name, plumbing[i]) != NULL)
            return FRAME_PLUMBING;
    }
    return FRAME_COMPILED;
}

static const char ipython[] = "<ipython-input-";
static bool is_cell_file(const char *file)
{
    return strncmp(file, ipython, sizeof ipython - 1) == 0 ||
           strncmp(file, "<cell", 5) == 0;
}

/* Inductor's file names: "c", then 51 digits of a hash in base 32. */
enum { INDUCTOR_DIGITS = 51 };

/* Code that Inductor generated: below its folder of the user, or, wherever its
 * cache is, named by a hash whose first two digits name the folder. */
static bool is_inductor_file(const char *file)
{
    const char *folder = strstr(file, "torchinductor_");
    size_t n = strlen(file);
    const char *name =
        n > INDUCTOR_DIGITS + 7 ? file + n - INDUCTOR_DIGITS - 4 : "";

    if (folder != NULL && folder > file && frame_separator(folder[-1]))
        return true;
    return name[0] == 'c' && frame_separator(name[-1]) &&
           strspn(name + 1, "abcdefghijklmnopqrstuvwxyz234567") ==
               INDUCTOR_DIGITS &&
           strncmp(name - 3, name + 1, 2) == 0 && frame_separator(name[-4]);
}

enum frame_kind frame_kind_of(const struct snapshot *s, uint32_t frame)
{
    const char *file = frame_text(s, s->frames[frame].filename);
    size_t length;

    if (s->frames[frame].cell != 0 || is_cell_file(file))
        return FRAME_OWN;
    if (!ends_with(file, ".py") && file[0] != '<')
        return kind_compiled(frame_text(s, s->frames[frame].name));
    /* PyTorch generates the names of traced and compiled code. */
    if (below(file, "torch") != NULL || is_inductor_file(file) ||
        strncmp(file, "<eval_with_key", 14) == 0)
        return FRAME_TORCH;
    if (frame_package(file, &length) != NULL)
        return FRAME_PACKAGE;
    if (strstr(file, "/lib/python") != NULL || file[0] == '<')
        return FRAME_STANDARD;
    return FRAME_OWN;
}

bool frame_is_cell(const struct snapshot *s, uint32_t frame, unsigned *number)
{
    const char *file = frame_text(s, s->frames[frame].filename);

    *number = s->frames[frame].cell;
    if (*number == 0 && is_cell_file(file))
        *number =
            (unsigned)strtoul(file + strcspn(file, "0123456789"), NULL, 10);
    else if (*number == 0)
        return false;
    return true;
}

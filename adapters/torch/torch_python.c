/* torch_python.c - finds and remembers lines of Python.
 *
 * It uses functions of Python's stable interface that exist since version 3.9.
 * Each line is stored once, with its file and function, so that writing a
 * snapshot needs no interpreter.  Its code object is referenced, so that the
 * address cannot be reused. */
#include "torch_python.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct object object; /* a Python object */

/* ---- the interpreter ----------------------------------------------------------- */

#define PYTHON_MAP(X)                                                          \
    X(is_initialized, Py_IsInitialized, int, (void))                           \
    X(thread_state, PyGILState_GetThisThreadState, void *, (void))             \
    X(has_lock, PyGILState_Check, int, (void))                                 \
    X(take_lock, PyGILState_Ensure, int, (void))                               \
    X(leave_lock, PyGILState_Release, void, (int))                             \
    X(frame_now, PyEval_GetFrame, object *, (void))                            \
    X(frame_back, PyFrame_GetBack, object *, (object *))                       \
    X(frame_code, PyFrame_GetCode, object *, (object *))                       \
    X(frame_line, PyFrame_GetLineNumber, int, (object *))                      \
    X(attribute, PyObject_GetAttrString, object *, (object *, const char *))   \
    X(text, PyUnicode_AsUTF8AndSize, const char *, (object *, ptrdiff_t *))    \
    X(clear_error, PyErr_Clear, void, (void))                                  \
    X(keep, Py_IncRef, void, (object *))                                       \
    X(drop, Py_DecRef, void, (object *))

static struct python {
#define X(name, symbol, returns, arguments) returns(*name) arguments;
    PYTHON_MAP(X)
#undef X
} python;

static bool has_python;
static pthread_once_t python_once = PTHREAD_ONCE_INIT;

static void python_find(void)
{
    void *found;

    has_python = true;
#define X(name, symbol, returns, arguments)                                    \
    found = dlsym(RTLD_DEFAULT, #symbol);                                      \
    memcpy(&python.name, &found, sizeof found);                                \
    has_python = has_python && found != NULL;
    PYTHON_MAP(X)
#undef X
}

/* How this thread got the interpreter's lock. */
struct hold {
    bool is_taken; /* taken here; release it with `state` */
    int state;
};

/* PyTorch releases the lock around functions that allocate, so it is taken
 * again, as PyTorch's own allocator does.  False, and nothing is held: Python
 * does not know this thread. */
static bool python_enter(struct hold *hold)
{
    pthread_once(&python_once, python_find);
    if (!has_python || !python.is_initialized() ||
        python.thread_state() == NULL)
        return false;
    hold->is_taken = !python.has_lock();
    if (hold->is_taken)
        hold->state = python.take_lock();
    return true;
}

static void python_leave(const struct hold *hold)
{
    if (hold->is_taken)
        python.leave_lock(hold->state);
}

/* ---- cache of source lines ------------------------------------------------------ */

enum { LINES_MAX = 1 << 16, BUCKETS = LINES_MAX * 2 };

struct seen_line {
    object *code; /* a reference */
    int line;
    char *file;
    char *function;
    bool is_hidden;
};

/* Files whose frames are hidden, by part of their path: the layers between a
 * program and the GPU that `larder run` simulates. */
static const char *const hidden_files[] = {
    "/larder/fit/",
    "/torch/_compile.py",
    "/torch/_dynamo/eval_frame.py",
    "/torch/_subclasses/",
    "/torch/utils/_python_dispatch.py",
};

/* Guarded by the lock; entries do not change once added. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct seen_line *lines; /* LINES_MAX entries */
static uint32_t *buckets;       /* numbers + 1; 0: empty */
static uint32_t line_count;

static bool table_make(void)
{
    if (lines != NULL)
        return true;
    lines = calloc(LINES_MAX, sizeof *lines);
    buckets = calloc(BUCKETS, sizeof *buckets);
    if (lines != NULL && buckets != NULL)
        return true;
    free(lines);
    free(buckets);
    lines = NULL;
    buckets = NULL;
    return false;
}

/* The bucket of the line, or the empty one where it belongs. */
static uint32_t *bucket_of(const object *code, int line)
{
    uint64_t hash =
        ((uint64_t)(uintptr_t)code ^ ((uint64_t)(uint32_t)line << 40)) *
        UINT64_C(0x9e3779b97f4a7c15);
    uint32_t at = (uint32_t)(hash >> 47) % BUCKETS;

    while (buckets[at] != 0 && (lines[buckets[at] - 1].code != code ||
                                lines[buckets[at] - 1].line != line))
        at = (at + 1) % BUCKETS;
    return &buckets[at];
}

/* A copy of the code object's attribute.  NULL: no host memory. */
static char *attribute_copy(object *code, const char *attribute)
{
    object *value = python.attribute(code, attribute);
    const char *text = value == NULL ? NULL : python.text(value, NULL);
    char *copy = strdup(text == NULL ? "?" : text);

    if (text == NULL)
        python.clear_error();
    if (value != NULL)
        python.drop(value);
    return copy;
}

static bool file_is_hidden(const char *file)
{
    const size_t count = sizeof hidden_files / sizeof hidden_files[0];

    for (size_t i = 0; i < count; i++) {
        if (strstr(file, hidden_files[i]) != NULL)
            return true;
    }
    return false;
}

/* Called with Python's lock but not ours: it may run code of the program. */
static bool line_describe(object *code, int line, struct seen_line *out)
{
    *out = (struct seen_line){.code = code, .line = line};
    out->file = attribute_copy(code, "co_filename");
    out->function = attribute_copy(code, "co_name");
    if (out->file != NULL && out->function != NULL) {
        out->is_hidden = file_is_hidden(out->file);
        return true;
    }
    free(out->file);
    free(out->function);
    return false;
}

static uint64_t value_of(uint32_t number)
{
    return TORCH_PYTHON_FRAME | number;
}

/* For a value that a thread already has: its entry does not change. */
static bool value_is_hidden(uint64_t value)
{
    return lines[(value & ~TORCH_PYTHON_FRAME) - 1].is_hidden;
}

/* 0: unknown. */
static uint64_t line_look_up(const object *code, int line)
{
    uint64_t value = 0;

    pthread_mutex_lock(&lock);
    if (table_make() && *bucket_of(code, line) != 0)
        value = value_of(*bucket_of(code, line));
    pthread_mutex_unlock(&lock);
    return value;
}

/* False: it was added meanwhile, or there is no room. */
static bool line_add(const struct seen_line *line, uint64_t *value)
{
    bool added = false;
    uint32_t *bucket;

    *value = 0;
    pthread_mutex_lock(&lock);
    if (table_make()) {
        bucket = bucket_of(line->code, line->line);
        added = *bucket == 0 && line_count < LINES_MAX;
        if (added) {
            lines[line_count++] = *line;
            *bucket = line_count;
        }
        if (*bucket != 0)
            *value = value_of(*bucket);
    }
    pthread_mutex_unlock(&lock);
    return added;
}

/* 0: it cannot be stored. */
static uint64_t line_value(object *code, int line)
{
    uint64_t value = line_look_up(code, line);
    struct seen_line made;

    if (value != 0 || !line_describe(code, line, &made))
        return value;
    if (line_add(&made, &value)) {
        python.keep(code);
    } else {
        free(made.file);
        free(made.function);
    }
    return value;
}

/* ---- callers --------------------------------------------------------------------- */

static uint64_t frame_value(object *frame)
{
    object *code = python.frame_code(frame);
    uint64_t value = 0;

    if (code != NULL) {
        value = line_value(code, python.frame_line(frame));
        python.drop(code);
    }
    return value;
}

/* Called with Python's lock. */
static size_t frames_now(uint64_t *frames, size_t capacity)
{
    object *frame = python.frame_now();
    size_t n = 0;

    if (frame != NULL)
        python.keep(frame);
    while (frame != NULL && n < capacity) {
        uint64_t value = frame_value(frame);
        object *back = python.frame_back(frame);

        python.drop(frame);
        frame = back;
        if (value != 0 && !value_is_hidden(value))
            frames[n++] = value;
    }
    if (frame != NULL)
        python.drop(frame);
    return n;
}

size_t larder__python_frames(uint64_t *frames, size_t capacity)
{
    struct hold hold;
    size_t n;

    if (!python_enter(&hold))
        return 0;
    n = frames_now(frames, capacity);
    python_leave(&hold);
    return n;
}

int larder__python_frame_name(uint64_t frame, larder_frame *out)
{
    uint64_t number = frame & ~TORCH_PYTHON_FRAME;
    int known;

    if ((frame & TORCH_PYTHON_FRAME) == 0)
        return 0;
    pthread_mutex_lock(&lock);
    known = number > 0 && number <= line_count;
    if (known) {
        const struct seen_line *line = &lines[number - 1];

        snprintf(out->filename, sizeof out->filename, "%s", line->file);
        snprintf(out->name, sizeof out->name, "%s", line->function);
        out->line = line->line > 0 ? (uint32_t)line->line : 0;
    }
    pthread_mutex_unlock(&lock);
    return known;
}

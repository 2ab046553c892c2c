/* c10_exception.c - throws c10::OutOfMemoryError from C.
 *
 * It relies on the following:
 *   - c10::Error exports the constructor Error(SourceLocation, std::string),
 *     which PyTorch's own macros call.  The parameters are part of its name: if
 *     they change it is not found, and std::runtime_error is thrown.
 *   - SourceLocation is a function name, a file name and a line.
 *   - OutOfMemoryError derives only from Error and adds no members, so an Error
 *     thrown with its type is one.  The derivation is checked in the type
 *     information.
 *   - An Error's first virtual function is its destructor, as in every class
 *     that derives from std::exception.
 *   - The layouts of std::string before and since C++11, which libstdc++ does
 *     not change. */
#include "torch_exception.h"

#include <stdint.h>
#include <string.h>

/* Enough for a c10::Error, which has strings, a vector and pointers. */
enum { C10_ERROR_BYTES = 1024 };

struct source_location {
    const char *function;
    const char *file;
    uint32_t line;
};

/* std::string since C++11, with its text on the heap. */
struct new_string {
    char *text;
    size_t length;
    union {
        size_t capacity;
        char local[16];
    } is;
};

/* std::string before C++11: a pointer to the text, which follows this. */
struct old_string_head {
    size_t length;
    size_t capacity;
    int owners; /* in addition to the first */
};

/* Type information of a class with one base, in the C++ ABI. */
struct class_type {
    void *table;
    const char *name;
    const struct class_type *base;
};

/* A class passed by value, for which the ABI passes the address. */
typedef void make_fn(void *object, struct source_location where, void *string);

#define CONSTRUCTOR "_ZN3c105ErrorC1ENS_14SourceLocationE"
#define NEW_STRING "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"

static bool is_error(const struct class_type *type)
{
    return type->base != NULL && type->base->name != NULL &&
           strcmp(type->base->name, "N3c105ErrorE") == 0;
}

bool larder__c10_find(struct c10_error *out)
{
    static const char symbol[] = "_ZTIN3c1016OutOfMemoryErrorE";
    static const char *const libraries[] = {"libc10", "libtorch"};

    out->type = NULL;
    for (size_t i = 0; out->type == NULL && i < 2; i++)
        out->type = larder__loaded_symbol(libraries[i], symbol);
    out->has_old_string = false;
    out->make = larder__loaded_symbol("libc10", CONSTRUCTOR NEW_STRING);
    if (out->make == NULL) {
        out->has_old_string = true;
        out->make = larder__loaded_symbol("libc10", CONSTRUCTOR "Ss");
    }
    return out->type != NULL && out->make != NULL && is_error(out->type);
}

/* Both strings hand their text over to the Error, which frees it. */
static void new_string_make(const struct cxx_runtime *cxx, struct new_string *s,
                            const char *words)
{
    size_t length = strlen(words);

    /* A shorter text would have to be stored inside the string. */
    s->is.capacity = length < sizeof s->is.local ? sizeof s->is.local : length;
    s->text = cxx->heap(s->is.capacity + 1);
    s->length = length;
    memcpy(s->text, words, length + 1);
}

static char *old_string_make(const struct cxx_runtime *cxx, const char *words)
{
    size_t length = strlen(words);
    struct old_string_head *head = cxx->heap(sizeof *head + length + 1);
    char *text = (char *)(head + 1);

    *head = (struct old_string_head){.length = length, .capacity = length};
    memcpy(text, words, length + 1);
    return text;
}

/* Drop one owner.  The Error's copy of the string may share the text and frees
 * it; the argument's share is given up here. */
static void old_string_leave(char *text)
{
    struct old_string_head *head = (struct old_string_head *)text - 1;

    __atomic_fetch_sub(&head->owners, 1, __ATOMIC_ACQ_REL);
}

void larder__c10_raise(const struct cxx_runtime *cxx,
                       const struct c10_error *c10, const char *words)
{
    const struct source_location where = {"larder_torch_alloc", "liblarder", 0};
    void *object = cxx->allocate(C10_ERROR_BYTES);
    cxx_destroy_fn *destroy;
    make_fn *make;

    memcpy(&make, &c10->make, sizeof make);
    memset(object, 0, C10_ERROR_BYTES);
    if (c10->has_old_string) {
        char *text = old_string_make(cxx, words);
        char *shown = text;

        make(object, where, &shown);
        if (shown == text)
            old_string_leave(text);
    } else {
        struct new_string s;

        new_string_make(cxx, &s, words);
        make(object, where, &s);
        if (s.text != s.is.local)
            cxx->heap_free(s.text); /* the Error has a copy */
    }
    memcpy(&destroy, *(void **)object, sizeof destroy);
    cxx->raise(object, c10->type, destroy);
}

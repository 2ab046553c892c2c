/* torch_exception.h - throws C++ exceptions from C.
 *
 * PyTorch converts C++ exceptions to Python's.  A C library may throw through
 * the C interface of the C++ ABI (itanium-cxx-abi, "Exception Handling"): the
 * functions and types are looked up in the process's libraries, so that
 * building or loading this one needs nothing of C++ or PyTorch.  Private to the
 * plug-in. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef void cxx_destroy_fn(void *object);

/* Functions of libstdc++. */
struct cxx_runtime {
    void *(*allocate)(size_t bytes);
    __attribute__((noreturn)) void (*raise)(void *object, void *type,
                                            cxx_destroy_fn *destroy);
    void *(*heap)(size_t bytes); /* operator new and operator delete */
    void (*heap_free)(void *memory);
    /* std::runtime_error: its type, constructor from a text, destructor */
    void *error_type;
    void (*error_make)(void *object, const char *words);
    cxx_destroy_fn *error_destroy;
};

/* c10::OutOfMemoryError differs from c10::Error only in its type. */
struct c10_error {
    void *type;          /* of OutOfMemoryError */
    void *make;          /* Error(SourceLocation, std::string) */
    bool has_old_string; /* the string has the layout before C++11 */
};

/* False: the process has no libstdc++. */
bool larder__cxx_find(struct cxx_runtime *out);

/* Throw std::runtime_error(words). */
__attribute__((noreturn)) void larder__cxx_raise(const struct cxx_runtime *cxx,
                                                 const char *words);

/* False: PyTorch is not in the process, or its layout is unknown. */
bool larder__c10_find(struct c10_error *out);

/* Throw c10::OutOfMemoryError with this text. */
__attribute__((noreturn)) void larder__c10_raise(const struct cxx_runtime *cxx,
                                                 const struct c10_error *c10,
                                                 const char *words);

/* The symbol in the first loaded library whose file name begins with `library`.
 * NULL: none. */
void *larder__loaded_symbol(const char *library, const char *symbol);

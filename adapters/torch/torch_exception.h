/* torch_exception.h - C++ exceptions from C.
 *
 * PyTorch turns what is thrown into what Python raises.  A C library may throw
 * by the C interface of the C++ ABI (itanium-cxx-abi, "Exception Handling"):
 * the functions and types are looked up in the libraries of the process, so
 * that nothing of C++ or PyTorch is needed to build or to load this one.
 * Private to the plug-in. */
#ifndef LARDER_ADAPTERS_TORCH_EXCEPTION_H
#define LARDER_ADAPTERS_TORCH_EXCEPTION_H

#include <stdbool.h>
#include <stddef.h>

typedef void cxx_destroy_fn(void *object);

/* What libstdc++ gives. */
struct cxx_runtime {
    void *(*allocate)(size_t bytes);
    __attribute__((noreturn)) void (*raise)(void *object, void *type,
                                            cxx_destroy_fn *destroy);
    void *(*heap)(size_t bytes); /* operator new, and delete */
    void (*heap_free)(void *memory);
    /* std::runtime_error: its type, constructor from a text, destructor */
    void *error_type;
    void (*error_make)(void *object, const char *words);
    cxx_destroy_fn *error_destroy;
};

/* c10::OutOfMemoryError adds nothing to c10::Error but its type. */
struct c10_error {
    void *type;          /* of OutOfMemoryError */
    void *make;          /* Error(SourceLocation, std::string) */
    bool has_old_string; /* the string is that of before C++11 */
};

/* False if the process has no libstdc++. */
bool larder__cxx_find(struct cxx_runtime *out);

/* Throw std::runtime_error(words). */
__attribute__((noreturn)) void larder__cxx_raise(const struct cxx_runtime *cxx,
                                                 const char *words);

/* False if PyTorch is not in the process, or is not made as we know it. */
bool larder__c10_find(struct c10_error *out);

/* Throw c10::OutOfMemoryError with these words. */
__attribute__((noreturn)) void larder__c10_raise(const struct cxx_runtime *cxx,
                                                 const struct c10_error *c10,
                                                 const char *words);

/* The symbol in the first loaded library whose file's name begins so; NULL if
 * there is none. */
void *larder__loaded_symbol(const char *library, const char *symbol);

#endif

/* c10_stand_in.cpp - what PyTorch's c10 shows of its errors, declared as there
 * (c10/util/Exception.h), and a call that catches what a plug-in throws.  Built
 * as libc10_... with each of libstdc++'s strings. */
#include <cstddef>
#include <cstdio>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace c10
{

struct SourceLocation {
    const char *function;
    const char *file;
    uint32_t line;
};

class Error : public std::exception
{
    std::string msg_;
    std::vector<std::string> context_;
    std::shared_ptr<const std::string> backtrace_;
    std::string what_;

  public:
    Error(SourceLocation where, std::string msg);
    const char *what() const noexcept override;
};

class OutOfMemoryError : public Error
{
    using Error::Error;
};

Error::Error(SourceLocation where, std::string msg)
    : msg_(std::move(msg)),
      backtrace_(std::make_shared<const std::string>(where.function))
{
    what_ = msg_ + " (" + *backtrace_ + ")";
}

const char *Error::what() const noexcept
{
    return what_.c_str();
}

} // namespace c10

typedef void *alloc_fn(size_t, int, void *);

/* 0: it returned; 1: std::runtime_error, 2: c10::OutOfMemoryError, whose words go
 * to `words`; 3: something else. */
extern "C" int stand_in_alloc(alloc_fn *fn, size_t bytes, int device,
                              void *stream, void **out, char *words,
                              size_t capacity)
{
    try {
        *out = fn(bytes, device, stream);
        return 0;
    } catch (const c10::OutOfMemoryError &e) {
        std::snprintf(words, capacity, "%s", e.what());
        return 2;
    } catch (const std::runtime_error &e) {
        std::snprintf(words, capacity, "%s", e.what());
        return 1;
    } catch (...) {
        return 3;
    }
}

/* cxx_host.cpp - the plug-in in a C++ program: what it throws, and PyTorch's own
 * signatures, whose arguments are C++ objects.
 *
 * cxx_host PLUGIN [LIBC10]: with a stand-in for PyTorch's library, failures are
 * of its types. */
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <larder/torch.h>

typedef void *stream_t;
typedef std::pair<unsigned long long, unsigned long long> pool_id;
typedef void begin_fn(int, pool_id, std::function<bool(stream_t)>);
typedef void end_fn(int, pool_id);
typedef int stand_in_fn(void *(*)(size_t, int, stream_t), size_t, int, stream_t,
                        void **, char *, size_t);

static void *plugin;
static int failures;

template <typename T> static T *symbol(void *library, const char *name)
{
    void *found = dlsym(library, name);

    if (found == nullptr) {
        std::fprintf(stderr, "no %s\n", name);
        std::exit(1);
    }
    return reinterpret_cast<T *>(found);
}

#define LIB(name) symbol<__typeof__(name)>(plugin, #name)

static void check(bool ok, const char *what, const char *words)
{
    if (ok)
        return;
    std::fprintf(stderr, "FAILED: %s: %s\n", what, words);
    failures++;
}

/* A destructor on the way out is run. */
struct witness {
    bool *was_destroyed;
    ~witness()
    {
        *was_destroyed = true;
    }
};

static void *allocate_with_witness(size_t bytes, bool *was_destroyed)
{
    witness w = {was_destroyed};

    return LIB(larder_torch_alloc)(bytes, 0, nullptr);
}

static void running_out_throws()
{
    bool was_destroyed = false;
    std::string words;

    try {
        allocate_with_witness(size_t(1) << 40, &was_destroyed);
    } catch (const std::exception &e) {
        words = e.what();
    }
    check(words.find("CUDA out of memory. Tried to allocate 1024.00 GiB") !=
              std::string::npos,
          "the exception says why", words.c_str());
    check(was_destroyed, "destructors are run on the way", "");
    void *after = LIB(larder_torch_alloc)(1000, 0, nullptr);
    check(after != nullptr, "memory can be had after", "");
    LIB(larder_torch_free)(after, 1000, 0, nullptr);
}

static void other_failures_throw()
{
    int caught = 0;

    try {
        LIB(larder_torch_alloc)(1000, 64, nullptr);
    } catch (const std::runtime_error &e) {
        caught += std::strstr(e.what(), "expected a number") != nullptr;
    }
    try {
        LIB(larder_torch_fraction)(7, 0);
    } catch (const std::runtime_error &) {
        caught++;
    }
    try {
        LIB(larder_torch_base)(&caught, nullptr);
    } catch (const std::runtime_error &) {
        caught++;
    }
    check(caught == 3, "all other failures are std::runtime_error", "");
    check(LIB(larder_torch_pool_alloc)(size_t(1) << 40, 0, nullptr) == nullptr,
          "MemPool's function throws nothing", "");
    LIB(larder_torch_free)(&caught, 4, 0, nullptr);
}

/* Thrown in one thread, and again in another: what backward does. */
static void exceptions_cross_threads()
{
    std::exception_ptr kept;
    std::string words;

    std::thread([&kept] {
        try {
            LIB(larder_torch_alloc)(size_t(1) << 40, 0, nullptr);
        } catch (...) {
            kept = std::current_exception();
        }
    }).join();
    try {
        std::rethrow_exception(kept);
    } catch (const std::exception &e) {
        words = e.what();
    }
    check(words.find("out of memory") != std::string::npos,
          "an exception is thrown again elsewhere", words.c_str());
}

/* ---- PyTorch's signatures ------------------------------------------------------- */

struct pool_search {
    larder_addr addr;
    larder_pool_id id;
};

static int search(void *ctx, const larder_segment_info *s)
{
    pool_search *p = static_cast<pool_search *>(ctx);

    if (p->addr >= s->addr && p->addr - s->addr < s->bytes)
        p->id = s->pool;
    return 0;
}

static void pools_take_pytorch_s_arguments()
{
    begin_fn *begin = symbol<begin_fn>(plugin, "larder_torch_begin_pool");
    end_fn *end = symbol<end_fn>(plugin, "larder_torch_end_pool");
    end_fn *release = symbol<end_fn>(plugin, "larder_torch_release_pool");
    const pool_id id(0x1122334455667788ull, 0x99aabbccddeeff00ull);
    std::string held = "long enough to be on the heap, with the function";
    larder_allocator *a = nullptr;

    begin(0, id, [held](stream_t) { return held.empty(); });
    void *ptr = LIB(larder_torch_alloc)(1000, 0, nullptr);
    end(0, id);
    LIB(larder_torch_allocator)(0, &a);
    pool_search p = {reinterpret_cast<uintptr_t>(ptr), {0, 0}};
    LIB(larder_walk)(a, search, nullptr, &p);
    check(p.id.first == id.first && p.id.second == id.second,
          "the pool's number arrives whole", "");
    bool threw = false;
    try {
        begin(0, pool_id(0, 0), [](stream_t) { return true; });
    } catch (const std::runtime_error &) {
        threw = true;
    }
    check(threw, "a pool that cannot be begun throws", "");
    LIB(larder_torch_free)(ptr, 1000, 0, nullptr);
    release(0, id);
}

static void running_out_is_pytorch_s_error(void *c10)
{
    stand_in_fn *call = symbol<stand_in_fn>(c10, "stand_in_alloc");
    char words[4096] = "";
    void *out = nullptr;

    check(LIB(larder_torch_raises)() == LARDER_TORCH_OUT_OF_MEMORY,
          "PyTorch is found", "");
    for (int i = 0; i < 100; i++) {
        int kind = call(LIB(larder_torch_alloc), size_t(1) << 40, 0, nullptr,
                        &out, words, sizeof words);
        check(kind == 2, "it is c10::OutOfMemoryError", words);
        check(std::strncmp(words, "CUDA out of memory", 18) == 0 &&
                  std::strstr(words, "(larder_torch_alloc)") != nullptr,
              "PyTorch's constructor has made it", words);
    }
    int kind = call(LIB(larder_torch_alloc), 1000, 64, nullptr, &out, words,
                    sizeof words);
    check(kind == 1, "what is not for lack of memory is another", words);
}

int main(int argc, char **argv)
{
    void *c10 = argc > 2 ? dlopen(argv[2], RTLD_NOW | RTLD_LOCAL) : nullptr;

    plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (plugin == nullptr || (argc > 2 && c10 == nullptr)) {
        std::fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    LIB(larder_torch_configure)("sim:64MiB", LARDER_POLICY_PYTORCH, "");
    if (c10 == nullptr)
        check(LIB(larder_torch_raises)() == LARDER_TORCH_RUNTIME_ERROR,
              "PyTorch is not found", "");
    else
        running_out_is_pytorch_s_error(c10);
    running_out_throws();
    other_failures_throw();
    exceptions_cross_threads();
    pools_take_pytorch_s_arguments();
    check(LIB(larder_torch_close)() == LARDER_OK, "all is released", "");
    return failures == 0 ? 0 : 1;
}

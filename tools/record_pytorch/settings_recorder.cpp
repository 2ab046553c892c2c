// settings_recorder.cpp - how the settings parser of a PyTorch wheel reads
// strings.
//
//   settings_recorder <STRINGS
//
// Each line of the input is a settings string, read as PYTORCH_CUDA_ALLOC_CONF
// by a process of its own.  A line of the output for each:
//
//   accepted [NAME=VALUE...]   the values that are not the defaults
//   unknown                    a key that this release does not know
//   refused
//   crashed
//
// make_recorder.sh compiles it.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include <c10/cuda/CUDAAllocatorConfig.h>
#include <c10/cuda/CUDACachingAllocator.h>

namespace
{

using config = c10::cuda::CUDACachingAllocator::CUDAAllocatorConfig;

constexpr size_t mib = 1 << 20;
constexpr size_t large = 20 * mib;

// No device has as much.
constexpr size_t most = size_t{1} << 63;

void put(const char *name, size_t value, size_t usual)
{
    if (value != usual)
        std::printf(" %s=%zu", name, value < most ? value : most);
}

void put_divisions()
{
    const auto divisions = config::roundup_power2_divisions();
    bool some = false;

    for (size_t n : divisions)
        some = some || n != 0;
    if (!some)
        return;
    std::printf(" divisions=");
    for (size_t i = 0; i < divisions.size(); i++)
        std::printf("%s%zu", i > 0 ? "," : "", divisions[i]);
}

void put_newer()
{
#if TORCH_MINOR >= 6
    put("slack", config::max_non_split_rounding_size(), large);
#endif
#if TORCH_MINOR >= 10
    if (config::per_process_memory_fraction() != 1)
        std::printf(" fraction=%.17g", config::per_process_memory_fraction());
#endif
#if TORCH_MINOR >= 11
    put("large",
        c10::CachingAllocator::AcceleratorAllocatorConfig::large_segment_size(),
        large);
#endif
#if TORCH_MINOR >= 12
    put("throw", config::throw_on_cudamalloc_oom(), 0);
#endif
}

// In a process of its own: a parse leaves its values behind.
void read_one(const std::string &text)
{
    setenv("PYTORCH_CUDA_ALLOC_CONF", text.c_str(), 1);
    try {
        put("", config::max_split_size(), config::max_split_size());
        config::instance();
        config::roundup_power2_divisions();
    } catch (const std::exception &e) {
        std::puts(std::strstr(e.what(), "Unrecognized") != nullptr ? "unknown"
                                                                   : "refused");
        return;
    }
    std::printf("accepted");
    put("split", config::max_split_size(), static_cast<size_t>(-1));
    if (config::garbage_collection_threshold() != 0)
        std::printf(" gc=%.17g", config::garbage_collection_threshold());
    put("expandable", config::expandable_segments(), 0);
    put_divisions();
    put_newer();
    std::puts("");
}

void read_apart(const std::string &text)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        read_one(text);
        std::fflush(stdout);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        std::puts("crashed");
    std::fflush(stdout);
}

} // namespace

int main()
{
    std::string line;

    while (std::getline(std::cin, line))
        read_apart(line);
    return 0;
}

// main.cpp - a trace on one allocator, over the simulated driver:
//
//   NAME ALLOCATOR CAPACITY TRACE PASSES
//
// Prints the least nanoseconds of a call over so many passes, after one that is
// not counted; with 0 passes nothing.  Exit status 3: it ran out of memory, 2: it
// could not be begun.
//
// A pass ends with nothing allocated.  Of the trace only allocations and frees
// are made: not all of the rivals know other streams' uses.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "driver/fakecuda.h"
#include "rivals/rival.h"

namespace
{

struct operation {
    bool is_free;
    unsigned stream;
    uint32_t id;
    uint64_t bytes;
};

[[noreturn]] void stop(const std::string &why)
{
    std::cerr << "rivals: " << why << '\n';
    std::exit(2);
}

// Allocations of 0 bytes are left out: what they give differs.
std::vector<operation> read_trace(const char *path, size_t &ids)
{
    std::ifstream in(path);
    std::vector<operation> out;
    std::vector<operation> live;
    std::string line;

    if (!in)
        stop(std::string("cannot read ") + path);
    while (std::getline(in, line)) {
        std::istringstream words(line);
        char what = 0;
        operation op{};

        words >> what >> op.id;
        if (what != 'a' && what != 'f')
            continue;
        op.is_free = what == 'f';
        if (op.id >= live.size())
            live.resize(op.id + 1);
        if (!op.is_free) {
            words >> op.bytes >> op.stream;
        } else {
            op = live[op.id];
            op.is_free = true;
        }
        if (op.bytes == 0)
            continue;
        live[op.id] = op;
        if (op.is_free)
            live[op.id].bytes = 0;
        out.push_back(op);
    }
    for (operation &op : live) {
        if (op.bytes != 0) {
            op.is_free = true;
            out.push_back(op);
        }
    }
    ids = live.size();
    return out;
}

bool run(const std::vector<operation> &trace, std::vector<void *> &addresses)
{
    for (const operation &op : trace) {
        if (op.is_free) {
            rival_free(addresses[op.id], op.bytes, op.stream);
        } else {
            addresses[op.id] = rival_allocate(op.bytes, op.stream);
            if (addresses[op.id] == nullptr)
                return false;
        }
    }
    return true;
}

double nanoseconds(const std::vector<operation> &trace,
                   std::vector<void *> &addresses)
{
    auto begun = std::chrono::steady_clock::now();

    run(trace, addresses);
    std::chrono::duration<double, std::nano> took =
        std::chrono::steady_clock::now() - begun;
    return took.count() / static_cast<double>(trace.size());
}

void open_device(const std::string &capacity)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    void *found = driver == nullptr ? nullptr : dlsym(driver, FAKECUDA_CONTROL);
    int device;

    if (found == nullptr)
        stop("the simulated driver is not in LD_LIBRARY_PATH");
    const fakecuda_control *fake =
        reinterpret_cast<fakecuda_control_fn *>(found)();
    std::string spec = "sim:" + capacity + ",backing=none,events=immediate";
    if (fake->add(spec.c_str(), 0, &device) != LARDER_OK)
        stop(fake->last_error());
}

} // namespace

int main(int argc, char **argv)
{
    size_t ids = 0;

    if (argc != 5)
        stop("usage: NAME ALLOCATOR CAPACITY TRACE PASSES");
    setenv("LARDER_FAKECUDA", "none", 1);
    std::vector<operation> trace = read_trace(argv[3], ids);
    std::vector<void *> addresses(ids);
    open_device(argv[2]);
    rival_begin(argv[1]);
    if (!run(trace, addresses))
        std::_Exit(3);
    int passes = std::atoi(argv[4]);
    double least = 1e30;
    for (int i = 0; i < passes; i++)
        least = std::min(least, nanoseconds(trace, addresses));
    if (passes > 0)
        std::printf("%.1f\n", least);
    std::fflush(stdout);
    // Some need a driver at their end that is gone by then.
    std::_Exit(0);
}

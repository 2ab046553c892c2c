// recorder.cpp - what the allocator of a PyTorch wheel does with a trace.
//
//   recorder [--first | --script] CONF FRACTION CAPACITY EVENTS INPUT NAME
//
// writes it to the standard output.
//
// It is compiled against the headers of one wheel, linked to that wheel's
// libc10_cuda.so and run over stand-ins for libcudart.so and libcuda.so.1
// (make_recorder.sh does all of it).  EVENTS is manual or immediate.  INPUT is
// a trace (trace.h), with statistics at about nine points, or a script, with
// statistics where it says so and at its end; it can have besides:
//
//   b POOL [STREAM...]  allocations (on these streams) go to a private pool
//   n POOL              no longer
//   u POOL              the pool has one user less
//   o POOL              it is used when memory runs out
//   s POOL              its blocks are not split
//   g STREAM            a capture begins on the stream
//   h STREAM            it ends
//   w STREAM            work is queued on the stream
//   j STREAM OTHER      which from now on waits for what OTHER has
//   k CONF              settings
//   l FRACTION          of the device may be held
//   q                   statistics
//
// Of a script every driver call is written before what came of it
// (support/call_log.h) and, after the statistics at its end, the history,
//
//   h ACTION ADDRESS SIZE STREAM
//
// and the blocks by address, each segment before its own:
//
//   g ADDRESS SIZE STREAM small|large [expandable] POOL
//   b ADDRESS SIZE live|pending|free REQUESTED
//
// --first: lines are read in pieces of 255 bytes, as the recorder of the first
// golden files did (docs/FIDELITY.md).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <exception>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <unordered_set>
#include <vector>

#include <c10/cuda/CUDAAllocatorConfig.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>

#include "driver/fakecuda.h"
#include "record_pytorch/allocator_begin.h"
#include "record_pytorch/capture_graph.h"
#include "record_pytorch/stream_number.h"
#include "support/call_log.h"

namespace
{

namespace caching = c10::cuda::CUDACachingAllocator;

constexpr int device_index = 0;
constexpr size_t first_piece = 256;

[[noreturn]] void stop(const std::string &why)
{
    std::cerr << "recorder: " << why << '\n';
    std::exit(2);
}

// ---- what changed its name or came later ---------------------------------

// TORCH_MINOR: 4 for PyTorch 2.4.
#if TORCH_MINOR >= 9
using pool_id = c10::MempoolId_t;
#else
using pool_id = c10::cuda::MempoolId_t;
#endif

pool_id pool_of(uint64_t number)
{
    return {0, number};
}

void pool_use_on_oom(uint64_t number)
{
#if TORCH_MINOR >= 11
    caching::setUseOnOOM(device_index, pool_of(number), true);
#elif TORCH_MINOR >= 8
    caching::setUseOnOOM(device_index, pool_of(number));
#else
    (void)number;
#endif
}

void pool_no_split(uint64_t number)
{
#if TORCH_MINOR >= 10
    caching::setNoSplit(device_index, pool_of(number));
#else
    (void)number;
#endif
}

c10::cuda::CUDAStream stream_of(unsigned number)
{
    return number == 0 ? c10::cuda::getDefaultCUDAStream(device_index)
                       : c10::cuda::getStreamFromExternal(
                             static_cast<cudaStream_t>(stream_pointer(number)),
                             device_index);
}

// As CUDAGraph does: the capture is the thread's own, on its current stream.
// From 2.13 on it is told apart from a pool that is begun.
void capture_begin(unsigned stream)
{
    c10::cuda::setCurrentCUDAStream(stream_of(stream));
    capture_graph_begin(stream);
#if TORCH_MINOR >= 13
    caching::markCaptureBegin(device_index);
#endif
}

void capture_end(unsigned stream)
{
    capture_graph_end(stream);
#if TORCH_MINOR >= 13
    caching::markCaptureEnd(device_index);
#endif
    c10::cuda::setCurrentCUDAStream(stream_of(0));
}

void write_rejections(const caching::DeviceStats &stats)
{
#if TORCH_MINOR >= 12
    std::printf(" num_oom_rejections=%lld",
                static_cast<long long>(stats.num_oom_rejections));
#else
    (void)stats;
#endif
}

// Events without stacks.
void history_begin()
{
    constexpr size_t events_max = 1 << 20;
    constexpr auto stacks = caching::RecordContext::NEVER;

#if TORCH_MINOR >= 11
    caching::recordHistory(true, nullptr, events_max, stacks, true, {});
#elif TORCH_MINOR >= 8
    caching::recordHistory(true, nullptr, events_max, stacks, true);
#else
    caching::recordHistory(true, nullptr, events_max, stacks);
#endif
}

c10::DataPtr data_of(void *address)
{
    return {address, address, caching::get()->raw_deleter(),
            c10::Device(c10::DeviceType::CUDA, device_index)};
}

// ---- statistics -----------------------------------------------------------

template <class Stat> void write_stat(const char *name, const Stat &s)
{
    std::printf(
        " %s=%lld/%lld/%lld/%lld", name, static_cast<long long>(s.current),
        static_cast<long long>(s.peak), static_cast<long long>(s.allocated),
        static_cast<long long>(s.freed));
}

template <class Array> void write_split(const char *name, const Array &s)
{
    static const char *const pools[] = {"all", "small_pool", "large_pool"};

    for (size_t i = 0; i < 3; i++)
        write_stat((std::string(name) + '.' + pools[i]).c_str(), s[i]);
}

void write_stats(uint64_t ops)
{
    auto st = caching::getDeviceStats(device_index);

    std::printf("s %llu", static_cast<unsigned long long>(ops));
    write_split("allocation", st.allocation);
    write_split("segment", st.segment);
    write_split("active", st.active);
    write_split("inactive_split", st.inactive_split);
    write_split("allocated_bytes", st.allocated_bytes);
    write_split("reserved_bytes", st.reserved_bytes);
    write_split("active_bytes", st.active_bytes);
    write_split("inactive_split_bytes", st.inactive_split_bytes);
    write_split("requested_bytes", st.requested_bytes);
    write_stat("oversize_allocations", st.oversize_allocations);
    write_stat("oversize_segments", st.oversize_segments);
    std::printf(" num_alloc_retries=%lld num_ooms=%lld"
                " num_sync_all_streams=%lld num_device_alloc=%lld"
                " num_device_free=%lld",
                static_cast<long long>(st.num_alloc_retries),
                static_cast<long long>(st.num_ooms),
                static_cast<long long>(st.num_sync_all_streams),
                static_cast<long long>(st.num_device_alloc),
                static_cast<long long>(st.num_device_free));
    write_rejections(st);
    std::printf(" max_split_size=%lld\n",
                static_cast<long long>(st.max_split_size));
}

// ---- history and blocks ------------------------------------------------------

// An event's action is numbered alike in all releases.
template <class Entry> void write_event(const Entry &e, larder_addr base)
{
    if (e.action_ == Entry::SNAPSHOT)
        return;
    // Of what ran out of memory, the address is the device's free bytes.
    std::printf("h %d %llu %llu %u\n", static_cast<int>(e.action_),
                static_cast<unsigned long long>(
                    e.addr_ - (e.action_ == Entry::OOM ? 0 : base)),
                static_cast<unsigned long long>(e.size_),
                stream_number(reinterpret_cast<void *>(e.stream_)));
}

template <class Segment>
void write_segment(const Segment &segment, larder_addr base)
{
    uint64_t at = segment.address - base;

    std::printf(
        "g %llu %llu %u %s%s %llu\n", static_cast<unsigned long long>(at),
        static_cast<unsigned long long>(segment.total_size),
        stream_number(reinterpret_cast<void *>(segment.stream)),
        segment.is_large ? "large" : "small",
        segment.is_expandable ? " expandable" : "",
        static_cast<unsigned long long>(segment.owner_private_pool_id.second));
    for (const auto &block : segment.blocks) {
        const char *state = block.allocated ? "live"
                            : block.active  ? "pending"
                                            : "free";

        std::printf("b %llu %llu %s %llu\n",
                    static_cast<unsigned long long>(at),
                    static_cast<unsigned long long>(block.size), state,
                    static_cast<unsigned long long>(
                        block.active ? block.requested_size : 0));
        at += block.size;
    }
}

void write_end(larder_addr base)
{
    auto snapshot = caching::snapshot();

    for (const auto &entry : snapshot.device_traces[device_index])
        write_event(entry, base);
    std::sort(
        snapshot.segments.begin(), snapshot.segments.end(),
        [](const auto &a, const auto &b) { return a.address < b.address; });
    for (const auto &segment : snapshot.segments)
        write_segment(segment, base);
}

// ---- operations -------------------------------------------------------------

struct recording {
    const fakecuda_control *fake = nullptr;
    larder_device *device = nullptr;
    larder_addr base = 0;
    std::vector<void *> addresses;
    uint64_t ops = 0;

    void run(const std::string &line);
    void allocate(std::istringstream &in);
    void on_pool(char op, std::istringstream &in);
    void on_stream(char op, std::istringstream &in);
    void *&address(uint64_t id)
    {
        if (id >= addresses.size())
            addresses.resize(id + 1);
        return addresses[id];
    }
};

uint64_t number(std::istringstream &in)
{
    uint64_t n;

    if (!(in >> n))
        stop("expected a number");
    return n;
}

void recording::allocate(std::istringstream &in)
{
    uint64_t id = number(in);
    uint64_t bytes = number(in);
    unsigned stream = 0;
    auto n = static_cast<unsigned long long>(id);

    in >> stream;
    void *&at = address(id);
    try {
        at = caching::raw_alloc_with_stream(
            bytes, static_cast<cudaStream_t>(stream_pointer(stream)));
    } catch (const c10::OutOfMemoryError &) {
        std::printf("p %llu oom\n", n);
        return;
    }
    if (at == nullptr)
        std::printf("p %llu null\n", n);
    else
        std::printf("p %llu %llu\n", n,
                    static_cast<unsigned long long>(
                        reinterpret_cast<uintptr_t>(at) - base));
}

void recording::on_pool(char op, std::istringstream &in)
{
    uint64_t pool = number(in);
    std::unordered_set<void *> streams;
    unsigned stream;

    switch (op) {
    case 'b':
        while (in >> stream)
            streams.insert(stream_pointer(stream));
        caching::beginAllocateToPool(
            device_index, pool_of(pool), [streams](cudaStream_t s) {
                return streams.empty() || streams.count(s) > 0;
            });
        break;
    case 'n':
        caching::endAllocateToPool(device_index, pool_of(pool));
        break;
    case 'u':
        caching::releasePool(device_index, pool_of(pool));
        break;
    case 'o':
        pool_use_on_oom(pool);
        break;
    default:
        pool_no_split(pool);
    }
}

void recording::on_stream(char op, std::istringstream &in)
{
    unsigned stream = static_cast<unsigned>(number(in));

    switch (op) {
    case 'c':
        fake->complete(device, stream);
        break;
    case 'g':
        capture_begin(stream);
        break;
    case 'h':
        capture_end(stream);
        break;
    case 'w':
        capture_graph_work(stream);
        break;
    default:
        capture_graph_join(stream, static_cast<unsigned>(number(in)));
    }
}

void recording::run(const std::string &line)
{
    std::istringstream in(line.substr(1));
    char op = line[0];

    if (op == 'a') {
        allocate(in);
    } else if (op == 'f') {
        void *&at = address(number(in));

        if (at != nullptr)
            caching::raw_delete(at);
        at = nullptr;
    } else if (op == 'r') {
        void *at = address(number(in));
        auto stream = static_cast<unsigned>(number(in));

        if (at == nullptr)
            return;
        c10::DataPtr data = data_of(at);
        caching::recordStream(data, stream_of(stream));
        data.release_context();
    } else if (op == 'e') {
        caching::emptyCache();
    } else if (op == 'q') {
        write_stats(ops);
    } else if (op == 'l') {
        double fraction = 1;

        in >> fraction;
        caching::setMemoryFraction(fraction, device_index);
    } else if (op == 'k') {
        std::string conf;

        in >> conf;
        caching::setAllocatorSettings(conf);
    } else if (std::strchr("bnuos", op) != nullptr) {
        on_pool(op, in);
    } else {
        on_stream(op, in);
    }
}

// ---- the whole --------------------------------------------------------------

const char trace_operations[] = "afrce";
const char operations[] = "afrcebnuosghwjklq";

bool is_one_of(const char *letters, const std::string &line)
{
    return !line.empty() && std::strchr(letters, line[0]) != nullptr;
}

std::vector<std::string> read_lines(const char *path, const char *letters,
                                    bool in_pieces)
{
    std::vector<std::string> lines;
    std::ifstream in(path);
    std::string line;

    if (!in)
        stop(std::string("cannot read ") + path);
    while (std::getline(in, line)) {
        do {
            std::string piece =
                line.substr(0, in_pieces ? first_piece - 1 : std::string::npos);

            line.erase(0, piece.size());
            if (is_one_of(letters, piece))
                lines.push_back(piece);
        } while (in_pieces && !line.empty());
    }
    return lines;
}

const fakecuda_control *fake_control()
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    void *found = driver == nullptr ? nullptr : dlsym(driver, FAKECUDA_CONTROL);

    if (found == nullptr)
        stop("the stand-in for libcuda.so.1 is not in LD_LIBRARY_PATH");
    return reinterpret_cast<fakecuda_control_fn *>(found)();
}

void open_device(recording &r, const char *capacity, const char *events)
{
    std::string spec =
        std::string("sim:") + capacity + ",backing=none,events=" + events;
    larder_addr second;
    int device;

    r.fake = fake_control();
    if (r.fake->add(spec.c_str(), device_index, &device) != LARDER_OK)
        stop(r.fake->last_error());
    r.device = r.fake->device(device);
    if (r.fake->regions(r.device, &r.base, &second) != LARDER_OK)
        stop(r.fake->last_error());
}

void record(recording &r, const std::vector<std::string> &lines, bool with_sums)
{
    size_t counted = 0;
    size_t every;

    for (const std::string &line : lines)
        counted += is_one_of(trace_operations, line);
    every = counted < 8 ? 1 : (counted + 1) / 8;
    for (const std::string &line : lines) {
        bool counts = is_one_of(trace_operations, line);

        try {
            r.run(line);
        } catch (const std::exception &e) {
            std::cerr << "'" << line
                      << "': " << std::string(e.what()).substr(0, 200) << '\n';
        }
        r.ops += counts;
        if (with_sums && counts && r.ops % every == 0)
            write_stats(r.ops);
    }
    write_stats(r.ops);
}

} // namespace

int main(int argc, char **argv)
{
    bool as_first = argc > 1 && std::strcmp(argv[1], "--first") == 0;
    bool is_script = argc > 1 && std::strcmp(argv[1], "--script") == 0;
    bool has_option = as_first || is_script;
    char **arg = argv + has_option;
    recording r;

    if (argc - has_option != 7)
        stop("usage: recorder [--first | --script] CONF FRACTION CAPACITY "
             "EVENTS INPUT NAME");
    setenv("PYTORCH_CUDA_ALLOC_CONF", arg[1], 1);
    setenv("LARDER_FAKECUDA", "none", 1);
    std::printf("# trace: %s\n# conf: %s\n# capacity: %s\n# fraction: %s\n"
                "# events: %s\n# source: native allocator of PyTorch %s over a "
                "simulated driver (addresses as in DESIGN.md, Contracts)\n",
                arg[6], arg[1], arg[3], arg[2], arg[4], TORCH_VERSION);
    open_device(r, arg[3], arg[4]);
    allocator_begin();
    if (std::atof(arg[2]) < 1)
        caching::setMemoryFraction(std::atof(arg[2]), device_index);
    if (is_script) {
        history_begin();
        call_log_begin(r.device, r.base, stdout);
    }
    record(
        r,
        read_lines(arg[5], is_script ? operations : trace_operations, as_first),
        !is_script);
    if (is_script)
        write_end(r.base);
    std::fflush(stdout);
    // The allocator's own end needs a driver that is gone by then.
    std::_Exit(0);
}

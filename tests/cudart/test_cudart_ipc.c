/* test_cudart_ipc.c - memory and events in two processes, by the runtime's
 * calls.  The other process is this program, started with --other: it executes
 * commands from a pair of sockets. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "rt_calls.h"

#define MIB(n) ((size_t)(n) << 20)
#define OK(call) assert_int_equal(call, RT_SUCCESS)

enum { LAZY_PEERS = 1, NO_TIMING = 2, INTERPROCESS = 4, OTHER_FD = 3 };

enum { INVALID_CONTEXT = 201, INVALID_HANDLE = 400 };

enum order {
    ALLOCATE,   /* bytes -> addr, handle */
    RELEASE,    /* addr */
    OPEN,       /* handle -> addr */
    CLOSE,      /* addr */
    FILL,       /* addr, value, bytes */
    READ,       /* addr -> value */
    FREE_BYTES, /* -> bytes */
    EVENT,      /* -> handle */
    OPEN_EVENT  /* handle -> answer of asking it */
};

struct message {
    enum order order;
    int answer;
    void *addr;
    size_t bytes;
    unsigned char value;
    cud_ipc_handle handle;
};

/* ---- the other process -------------------------------------------------------- */

static int allocate(struct message *m)
{
    int answer = cudaMalloc(&m->addr, m->bytes);

    return answer != RT_SUCCESS ? answer
                                : cudaIpcGetMemHandle(&m->handle, m->addr);
}

static int event_make(struct message *m)
{
    cud_event event;
    int answer = cudaEventCreateWithFlags(&event, NO_TIMING | INTERPROCESS);

    if (answer == RT_SUCCESS)
        answer = cudaEventRecord(event, NULL);
    return answer != RT_SUCCESS ? answer
                                : cudaIpcGetEventHandle(&m->handle, event);
}

static int event_use(const struct message *m)
{
    cud_event event;
    int answer = cudaIpcOpenEventHandle(&event, m->handle);

    if (answer == RT_SUCCESS)
        answer = cudaStreamWaitEvent(NULL, event, 0);
    if (answer == RT_SUCCESS)
        answer = cudaEventQuery(event);
    return answer != RT_SUCCESS ? answer : cudaEventDestroy(event);
}

static int obey(struct message *m)
{
    size_t total;

    switch (m->order) {
    case ALLOCATE:
        return allocate(m);
    case RELEASE:
        return cudaFree(m->addr);
    case OPEN:
        return cudaIpcOpenMemHandle(&m->addr, m->handle, LAZY_PEERS);
    case CLOSE:
        return cudaIpcCloseMemHandle(m->addr);
    case FILL:
        return cudaMemset(m->addr, m->value, m->bytes);
    case READ:
        return cudaMemcpy(&m->value, m->addr, 1, RT_DEVICE_TO_HOST);
    case FREE_BYTES:
        return cudaMemGetInfo(&m->bytes, &total);
    case EVENT:
        return event_make(m);
    case OPEN_EVENT:
        return event_use(m);
    }
    return RT_INVALID_VALUE;
}

static int serve(void)
{
    struct message m;

    while (read(OTHER_FD, &m, sizeof m) == (ssize_t)sizeof m) {
        m.answer = obey(&m);
        if (write(OTHER_FD, &m, sizeof m) != (ssize_t)sizeof m)
            return 1;
    }
    return 0;
}

/* ---- this process --------------------------------------------------------------- */

struct other {
    pid_t pid;
    int fd;
};

static struct other other_start_with(const char *spec)
{
    struct other o;
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends),
                     0);
    o.pid = fork();
    assert_true(o.pid >= 0);
    if (o.pid == 0) {
        if (dup2(ends[1], OTHER_FD) == OTHER_FD &&
            setenv("LARDER_FAKECUDA", spec, 1) == 0)
            execl("/proc/self/exe", "test_cudart_ipc", "--other", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    o.fd = ends[0];
    return o;
}

static struct other other_start(void)
{
    return other_start_with("sim:64MiB");
}

static void other_end(struct other o)
{
    int status;

    close(o.fd);
    assert_int_equal(waitpid(o.pid, &status, 0), o.pid);
    assert_int_equal(status, 0);
}

static struct message ask(struct other o, struct message m)
{
    assert_int_equal(write(o.fd, &m, sizeof m), sizeof m);
    assert_int_equal(read(o.fd, &m, sizeof m), sizeof m);
    return m;
}

#define TELL(o, ...) ask(o, (struct message){__VA_ARGS__})

static size_t free_now(void)
{
    size_t free_bytes = 0;
    size_t total = 0;

    OK(cudaMemGetInfo(&free_bytes, &total));
    return free_bytes;
}

static unsigned char byte_at(const void *ptr)
{
    unsigned char value = 0;

    OK(cudaMemcpy(&value, ptr, 1, RT_DEVICE_TO_HOST));
    return value;
}

static void *opened(cud_ipc_handle handle)
{
    void *ptr = NULL;

    OK(cudaIpcOpenMemHandle(&ptr, handle, LAZY_PEERS));
    return ptr;
}

static void both_processes_see_the_same_bytes(void **state)
{
    struct other o = other_start();
    struct message m = TELL(o, .order = ALLOCATE, .bytes = MIB(6));
    void *theirs;

    (void)state;
    OK(m.answer);
    OK(TELL(o, .order = FILL, .addr = m.addr, .value = 7, .bytes = m.bytes)
           .answer);
    theirs = opened(m.handle);
    assert_int_equal(byte_at(theirs), 7);
    assert_int_equal(byte_at((char *)theirs + MIB(6) - 1), 7);
    OK(cudaMemset((char *)theirs + MIB(5), 9, 1));
    assert_int_equal(
        TELL(o, .order = READ, .addr = (char *)m.addr + MIB(5)).value, 9);
    OK(cudaIpcCloseMemHandle(theirs));
    assert_int_equal(cudaIpcCloseMemHandle(theirs), RT_INVALID_VALUE);
    OK(TELL(o, .order = RELEASE, .addr = m.addr).answer);
    other_end(o);
}

/* An address inside stands for the whole allocation, and a small one for its
 * own bytes although others lie beside it. */
static void a_handle_is_that_of_the_whole_allocation(void **state)
{
    struct other o = other_start();
    struct message first = TELL(o, .order = ALLOCATE, .bytes = 1000);
    struct message second = TELL(o, .order = ALLOCATE, .bytes = 3000);
    cud_ipc_handle one;
    cud_ipc_handle same;
    char *mine;
    char *theirs;

    (void)state;
    OK(TELL(o, .order = FILL, .addr = first.addr, .value = 1, .bytes = 1000)
           .answer);
    OK(TELL(o, .order = FILL, .addr = second.addr, .value = 2, .bytes = 3000)
           .answer);
    theirs = opened(second.handle);
    assert_int_equal(byte_at(theirs), 2);
    mine = opened(first.handle);
    assert_int_equal(byte_at(mine), 1);
    OK(cudaIpcCloseMemHandle(theirs));
    assert_int_equal(byte_at(mine), 1);
    OK(cudaIpcCloseMemHandle(mine));
    other_end(o);

    OK(cudaMalloc((void **)&mine, MIB(4)));
    OK(cudaIpcGetMemHandle(&one, mine));
    OK(cudaIpcGetMemHandle(&same, mine + MIB(3)));
    assert_memory_equal(&one, &same, sizeof one);
    OK(cudaFree(mine));
}

static void opening_twice_gives_the_same_address(void **state)
{
    struct other o = other_start();
    struct message m = TELL(o, .order = ALLOCATE, .bytes = MIB(2));
    void *theirs = opened(m.handle);

    (void)state;
    assert_ptr_equal(opened(m.handle), theirs);
    OK(cudaIpcCloseMemHandle(theirs));
    (void)byte_at(theirs);
    OK(cudaIpcCloseMemHandle(theirs));
    assert_int_equal(cudaMemset(theirs, 0, 1), RT_INVALID_VALUE);
    other_end(o);
}

static void opened_memory_counts_for_its_maker_alone(void **state)
{
    struct other o = other_start();
    size_t before = free_now();
    size_t theirs_before;
    struct message m;
    void *theirs;

    (void)state;
    theirs_before = TELL(o, .order = FREE_BYTES).bytes;
    m = TELL(o, .order = ALLOCATE, .bytes = MIB(40));
    theirs = opened(m.handle);
    assert_int_equal(free_now(), before);
    assert_int_equal(TELL(o, .order = FREE_BYTES).bytes,
                     theirs_before - MIB(40));
    OK(cudaIpcCloseMemHandle(theirs));
    other_end(o);
}

/* It stays for those who have it open, and counts until they are done. */
static void memory_freed_by_its_maker_stays_while_it_is_open(void **state)
{
    struct other o = other_start();
    size_t before = TELL(o, .order = FREE_BYTES).bytes;
    struct message m = TELL(o, .order = ALLOCATE, .bytes = MIB(40));
    struct message again;
    void *theirs = opened(m.handle);

    (void)state;
    OK(TELL(o, .order = FILL, .addr = m.addr, .value = 5, .bytes = m.bytes)
           .answer);
    OK(TELL(o, .order = RELEASE, .addr = m.addr).answer);
    assert_int_equal(TELL(o, .order = RELEASE, .addr = m.addr).answer,
                     RT_INVALID_VALUE);
    assert_int_equal(TELL(o, .order = READ, .addr = m.addr).answer,
                     RT_INVALID_VALUE);
    assert_int_equal(TELL(o, .order = ALLOCATE, .bytes = MIB(40)).answer,
                     RT_OUT_OF_MEMORY);
    assert_int_equal(byte_at(theirs), 5);
    OK(cudaIpcCloseMemHandle(theirs));
    assert_int_equal(TELL(o, .order = FREE_BYTES).bytes, before);
    again = TELL(o, .order = ALLOCATE, .bytes = MIB(40));
    OK(again.answer);
    assert_int_equal(TELL(o, .order = READ, .addr = again.addr).value, 0);
    other_end(o);
}

static void what_is_no_handle_is_refused(void **state)
{
    struct other o = other_start();
    struct message m = TELL(o, .order = ALLOCATE, .bytes = MIB(2));
    cud_ipc_handle none = {{0}};
    cud_ipc_handle own;
    void *mine = NULL;
    void *ptr = NULL;

    (void)state;
    assert_int_equal(cudaIpcOpenMemHandle(&ptr, none, LAZY_PEERS),
                     RT_INVALID_VALUE);
    assert_int_equal(cudaIpcOpenMemHandle(&ptr, m.handle, 2), RT_INVALID_VALUE);
    OK(cudaMalloc(&mine, MIB(2)));
    OK(cudaIpcGetMemHandle(&own, mine));
    assert_int_equal(cudaIpcOpenMemHandle(&ptr, own, LAZY_PEERS),
                     INVALID_CONTEXT);
    assert_int_equal(cudaIpcCloseMemHandle(mine), RT_INVALID_VALUE);
    OK(cudaFree(mine));
    assert_int_equal(cudaIpcGetMemHandle(&own, mine), RT_INVALID_VALUE);
    OK(cudaMallocManaged(&mine, MIB(2), 1));
    assert_int_equal(cudaIpcGetMemHandle(&own, mine), RT_INVALID_VALUE);
    OK(cudaFree(mine));
    OK(cudaMallocAsync(&mine, MIB(2), NULL));
    assert_int_equal(cudaIpcGetMemHandle(&own, mine), RT_INVALID_VALUE);
    OK(cudaFreeAsync(mine, NULL));
    OK(TELL(o, .order = RELEASE, .addr = m.addr).answer);
    assert_int_equal(cudaIpcOpenMemHandle(&ptr, m.handle, LAZY_PEERS),
                     RT_INVALID_VALUE);
    m = TELL(o, .order = ALLOCATE, .bytes = MIB(2));
    OK(m.answer);
    other_end(o);
    assert_int_equal(cudaIpcOpenMemHandle(&ptr, m.handle, LAZY_PEERS),
                     RT_INVALID_VALUE);
}

/* What it had open is its own until it is closed. */
static void memory_outlives_its_process_where_it_is_open(void **state)
{
    struct other o = other_start();
    struct message m = TELL(o, .order = ALLOCATE, .bytes = MIB(2));
    void *theirs = opened(m.handle);

    (void)state;
    OK(TELL(o, .order = FILL, .addr = m.addr, .value = 3, .bytes = m.bytes)
           .answer);
    assert_int_equal(kill(o.pid, SIGKILL), 0);
    assert_int_equal(waitpid(o.pid, NULL, 0), o.pid);
    close(o.fd);
    assert_int_equal(byte_at(theirs), 3);
    OK(cudaIpcCloseMemHandle(theirs));
}

/* A process that dies with memory open does not block others. */
static void memory_opened_by_the_dead_can_be_freed(void **state)
{
    struct other o = other_start();
    size_t before = free_now();
    cud_ipc_handle handle;
    void *mine = NULL;

    (void)state;
    OK(cudaMalloc(&mine, MIB(40)));
    OK(cudaIpcGetMemHandle(&handle, mine));
    OK(TELL(o, .order = OPEN, .handle = handle).answer);
    OK(cudaFree(mine));
    assert_int_equal(free_now(), before - MIB(40));
    assert_int_equal(kill(o.pid, SIGKILL), 0);
    assert_int_equal(waitpid(o.pid, NULL, 0), o.pid);
    close(o.fd);
    assert_int_equal(free_now(), before);
}

static void addresses_without_memory_are_opened_as_such(void **state)
{
    struct other a = other_start_with("sim:64MiB,backing=none");
    struct other b = other_start_with("sim:64MiB,backing=none");
    struct message m = TELL(a, .order = ALLOCATE, .bytes = MIB(40));
    struct message there;
    void *ptr = NULL;

    (void)state;
    OK(m.answer);
    there = TELL(b, .order = OPEN, .handle = m.handle);
    OK(there.answer);
    OK(TELL(b, .order = FILL, .addr = there.addr, .bytes = MIB(40)).answer);
    OK(TELL(b, .order = ALLOCATE, .bytes = MIB(60)).answer);
    OK(TELL(b, .order = CLOSE, .addr = there.addr).answer);
    assert_int_equal(cudaIpcOpenMemHandle(&ptr, m.handle, LAZY_PEERS),
                     RT_INVALID_VALUE);
    other_end(a);
    other_end(b);
}

static void an_event_can_be_waited_for_elsewhere(void **state)
{
    struct other o = other_start();
    struct message m = TELL(o, .order = EVENT);
    cud_ipc_handle own;
    cud_event event;

    (void)state;
    OK(m.answer);
    OK(event_use(&m));
    assert_int_equal(cudaEventCreateWithFlags(&event, INTERPROCESS),
                     RT_INVALID_VALUE);
    OK(cudaEventCreateWithFlags(&event, NO_TIMING));
    assert_int_equal(cudaIpcGetEventHandle(&own, event), INVALID_HANDLE);
    OK(cudaEventDestroy(event));
    OK(cudaEventCreateWithFlags(&event, NO_TIMING | INTERPROCESS));
    OK(cudaEventRecord(event, NULL));
    OK(cudaIpcGetEventHandle(&own, event));
    OK(TELL(o, .order = OPEN_EVENT, .handle = own).answer);
    assert_int_equal(cudaIpcOpenEventHandle(&event, own), INVALID_CONTEXT);
    memset(&own, 0, sizeof own);
    assert_int_equal(cudaIpcOpenEventHandle(&event, own), RT_INVALID_VALUE);
    other_end(o);
    assert_int_equal(cudaIpcOpenEventHandle(&event, m.handle),
                     RT_INVALID_VALUE);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_processes_see_the_same_bytes),
        cmocka_unit_test(a_handle_is_that_of_the_whole_allocation),
        cmocka_unit_test(opening_twice_gives_the_same_address),
        cmocka_unit_test(opened_memory_counts_for_its_maker_alone),
        cmocka_unit_test(memory_freed_by_its_maker_stays_while_it_is_open),
        cmocka_unit_test(what_is_no_handle_is_refused),
        cmocka_unit_test(memory_outlives_its_process_where_it_is_open),
        cmocka_unit_test(memory_opened_by_the_dead_can_be_freed),
        cmocka_unit_test(addresses_without_memory_are_opened_as_such),
        cmocka_unit_test(an_event_can_be_waited_for_elsewhere),
    };

    if (argc == 2 && strcmp(argv[1], "--other") == 0)
        return serve();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

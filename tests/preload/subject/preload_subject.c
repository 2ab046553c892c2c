/* preload_subject.c - a driver API program for tests of the preload library.
 * It knows nothing of Larder, except for the commands `pause` and `next`.
 *
 * preload_subject WAY WHAT, where WAY is how it finds the calls (linked, only
 * where it is; dlsym; lookup, that is cuGetProcAddress()), and WHAT
 *
 *   churn    allocates and frees 1 MiB 200 times
 *   big      prints the result of allocating 40 MiB
 *   info     prints how much memory there is
 *   wait     holds 3 MiB until it can read a line
 *   fork     allocates in a child, which has no driver
 *   pause    holds 12 MiB over a pause
 *   next     looks for a symbol in what is loaded after the program
 *
 * Exits with 0 if all went well, otherwise with 99. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/cuda_driver.h"

typedef cud_result find_fn(const char *, void **, int, unsigned long long,
                           int *);
typedef int pause_fn(int, unsigned);
typedef int resume_fn(int);

static struct cud_calls call;

static void die(const char *what)
{
    printf("failed: %s\n", what);
    exit(99);
}

static void must(cud_result answer, const char *what)
{
    if (answer != CUD_SUCCESS) {
        printf("gave %d: ", (int)answer);
        die(what);
    }
}

#define MUST(expression) must(expression, #expression)

/* ---- the calls -------------------------------------------------------------- */

#ifdef LINKED
#define X(need, name, cuda, hip, arguments) cud_result cuda arguments;
CUD_CALL_MAP(X)
#undef X

static void find_linked(void)
{
#define X(need, name, cuda, hip, arguments) call.name = cuda;
    CUD_CALL_MAP(X)
#undef X
}
#else
static void find_linked(void)
{
    die("this one is not linked with the driver");
}
#endif

static void *driver_symbol(const char *name)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    void *found = library == NULL ? NULL : dlsym(library, name);

    if (found == NULL)
        die(name);
    return found;
}

static void find_dlsym(void)
{
    void *found;

#define X(need, name, cuda, hip, arguments)                                    \
    found = driver_symbol(#cuda);                                              \
    memcpy(&call.name, &found, sizeof found);
    CUD_CALL_MAP(X)
#undef X
}

/* By its name without a version, as the runtime does. */
static void look_up(find_fn *get, const char *symbol, void *out)
{
    char name[64];
    char *version;
    void *found = NULL;

    snprintf(name, sizeof name, "%s", symbol);
    version = strstr(name, "_v");
    if (version != NULL)
        *version = '\0';
    if (get(name, &found, 12000, 0, NULL) != CUD_SUCCESS || found == NULL)
        die(name);
    memcpy(out, &found, sizeof found);
}

/* The lookup function can also look itself up. */
static void find_lookup(void)
{
    void *found = driver_symbol("cuGetProcAddress_v2");
    find_fn *first;
    find_fn *get;

    memcpy(&first, &found, sizeof first);
    look_up(first, "cuGetProcAddress", &get);
#define X(need, name, cuda, hip, arguments) look_up(get, #cuda, &call.name);
    CUD_CALL_MAP(X)
#undef X
}

static void find(const char *way)
{
    if (strcmp(way, "linked") == 0)
        find_linked();
    else if (strcmp(way, "dlsym") == 0)
        find_dlsym();
    else if (strcmp(way, "lookup") == 0)
        find_lookup();
    else
        die(way);
}

static void begin(void)
{
    cud_context context;
    cud_device device;

    MUST(call.init(0));
    MUST(call.device_get(&device, 0));
    MUST(call.primary_retain(&context, device));
    MUST(call.context_push(context));
}

/* ---- the commands ------------------------------------------------------------ */

static void churn(void)
{
    cud_addr addr;

    for (int i = 0; i < 200; i++) {
        MUST(call.mem_alloc(&addr, 1 << 20));
        MUST(call.fill(addr, (unsigned char)i, 1 << 20, NULL));
        MUST(call.mem_free(addr));
    }
}

static void big(void)
{
    cud_addr addr = 0;

    printf("big %d\n", (int)call.mem_alloc(&addr, 40 << 20));
}

static void info(void)
{
    size_t free_bytes;
    size_t total;
    size_t device_total;

    MUST(call.mem_info(&free_bytes, &total));
    MUST(call.device_total(&device_total, 0));
    printf("free %zu total %zu device %zu\n", free_bytes, total, device_total);
}

static void hold(void)
{
    cud_addr addr;

    MUST(call.mem_alloc(&addr, 3 << 20));
    puts("held");
    fflush(stdout);
    (void)getchar();
    MUST(call.mem_free(addr));
}

/* 20 MiB in use, and 20 freed before that, after a wait. */
static void hold_cached(void)
{
    enum { BYTES = 20 << 20 };
    cud_addr addr[2];

    MUST(call.mem_alloc(&addr[0], BYTES));
    MUST(call.mem_alloc(&addr[1], BYTES));
    MUST(call.mem_free(addr[0]));
    MUST(call.mem_free(addr[1]));
    MUST(call.mem_alloc(&addr[0], BYTES));
    puts("held");
    fflush(stdout);
    (void)getchar();
    MUST(call.mem_free(addr[0]));
}

static void in_child(void)
{
    int status;
    pid_t child;
    cud_addr addr;

    churn();
    fflush(stdout);
    child = fork();
    if (child == 0) {
        (void)call.mem_alloc(&addr, 1 << 20);
        exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        die("the child");
}

static void pause_and_resume(void)
{
    enum { BYTES = 12 << 20 };
    static char out[BYTES];
    void *found = dlsym(RTLD_DEFAULT, "larder_preload_pause");
    pause_fn *pause_call;
    resume_fn *resume_call;
    size_t total;
    size_t before;
    size_t after;
    cud_addr addr;

    memcpy(&pause_call, &found, sizeof found);
    found = dlsym(RTLD_DEFAULT, "larder_preload_resume");
    memcpy(&resume_call, &found, sizeof found);
    if (found == NULL)
        die("no preload library");
    MUST(call.mem_alloc(&addr, BYTES));
    MUST(call.fill(addr, 77, BYTES, NULL));
    MUST(call.mem_info(&before, &total));
    if (pause_call(0, 0) != 0)
        die("pause");
    MUST(call.mem_info(&after, &total));
    printf("more free: %zu\n", after - before);
    if (resume_call(0) != 0)
        die("resume");
    MUST(call.copy_to_host(out, addr, BYTES, NULL));
    MUST(call.stream_sync(NULL));
    for (int i = 0; i < BYTES; i++) {
        if (out[i] != 77)
            die("contents");
    }
}

/* RTLD_NEXT must find the preloaded library; a lookup that forgot its caller
 * would start after it. */
static void look_next(void)
{
    puts(dlsym(RTLD_NEXT, "larder_preload_pause") != NULL ? "next" : "none");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } things[] = {{"churn", churn},    {"big", big},
                  {"info", info},      {"wait", hold},
                  {"fork", in_child},  {"pause", pause_and_resume},
                  {"next", look_next}, {"cache", hold_cached}};

    if (argc != 3)
        die("expected WAY WHAT");
    find(argv[1]);
    begin();
    for (size_t i = 0; i < sizeof things / sizeof things[0]; i++) {
        if (strcmp(argv[2], things[i].name) == 0) {
            things[i].run();
            return 0;
        }
    }
    die(argv[2]);
}

/* driver_subject.c - a driver API program for `larder exec`: copies through the
 * device and back, on a stream, with an event.  Linked with the driver, or, if
 * built with BY_NAME, looking it up at run time.
 *
 * driver_subject [STATUS|broken]: exits with STATUS if all went well, otherwise
 * with 99; "broken" violates a rule of the driver first. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda_driver.h"

typedef cud_result create_stream_fn(cud_stream *, unsigned);
typedef cud_result find_fn(const char *, void **, int, unsigned long long,
                           int *);

#define X(need, name, cuda, hip, arguments) cud_result cuda arguments;
CUD_CALL_MAP(X)
#undef X
cud_result cuStreamCreate(cud_stream *, unsigned);
cud_result cuGetProcAddress_v2(const char *, void **, int, unsigned long long,
                               int *);

static struct cud_calls call;
static create_stream_fn *create_stream;

/* By its name without a version, as programs do. */
static void find(find_fn *get, const char *symbol, void *out)
{
    char name[64];
    void *found = NULL;
    char *version;

    snprintf(name, sizeof name, "%s", symbol);
    version = strstr(name, "_v");
    if (version != NULL)
        *version = '\0';
    if (get(name, &found, 12000, 0, NULL) != CUD_SUCCESS) {
        printf("%s is not found\n", name);
        exit(99);
    }
    memcpy(out, &found, sizeof found);
}

static void find_all(void)
{
    find_fn *get;
#ifdef BY_NAME
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    void *symbol =
        library == NULL ? NULL : dlsym(library, "cuGetProcAddress_v2");

    if (symbol == NULL) {
        puts("no driver");
        exit(99);
    }
    memcpy(&get, &symbol, sizeof get);
#else
    get = cuGetProcAddress_v2;
#endif
#define X(need, name, cuda, hip, arguments) find(get, #cuda, &call.name);
    CUD_CALL_MAP(X)
#undef X
    find(get, "cuStreamCreate", &create_stream);
}

static void must(cud_result answer, const char *what)
{
    if (answer == CUD_SUCCESS)
        return;
    printf("%s gave %d\n", what, (int)answer);
    exit(99);
}

#define MUST(expression) must(expression, #expression)

int main(int argc, char **argv)
{
    enum { BYTES = 3 << 20 };
    static char from[BYTES];
    static char to[BYTES];
    cud_context context;
    cud_device device;
    cud_stream stream;
    cud_event event;
    cud_addr addr;

    find_all();
    memset(from, 42, BYTES);
    MUST(call.init(0));
    MUST(call.device_get(&device, 0));
    MUST(call.primary_retain(&context, device));
    MUST(call.context_push(context));
    MUST(create_stream(&stream, 1));
    MUST(call.event_create(&event, 0));
    if (argc > 1 && strcmp(argv[1], "broken") == 0)
        must(!call.mem_alloc(&addr, 0), "an allocation of nothing");
    MUST(call.mem_alloc(&addr, BYTES));
    MUST(call.copy_to_device(addr, from, BYTES, stream));
    MUST(call.event_record(event, stream));
    MUST(call.event_sync(event));
    MUST(call.copy_to_host(to, addr, BYTES, stream));
    MUST(call.stream_sync(stream));
    if (memcmp(from, to, BYTES) != 0)
        return 99;
    MUST(call.mem_free(addr));
    return argc > 1 ? atoi(argv[1]) : 0;
}

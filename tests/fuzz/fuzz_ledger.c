/* fuzz_ledger.c - any bytes as the shared memory of a ledger.  A process in it
 * allocates, answers and asks, and a reader always gets some result; nothing
 * crashes, hangs or loses a byte.
 *
 * The first byte says whether the bytes are written before the process joins or
 * while it is a member; the rest are the page, repeated. */
#include <larder/ledger.h>
#include <larder/sim.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "ledger/ledger_name.h"
#include "support/unique_name.h"

enum { EARLY = 1, MAGIC = 2, PIDS = 4 };

static char spec[96];

static void page_path(larder_device *dev, char out[SHARED_NAME_MAX + 1])
{
    struct ledger_spec which = {.total_bytes = 0};
    larder_device_props props = {.size = sizeof props};

    REQUIRE(larder_device_get_props(dev, &props) == LARDER_OK);
    memcpy(which.uuid, props.uuid, sizeof which.uuid);
    larder__ledger_name(&which, out);
}

/* Write the bytes to the page, repeated; MAGIC makes it look valid, and PIDS
 * marks its slots as used. */
static void page_fill(const char *path, const uint8_t *data, size_t size,
                      unsigned how)
{
    int fd = shm_open(path, O_RDWR | O_CREAT, 0600);
    struct ledger_page *page;

    REQUIRE(fd >= 0 && ftruncate(fd, sizeof *page) == 0);
    page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    REQUIRE(page != MAP_FAILED);
    for (size_t i = 0; i < sizeof *page; i += size)
        memcpy((char *)page + i, data,
               size < sizeof *page - i ? size : sizeof *page - i);
    if (how & MAGIC)
        word_set(&page->magic, LEDGER_MAGIC);
    for (size_t i = 0; (how & PIDS) && i < LEDGER_SLOTS; i++)
        page->slots[i].pid = (int64_t)i + 1;
    munmap(page, sizeof *page);
    close(fd);
}

static void look(void *ctx, const larder_ledger_device *device,
                 const larder_ledger_process *processes, size_t count)
{
    /* This ledger only: what others on the machine do does not matter here. */
    if (strcmp(device->id, ctx) != 0)
        return;
    REQUIRE(strlen(device->id) < sizeof device->id);
    REQUIRE(strlen(device->name) < sizeof device->name);
    for (size_t i = 0; i < count; i++) {
        REQUIRE(strlen(processes[i].name) < sizeof processes[i].name);
        REQUIRE(processes[i].in_use_bytes <= processes[i].reserved_bytes);
        (void)larder_ledger_trim(device->id, processes[i].pid, 1 << 20);
        (void)larder_ledger_limit(device->id, processes[i].pid, 0);
    }
}

/* Allocates as much as the device has, or as little as its ledger leaves. */
static void work(larder_allocator *a)
{
    larder_addr addr[4];
    int count = 0;

    for (int i = 0; i < 4; i++) {
        larder_result r = larder_alloc(a, 20u << 20, 0, &addr[count]);

        REQUIRE(r == LARDER_OK || r == LARDER_ERR_OUT_OF_MEMORY);
        count += r == LARDER_OK;
    }
    while (count > 0)
        REQUIRE(larder_free(a, addr[--count]) == LARDER_OK);
    (void)larder_configure(a, "minimum:8MiB");
    (void)larder_configure(a, "minimum:0");
    REQUIRE(larder_check(a) == LARDER_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    larder_sim_usage usage = {.size = sizeof usage};
    char path[SHARED_NAME_MAX + 1];
    larder_options opt;
    larder_device *dev;
    larder_allocator *a;
    unsigned how;

    if (size < 2)
        return 0;
    how = *data++;
    size--;
    snprintf(spec, sizeof spec, "sim:64MiB,backing=none,shared=%s",
             unique_name("fuzz"));
    REQUIRE(larder_device_open(spec, 0, &dev) == LARDER_OK);
    page_path(dev, path);
    if (how & EARLY)
        page_fill(path, data, size, how);
    larder_options_init(&opt);
    /* A refused ledger does not stop the allocator. */
    opt.conf = "ask_budget_ms:1";
    REQUIRE(larder_create(dev, &opt, &a) == LARDER_OK);
    work(a);
    if (!(how & EARLY)) {
        page_fill(path, data, size, how | MAGIC);
        work(a);
    }
    REQUIRE(larder_ledger_each(look, path + 1) == LARDER_OK);
    work(a);
    REQUIRE(larder_destroy(a) == LARDER_OK);
    REQUIRE(larder_sim_get_usage(dev, &usage) == LARDER_OK);
    REQUIRE(usage.self_bytes == 0);
    REQUIRE(larder_device_close(dev) == LARDER_OK);
    shm_unlink(path);
    return 0;
}

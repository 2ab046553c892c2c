/* watched_torch.c - the plug-in with a look at every live allocation before and
 * after each move of live memory, for a PyTorch on a simulated GPU whose addresses
 * the host can read.
 *
 * In place of liblarder_torch.so, which it loads.  LARDER_WATCHED is a folder: the
 * process's file there, named by its number, has the moves, the allocations and
 * bytes compared, and the allocations that differed.  LARDER_WATCHED_SPOIL: a byte
 * of each move is wrong, as by a bad copy.
 *
 * Each new allocation gets words of its own: kernels compute nothing here. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <larder/migrate.h>
#include <larder/torch.h>

enum { BUCKETS = 1 << 16, APART = 512, DEVICES = 16, LANES = 4 };

struct live {
    struct live *next;
    uint64_t *words;
    size_t bytes;
    uint64_t digest; /* while something moves */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct live *lives[BUCKETS];
static bool is_guarded[DEVICES];
static uint64_t made, moves, compared, compared_bytes, wrong;

static void *(*plugin_alloc)(size_t, int, void *);
static void (*plugin_free)(void *, size_t, int, void *);
static larder_result (*preload_hold)(void);
static void (*preload_release)(void);

static void find(void *function, void *library, const char *name)
{
    void *symbol = dlsym(library, name);

    if (symbol != NULL)
        memcpy(function, &symbol, sizeof symbol);
}

__attribute__((constructor)) static void load(void)
{
    void *plugin = dlopen("liblarder_torch.so.0", RTLD_NOW | RTLD_NOLOAD);

    find(&plugin_alloc, plugin, "larder_torch_alloc");
    find(&plugin_free, plugin, "larder_torch_free");
    find(&preload_hold, RTLD_DEFAULT, "larder_preload_hold");
    find(&preload_release, RTLD_DEFAULT, "larder_preload_release");
}

/* ---- live allocations --------------------------------------------------------- */

static struct live **place_of(const void *address)
{
    uint64_t number = (uint64_t)(uintptr_t)address / APART;
    struct live **at = &lives[number * 0x9e3779b97f4a7c15u >> 48];

    while (*at != NULL && (*at)->words != address)
        at = &(*at)->next;
    return at;
}

static void note(void *address, size_t bytes)
{
    struct live *new = calloc(1, sizeof *new);

    if (new == NULL)
        abort();
    pthread_mutex_lock(&lock);
    new->words = address;
    new->bytes = bytes;
    made++;
    for (size_t i = 0; i + 1 <= bytes / sizeof *new->words;
         i += APART / sizeof *new->words)
        new->words[i] = (made << 32) + i;
    *place_of(address) = new;
    pthread_mutex_unlock(&lock);
}

static void forget(const void *address)
{
    struct live **at;
    struct live *old;

    pthread_mutex_lock(&lock);
    at = place_of(address);
    old = *at;
    if (old != NULL)
        *at = old->next;
    pthread_mutex_unlock(&lock);
    free(old);
}

static uint64_t digest(const struct live *live)
{
    uint64_t lanes[LANES] = {1, 2, 3, 4};
    size_t count = live->bytes / sizeof *live->words;
    size_t i;

    for (i = 0; i + LANES <= count; i += LANES) {
        for (size_t k = 0; k < LANES; k++)
            lanes[k] = (lanes[k] ^ live->words[i + k]) * 0x9e3779b97f4a7c15u;
    }
    for (; i < count; i++)
        lanes[0] = (lanes[0] ^ live->words[i]) * 0x9e3779b97f4a7c15u;
    return lanes[0] ^ lanes[1] << 1 ^ lanes[2] << 2 ^ lanes[3] << 3;
}

/* ---- moves --------------------------------------------------------------------- */

static void tell(void)
{
    const char *folder = getenv("LARDER_WATCHED");
    char path[4096];
    char text[128];
    int length, file;

    if (folder == NULL)
        return;
    (void)snprintf(path, sizeof path, "%s/%ld", folder, (long)getpid());
    length =
        snprintf(text, sizeof text, "%llu %llu %llu %llu\n",
                 (unsigned long long)moves, (unsigned long long)compared,
                 (unsigned long long)compared_bytes, (unsigned long long)wrong);
    file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || pwrite(file, text, (size_t)length, 0) != length)
        abort();
    (void)close(file);
}

static void spoil(void)
{
    struct live *largest = NULL;

    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct live *l = lives[i]; l != NULL; l = l->next) {
            if (largest == NULL || l->bytes > largest->bytes)
                largest = l;
        }
    }
    if (largest != NULL)
        ((unsigned char *)largest->words)[largest->bytes / 2] ^= 1;
}

/* The table is locked until the release. */
static larder_result watched_hold(void *ctx)
{
    larder_result r = preload_hold();

    (void)ctx;
    if (r != LARDER_OK)
        return r;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct live *l = lives[i]; l != NULL; l = l->next)
            l->digest = digest(l);
    }
    return LARDER_OK;
}

static void watched_release(void *ctx)
{
    (void)ctx;
    if (getenv("LARDER_WATCHED_SPOIL") != NULL)
        spoil();
    moves++;
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct live *l = lives[i]; l != NULL; l = l->next) {
            compared++;
            compared_bytes += l->bytes;
            wrong += digest(l) != l->digest;
        }
    }
    tell();
    pthread_mutex_unlock(&lock);
    preload_release();
}

/* In the place of the plug-in's own guard. */
static void guard(int device)
{
    larder_allocator *a;
    bool is_new;

    if (preload_hold == NULL || device < 0 || device >= DEVICES)
        return;
    pthread_mutex_lock(&lock);
    is_new = !is_guarded[device];
    is_guarded[device] = true;
    pthread_mutex_unlock(&lock);
    if (is_new && larder_torch_allocator(device, &a) == LARDER_OK)
        (void)larder_migrate_guard(a, watched_hold, watched_release, NULL);
}

/* ---- what PyTorch calls ----------------------------------------------------------- */

void *larder_torch_alloc(size_t bytes, int device, void *stream)
{
    void *address;

    guard(device);
    address = plugin_alloc(bytes, device, stream);
    if (address != NULL)
        note(address, bytes);
    return address;
}

void larder_torch_free(void *address, size_t bytes, int device, void *stream)
{
    if (address != NULL)
        forget(address);
    plugin_free(address, bytes, device, stream);
}

/* no_system.c - what a browser does not have: a dynamic linker, return
 * addresses, and other processes. */
#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/callstack.h"
#include "base/symbol.h"
#include "ledger/bell.h"

/* ---- of the project -------------------------------------------------------- */

bool larder__symbol_find(uint64_t address, struct symbol *out)
{
    (void)address;
    (void)out;
    return false;
}

void larder__symbol_add(struct text *t, const struct symbol *symbol)
{
    (void)t;
    (void)symbol;
}

size_t larder__callstack_frames(uint64_t *out, size_t capacity)
{
    (void)out;
    (void)capacity;
    return 0;
}

size_t larder__callstack_unwind(uint64_t *out, size_t capacity)
{
    (void)out;
    (void)capacity;
    return 0;
}

void larder__callstack_prepare(void)
{
}

void larder__bell_wake(_Atomic uint32_t *word)
{
    (void)word;
}

void larder__bell_wait(const _Atomic uint32_t *word, uint64_t ns)
{
    (void)word;
    (void)ns;
}

/* ---- of the C library ------------------------------------------------------ */

int fallocate(int file, int mode, off_t offset, off_t bytes)
{
    (void)file;
    (void)mode;
    (void)offset;
    (void)bytes;
    errno = ENOSYS;
    return -1;
}

ssize_t getrandom(void *out, size_t bytes, unsigned flags)
{
    (void)flags;
    return getentropy(out, bytes) == 0 ? (ssize_t)bytes : -1;
}

int memfd_create(const char *name, unsigned flags)
{
    (void)name;
    (void)flags;
    errno = ENOSYS;
    return -1;
}

int posix_spawnp(pid_t *out, const char *file,
                 const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes, char *const argv[],
                 char *const environment[])
{
    (void)out;
    (void)file;
    (void)actions;
    (void)attributes;
    (void)argv;
    (void)environment;
    return ENOSYS;
}

int pthread_mutexattr_setrobust(pthread_mutexattr_t *attributes, int robust)
{
    (void)attributes;
    (void)robust;
    return 0;
}

char *secure_getenv(const char *name)
{
    return getenv(name);
}

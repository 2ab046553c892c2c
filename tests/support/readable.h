/* readable.h - whether memory of the process can be read, without a fault if not. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>
#include <unistd.h>

static inline bool memory_is_readable(uint64_t addr)
{
    unsigned char byte;
    struct iovec here = {&byte, 1};
    struct iovec there = {(void *)(uintptr_t)addr, 1};

    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
}

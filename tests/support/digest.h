/* digest.h - a number that stands for a long text or for many numbers (FNV-1a).
 *
 * Header only. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define DIGEST_BEGIN UINT64_C(0xcbf29ce484222325)

static inline void digest_byte(uint64_t *digest, unsigned char byte)
{
    *digest = (*digest ^ byte) * UINT64_C(0x100000001b3);
}

static inline void digest_bytes(uint64_t *digest, const char *bytes,
                                size_t count)
{
    for (size_t i = 0; i < count; i++)
        digest_byte(digest, (unsigned char)bytes[i]);
}

static inline void digest_number(uint64_t *digest, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        digest_byte(digest, (unsigned char)(value >> 8 * i));
}

static inline uint32_t digest_short(uint64_t digest)
{
    return (uint32_t)(digest ^ digest >> 32);
}

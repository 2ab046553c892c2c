/* fake_integrity.c - the check by which NVIDIA's runtime recognises a driver:
 * an HMAC (RFC 2104) with the hash MD2 (RFC 1319) of properties of the process
 * and its GPUs that both can observe.  The algorithm, its key and the order of
 * its fields are known from ZLUDA (dark_api, function integrity_check()); they
 * are correct, because runtimes accept the result. */
#include "driver/fake_tables.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

/* ---- MD2 ---------------------------------------------------------------- */

enum { BLOCK = 16, STATE = 3 * BLOCK, ROUNDS = 18 };

struct md2 {
    unsigned char state[STATE];
    unsigned char checksum[BLOCK];
    unsigned char block[BLOCK];
    size_t filled; /* of the block */
};

/* A permutation by the digits of pi. */
static const unsigned char pi[256] = {
    41,  46,  67,  201, 162, 216, 124, 1,   61,  54,  84,  161, 236, 240, 6,
    19,  98,  167, 5,   243, 192, 199, 115, 140, 152, 147, 43,  217, 188, 76,
    130, 202, 30,  155, 87,  60,  253, 212, 224, 22,  103, 66,  111, 24,  138,
    23,  229, 18,  190, 78,  196, 214, 218, 158, 222, 73,  160, 251, 245, 142,
    187, 47,  238, 122, 169, 104, 121, 145, 21,  178, 7,   63,  148, 194, 16,
    137, 11,  34,  95,  33,  128, 127, 93,  154, 90,  144, 50,  39,  53,  62,
    204, 231, 191, 247, 151, 3,   255, 25,  48,  179, 72,  165, 181, 209, 215,
    94,  146, 42,  172, 86,  170, 198, 79,  184, 56,  210, 150, 164, 125, 182,
    118, 252, 107, 226, 156, 116, 4,   241, 69,  157, 112, 89,  100, 113, 135,
    32,  134, 91,  207, 101, 230, 45,  168, 2,   27,  96,  37,  173, 174, 176,
    185, 246, 28,  70,  97,  105, 52,  64,  126, 15,  85,  71,  163, 35,  221,
    81,  175, 58,  195, 92,  249, 206, 186, 197, 234, 38,  44,  83,  13,  110,
    133, 40,  132, 9,   211, 223, 205, 244, 65,  129, 77,  82,  106, 220, 55,
    200, 108, 193, 171, 250, 36,  225, 123, 8,   12,  189, 177, 74,  120, 136,
    149, 139, 227, 99,  232, 109, 233, 203, 213, 254, 59,  0,   29,  57,  242,
    239, 183, 14,  102, 88,  208, 228, 166, 119, 114, 248, 235, 117, 75,  10,
    49,  68,  80,  180, 143, 237, 31,  26,  219, 153, 141, 51,  159, 17,  131,
    20,
};

static void md2_mix(struct md2 *m, const unsigned char *block)
{
    unsigned t = 0;

    for (int i = 0; i < BLOCK; i++) {
        m->state[BLOCK + i] = block[i];
        m->state[2 * BLOCK + i] = block[i] ^ m->state[i];
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < STATE; i++)
            t = m->state[i] ^= pi[t];
        t = (t + round) % sizeof pi;
    }
}

static void md2_block(struct md2 *m)
{
    unsigned char last = m->checksum[BLOCK - 1];

    for (int i = 0; i < BLOCK; i++)
        last = m->checksum[i] ^= pi[m->block[i] ^ last];
    md2_mix(m, m->block);
    m->filled = 0;
}

static void md2_add(struct md2 *m, const void *bytes, size_t count)
{
    const char *from = bytes;

    while (count > 0) {
        size_t room = BLOCK - m->filled;
        size_t taken = count < room ? count : room;

        memcpy(m->block + m->filled, from, taken);
        m->filled += taken;
        from += taken;
        count -= taken;
        if (m->filled == BLOCK)
            md2_block(m);
    }
}

static void md2_end(struct md2 *m, unsigned char out[BLOCK])
{
    unsigned char pad = (unsigned char)(BLOCK - m->filled);

    memset(m->block + m->filled, pad, pad);
    md2_block(m);
    md2_mix(m, m->checksum);
    memcpy(out, m->state, BLOCK);
}

/* ---- what is hashed ----------------------------------------------------- */

static const unsigned char key[BLOCK] = {0x14, 0x6a, 0xdd, 0xae, 0x53, 0xa9,
                                         0xa7, 0x52, 0xaa, 0x08, 0x41, 0x36,
                                         0x0b, 0xf5, 0x5a, 0x9f};

/* Begin the hash of the key, each byte of it changed by `with`. */
static struct md2 md2_keyed(unsigned char with)
{
    struct md2 m = {.filled = 0};
    unsigned char mixed[BLOCK];

    for (int i = 0; i < BLOCK; i++)
        mixed[i] = key[i] ^ with;
    md2_add(&m, mixed, sizeof mixed);
    return m;
}

static void add_process(struct md2 *m, unsigned version, uint64_t seconds,
                        const struct fake_tables *tables)
{
    struct {
        uint32_t driver;
        uint32_t runtime;
        uint32_t process;
        uint32_t thread;
        const void *interface;
        const void *integrity;
        void (*check)(void);
        uint64_t seconds;
    } fields = {.runtime = version,
                .process = (uint32_t)getpid(),
                .thread = (uint32_t)(uintptr_t)pthread_self(),
                .interface = tables->interface,
                .integrity = tables->integrity,
                .check = tables->check,
                .seconds = seconds};
    int driver = 0;

    (void)cuDriverGetVersion(&driver);
    fields.driver = (uint32_t)driver;
    md2_add(m, &fields, sizeof fields);
}

static void add_device(struct md2 *m, cud_device device)
{
    enum { BUS = 33, DEVICE = 34, DOMAIN = 50 };
    struct {
        cud_uuid uuid;
        int32_t domain;
        int32_t bus;
        int32_t device;
    } fields = {.domain = 0};

    (void)cuDeviceGetUuid_v2(&fields.uuid, device);
    (void)cuDeviceGetAttribute(&fields.domain, DOMAIN, device);
    (void)cuDeviceGetAttribute(&fields.bus, BUS, device);
    (void)cuDeviceGetAttribute(&fields.device, DEVICE, device);
    md2_add(m, &fields, sizeof fields);
}

static void answer(unsigned version, uint64_t seconds,
                   const struct fake_tables *tables, uint64_t out[2])
{
    enum { INNER = 0x36, OUTER = 0x5c }; /* HMAC's */
    struct md2 m = md2_keyed(INNER);
    unsigned char inner[BLOCK];
    int count = 0;

    (void)cuDeviceGetCount(&count);
    add_process(&m, version, seconds, tables);
    for (int i = 0; i < count; i++)
        add_device(&m, i);
    md2_end(&m, inner);
    m = md2_keyed(OUTER);
    md2_add(&m, inner, sizeof inner);
    md2_end(&m, (unsigned char *)out);
}

/* A runtime asks three times.  The first two answers are constants, which the
 * runtime of CUDA 11.8 checks. */
void fake_integrity_answer(unsigned version, uint64_t seconds,
                           const struct fake_tables *tables, uint64_t out[2])
{
    /* The version's last digit is the number of earlier calls. */
    enum { ASKED = 10 };
    static const uint64_t always[2][2] = {
        {UINT64_C(0x3341181c03cb675c), UINT64_C(0x8ed383aa1f4cd1e8)},
        {UINT64_C(0x1841181c03cb675c), UINT64_C(0x8ed383aa1f4cd1e8)}};

    if (version % ASKED < 2)
        memcpy(out, always[version % ASKED], sizeof always[0]);
    else
        answer(version, seconds, tables, out);
}

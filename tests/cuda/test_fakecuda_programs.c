/* test_fakecuda_programs.c - what a program that has NVIDIA's runtime within it
 * finds in the stand-in: the variables of its code, copies of rectangles, calls
 * by release, and the tables that are not published. */
#include "cuda_rig.h"

#include <elf.h>
#include <pthread.h>

static int set_up(void **state)
{
    (void)state;
    context_up("sim:64MiB,count=2", 2);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    context_down(2);
    return 0;
}

/* ---- variables -------------------------------------------------------------------- */

/* Code with two variables: of three values, and of zeros. */
static const struct code {
    Elf64_Ehdr header;
    Elf64_Shdr sections[5];
    Elf64_Sym symbols[3];
    char names[24];
    int values[4];
} code = {
    .header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64},
               .e_shoff = offsetof(struct code, sections),
               .e_shentsize = sizeof(Elf64_Shdr),
               .e_shnum = 5},
    .sections = {[1] = {.sh_type = SHT_STRTAB,
                        .sh_offset = offsetof(struct code, names),
                        .sh_size = sizeof code.names},
                 [2] = {.sh_type = SHT_SYMTAB,
                        .sh_offset = offsetof(struct code, symbols),
                        .sh_size = sizeof code.symbols,
                        .sh_link = 1},
                 [3] = {.sh_type = SHT_PROGBITS,
                        .sh_offset = offsetof(struct code, values),
                        .sh_size = sizeof code.values},
                 [4] = {.sh_type = SHT_NOBITS, .sh_size = 4096}},
    .symbols = {{.st_name = 1,
                 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
                 .st_shndx = 3,
                 .st_value = sizeof(int),
                 .st_size = 3 * sizeof(int)},
                {.st_name = 7,
                 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
                 .st_shndx = 4,
                 .st_size = 4096},
                {.st_name = 13,
                 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                 .st_shndx = 3,
                 .st_size = 64}},
    .names = "\0three\0zeros\0kernel",
    .values = {1, 2, 3, 4},
};

/* The same behind text that is compressed, as nvcc has it in programs. */
static struct {
    uint32_t magic;
    uint16_t version;
    uint16_t header_bytes;
    uint64_t bytes;
    struct part {
        uint16_t kind;
        uint16_t version;
        uint32_t header_bytes;
        uint64_t bytes;
    } text;
    char compressed[16];
    struct part elf;
    struct code code;
} bundle = {.magic = 0xba55ed50,
            .version = 1,
            .header_bytes = 16,
            .bytes = sizeof bundle - 16,
            .text = {1, 0x101, sizeof(struct part), sizeof bundle.compressed},
            .compressed = "(\xb5/\xfd",
            .elf = {2, 0x101, sizeof(struct part), sizeof(struct code)}};

static const struct {
    uint32_t magic;
    uint32_t version;
    const void *bundle;
} wrapper = {0x466243b1, 1, &bundle};

static void *load(const void *image)
{
    void *library = NULL;

    assert_int_equal(DRIVER(cuLibraryLoadData)(&library, image, NULL, NULL, 0,
                                               NULL, NULL, 0),
                     0);
    return library;
}

static cud_addr variable(void *library, const char *name, size_t wanted)
{
    cud_addr addr = 0;
    size_t bytes = 0;

    assert_int_equal(DRIVER(cuLibraryGetGlobal)(&addr, &bytes, library, name),
                     0);
    assert_int_equal(bytes, wanted);
    return addr;
}

static void assert_three(cud_addr addr)
{
    int got[3];

    assert_int_equal(DRIVER(cuMemcpyDtoH_v2)(got, addr, sizeof got), 0);
    assert_memory_equal(got, code.values + 1, sizeof got);
}

static void variables_are_as_the_code_says(void **state)
{
    const void *images[] = {&code, &bundle, &wrapper};
    uint64_t zeros[512];
    cud_addr addr;
    void *library;

    (void)state;
    bundle.code = code;
    for (size_t i = 0; i < sizeof images / sizeof images[0]; i++) {
        library = load(images[i]);
        addr = variable(library, "three", 3 * sizeof(int));
        assert_three(addr);
        assert_true(variable(library, "three", 3 * sizeof(int)) == addr);
        addr = variable(library, "zeros", sizeof zeros);
        assert_int_equal(DRIVER(cuMemcpyDtoH_v2)(zeros, addr, sizeof zeros), 0);
        for (size_t z = 0; z < sizeof zeros / sizeof zeros[0]; z++)
            assert_int_equal(zeros[z], 0);
        assert_int_equal(
            DRIVER(cuLibraryGetGlobal)(&addr, NULL, library, "kernel"),
            CUD_NOT_FOUND);
        assert_int_equal(DRIVER(cuLibraryUnload)(library), 0);
    }
}

static void each_device_has_variables_of_its_own(void **state)
{
    void *library = load(&code);
    cud_addr first = variable(library, "three", 3 * sizeof(int));
    cud_addr second;
    cud_context context;

    (void)state;
    assert_int_equal(DRIVER(cuMemsetD8_v2)(first, 9, 3 * sizeof(int)), 0);
    assert_int_equal(DRIVER(cuDevicePrimaryCtxRetain)(&context, 1), 0);
    assert_int_equal(DRIVER(cuCtxPushCurrent_v2)(context), 0);
    second = variable(library, "three", 3 * sizeof(int));
    assert_three(second);
    assert_int_equal(DRIVER(cuCtxPopCurrent_v2)(&context), 0);
    assert_int_equal(DRIVER(cuLibraryUnload)(library), 0);
    /* They go with their code. */
    assert_int_not_equal(DRIVER(cuMemFree_v2)(first), 0);
    assert_int_not_equal(DRIVER(cuMemFree_v2)(second), 0);
}

static void managed_variables_are_the_host_s(void **state)
{
    void *library = load(&code);
    enum { IS_MANAGED = 8 };
    const int *got = NULL;
    cud_addr addr = 0;
    int is_managed = 0;

    (void)state;
    assert_int_equal(DRIVER(cuLibraryGetManaged)(&addr, NULL, library, "three"),
                     0);
    got = (const int *)(uintptr_t)addr;
    assert_memory_equal(got, code.values + 1, 3 * sizeof *got);
    assert_int_equal(
        DRIVER(cuPointerGetAttribute)(&is_managed, IS_MANAGED, addr), 0);
    assert_int_equal(is_managed, 1);
    assert_three(addr);
    assert_int_equal(DRIVER(cuMemAdvise)(addr, 3 * sizeof *got, 1, 0), 0);
    assert_int_equal(DRIVER(cuLibraryUnload)(library), 0);
    assert_int_equal(
        DRIVER(cuPointerGetAttribute)(&is_managed, IS_MANAGED, addr),
        CUD_INVALID_VALUE);
}

static void a_device_that_goes_takes_what_is_on_it(void **state)
{
    void *library = load(&code);
    void *module = NULL;
    cud_context context;
    cud_stream stream;
    cud_device device;
    int number;

    (void)state;
    assert_int_equal(DRIVER(cuDevicePrimaryCtxRetain)(&context, 1), 0);
    assert_int_equal(DRIVER(cuCtxPushCurrent_v2)(context), 0);
    assert_three(variable(library, "three", 3 * sizeof(int)));
    assert_int_equal(DRIVER(cuModuleLoadData)(&module, &code), 0);
    assert_int_equal(DRIVER(cuStreamCreate)(&stream, 0), 0);
    assert_int_equal(DRIVER(cuCtxPopCurrent_v2)(&context), 0);
    assert_int_equal(DRIVER(cuStreamGetDevice)(stream, &device), 0);
    assert_int_equal(device, 1); /* whichever is current */
    fake()->remove(1);
    assert_ok(fake()->add("sim:64MiB,count=2", 1, &number));
    assert_int_equal(DRIVER(cuDevicePrimaryCtxRetain)(&context, 1), 0);
    assert_int_equal(DRIVER(cuCtxPushCurrent_v2)(context), 0);
    assert_three(variable(library, "three", 3 * sizeof(int)));
    assert_int_equal(DRIVER(cuStreamGetDevice)(stream, &device),
                     CUD_INVALID_HANDLE);
    assert_int_equal(DRIVER(cuModuleUnload)(module), CUD_INVALID_HANDLE);
    assert_int_equal(DRIVER(cuCtxPopCurrent_v2)(&context), 0);
    assert_int_equal(DRIVER(cuLibraryUnload)(library), 0);
}

static void code_that_is_not_read_has_what_was_registered(void **state)
{
    void *library = load("text");
    cud_addr addr;

    (void)state;
    addr = variable(library, "any", MIB(2));
    assert_int_equal(DRIVER(cuMemsetD8_v2)(addr, 1, MIB(2)), 0);
    /* A module is asked about what it may have. */
    assert_int_equal(
        DRIVER(cuModuleGetGlobal_v2)(&addr, NULL, library, "other"),
        CUD_NOT_FOUND);
    assert_int_equal(DRIVER(cuLibraryUnload)(library), 0);
}

/* ---- resets ------------------------------------------------------------------------ */

static size_t free_bytes(void)
{
    size_t left = 0;
    size_t all;

    assert_int_equal(DRIVER(cuMemGetInfo_v2)(&left, &all), 0);
    return left;
}

static void a_reset_takes_what_belongs_to_the_context(void **state)
{
    const cud_page_prop prop = {
        .type = CUD_PAGE_PINNED,
        .location = {.type = CUD_ON_DEVICE, .id = 0},
    };
    void *library = load(&code);
    cud_addr addr;
    cud_addr managed;
    cud_addr pooled;
    void *host = NULL;
    cud_page page;
    cud_stream stream;
    cud_event event;
    size_t before = free_bytes();

    (void)state;
    assert_int_equal(DRIVER(cuMemAlloc_v2)(&addr, MIB(4)), 0);
    assert_int_equal(DRIVER(cuMemAllocManaged)(&managed, MIB(4), 1), 0);
    assert_int_equal(DRIVER(cuMemHostAlloc)(&host, 64, 0), 0);
    assert_int_equal(DRIVER(cuMemAllocAsync)(&pooled, MIB(2), NULL), 0);
    assert_int_equal(DRIVER(cuMemCreate)(&page, MIB(2), &prop, 0), 0);
    assert_int_equal(DRIVER(cuStreamCreate)(&stream, 0), 0);
    assert_int_equal(DRIVER(cuEventCreate)(&event, 0), 0);
    assert_three(variable(library, "three", 3 * sizeof(int)));

    assert_int_equal(DRIVER(cuDevicePrimaryCtxReset_v2)(0), 0);
    assert_int_equal(free_bytes(), before - MIB(4)); /* pools' and pages stay */
    assert_int_equal(DRIVER(cuMemFree_v2)(addr), CUD_INVALID_VALUE);
    assert_int_equal(DRIVER(cuMemAdvise)(managed, 1, 1, 0), CUD_INVALID_VALUE);
    assert_int_equal(DRIVER(cuMemFreeHost)(host), CUD_INVALID_VALUE);
    assert_int_equal(DRIVER(cuStreamDestroy_v2)(stream), CUD_INVALID_HANDLE);
    assert_int_equal(DRIVER(cuEventQuery)(event), CUD_INVALID_HANDLE);
    assert_int_equal(DRIVER(cuMemFreeAsync)(pooled, NULL), 0);
    assert_int_equal(DRIVER(cuCtxSynchronize)(), 0);
    assert_int_equal(DRIVER(cuMemRelease)(page), 0);
    assert_int_equal(free_bytes(), before);
    /* The context is in use as before. */
    assert_three(variable(library, "three", 3 * sizeof(int)));
    assert_int_equal(DRIVER(cuLibraryUnload)(library), 0);
}

/* ---- rectangles -------------------------------------------------------------------- */

/* CUDA_MEMCPY3D's source or target. */
struct side {
    size_t x_bytes;
    size_t y;
    size_t z;
    size_t lod;
    int memory; /* 1: host, 2: device, 3: array */
    void *host;
    cud_addr device;
    void *array;
    void *reserved;
    size_t pitch;
    size_t height;
};

struct box {
    struct side from;
    struct side to;
    size_t width;
    size_t height;
    size_t depth;
};

static void boxes_are_copied_by_rows(void **state)
{
    char bytes[4][4][8];
    char got[2][2][4];
    struct box box = {.width = 4, .height = 2, .depth = 2};
    cud_addr addr;

    (void)state;
    memset(bytes, 1, sizeof bytes);
    memset(bytes[1][1], 2, 8);
    memset(bytes[2][2], 3, 8);
    bytes[1][1][1] = bytes[2][2][1] = 9; /* left of the box */
    assert_int_equal(DRIVER(cuMemAlloc_v2)(&addr, sizeof bytes), 0);
    assert_int_equal(DRIVER(cuMemcpyHtoD_v2)(addr, bytes, sizeof bytes), 0);
    box.from = (struct side){.x_bytes = 2,
                             .y = 1,
                             .z = 1,
                             .memory = 2,
                             .device = addr,
                             .pitch = 8,
                             .height = 4};
    box.to = (struct side){.memory = 1, .host = got, .pitch = 4, .height = 2};
    assert_int_equal(DRIVER(cuMemcpy3D_v2)(&box), 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(got[0][0][i], 2);
        assert_int_equal(got[0][1][i], 1);
        assert_int_equal(got[1][0][i], 1);
        assert_int_equal(got[1][1][i], 3);
    }
    box.to.pitch = 3;
    assert_int_equal(DRIVER(cuMemcpy3D_v2)(&box), CUD_INVALID_VALUE);
    box.to.memory = 3;
    assert_int_equal(DRIVER(cuMemcpy3D_v2)(&box), CUD_NOT_SUPPORTED);
    assert_int_equal(DRIVER(cuMemFree_v2)(addr), 0);
}

static void a_box_between_devices_names_contexts_that_exist(void **state)
{
    char bytes[2][4] = {"abc", "def"};
    char got[2][4];
    struct box box = {.width = 4, .height = 2, .depth = 1};
    cud_context own;
    cud_addr addr;

    (void)state;
    assert_int_equal(DRIVER(cuCtxGetCurrent)(&own), 0);
    assert_int_equal(DRIVER(cuMemAlloc_v2)(&addr, sizeof bytes), 0);
    assert_int_equal(DRIVER(cuMemcpyHtoD_v2)(addr, bytes, sizeof bytes), 0);
    box.from = (struct side){
        .memory = 2, .device = addr, .reserved = &own, .pitch = 4};
    box.to = (struct side){.memory = 1, .host = got, .pitch = 4};
    assert_int_equal(DRIVER(cuMemcpy3DPeer)(&box), CUD_INVALID_CONTEXT);
    box.from.reserved = own;
    assert_int_equal(DRIVER(cuMemcpy3DPeer)(&box), 0);
    assert_memory_equal(got, bytes, sizeof got);
    box.to.host = (void *)(uintptr_t)addr; /* not host memory */
    assert_int_equal(DRIVER(cuMemcpy3DPeer)(&box), CUD_INVALID_VALUE);
    assert_int_equal(DRIVER(cuMemFree_v2)(addr), 0);
}

static void a_copy_of_nothing_needs_no_memory(void **state)
{
    struct box box = {.width = 0, .height = 2, .depth = 1};
    cud_context own;
    cud_context other;
    cud_addr addr;

    (void)state;
    assert_int_equal(DRIVER(cuCtxGetCurrent)(&own), 0);
    assert_int_equal(DRIVER(cuDevicePrimaryCtxRetain)(&other, 1), 0);
    assert_int_equal(DRIVER(cuCtxPushCurrent_v2)(other), 0);
    assert_int_equal(DRIVER(cuMemAlloc_v2)(&addr, 64), 0);
    assert_int_equal(DRIVER(cuCtxPopCurrent_v2)(&other), 0);
    assert_int_equal(DRIVER(cuMemcpyPeer)(addr, other, 0, own, 0), 0);
    box.from = (struct side){.memory = 2, .reserved = own, .pitch = 8};
    box.to = (struct side){
        .memory = 2, .device = addr, .reserved = other, .pitch = 8};
    assert_int_equal(DRIVER(cuMemcpy3DPeer)(&box), 0);
    assert_int_equal(DRIVER(cuMemcpyPeer)(addr, other, 0, own, 1),
                     CUD_INVALID_VALUE);
    assert_int_equal(DRIVER(cuMemFree_v2)(addr), 0);
}

static void a_box_beyond_all_addresses_is_refused(void **state)
{
    struct box box = {.width = 8, .height = 3, .depth = 1};
    void *ptr = NULL;

    (void)state;
    assert_int_equal(DRIVER(cuMemHostAlloc)(&ptr, 8, 0), 0);
    box.from = (struct side){
        .memory = 2, .device = (uintptr_t)ptr, .pitch = (size_t)1 << 63};
    box.to = box.from;
    assert_int_equal(DRIVER(cuMemcpy3D_v2)(&box), CUD_INVALID_VALUE);
    assert_int_equal(DRIVER(cuMemFreeHost)(ptr), 0);
}

static void rectangles_are_filled_by_rows(void **state)
{
    char got[32];
    cud_addr addr;

    (void)state;
    assert_int_equal(DRIVER(cuMemAlloc_v2)(&addr, sizeof got), 0);
    assert_int_equal(DRIVER(cuMemsetD8_v2)(addr, 0, sizeof got), 0);
    assert_int_equal(DRIVER(cuMemsetD2D8_v2)(addr, 8, 7, 5, 3), 0);
    assert_int_equal(DRIVER(cuMemcpyDtoH_v2)(got, addr, sizeof got), 0);
    for (int i = 0; i < 32; i++)
        assert_int_equal(got[i], i % 8 < 5 && i / 8 < 3 ? 7 : 0);
    assert_int_equal(DRIVER(cuMemsetD2D8_v2)(addr, 4, 7, 5, 3),
                     CUD_INVALID_VALUE);
    assert_int_equal(DRIVER(cuMemFree_v2)(addr), 0);
}

/* ---- calls ------------------------------------------------------------------------- */

static void assert_means(const char *name, int release, const char *symbol)
{
    void *found = NULL;

    assert_int_equal(
        DRIVER(cuGetProcAddress_v2)(name, &found, release, 0, NULL), 0);
    assert_ptr_equal(found, fake_symbol(symbol));
}

static void a_name_means_what_it_did_in_the_program_s_release(void **state)
{
    const char *name = "cuStreamGetCaptureInfo";

    (void)state;
    assert_means(name, 10010, "cuStreamGetCaptureInfo");
    assert_means(name, 11030, "cuStreamGetCaptureInfo_v2");
    assert_means(name, 12030, "cuStreamGetCaptureInfo_v3");
    assert_means("cuStreamGetCaptureInfo_ptsz", 11030,
                 "cuStreamGetCaptureInfo_v2");
    assert_means("cuMemAdvise", 8000, "cuMemAdvise");
    assert_means("cuMemAdvise", 12020, "cuMemAdvise_v2");
    assert_means("cuGetProcAddress", 11030, "cuGetProcAddress");
    assert_means("cuGetProcAddress", 12000, "cuGetProcAddress_v2");
}

/* As the driver's own addresses mean host and device alike. */
static void locked_memory_of_the_host_may_stand_for_a_device_s(void **state)
{
    enum { BYTES = 64 };
    const cud_addr nobody_s = (uintptr_t)&state;
    char got[BYTES] = {0};
    void *ptr = NULL;
    cud_addr locked;
    cud_addr addr;

    (void)state;
    assert_int_equal(DRIVER(cuMemHostAlloc)(&ptr, BYTES, 0), 0);
    locked = (uintptr_t)ptr;
    assert_int_equal(DRIVER(cuMemAlloc_v2)(&addr, BYTES), 0);
    assert_int_equal(DRIVER(cuMemsetD8_v2)(locked, 3, BYTES), 0);
    assert_int_equal(((char *)ptr)[BYTES - 1], 3);
    assert_int_equal(DRIVER(cuMemcpyDtoD_v2)(addr, locked, BYTES), 0);
    assert_int_equal(DRIVER(cuMemsetD8_v2)(locked, 0, BYTES), 0);
    assert_int_equal(DRIVER(cuMemcpyDtoD_v2)(locked, addr, BYTES), 0);
    assert_int_equal(((char *)ptr)[BYTES - 1], 3);
    assert_int_equal(DRIVER(cuMemcpyDtoH_v2)(got, locked, BYTES), 0);
    assert_int_equal(got[BYTES - 1], 3);
    got[0] = 4;
    assert_int_equal(DRIVER(cuMemcpyHtoD_v2)(locked, got, BYTES), 0);
    assert_int_equal(((char *)ptr)[0], 4);
    assert_int_equal(fake()->broken(), 0);
    /* All of it, and none that is not locked. */
    assert_int_equal(DRIVER(cuMemsetD8_v2)(locked + 1, 0, BYTES),
                     CUD_INVALID_VALUE);
    assert_int_equal(DRIVER(cuMemcpyDtoH_v2)(got, nobody_s, 1),
                     CUD_INVALID_VALUE);
    assert_int_equal(DRIVER(cuMemFreeHost)(ptr), 0);
    assert_int_equal(DRIVER(cuMemFree_v2)(addr), 0);
}

/* A program's devices have addresses of their own; these share them. */
static void the_current_device_is_asked_first(void **state)
{
    enum { DEVICE = 9 };
    int number[2];
    cud_context own;
    cud_addr addr[2];
    cud_addr base;
    size_t bytes = 0;
    int device = 9;

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_ok(fake()->add("sim:64MiB,backing=none", 0, &number[i]));
        assert_int_equal(DRIVER(cuDevicePrimaryCtxRetain)(&own, number[i]), 0);
        assert_int_equal(DRIVER(cuCtxSetCurrent)(own), 0);
        assert_int_equal(DRIVER(cuMemAlloc_v2)(&addr[i], MIB(i + 1)), 0);
    }
    assert_int_equal(addr[0], addr[1]);
    assert_int_equal(DRIVER(cuMemGetAddressRange_v2)(&base, &bytes, addr[1]),
                     0);
    assert_int_equal(bytes, MIB(2));
    assert_int_equal(DRIVER(cuPointerGetAttribute)(&device, DEVICE, addr[1]),
                     0);
    assert_int_equal(device, number[1]);
    for (int i = 0; i < 2; i++)
        fake()->remove(number[i]);
}

static void an_address_of_nobody_s_has_no_attributes(void **state)
{
    enum { KIND = 2, POINTER = 3, SYNC = 6, DEVICE = 9, TYPES = 14, HW = 21 };
    int which[] = {KIND, POINTER, SYNC, DEVICE, TYPES, HW};
    int kind = 9;
    void *pointer = &kind;
    int sync[2] = {9, 9};
    int device = 9;
    int types[2] = {9, 9};
    int decompress[2] = {9, 9};
    void *out[] = {&kind, &pointer, &sync, &device, &types, &decompress};

    (void)state;
    assert_int_equal(
        DRIVER(cuPointerGetAttributes)(6, which, out, (uintptr_t)&kind), 0);
    assert_int_equal(kind, 0);
    assert_null(pointer);
    assert_int_equal(sync[0], 0);
    assert_int_equal(sync[1], 9); /* it is an int */
    assert_int_equal(types[0], 0);
    assert_int_equal(types[1], 9);
    assert_int_equal(decompress[0], 0);
    assert_int_equal(decompress[1], 9);
    assert_int_equal(device, -2);
    assert_int_equal(
        DRIVER(cuPointerGetAttribute)(&kind, KIND, (uintptr_t)&kind),
        CUD_INVALID_VALUE);
}

static void advice_is_about_managed_memory(void **state)
{
    const cud_location here = {.type = CUD_ON_DEVICE, .id = 0};
    cud_addr addr;

    (void)state;
    assert_int_equal(DRIVER(cuMemAllocManaged)(&addr, 4096, 1), 0);
    assert_int_equal(DRIVER(cuMemAdvise)(addr, 4096, 1, 0), 0);
    assert_int_equal(DRIVER(cuMemPrefetchAsync_v2)(addr, 4096, here, 0, NULL),
                     0);
    assert_int_equal(DRIVER(cuMemAdvise_v2)(addr, 4097, 1, here),
                     CUD_INVALID_VALUE);
    assert_int_equal(DRIVER(cuMemFree_v2)(addr), 0);
    assert_int_equal(DRIVER(cuMemPrefetchAsync)(addr, 4096, 0, NULL),
                     CUD_INVALID_VALUE);
}

static void a_thread_may_ask_whether_it_has_a_context(void **state)
{
    cud_device device = 9;
    cud_context own;

    (void)state;
    assert_int_equal(DRIVER(cuCtxGetDevice)(&device), 0);
    assert_int_equal(device, 0);
    assert_int_equal(DRIVER(cuCtxPopCurrent_v2)(&own), 0);
    assert_int_equal(DRIVER(cuCtxGetDevice)(&device), CUD_INVALID_CONTEXT);
    assert_int_equal(fake()->broken(), 0);
    assert_int_equal(DRIVER(cuCtxPushCurrent_v2)(own), 0);
}

/* ---- tables ------------------------------------------------------------------------ */

static const unsigned char interface_number[16] = {
    0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
    0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9};
static const unsigned char locals_number[16] = {
    0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11,
    0xa8, 0xc3, 0x68, 0xf3, 0x55, 0xd8, 0x95, 0x93};

typedef cud_result primary_fn(cud_context *, cud_device);
typedef cud_result put_fn(cud_context, void *, void *,
                          void (*)(cud_context, void *, void *));
typedef cud_result drop_fn(cud_context, void *);
typedef cud_result get_fn(void **, cud_context, void *);
typedef cud_result any_fn(void);

/* The function of a slot, as a pointer that the caller knows the kind of. */
static void *slot(const unsigned char number[16], int which)
{
    const void *table = NULL;

    assert_int_equal(DRIVER(cuGetExportTable)(&table, number), 0);
    return ((void *const *)table)[which];
}

#define SLOT(kind, number, which) (*(kind **)(void *[1]){slot(number, which)})

static void a_table_that_is_not_known_is_refused(void **state)
{
    static const unsigned char unknown[16] = {1, 2, 3};
    const void *table = &table;

    (void)state;
    assert_int_equal(DRIVER(cuGetExportTable)(&table, unknown), CUD_NOT_FOUND);
    assert_null(table);
    assert_int_equal(DRIVER(cuGetExportTable)(NULL, unknown),
                     CUD_INVALID_VALUE);
    assert_int_equal((uintptr_t)slot(interface_number, 0), 13 * sizeof(void *));
    assert_int_equal(SLOT(any_fn, interface_number, 12)(), CUD_NOT_SUPPORTED);
}

static void assert_active(int wanted)
{
    unsigned flags;
    int is_active = 9;

    assert_int_equal(DRIVER(cuDevicePrimaryCtxGetState)(1, &flags, &is_active),
                     0);
    assert_int_equal(is_active, wanted);
}

static void a_lent_context_is_in_use_once_it_is_current(void **state)
{
    primary_fn *lend = SLOT(primary_fn, interface_number, 2);
    cud_context lent = NULL;
    cud_context own = NULL;
    cud_addr addr;

    (void)state;
    assert_int_equal(DRIVER(cuCtxPushCurrent_v2)(NULL), 0);
    assert_int_equal(lend(&lent, 1), 0);
    assert_active(0);
    assert_int_equal(DRIVER(cuCtxSetCurrent)(lent), 0);
    assert_active(1);
    assert_int_equal(DRIVER(cuCtxSetCurrent)(lent), 0); /* still one use */
    assert_int_equal(DRIVER(cuDevicePrimaryCtxRelease_v2)(1), 0);
    assert_active(0);
    /* Besides the program itself. */
    assert_int_equal(lend(&lent, 1), 0);
    assert_int_equal(DRIVER(cuDevicePrimaryCtxRetain)(&own, 1), 0);
    assert_ptr_equal(own, lent);
    assert_int_equal(DRIVER(cuCtxSetCurrent)(lent), 0);
    assert_int_equal(DRIVER(cuDevicePrimaryCtxRelease_v2)(1), 0);
    assert_int_equal(DRIVER(cuMemAlloc_v2)(&addr, 512), 0);
    assert_int_equal(DRIVER(cuMemFree_v2)(addr), 0);
    assert_int_equal(DRIVER(cuDevicePrimaryCtxRelease_v2)(1), 0);
    assert_active(0);
    /* Two runtimes. */
    assert_int_equal(lend(&lent, 1), 0);
    assert_int_equal(lend(&lent, 1), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(DRIVER(cuCtxSetCurrent)(lent), 0);
    assert_int_equal(DRIVER(cuDevicePrimaryCtxRelease_v2)(1), 0);
    assert_active(1);
    assert_int_equal(DRIVER(cuDevicePrimaryCtxRelease_v2)(1), 0);
    assert_active(0);
    assert_int_equal(DRIVER(cuCtxPopCurrent_v2)(&own), 0);
    assert_int_equal(fake()->broken(), 0);
}

static int ended;
static cud_context ended_of;

static void end_of(cud_context context, void *key, void *value)
{
    ended += *(int *)key + *(int *)value;
    ended_of = context;
}

static void values_are_kept_with_a_context(void **state)
{
    put_fn *put = SLOT(put_fn, locals_number, 0);
    drop_fn *drop = SLOT(drop_fn, locals_number, 1);
    get_fn *get = SLOT(get_fn, locals_number, 2);
    int keys[2] = {1, 2};
    int values[2] = {10, 20};
    void *got = NULL;
    cud_context own;
    cud_context other;

    (void)state;
    assert_int_equal(DRIVER(cuCtxGetCurrent)(&own), 0);
    assert_int_equal(DRIVER(cuCtxCreate_v2)(&other, 0, 0), 0);
    assert_int_equal(put(NULL, &keys[0], &values[0], end_of), 0);
    assert_int_equal(put(other, &keys[1], &values[1], end_of), 0);
    assert_int_equal(get(&got, other, &keys[0]), 0);
    assert_ptr_equal(got, &values[0]);
    assert_int_equal(put(other, &keys[0], &values[1], end_of), 0);
    assert_int_equal(get(&got, NULL, &keys[0]), 0);
    assert_ptr_equal(got, &values[1]);
    assert_int_equal(get(&got, own, &keys[0]), CUD_INVALID_HANDLE);
    assert_int_equal(drop(other, &keys[0]), 0);
    assert_int_equal(get(&got, other, &keys[0]), CUD_INVALID_HANDLE);
    assert_int_equal(DRIVER(cuCtxDestroy_v2)(other), 0);
    assert_int_equal(ended, 22);
    assert_ptr_equal(ended_of, other);
    assert_int_equal(get(&got, other, &keys[1]), CUD_INVALID_HANDLE);
    /* Nothing is kept with no context. */
    assert_int_equal(DRIVER(cuCtxPushCurrent_v2)(NULL), 0);
    assert_int_equal(put(NULL, &keys[0], &values[0], NULL),
                     CUD_INVALID_CONTEXT);
    assert_int_equal(DRIVER(cuCtxPopCurrent_v2)(&other), 0);
}

enum { PUTS = 300000 };

static void values_go_with_a_device(void **state)
{
    put_fn *put = SLOT(put_fn, locals_number, 0);
    get_fn *get = SLOT(get_fn, locals_number, 2);
    cud_context other = NULL;
    void *found = NULL;
    int key = 1;
    int value = 10;
    int number;

    (void)state;
    assert_int_equal(DRIVER(cuDevicePrimaryCtxRetain)(&other, 1), 0);
    ended = 0;
    assert_int_equal(put(other, &key, &value, end_of), 0);
    fake()->remove(1);
    assert_int_equal(ended, 11);
    assert_int_equal(get(&found, other, &key), CUD_INVALID_HANDLE);
    assert_ok(fake()->add("sim:64MiB,count=2", 1, &number));
}

static void *puts_and_drops(void *context)
{
    put_fn *put = SLOT(put_fn, locals_number, 0);
    drop_fn *drop = SLOT(drop_fn, locals_number, 1);
    intptr_t wrong = 0;
    int key; /* of this thread */

    for (int i = 0; i < PUTS; i++) {
        wrong += put(context, &key, &key, NULL) != 0;
        wrong += drop(context, &key) != 0;
    }
    return (void *)wrong;
}

static void threads_keep_values_at_once(void **state)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    cud_context own;
    void *wrong;

    (void)state;
    assert_int_equal(DRIVER(cuCtxGetCurrent)(&own), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, puts_and_drops, own),
                         0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(variables_are_as_the_code_says),
        TEST(each_device_has_variables_of_its_own),
        TEST(managed_variables_are_the_host_s),
        TEST(a_device_that_goes_takes_what_is_on_it),
        TEST(code_that_is_not_read_has_what_was_registered),
        TEST(boxes_are_copied_by_rows),
        TEST(a_reset_takes_what_belongs_to_the_context),
        TEST(a_box_between_devices_names_contexts_that_exist),
        TEST(a_copy_of_nothing_needs_no_memory),
        TEST(a_box_beyond_all_addresses_is_refused),
        TEST(rectangles_are_filled_by_rows),
        TEST(a_name_means_what_it_did_in_the_program_s_release),
        TEST(locked_memory_of_the_host_may_stand_for_a_device_s),
        TEST(the_current_device_is_asked_first),
        TEST(an_address_of_nobody_s_has_no_attributes),
        TEST(advice_is_about_managed_memory),
        TEST(a_thread_may_ask_whether_it_has_a_context),
        TEST(a_table_that_is_not_known_is_refused),
        TEST(a_lent_context_is_in_use_once_it_is_current),
        TEST(values_are_kept_with_a_context),
        TEST(values_go_with_a_device),
        TEST(threads_keep_values_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

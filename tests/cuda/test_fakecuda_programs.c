/* test_fakecuda_programs.c - what a program that has NVIDIA's runtime within it
 * finds in the stand-in: the variables of its code. */
#include "cuda_rig.h"

#include <elf.h>

static int set_up(void **state)
{
    static cud_context own;
    int number;

    (void)state;
    assert_int_equal(DRIVER(cuInit)(0), 0);
    assert_ok(fake()->add("sim:64MiB,count=2", 0, &number));
    assert_ok(fake()->add("sim:64MiB,count=2", 1, &number));
    assert_int_equal(DRIVER(cuDevicePrimaryCtxRetain)(&own, 0), 0);
    assert_int_equal(DRIVER(cuCtxSetCurrent)(own), 0);
    fake()->forget();
    return 0;
}

static int tear_down(void **state)
{
    cud_context popped;

    (void)state;
    DRIVER(cuCtxPopCurrent_v2)(&popped);
    fake()->remove(0);
    fake()->remove(1);
    fake()->forget();
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
    const int *got = NULL;
    cud_addr addr = 0;

    (void)state;
    assert_int_equal(DRIVER(cuLibraryGetManaged)(&addr, NULL, library, "three"),
                     0);
    got = (const int *)(uintptr_t)addr;
    assert_memory_equal(got, code.values + 1, 3 * sizeof *got);
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(variables_are_as_the_code_says),
        TEST(each_device_has_variables_of_its_own),
        TEST(managed_variables_are_the_host_s),
        TEST(code_that_is_not_read_has_what_was_registered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

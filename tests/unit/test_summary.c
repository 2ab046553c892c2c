/* test_summary.c - statistics as PyTorch's table, whole, abbreviated and cut. */
#include "support/rig.h"

#define SPEC "sim:80GiB,backing=none"

static char *summary_text(struct rig *rig, int abbreviated)
{
    size_t needed = 0;
    size_t again = 0;
    char *text;

    assert_ok(larder_memory_summary(rig->a, abbreviated, NULL, 0, &needed));
    text = malloc(needed + 1);
    assert_non_null(text);
    assert_ok(
        larder_memory_summary(rig->a, abbreviated, text, needed + 1, &again));
    assert_int_equal(again, needed);
    assert_int_equal(strlen(text), needed);
    return text;
}

/* The small scenario: 512 bytes and 30 MiB live, 3 MiB released. */
static struct rig summary_rig(void)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr p;

    rig_alloc(&rig, 512);
    p = rig_alloc(&rig, MIB(3));
    rig_alloc(&rig, MIB(30));
    rig_free(&rig, p);
    return rig;
}

/* The golden tables: one line each, as wide as a source line may be. */
/* clang-format off */
#define ROW(inner) "| " inner " |\n"
#define RULE_DOUBLE                                                            \
    "|=====================================================================" \
    "======|\n"
#define RULE                                                                   \
    "|---------------------------------------------------------------------" \
    "------|\n"

static const char summary_golden[] =
RULE_DOUBLE
ROW("                  Larder CUDA memory summary, device ID 0                ")
RULE
ROW("           CUDA OOMs: 0            |        cudaMalloc retries: 0        ")
RULE_DOUBLE
ROW("       Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed ")
RULE
ROW("Allocated memory      |  30720 KiB |  33792 KiB |  33792 KiB |   3072 KiB")
ROW("      from large pool |  30720 KiB |  33792 KiB |  33792 KiB |   3072 KiB")
ROW("      from small pool |      0 KiB |      0 KiB |      0 KiB |      0 KiB")
RULE
ROW("Active memory         |  30720 KiB |  33792 KiB |  33792 KiB |   3072 KiB")
ROW("      from large pool |  30720 KiB |  33792 KiB |  33792 KiB |   3072 KiB")
ROW("      from small pool |      0 KiB |      0 KiB |      0 KiB |      0 KiB")
RULE
ROW("Requested memory      |  30720 KiB |  33792 KiB |  33792 KiB |   3072 KiB")
ROW("      from large pool |  30720 KiB |  33792 KiB |  33792 KiB |   3072 KiB")
ROW("      from small pool |      0 KiB |      0 KiB |      0 KiB |      0 KiB")
RULE
ROW("GPU reserved memory   |  53248 KiB |  53248 KiB |  53248 KiB |      0 B  ")
ROW("      from large pool |  51200 KiB |  51200 KiB |  51200 KiB |      0 B  ")
ROW("      from small pool |   2048 KiB |   2048 KiB |   2048 KiB |      0 B  ")
RULE
ROW("Non-releasable memory |   2047 KiB |  19455 KiB |  19455 KiB |  17408 KiB")
ROW("      from large pool |      0 KiB |  17408 KiB |  17408 KiB |  17408 KiB")
ROW("      from small pool |   2047 KiB |   2047 KiB |   2047 KiB |      0 KiB")
RULE
ROW("Allocations           |       2    |       3    |       3    |       1   ")
ROW("      from large pool |       1    |       2    |       2    |       1   ")
ROW("      from small pool |       1    |       1    |       1    |       0   ")
RULE
ROW("Active allocs         |       2    |       3    |       3    |       1   ")
ROW("      from large pool |       1    |       2    |       2    |       1   ")
ROW("      from small pool |       1    |       1    |       1    |       0   ")
RULE
ROW("GPU reserved segments |       3    |       3    |       3    |       0   ")
ROW("      from large pool |       2    |       2    |       2    |       0   ")
ROW("      from small pool |       1    |       1    |       1    |       0   ")
RULE
ROW("Non-releasable allocs |       1    |       2    |       2    |       1   ")
ROW("      from large pool |       0    |       1    |       1    |       1   ")
ROW("      from small pool |       1    |       1    |       1    |       0   ")
RULE
ROW("Oversize allocations  |       0    |       0    |       0    |       0   ")
RULE
ROW("Oversize GPU segments |       0    |       0    |       0    |       0   ")
RULE_DOUBLE;

static const char summary_golden_abbreviated[] =
RULE_DOUBLE
ROW("                  Larder CUDA memory summary, device ID 0                ")
RULE
ROW("           CUDA OOMs: 0            |        cudaMalloc retries: 0        ")
RULE_DOUBLE
ROW("       Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed ")
RULE
ROW("Allocated memory      |  30720 KiB |  33792 KiB |  33792 KiB |   3072 KiB")
RULE
ROW("Active memory         |  30720 KiB |  33792 KiB |  33792 KiB |   3072 KiB")
RULE
ROW("Requested memory      |  30720 KiB |  33792 KiB |  33792 KiB |   3072 KiB")
RULE
ROW("GPU reserved memory   |  53248 KiB |  53248 KiB |  53248 KiB |      0 B  ")
RULE
ROW("Non-releasable memory |   2047 KiB |  19455 KiB |  19455 KiB |  17408 KiB")
RULE
ROW("Allocations           |       2    |       3    |       3    |       1   ")
RULE
ROW("Active allocs         |       2    |       3    |       3    |       1   ")
RULE
ROW("GPU reserved segments |       3    |       3    |       3    |       0   ")
RULE
ROW("Non-releasable allocs |       1    |       2    |       2    |       1   ")
RULE
ROW("Oversize allocations  |       0    |       0    |       0    |       0   ")
RULE
ROW("Oversize GPU segments |       0    |       0    |       0    |       0   ")
RULE_DOUBLE;
/* clang-format on */

static void the_summary_is_pytorch_s_table(void **state)
{
    struct rig rig = summary_rig();
    char *text = summary_text(&rig, 0);

    (void)state;
    assert_string_equal(text, summary_golden);
    free(text);
    rig_down(&rig);
}

static void the_abbreviated_summary_leaves_out_the_pools(void **state)
{
    struct rig rig = summary_rig();
    char *text = summary_text(&rig, 1);

    (void)state;
    assert_string_equal(text, summary_golden_abbreviated);
    free(text);
    rig_down(&rig);
}

static void the_summary_names_the_device_and_counts_failures(void **state)
{
    struct rig rig = {0};
    larder_options opt;
    larder_addr p;
    char *text;

    (void)state;
    assert_ok(
        larder_device_open("sim:64MiB,backing=none,count=4", 3, &rig.dev));
    larder_options_init(&opt);
    opt.policy = LARDER_POLICY_PYTORCH; /* its retries are counted */
    assert_ok(larder_create(rig.dev, &opt, &rig.a));
    for (int i = 0; i < 12; i++)
        assert_result(LARDER_ERR_OUT_OF_MEMORY,
                      larder_alloc(rig.a, MIB(65), 0, &p));
    text = summary_text(&rig, 1);
    assert_non_null(strstr(text, " device ID 3                 |\n"));
    assert_non_null(strstr(text, "CUDA OOMs: 12           |        "
                                 "cudaMalloc retries: 12        |\n"));
    free(text);
    rig_down(&rig);
}

/* A buffer that is too short gets the beginning, with a NUL, and no byte behind
 * its end is written. */
static void a_summary_that_does_not_fit_is_cut(void **state)
{
    struct rig rig = summary_rig();
    char *whole = summary_text(&rig, 0);
    size_t length = strlen(whole);
    char *part = malloc(length + 8);

    (void)state;
    assert_non_null(part);
    for (size_t capacity = 0; capacity <= length + 1; capacity += 13) {
        size_t needed = 0;

        memset(part, '#', length + 8);
        assert_ok(larder_memory_summary(rig.a, 0, part, capacity, &needed));
        assert_int_equal(needed, length);
        if (capacity > 0) {
            size_t kept = capacity - 1 < length ? capacity - 1 : length;

            assert_memory_equal(part, whole, kept);
            assert_int_equal(part[kept], '\0');
        }
        assert_int_equal(part[capacity], '#');
    }
    assert_ok(larder_memory_summary(rig.a, 0, part, 10, NULL));
    free(part);
    free(whole);
    rig_down(&rig);
}

static void assert_row(struct rig *rig, const char *row)
{
    char *text = summary_text(rig, 0);

    if (strstr(text, row) == NULL)
        fail_msg("'%s' is not in\n%s", row, text);
    free(text);
}

static void bytes_change_their_unit_at_768_of_the_smaller(void **state)
{
    struct rig rig = rig_up("sim:2TiB,backing=none", "");
    larder_addr p = rig_alloc(&rig, 768 * 1024 - 512);

    (void)state;
    assert_row(&rig, "| Allocated memory      | 785920 B   | 785920 B   |");
    rig_free(&rig, p);
    p = rig_alloc(&rig, 768 * 1024);
    assert_row(&rig, "| Allocated memory      |    768 KiB |    768 KiB |");
    rig_free(&rig, p);
    p = rig_alloc(&rig, MIB(766));
    assert_row(&rig, "| Allocated memory      | 784384 KiB | 784384 KiB |");
    rig_free(&rig, p);
    assert_ok(larder_empty_cache(rig.a));
    p = rig_alloc(&rig, MIB(768));
    assert_row(&rig, "| Allocated memory      |    768 MiB |    768 MiB |");
    rig_free(&rig, p);
    assert_ok(larder_empty_cache(rig.a));
    p = rig_alloc(&rig, GIB(768) - MIB(2));
    assert_row(&rig, "| Allocated memory      | 786430 MiB | 786430 MiB |");
    rig_free(&rig, p);
    assert_ok(larder_empty_cache(rig.a));
    p = rig_alloc(&rig, GIB(768));
    assert_row(&rig, "| Allocated memory      |    768 GiB |    768 GiB |");
    rig_free(&rig, p);
    rig_down(&rig);
}

static void counts_change_their_unit_at_750_of_the_smaller(void **state)
{
    struct rig rig = rig_up(SPEC, "");

    (void)state;
    for (int i = 0; i < 749999; i++)
        rig_free(&rig, rig_alloc(&rig, 512));
    assert_row(&rig, "| Allocations           |       0    |       1    |  "
                     "749999    |  749999    |\n");
    rig_alloc(&rig, 512);
    assert_row(&rig, "| Allocations           |       1    |       1    |  "
                     "   750 K  |  749999    |\n");
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_summary_is_pytorch_s_table),
        cmocka_unit_test(the_abbreviated_summary_leaves_out_the_pools),
        cmocka_unit_test(the_summary_names_the_device_and_counts_failures),
        cmocka_unit_test(a_summary_that_does_not_fit_is_cut),
        cmocka_unit_test(bytes_change_their_unit_at_768_of_the_smaller),
        cmocka_unit_test(counts_change_their_unit_at_750_of_the_smaller),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

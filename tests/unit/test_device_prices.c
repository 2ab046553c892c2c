/* test_device_prices.c - price tables in files. */
#include "support/rig.h"

#include <unistd.h>

/* A file with this text, for one call; `path` is its name. */
static char path[] = "/tmp/larder-prices-XXXXXX";

static void file_write(const char *text, size_t length)
{
    int fd;

    strcpy(path, "/tmp/larder-prices-XXXXXX");
    fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, length), (ssize_t)length);
    close(fd);
}

static larder_result read_text(const char *text, size_t length,
                               larder_prices *out)
{
    larder_result r;

    file_write(text, length);
    larder_prices_init(out);
    r = larder_prices_read(path, out);
    unlink(path);
    return r;
}

static void assert_same_prices(const larder_prices *a, const larder_prices *b)
{
#define X(name, ns) assert_int_equal(a->name, b->name);
    LARDER_PRICE_MAP(X)
#undef X
}

/* The line is rejected, and the error says where and why. */
static void assert_bad_at(const char *text, size_t length, int line,
                          const char *words)
{
    char where[64];
    larder_prices p, bundled;

    larder_prices_init(&bundled);
    assert_result(LARDER_ERR_INVALID, read_text(text, length, &p));
    snprintf(where, sizeof where, "%s:%d: ", path, line);
    assert_words(where);
    assert_words(words);
    assert_same_prices(&p, &bundled);
}

#define assert_bad(text, line, words)                                          \
    assert_bad_at("" text, sizeof(text) - 1, line, words)

static void the_bundled_file_is_the_bundled_table(void **state)
{
    larder_prices bundled, p = {.size = sizeof p};

    (void)state;
    larder_prices_init(&bundled);
    assert_ok(
        larder_prices_read(LARDER_SOURCE_DIR "/data/costs/a100.costs", &p));
    assert_same_prices(&p, &bundled);
}

/* Without this the test above could not fail. */
static void the_bundled_file_names_every_price(void **state)
{
    FILE *f = fopen(LARDER_SOURCE_DIR "/data/costs/a100.costs", "r");
    char line[256];
    int count = 0;

    (void)state;
    assert_non_null(f);
    while (fgets(line, sizeof line, f) != NULL)
        count += line[0] >= 'a' && line[0] <= 'z';
    fclose(f);
#define X(name, ns) count--;
    LARDER_PRICE_MAP(X)
#undef X
    assert_int_equal(count, 0);
}

static void prices_left_out_of_a_file_keep_the_bundled_value(void **state)
{
    static const char text[] = "\n# nothing\n\t map\t 17 # for each\r\n"
                               "   wait 0\nunmap 1000000000000000";
    larder_prices p, want;

    (void)state;
    assert_ok(read_text(text, strlen(text), &p));
    larder_prices_init(&want);
    want.map = 17;
    want.wait = 0;
    want.unmap = UINT64_C(1000000000000000);
    assert_same_prices(&p, &want);
    assert_ok(read_text("", 0, &p));
}

static void every_bad_line_is_named(void **state)
{
    (void)state;
    assert_bad("map 1\nmop 2\n", 2, "'mop' is not the name of a price");
    assert_bad("map 1\nmop 2\n", 2, "mem_alloc, mem_alloc_per_mib, mem_free");
    assert_bad("ma 1", 1, "'ma'");
    assert_bad("map", 1, "'' is not a price");
    assert_bad("map # 12", 1, "'' is not a price");
    assert_bad("map 1.5", 1, "'1.5' is not a price");
    assert_bad("map -1", 1, "'-1'");
    assert_bad("map 1000000000000001", 1, "at most 10^15");
    assert_bad("map 99999999999999999999999999", 1, "at most 10^15");
    assert_bad("map 1 2", 1, "'2' follows the price");
    assert_bad("map 1\n\nmap 2", 3, "given before, on line 1");
    assert_bad("map \0001", 1, "is not a price");
}

static void a_file_that_cannot_be_read_is_named(void **state)
{
    larder_prices p;

    (void)state;
    larder_prices_init(&p);
    assert_refused(LARDER_ERR_SYSTEM,
                   larder_prices_read("/nonexistent/prices", &p),
                   "/nonexistent/prices: cannot be read: No such file");
    assert_refused(LARDER_ERR_SYSTEM, larder_prices_read("/tmp", &p),
                   "/tmp: cannot be read: Is a directory");
    assert_refused(LARDER_ERR_INVALID, larder_prices_read("/dev/zero", &p),
                   "/dev/zero: longer than a price table");
    assert_result(LARDER_ERR_INVALID, larder_prices_read(NULL, &p));
    p.size = 0;
    assert_result(LARDER_ERR_INVALID, larder_prices_read("/dev/null", &p));
}

static void a_device_is_opened_with_the_prices_of_a_file(void **state)
{
    larder_device_counters n = {.size = sizeof n};
    larder_device *dev;
    uint64_t event;
    char spec[128];

    (void)state;
    file_write("event_record 7\n", 15);
    snprintf(spec, sizeof spec, "sim:1GiB,backing=none,costs=%s", path);
    assert_ok(larder_device_open(spec, 0, &dev));
    assert_ok(larder_device_event_create(dev, &event));
    assert_ok(larder_device_event_record(dev, event, 0));
    assert_ok(larder_device_get_counters(dev, &n));
    assert_int_equal(n.time_ns, 7);
    assert_ok(larder_device_close(dev));
    unlink(path);
    assert_refused(LARDER_ERR_SYSTEM, larder_device_open(spec, 0, &dev), path);
}

static void a_shorter_struct_gets_what_it_has_room_for(void **state)
{
    larder_prices p;

    (void)state;
    memset(&p, 0xff, sizeof p);
    larder_prices_init_sized(&p, offsetof(larder_prices, mem_free));
    assert_int_equal(p.mem_alloc, 60000);
    assert_int_equal(p.mem_alloc_per_mib, 100);
    assert_int_equal(p.mem_free, UINT64_MAX);
    assert_ok(larder_prices_read("/dev/null", &p));
    assert_int_equal(p.mem_free, UINT64_MAX);
    larder_prices_init_sized(NULL, sizeof p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bundled_file_is_the_bundled_table),
        cmocka_unit_test(the_bundled_file_names_every_price),
        cmocka_unit_test(prices_left_out_of_a_file_keep_the_bundled_value),
        cmocka_unit_test(every_bad_line_is_named),
        cmocka_unit_test(a_file_that_cannot_be_read_is_named),
        cmocka_unit_test(a_device_is_opened_with_the_prices_of_a_file),
        cmocka_unit_test(a_shorter_struct_gets_what_it_has_room_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

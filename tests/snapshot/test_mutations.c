/* test_mutations.c - our own snapshots, mutated and truncated: each is read or
 * refused, within the memory and the time allowed for a file of its size.
 *
 *   test_mutations [COUNT [SEED]]
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <glob.h>
#include <time.h>

#include <cmocka.h>

#include "snapshot/host_peak.h"
#include "snapshot/snapshot.h"
#include "support/snapshot_bytes.h"
#include "support/random.h"

enum { FILES_MAX = 64, BYTES_MAX = 1 << 17 };

static struct {
    unsigned char *bytes;
    size_t count;
} files[FILES_MAX];
static size_t file_count;
static unsigned long file_goal = 5000;
static uint64_t seed = 1;

static uint64_t below(uint64_t end)
{
    return random_next(&seed) % end;
}

static double now_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- changes -------------------------------------------------------------- */

/* Bytes that have a meaning in one of the formats. */
static unsigned char telling(void)
{
    static const unsigned char bytes[] =
        "(.012FIJKLMNVXabcdeghijlopqrstu]})CBG{}[],:\"\\-0e"
        "\x80\x81\x85\x86\x87\x88\x89\x8a\x8b\x8c\x8d\x8e\x8f\x90\x91\x92\x93"
        "\x94\x95\x96\x00\x01\x7f\xff";

    return below(3) == 0 ? (unsigned char)below(256)
                         : bytes[below(sizeof bytes - 1)];
}

static size_t cut(unsigned char *p, size_t n)
{
    size_t at = below(n), length = 1 + below(n - at < 40 ? n - at : 40);

    memmove(p + at, p + at + length, n - at - length);
    return n - length;
}

static size_t repeat(unsigned char *p, size_t n)
{
    size_t from = below(n), length = 1 + below(n - from < 200 ? n - from : 200);
    size_t at = below(n + 1);
    unsigned char piece[256];

    if (n + length > BYTES_MAX)
        return n;
    memcpy(piece, p + from, length);
    memmove(p + at + length, p + at, n - at);
    memcpy(p + at, piece, length);
    return n + length;
}

static size_t insert(unsigned char *p, size_t n)
{
    size_t at = below(n + 1);

    if (n == BYTES_MAX)
        return n;
    memmove(p + at + 1, p + at, n - at);
    p[at] = telling();
    return n + 1;
}

static size_t change(unsigned char *p, size_t n)
{
    if (n == 0)
        return 0;
    switch (below(8)) {
    case 0:
        return cut(p, n);
    case 1:
        return repeat(p, n);
    case 2:
        return insert(p, n);
    case 3:
        p[below(n)] ^= (unsigned char)(1 << below(8));
        return n;
    case 4:
        return below(4) == 0 ? below(n) : n;
    default:
        p[below(n)] = telling();
        return n;
    }
}

/* ---- checking the result -------------------------------------------------- */

/* Every number refers to something. */
static void check_numbers(const struct snapshot *s)
{
    size_t count;

    for (size_t i = 0; i < s->event_count; i++) {
        const struct snapshot_event *e = &s->events[i];

        assert_true(e->stack < s->stack_count);
        assert_true(e->stream < s->stream_count);
        assert_true(e->pool < s->pool_count);
        assert_true(e->user_metadata < s->string_count);
        assert_true(e->compile_context < s->string_count);
        assert_true(e->device < s->device_count);
        assert_true(e->action < SNAPSHOT_OTHER + s->other_action_count);
    }
    for (size_t i = 0; i < s->segment_count; i++) {
        const struct snapshot_segment *g = &s->segments[i];

        assert_true(g->block + g->block_count <= s->block_count);
        assert_true(g->stack < s->stack_count);
        assert_true(g->stream < s->stream_count);
        assert_true(g->pool < s->pool_count);
    }
    for (size_t i = 0; i < s->block_count; i++) {
        const struct snapshot_block *b = &s->blocks[i];

        assert_true(b->stack < s->stack_count);
        assert_true(b->state < SNAPSHOT_STATES);
        assert_true((size_t)b->history + b->history_count <= s->history_count);
    }
    for (uint32_t i = 0; i < s->stack_count; i++) {
        const uint32_t *frames = snapshot_stack(s, i, &count);

        for (size_t k = 0; k < count; k++)
            assert_true(frames[k] < s->frame_count);
    }
    for (size_t i = 0; i < s->frame_count; i++) {
        assert_true(s->frames[i].filename < s->string_count);
        assert_true(s->frames[i].name < s->string_count);
    }
    for (uint32_t i = 0; i < s->string_count; i++)
        assert_int_equal(snapshot_string(s, i)[snapshot_string_length(s, i)],
                         0);
}

static bool read_one(const unsigned char *bytes, size_t count)
{
    static struct tool_error error;
    uint64_t limit = 4 * (uint64_t)count + ((uint64_t)64 << 20);
    uint64_t peak = 0;
    struct snapshot_read_options options = {.peak_memory_bytes = &peak};
    struct snapshot *s;
    double begin = now_seconds();
    bool fine;

    host_peak_reset();
    fine = snapshot_read_bytes(bytes, count, &options, &s, &error);
    assert_true(host_peak_get() <= limit);
    assert_true(peak <= limit);
    assert_true(now_seconds() - begin < 5);
    if (fine)
        check_numbers(s);
    else
        assert_non_null(strstr(error.text, ": byte "));
    snapshot_free(s);
    return fine;
}

/* ---- tests ---------------------------------------------------------------- */

static void every_cut_file_is_an_error(void **state)
{
    (void)state;
    for (size_t f = 0; f < file_count; f++) {
        assert_true(read_one(files[f].bytes, files[f].count));
        for (size_t n = 0; n < files[f].count; n += 1 + files[f].count / 300)
            assert_false(read_one(files[f].bytes, n));
    }
}

static void changed_files_are_read_or_refused(void **state)
{
    static unsigned char bytes[BYTES_MAX];
    unsigned long fine = 0;

    (void)state;
    for (unsigned long i = 0; i < file_goal; i++) {
        size_t f = below(file_count);
        size_t count = files[f].count;

        memcpy(bytes, files[f].bytes, count);
        for (uint64_t n = 1 + below(6); n > 0; n--)
            count = change(bytes, count);
        fine += read_one(bytes, count);
    }
    print_message("%lu files, %lu of them read\n", file_goal, fine);
    assert_true(fine < file_goal);
}

static void load(const char *pattern)
{
    glob_t g;

    if (glob(pattern, 0, NULL, &g) != 0)
        return;
    for (size_t i = 0; i < g.gl_pathc && file_count < FILES_MAX; i++) {
        files[file_count].bytes =
            snapshot_load_file(g.gl_pathv[i], &files[file_count].count);
        file_count++;
    }
    globfree(&g);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cut_file_is_an_error),
        cmocka_unit_test(changed_files_are_read_or_refused),
    };
    int failed;

    if (argc > 1)
        file_goal = strtoul(argv[1], NULL, 10);
    if (argc > 2)
        seed = strtoull(argv[2], NULL, 10) | 1;
    load("tests/data/snapshots/*");
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (size_t i = 0; i < file_count; i++)
        free(files[i].bytes);
    return failed;
}

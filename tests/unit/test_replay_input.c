/* test_replay_input.c - snapshots, traces and what is neither are told apart by
 * their first bytes and their names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "replay/replay.h"
#include "support/count.h"
#include "support/put_file.h"
#include "trace/trace_source.h"

static char folder[] = "/tmp/larder_input_XXXXXX";
static char path[sizeof folder + 32];

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

/* Open a file of this name and these bytes. */
static bool open_as(const char *name, const void *bytes, size_t count,
                    bool *is_snapshot, struct tool_error *error)
{
    struct replay_input in;
    bool ok;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    put_file(path, bytes, count);
    ok = replay_input_open(path, &in, error);
    if (ok) {
        *is_snapshot = in.is_snapshot;
        trace_source_close(in.source);
    }
    unlink(path);
    return ok;
}

static void bytes_are_taken(const char *name, const void *bytes, size_t count,
                            bool as_snapshot)
{
    struct tool_error error;
    bool is_snapshot = !as_snapshot;

    if (!open_as(name, bytes, count, &is_snapshot, &error))
        fail_msg("%s: %s", name, error.text);
    if (is_snapshot != as_snapshot)
        fail_msg("%s is taken for a %s", name,
                 is_snapshot ? "snapshot" : "trace");
}

static void is_taken(const char *name, const char *text, bool as_snapshot)
{
    bytes_are_taken(name, text, strlen(text), as_snapshot);
}

static void is_refused(const char *name, const void *bytes, size_t count,
                       const char *words)
{
    struct tool_error error = {""};
    bool is_snapshot;
    char wanted[512];

    if (open_as(name, bytes, count, &is_snapshot, &error))
        fail_msg("%s is taken for a %s", name,
                 is_snapshot ? "snapshot" : "trace");
    snprintf(wanted, sizeof wanted, "%s: this is %s", path, words);
    assert_string_equal(error.text, wanted);
}

#define TEXT_THAT_BEGINS(words)                                                \
    "text that begins with '" words "'; expected a memory snapshot (pickle "   \
    "or JSON) or lines of a trace, as 'a 0 512'"

static void snapshots_are_known_by_their_first_byte(void **state)
{
    static const char *const begins[] = {"\x80\x02", "{", "}",      "(",
                                         "]",        "[", " \n\t{", "\n["};

    (void)state;
    for (size_t i = 0; i < COUNT(begins); i++) {
        is_taken("t.txt", begins[i], true);
        is_taken("t.trace", begins[i], true);
    }
}

/* What is in it is for the reader to say. */
static void snapshots_are_known_by_their_name(void **state)
{
    (void)state;
    is_taken("t.pickle", "a 0 512\n", true);
    is_taken("t.json", "a 0 512\n", true);
    is_taken("t.json", "", true);
    is_taken("t.pickles", "a 0 512\n", false);
    is_taken("tjson", "a 0 512\n", false);
}

static void traces_begin_with_an_operation(void **state)
{
    static const char *const begins[] = {
        "a 0 512\n", "f 0\n",    "r 0 1\n", "c 1\n", "e\n",
        "m hello\n", "# text\n", "\n",      " x",    "\tzz",
        "",          "\n\nzz",   "z\n"};

    (void)state;
    for (size_t i = 0; i < COUNT(begins); i++)
        is_taken("t.txt", begins[i], false);
}

/* Its reader names the line. */
static void a_file_named_as_a_trace_is_read_as_one(void **state)
{
    (void)state;
    is_taken("t.trace", "hello world\n", false);
    is_taken("t.trace.zst", "hello world\n", false);
    is_refused("t.zst", "hello\n", 6, TEXT_THAT_BEGINS("hello"));
    is_refused("trace", "hello\n", 6, TEXT_THAT_BEGINS("hello"));
}

#define X10 "xxxxxxxxxx"

static void other_text_is_shown_cut_short(void **state)
{
    (void)state;
    is_refused("t.txt", "zz", 2, TEXT_THAT_BEGINS("zz"));
    is_refused("t.txt", "bcd\nefg\n", 8, TEXT_THAT_BEGINS("bcd"));
    is_refused("t.txt", "b ~\x7f!\n", 6, TEXT_THAT_BEGINS("b ~"));
    is_refused("t.txt", "b\tc\n", 4, TEXT_THAT_BEGINS("b"));
    is_refused("t.txt", X10 X10 X10 X10, 40, TEXT_THAT_BEGINS(X10 X10 X10 X10));
    is_refused("t.txt", X10 X10 X10 X10 "y", 41,
               TEXT_THAT_BEGINS(X10 X10 X10 X10));
    /* A line that is longer than what is looked at. */
    is_refused("t.txt", X10 X10 X10 X10 X10 X10 X10, 70,
               TEXT_THAT_BEGINS(X10 X10 X10 X10));
}

/* Bytes that no text has: the reader says what it finds. */
static void binary_data_is_left_to_the_reader(void **state)
{
    (void)state;
    is_taken("t.txt", "zz\x01\n", false);
    is_taken("t.txt", "zz\x1f\n", false);
    is_taken("t.txt", "\x7fz\x01", false);
    is_refused("t.txt", "zz\n\x01", 4, TEXT_THAT_BEGINS("zz"));
}

static void files_of_other_programs_are_named(void **state)
{
    static const struct {
        const char *bytes;
        size_t count;
        const char *words;
    } files[] = {
        {"\x1f\x8b", 2,
         "compressed with gzip; expected it unpacked, or compressed with zstd"},
        {"BZh9", 4,
         "compressed with bzip2; expected it unpacked, or compressed with "
         "zstd"},
        {"PK\x03\x04", 4,
         "a zip archive, as torch.save() writes; expected what "
         "torch.cuda.memory._dump_snapshot() wrote"},
        {"\x80\x02\x8a\nl\xfc\x9c\x46\xf9", 9,
         "a file of torch.save(); expected what "
         "torch.cuda.memory._dump_snapshot() wrote"},
        {"\x20\x01\x00\x00\x00\x00\x00\x00{\"", 10,
         "a file of safetensors; expected a memory snapshot or a trace"},
        {"<html>", 6, "a web page; expected a memory snapshot or a trace"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(files); i++) {
        is_refused("t.pickle", files[i].bytes, files[i].count, files[i].words);
        is_refused("t.trace", files[i].bytes, files[i].count, files[i].words);
    }
    /* One byte less is none of them. */
    is_taken("t.trace", "\x1f", false);
    is_taken("t.pickle", "\x80\x02\x8a\nl\xfc\x9c\x46", true);
    is_taken("t.trace", "BZ", false);
    bytes_are_taken("t.trace", "\x20\x01\x00\x00\x00\x00\x00\x00{", 9, false);
}

/* From the standard input text is taken for a trace: it has no name. */
static void the_standard_input_may_be_any_trace(void **state)
{
    int input = dup(STDIN_FILENO);
    struct replay_input in;
    struct tool_error error;
    FILE *f = tmpfile();

    (void)state;
    assert_non_null(f);
    assert_true(fputs("hello\n", f) >= 0);
    rewind(f);
    assert_int_equal(dup2(fileno(f), STDIN_FILENO), STDIN_FILENO);
    assert_true(replay_input_open("-", &in, &error));
    assert_false(in.is_snapshot);
    trace_source_close(in.source);
    fclose(f);
    if (input >= 0) {
        assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
        close(input);
    }
}

/* ---- recorded settings ------------------------------------------------------ */

/* Replay the recording of one allocation under these settings. */
static bool replayed(const char *settings, const char *conf,
                     struct replay_result *r, struct tool_error *error)
{
    const struct replay_options options = {.device = "sim:1GiB", .conf = conf};
    struct replay_input in;
    FILE *f;
    bool ok;

    snprintf(path, sizeof path, "%s/t.json", folder);
    f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f,
            "{\"segments\": [], \"device_traces\": [[{\"action\": \"alloc\", "
            "\"addr\": 1048576, \"size\": 512, \"stream\": 0, \"frames\": "
            "[]}]], \"allocator_settings\": {%s}}",
            settings);
    assert_int_equal(fclose(f), 0);
    ok = replay_input_open(path, &in, error) &&
         replay_run_snapshot(&in, &options, r, error);
    unlink(path);
    return ok;
}

static void settings_are_replayed_whole(void **state)
{
    struct replay_result r;
    struct tool_error error;

    (void)state;
    if (!replayed("\"max_split_size\": 67108864, \"PYTORCH_CUDA_ALLOC_CONF\": "
                  "\"max_split_size_mb:64,large_segment_size_mb:40\"",
                  NULL, &r, &error))
        fail_msg("%s", error.text);
    assert_int_equal(r.ops, 1);
    assert_non_null(r.snapshot);
    assert_true(r.snapshot->recorded_settings);
    assert_string_equal(r.snapshot->conf,
                        "max_split_size_mb:64,large_segment_size_mb:40");
    assert_string_equal(r.snapshot->recorded.reason, "");
    replay_result_free(&r);
}

static void settings_that_cannot_be_replayed_are_refused(void **state)
{
    const char *expected = "recorded under settings that cannot be replayed "
                           "(--conf gives others): Unrecognized "
                           "CachingAllocator option: of_2030;";
    const char *settings = "\"PYTORCH_CUDA_ALLOC_CONF\": \"of_2030:True\"";
    struct replay_result r;
    struct tool_error error;

    (void)state;
    assert_false(replayed(settings, NULL, &r, &error));
    if (strstr(error.text, expected) == NULL)
        fail_msg("'%s' lacks '%s'", error.text, expected);
    if (!replayed(settings, "", &r, &error))
        fail_msg("%s", error.text);
    assert_false(r.snapshot->recorded_settings);
    replay_result_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(snapshots_are_known_by_their_first_byte),
        cmocka_unit_test(snapshots_are_known_by_their_name),
        cmocka_unit_test(traces_begin_with_an_operation),
        cmocka_unit_test(a_file_named_as_a_trace_is_read_as_one),
        cmocka_unit_test(other_text_is_shown_cut_short),
        cmocka_unit_test(binary_data_is_left_to_the_reader),
        cmocka_unit_test(files_of_other_programs_are_named),
        cmocka_unit_test(the_standard_input_may_be_any_trace),
        cmocka_unit_test(settings_are_replayed_whole),
        cmocka_unit_test(settings_that_cannot_be_replayed_are_refused),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

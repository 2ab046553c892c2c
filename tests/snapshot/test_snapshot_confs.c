/* test_snapshot_confs.c - the configuration, policy, release and segments that a
 * snapshot's settings come to: of many texts, written settings and keys, as
 * recorded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support/snapshot_bytes.h"
#include "snapshot/snapshot_conf.h"
#include "support/guarded.h"
#include "support/recorded.h"

/* Texts of settings, as programs set them. */
static const char *const texts[] = {
    "",
    "expandable_segments:True",
    "expandable_segments:False,max_split_size_mb:64",
    " max_split_size_mb : 128 , garbage_collection_threshold: 0.6",
    "roundup_power2_divisions:[256:1,512:2,>:4],max_split_size_mb:1",
    "roundup_power2_divisions:8",
    "pytorch:2.4,expandable_segments:True",
    "pinned_use_cuda_host_register:True",
    "max_split_size_mb:20,max_split_size_mb:200",
    "max_split_size_mbx:1,xmax_split_size_mb:2,max_split_size_mb",
    "segment:64MiB,pytorch:2.11",
    ",,a:1,,",
    "x,max_split_size_mb:4,y",
};

/* What is written of the settings in force. */
static const char *const written[] = {
    "",
    ", \"expandable_segments\": true",
    ", \"expandable_segments\": false, \"max_split_size\": -1",
    ", \"max_split_size\": 67108864, \"garbage_collection_threshold\": 0.8",
    ", \"max_split_size\": 0, \"garbage_collection_threshold\": 0.0",
    ", \"roundup_power2_divisions\": {\"1\": 0, \"2\": 0}",
    ", \"roundup_power2_divisions\": {\"1\": 1, \"2\": 1}",
    ", \"roundup_power2_divisions\": {\"1\": 4, \"2\": 4, \"64\": 4}",
    ", \"roundup_power2_divisions\": {\"1\": 0, \"2\": 4, \"64\": 8},"
    " \"expandable_segments\": true",
    ", \"roundup_power2_divisions\": {\"1\": 4, \"2\": 8, \"64\": 4}",
    ", \"graph_capture_record_stream_reuse\": true",
};

/* Other keys that tell a release: none, a counter, a counter and pools. */
static const char *const keys[][2] = {
    {"", ""},
    {", \"registration_counter\": -1", ""},
    {", \"registration_counter\": 3", ", \"pool_id\": [0, 0]"},
    {"", ", \"pool_id\": [0, 1]"},
};

static const char *const own[] = {
    "",
    "larder",
    "pytorch",
    "no policy",
};

static struct snapshot *made(const char *text, const char *settings,
                             const char *const of_keys[2], const char *policy)
{
    struct tool_error error;
    struct snapshot *s;
    char document[2048];
    char mine[256] = "";

    if (policy[0] != '\0')
        snprintf(mine, sizeof mine,
                 ", \"larder\": {\"policy\": \"%s\", \"conf\": \"%s\"}", policy,
                 text);
    snprintf(document, sizeof document,
             "{\"segments\": [{\"address\": 0, \"total_size\": 2097152%s,"
             " \"blocks\": []}], \"device_traces\": [[{\"action\": \"alloc\","
             " \"addr\": 1, \"size\": 2, \"stream\": 0%s}]],"
             " \"allocator_settings\": {\"PYTORCH_CUDA_ALLOC_CONF\": \"%s\"%s}"
             "%s}",
             of_keys[0], of_keys[1], text, settings, mine);
    if (!snapshot_read_bytes(document, strlen(document), NULL, &s, &error))
        fail_msg("%s in %s", error.text, document);
    return s;
}

static void put_segments(const struct snapshot *s, FILE *out)
{
    static const uint64_t sizes[] = {1, 1 << 20, (1 << 20) + 1, 50 << 20};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint64_t segment = 0;
        uint64_t page = 0;

        assert_true(snapshot_segment(s, sizes[i], &segment, &page));
        fprintf(out, " %llu/%llu", (unsigned long long)segment >> 10,
                (unsigned long long)page >> 10);
    }
}

static void put_all(const struct snapshot *s, FILE *out)
{
    const char *release = snapshot_release(s);
    char *conf = snapshot_conf(s, NULL);
    char *of_release = snapshot_conf(s, "2.7");

    assert_true(conf != NULL && of_release != NULL);
    fprintf(out, "  release %s, policy %s, '%s'",
            release != NULL ? release : "-",
            larder_policy_name(snapshot_policy(s)), conf);
    if (strchr(of_release, ',') != NULL)
        fprintf(out, ", then '%s'", strchr(of_release, ','));
    fprintf(out, ", expandable %d %d, split %llu, segments",
            snapshot_set_to(s, "expandable_segments", "True"),
            snapshot_set_to(s, "expandable_segments", NULL),
            (unsigned long long)snapshot_set_number(s, "max_split_size_mb"));
    put_segments(s, out);
    fputs("\n", out);
    free(conf);
    free(of_release);
}

static void put_text(struct recorded *r, size_t n)
{
    char *words = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&words, &size);

    assert_non_null(out);
    for (size_t w = 0; w < sizeof written / sizeof written[0]; w++) {
        /* Each key and each policy with some of the settings. */
        size_t mix = n + 3 * w;
        struct snapshot *s = made(texts[n], written[w], keys[(n + w) % 4],
                                  own[mix % 8 < 4 ? mix % 4 : 0]);

        fprintf(out, "{%s}\n", written[w][0] != '\0' ? written[w] + 2 : "");
        put_all(s, out);
        snapshot_free(s);
    }
    fclose(out);
    recorded_entry(r, "'%s'", texts[n]);
    recorded_words(r, words);
    free(words);
}

static void settings_come_to_what_was_recorded(void **state)
{
    struct recorded *r = recorded_begin("recorded/snapshot_confs.txt");

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        put_text(r, i);
    assert_int_equal(recorded_end(r), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_come_to_what_was_recorded),
    };

    return run_guarded_tests(tests);
}

/* test_snapshot_damaged.c - what is said of a snapshot of which one value is
 * wrong, and of one whose bytes are cut off or changed, is as recorded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support/snapshot_bytes.h"
#include "snapshot/snapshot_write.h"
#include "support/damaged.h"
#include "support/guarded.h"
#include "support/pickled.h"
#include "support/recorded.h"

/* One of each record, with each key. */
static const char whole[] =
    "{\"segments\": [{\"device\": 0, \"address\": 4096, \"total_size\": "
    "2097152,"
    " \"allocated_size\": 512, \"active_size\": 1024, \"requested_size\": 300,"
    " \"stream\": 7, \"segment_type\": \"small\", \"segment_pool_id\": [0, 3],"
    " \"is_expandable\": false, \"registration_counter\": -1,"
    " \"frames\": [{\"filename\": \"s.py\", \"line\": 1, \"name\": \"f\"}],"
    " \"blocks\": [{\"address\": 4096, \"size\": 512, \"requested_size\": 300,"
    " \"state\": \"active_allocated\", \"user_metadata\": \"note\","
    " \"history\": [{\"addr\": 4096, \"real_size\": 300, \"frames\": []}],"
    " \"frames\": []}, {\"address\": 4608, \"size\": 2096640,"
    " \"requested_size\": 0, \"state\": \"inactive\", \"frames\": []}]}],"
    " \"device_traces\": [[{\"action\": \"alloc\", \"addr\": 4096,"
    " \"size\": 300, \"stream\": 7, \"device\": 0, \"pool_id\": [0, 3],"
    " \"time_us\": 1750000000000000, \"compile_context\": \"N/A\","
    " \"user_metadata\": \"note\", \"frames\": [{\"filename\": \"a.py\","
    " \"line\": 2, \"name\": \"g\", \"fx_node_op\": \"call\","
    " \"fx_node_name\": \"mul\", \"fx_original_trace\": \"t\"},"
    " {\"filename\": \"b.py\", \"line\": 3, \"name\": \"h\"}]},"
    " {\"action\": \"oom\", \"device_free\": 512, \"size\": 4096,"
    " \"stream\": 0, \"frames\": []}]],"
    " \"allocator_settings\": {\"PYTORCH_CUDA_ALLOC_CONF\": \"a:1\","
    " \"PYTORCH_ALLOC_CONF\": \"\", \"max_split_size\": -1,"
    " \"garbage_collection_threshold\": 0.5, \"expandable_segments\": false,"
    " \"pinned_num_register_threads\": 1, \"release_lock_on_cudamalloc\": "
    "false,"
    " \"pinned_use_cuda_host_register\": true,"
    " \"graph_capture_record_stream_reuse\": false,"
    " \"roundup_power2_divisions\": {\"1\": 0, \"256\": 2}},"
    " \"external_annotations\": [{\"stage\": \"START\", \"name\": \"step\","
    " \"device\": 0, \"time_us\": 1750000000000001}],"
    " \"larder\": {\"lost_events\": 5, \"policy\": \"larder\", \"conf\": "
    "\"b:2\","
    " \"total_bytes\": 8589934592}, \"host_traces\": [[{\"action\": \"alloc\","
    " \"addr\": 1, \"size\": 2, \"stream\": 0, \"frames\": []}]]}";

/* As JSON with stacks by number. */
static const char numbered[] =
    "{\"frames\": [{\"filename\": \"a.py\", \"line\": 2, \"name\": \"g\"},"
    " {\"filename\": \"b.py\", \"line\": 3, \"name\": \"h\"}],"
    " \"stacks\": [[], [0, 1], [1]], \"segments\": [{\"address\": 4096,"
    " \"total_size\": 2097152, \"frames\": 2, \"blocks\": [{\"size\": 2097152,"
    " \"state\": \"inactive\", \"frames\": 0}]}], \"device_traces\":"
    " [[{\"action\": \"alloc\", \"addr\": 4096, \"size\": 300, \"stream\": 7,"
    " \"frames\": 1}]]}";

static json_t *document_of(const char *text)
{
    json_t *document = json_loads(text, 0, NULL);

    assert_non_null(document);
    return document;
}

/* ---- outcomes -------------------------------------------------------------- */

/* An error that names the kind of the wrong value, with that kind behind a tab:
 * so the errors of all kinds are one. */
static char *without_kind(const char *error)
{
    const char *is = strstr(error, " is ");
    const char *expected = strstr(error, "; expected ");
    char *out = NULL;

    if (is == NULL || expected == NULL || expected < is)
        return strdup(error);
    if (asprintf(&out, "%.*s is ...%s\t%.*s", (int)(is - error), error,
                 expected, (int)(expected - is), is) < 0)
        return NULL;
    return out;
}

/* The error; or, behind a tab, what is written again. */
static char *outcome_of_bytes(const void *bytes, size_t count)
{
    struct tool_error error;
    struct snapshot *s;
    char *text = NULL;
    size_t size = 0;
    FILE *out;

    if (!snapshot_read_bytes(bytes, count, NULL, &s, &error))
        return without_kind(error.text);
    out = open_memstream(&text, &size);
    assert_non_null(out);
    fprintf(out, "read\t%zu unknown, %llu lost, ", s->unknown_key_count,
            (unsigned long long)s->lost_events);
    assert_true(snapshot_write_json(s, out, &error));
    fclose(out);
    snapshot_free(s);
    return text;
}

static char *outcome_of_json(const json_t *document)
{
    char *text = json_dumps(document, JSON_COMPACT);
    char *outcome = outcome_of_bytes(text, strlen(text));

    free(text);
    return outcome;
}

static char *outcome_of_pickle(const json_t *document)
{
    size_t count;
    unsigned char *bytes = pickled(document, 0, &count);
    char *outcome = outcome_of_bytes(bytes, count);

    free(bytes);
    return outcome;
}

/* ---- wrong values ---------------------------------------------------------- */

static void put_damaged(struct recorded *r, const char *name, const char *text,
                        damaged_outcome *outcome)
{
    json_t *document = document_of(text);

    recorded_entry(r, "%s", name);
    damaged_each(document, outcome, r);
    json_decref(document);
}

static void what_is_said_of_wrong_values_is_as_recorded(void **state)
{
    struct recorded *r = recorded_begin("recorded/snapshot_damaged.txt");

    (void)state;
    put_damaged(r, "JSON", whole, outcome_of_json);
    put_damaged(r, "JSON with stacks by number", numbered, outcome_of_json);
    put_damaged(r, "a pickle", whole, outcome_of_pickle);
    assert_int_equal(recorded_end(r), 0);
}

/* ---- bytes ----------------------------------------------------------------- */

static void put_cut(FILE *out, const unsigned char *bytes, size_t count)
{
    fputs("==== cut\n", out);
    for (size_t i = 0; i < count; i++) {
        char *outcome = outcome_of_bytes(bytes, i);

        fprintf(out, "%zu: %s\n", i, outcome);
        free(outcome);
    }
}

/* Each byte in turn becomes this one. */
static void put_changed(FILE *out, unsigned char *bytes, size_t count,
                        unsigned char wrong)
{
    fprintf(out, "==== with 0x%02x\n", wrong);
    for (size_t i = 0; i < count; i++) {
        unsigned char kept = bytes[i];
        char *outcome;

        bytes[i] = wrong;
        outcome = outcome_of_bytes(bytes, count);
        fprintf(out, "%zu: %s\n", i, outcome);
        free(outcome);
        bytes[i] = kept;
    }
}

static void put_bytes(struct recorded *r, const char *name,
                      unsigned char *bytes, size_t count, const char *wrong)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    put_cut(out, bytes, count);
    for (; *wrong != '\0'; wrong++)
        put_changed(out, bytes, count, (unsigned char)*wrong);
    fclose(out);
    recorded_entry(r, "%s", name);
    recorded_outputs(r, text);
    free(text);
}

static void what_is_said_of_wrong_bytes_is_as_recorded(void **state)
{
    struct recorded *r = recorded_begin("recorded/snapshot_wrong_bytes.txt");
    json_t *document = document_of(numbered);
    unsigned char *json = (unsigned char *)strdup(numbered);

    (void)state;
    put_bytes(r, "JSON", json, strlen(numbered), "x,:\"\\]}{[ -0.e\x80");
    free(json);
    for (uint64_t seed = 0; seed < 3; seed++) {
        size_t count;
        unsigned char *bytes = pickled(document, seed, &count);
        char name[32];

        snprintf(name, sizeof name, "a pickle of seed %u", (unsigned)seed);
        put_bytes(r, name, bytes, count, "(.0J\x8c\x94gqaeu]}N2b\xff");
        free(bytes);
    }
    json_decref(document);
    assert_int_equal(recorded_end(r), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_said_of_wrong_values_is_as_recorded),
        cmocka_unit_test(what_is_said_of_wrong_bytes_is_as_recorded),
    };

    return run_counted_tests(tests);
}

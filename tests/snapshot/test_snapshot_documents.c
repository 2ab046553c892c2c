/* test_snapshot_documents.c - whatever way a snapshot is written, as JSON or as a
 * pickle, by others or by us, the same is read and written again: what its
 * document says (documents.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "snapshot/documents.h"
#include "support/snapshot_bytes.h"
#include "snapshot/snapshot_write.h"
#include "support/guarded.h"
#include "support/made_program.h"
#include "support/pickled.h"

enum { DOCUMENTS = 60, WAYS = 4 };

static uint64_t seed_now;

/* ---- comparing ------------------------------------------------------------- */

/* The first place where two documents differ; `path` has room. */
static bool differs(const json_t *a, const json_t *b, char *path, size_t room)
{
    size_t used = strlen(path);
    const char *key;
    json_t *item;
    size_t i;

    if (json_equal(a, b))
        return false;
    json_array_foreach(a, i, item)
    {
        snprintf(path + used, room - used, "[%zu]", i);
        if (differs(item, json_array_get(b, i), path, room))
            return true;
    }
    json_object_foreach((json_t *)(uintptr_t)a, key, item)
    {
        snprintf(path + used, room - used, ".%s", key);
        if (differs(item, json_object_get(b, key), path, room))
            return true;
    }
    path[used] = '\0';
    return true;
}

static void must_equal(const json_t *got, const json_t *wanted, const char *way)
{
    char path[512] = "";
    char *texts[2];

    if (!differs(wanted, got, path, sizeof path))
        return;
    texts[0] = json_dumps(got, JSON_ENCODE_ANY);
    texts[1] = json_dumps(wanted, JSON_ENCODE_ANY);
    fail_msg("seed %u, %s: %s differs: %.3000s\nnot %.3000s",
             (unsigned)seed_now, way, path, texts[0], texts[1]);
}

/* ---- reading --------------------------------------------------------------- */

/* Nothing is read beyond what there is, and nothing is kept. */
static struct snapshot *read_guarded(const void *bytes, size_t count,
                                     const char *way)
{
    struct tool_error error;
    struct snapshot *s;
    bool fine;

    libc_guard(true);
    fine = snapshot_read_bytes(bytes, count, NULL, &s, &error);
    libc_guard(false);
    if (!fine)
        fail_msg("seed %u, %s: %s", (unsigned)seed_now, way, error.text);
    assert_int_equal(s->input_bytes, count);
    return s;
}

static void must_say(const struct snapshot *s, const json_t *wanted,
                     const char *way)
{
    json_t *got = document_written(s);

    must_equal(got, wanted, way);
    json_decref(got);
}

static void must_read(const void *bytes, size_t count, const json_t *wanted,
                      const char *way)
{
    struct snapshot *s = read_guarded(bytes, count, way);

    must_say(s, wanted, way);
    snapshot_free(s);
}

/* ---- as others write it ---------------------------------------------------- */

static void must_count_unknown(const struct snapshot *s, const json_t *document)
{
    json_t *wanted = document_unknown(document);
    json_t *got = json_object();

    for (size_t i = 0; i < s->unknown_key_count; i++)
        json_object_set_new(got, snapshot_string(s, s->unknown_keys[i].name),
                            json_integer((json_int_t)s->unknown_keys[i].count));
    must_equal(got, wanted, "unknown keys");
    json_decref(got);
    json_decref(wanted);
}

static void as_json(const json_t *document, const json_t *wanted)
{
    static const size_t flags[] = {0, JSON_COMPACT, JSON_INDENT(1),
                                   JSON_ENSURE_ASCII, JSON_ESCAPE_SLASH};
    char *text =
        json_dumps(document, flags[seed_now % (sizeof flags / sizeof *flags)]);
    struct snapshot *s = read_guarded(text, strlen(text), "as JSON");

    assert_true(s->is_json);
    must_say(s, wanted, "as JSON");
    must_count_unknown(s, document);
    snapshot_free(s);
    free(text);
}

static void as_pickles(const json_t *document, const json_t *wanted)
{
    for (uint64_t way = 0; way < WAYS; way++) {
        size_t count;
        unsigned char *bytes =
            pickled(document, way == 0 ? 0 : seed_now * WAYS + way, &count);

        must_read(bytes, count, wanted, "as a pickle");
        free(bytes);
    }
}

/* ---- as we write it -------------------------------------------------------- */

typedef bool writer(const struct snapshot *s, FILE *out, struct tool_error *e);

static void as_written(const struct snapshot *s, writer *write_it,
                       const json_t *wanted, const char *way)
{
    struct tool_error error;
    char *bytes = NULL;
    size_t count = 0;
    FILE *out = open_memstream(&bytes, &count);

    assert_non_null(out);
    if (!write_it(s, out, &error))
        fail_msg("%s", error.text);
    assert_int_equal(fclose(out), 0);
    must_read(bytes, count, wanted, way);
    free(bytes);
}

static void as_we_write_it(const json_t *document, const json_t *wanted)
{
    json_t *only =
        json_pack("{s:O}", "segments", json_object_get(wanted, "segments"));
    size_t count;
    unsigned char *bytes = pickled(document, 0, &count);
    struct snapshot *s = read_guarded(bytes, count, "as a pickle");

    as_written(s, snapshot_write_pickle, wanted, "as our pickle");
    as_written(s, snapshot_write_json, wanted, "as our JSON");
    as_written(s, snapshot_write_segments, only, "as our segments");
    snapshot_free(s);
    free(bytes);
    json_decref(only);
}

static void what_is_read_is_what_the_document_says(void **state)
{
    (void)state;
    for (seed_now = 0; seed_now < DOCUMENTS; seed_now++) {
        json_t *document = made_document(seed_now);
        json_t *wanted;

        if (seed_now % 3 != 0)
            document_spice(document, seed_now);
        wanted = document_expected(document);
        as_json(document, wanted);
        as_pickles(document, wanted);
        as_we_write_it(document, wanted);
        json_decref(document);
        json_decref(wanted);
    }
}

/* ---- a large one ----------------------------------------------------------- */

/* The events of many programs as those of many devices: several windows of the
 * reader. */
static json_t *large_document(void)
{
    json_t *traces = json_array();

    for (uint64_t i = 0; i < 30; i++) {
        json_t *one = made_document(i);
        json_t *trace =
            json_array_get(json_object_get(one, "device_traces"), 0);
        json_t *event;
        size_t k;

        json_array_foreach(trace, k, event)
            json_object_set_new(event, "device", json_integer((json_int_t)i));
        json_array_append(traces, trace);
        json_decref(one);
    }
    return json_pack("{s:[], s:o}", "segments", "device_traces", traces);
}

static void a_large_one_is_read_in_parts(void **state)
{
    json_t *document = large_document();
    json_t *wanted = document_expected(document);

    (void)state;
    for (seed_now = 1000; seed_now < 1002; seed_now++) {
        as_json(document, wanted);
        as_pickles(document, wanted);
    }
    json_decref(document);
    json_decref(wanted);
}

/* ---- a limit --------------------------------------------------------------- */

static void a_limit_is_kept_to_the_byte(void **state)
{
    json_t *document = made_document(1);
    char *text = json_dumps(document, 0);
    struct snapshot_read_options o = {.max_input_bytes = strlen(text)};
    struct tool_error error;
    struct snapshot *s;

    (void)state;
    assert_true(snapshot_read_bytes(text, strlen(text), &o, &s, &error));
    snapshot_free(s);
    o.max_input_bytes--;
    assert_false(snapshot_read_bytes(text, strlen(text), &o, &s, &error));
    assert_non_null(strstr(error.text, "holds more, decompressed, than"));
    json_decref(document);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_is_what_the_document_says),
        cmocka_unit_test(a_large_one_is_read_in_parts),
        cmocka_unit_test(a_limit_is_kept_to_the_byte),
    };

    return run_counted_tests(tests);
}

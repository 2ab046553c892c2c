/* test_panel.c - the panel, the statistics and the snapshot of a session. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <larder/lab.h>

static const int64_t one_gib[] = {256, 1024, 1024};

static lab *open_lab(const char *device)
{
    lab_options opt;
    lab *l;

    lab_options_init(&opt);
    opt.device = device;
    opt.policy = LARDER_POLICY_PYTORCH;
    opt.conf = "";
    opt.threads = 1;
    assert_int_equal(lab_open(&opt, &l), LARDER_OK);
    return l;
}

static lab_tensor *zeros(lab *l, lab_place place, int64_t n)
{
    lab_tensor *t;

    assert_int_equal(lab_zeros(l, LAB_FLOAT32, place, 1, &n, &t), LARDER_OK);
    return t;
}

static char *panel(lab *l, const char *statement, const lab_memory *before,
                   unsigned width, unsigned flags)
{
    size_t length = lab_panel(l, statement, before, width, flags, NULL, 0);
    char *text = malloc(length + 1);

    assert_non_null(text);
    assert_int_equal(
        lab_panel(l, statement, before, width, flags, text, length + 1),
        length);
    assert_int_equal(strlen(text), length);
    return text;
}

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("no '%s' in:\n%s", part, text);
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;

    for (; (text = strstr(text, part)) != NULL; text += strlen(part))
        n++;
    return n;
}

/* ---- the panel --------------------------------------------------------------- */

static void panel_shows_the_three_figures_and_their_changes(void **state)
{
    lab *l = open_lab("sim:8GiB,backing=none,context=1001MiB");
    lab_memory before;
    lab_tensor *a;
    char *text;

    (void)state;
    lab_memory_init(&before);
    assert_int_equal(lab_memory_get(l, &before), LARDER_OK);
    assert_int_equal(lab_zeros(l, LAB_FLOAT32, LAB_DEVICE, 3, one_gib, &a),
                     LARDER_OK);
    text = panel(l, "a = zeros(256, 1024, 1024)", &before, 80, LAB_PANEL_ASCII);
    assert_has(text, "> a = zeros(256, 1024, 1024)\n");
    assert_has(text, "\n  host                     0 B");
    assert_has(text, "\n  device of 8.00 GiB");
    assert_has(text, "\n    nvidia-smi shows  1.98 GiB  +1.98 GiB  ++++");
    assert_has(text, "\n    reserved          1.00 GiB  +1.00 GiB  ####");
    assert_has(text, "\n    allocated         1.00 GiB  +1.00 GiB  ####");
    assert_has(text, "\n    peak              1.00 GiB  +1.00 GiB  ####");
    free(text);

    lab_memory_get(l, &before);
    lab_unref(a);
    text = panel(l, NULL, &before, 80, LAB_PANEL_ASCII);
    assert_has(text, "\n    reserved          1.00 GiB             ####");
    assert_has(text, "\n    allocated              0 B  -1.00 GiB  ....");
    assert_has(text, "\n    peak              1.00 GiB             ####");
    assert_int_equal(count(text, ">"), 0);
    free(text);
    assert_int_equal(lab_close(l), LARDER_OK);
}

static void panel_without_before_shows_no_change(void **state)
{
    lab *l = open_lab("sim:8GiB,backing=none");
    lab_tensor *a = zeros(l, LAB_DEVICE, 1000);
    char *text = panel(l, "a", NULL, 80, LAB_PANEL_ASCII);

    (void)state;
    assert_int_equal(count(text, "+"), 0);
    assert_int_equal(count(text, "\033"), 0);
    free(text);
    lab_unref(a);
    lab_close(l);
}

/* A small amount is never drawn as nothing, nor a part as the whole. */
static void panel_bars_end_where_they_should(void **state)
{
    lab *l = open_lab("sim:1GiB,backing=none");
    lab_tensor *a = zeros(l, LAB_DEVICE, 1);
    lab_tensor *b;
    char *text = panel(l, NULL, NULL, 80, LAB_PANEL_ASCII);

    (void)state;
    assert_has(text, "allocated            512 B             -....");
    free(text);
    b = zeros(l, LAB_DEVICE, (1020 << 20) / 4);
    text = panel(l, NULL, NULL, 80, LAB_PANEL_ASCII);
    assert_has(text, "#-\n");
    free(text);
    lab_unref(a);
    lab_unref(b);
    lab_close(l);
}

static size_t columns(const char *line, size_t bytes)
{
    size_t n = 0;

    for (size_t i = 0; i < bytes; i++)
        n += ((unsigned char)line[i] & 0xC0) != 0x80;
    return n;
}

static void panel_keeps_to_its_width(void **state)
{
    lab *l = open_lab("sim:24GiB,backing=none,context=1001MiB");
    lab_tensor *a = zeros(l, LAB_DEVICE, 100000000);

    (void)state;
    for (unsigned width = 60; width <= 160; width += 5) {
        char *text = panel(l, NULL, NULL, width, 0);

        for (char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1)
            assert_true(columns(line, strcspn(line, "\n")) <= width);
        assert_int_equal(count(text, "context 1001 MiB"), width >= 85);
        free(text);
    }
    lab_unref(a);
    lab_close(l);
}

static void panel_begins_each_line_of_a_statement(void **state)
{
    lab *l = open_lab("sim:1GiB,backing=none");
    char *text = panel(l, "for i in x:\n  y = i", NULL, 0, LAB_PANEL_COLOUR);

    (void)state;
    assert_has(text, "\033[1m> for i in x:\033[0m\n\033[1m.   y = i\033[0m\n");
    free(text);
    lab_close(l);
}

static void panel_too_long_for_the_buffer_is_cut_and_counted(void **state)
{
    lab *l = open_lab("sim:1GiB,backing=none");
    char *whole = panel(l, "abc", NULL, 80, 0);
    char small[8];

    (void)state;
    memset(small, 'x', sizeof small);
    assert_int_equal(lab_panel(l, "abc", NULL, 80, 0, small, sizeof small),
                     strlen(whole));
    assert_int_equal(strlen(small), 7);
    assert_memory_equal(small, whole, 7);
    free(whole);
    lab_close(l);
}

/* ---- statistics --------------------------------------------------------------- */

static void statistics_have_pytorchs_names_in_order(void **state)
{
    static char text[16384];
    lab *l = open_lab("sim:1GiB,backing=none");
    lab_tensor *a = zeros(l, LAB_DEVICE, 10);
    char last[64] = "";
    size_t lines = 0;

    (void)state;
    assert_true(lab_memory_stats(l, text, sizeof text) < sizeof text);
    assert_has(text, "active_bytes.all.allocated 512\n");
    assert_has(text, "\nallocated_bytes.all.current 512\n");
    assert_has(text, "\nallocated_bytes.small_pool.peak 512\n");
    assert_has(text, "\nreserved_bytes.all.current 2097152\n");
    assert_has(text, "\nrequested_bytes.all.current 40\n");
    assert_has(text, "\nmax_split_size -1\n");
    assert_has(text, "\nnum_alloc_retries 0\n");
    assert_has(text, "\nnum_device_alloc 1\n");
    assert_has(text, "\noversize_allocations.current 0\n");
    for (char *line = strtok(text, "\n"); line != NULL;
         line = strtok(NULL, "\n"), lines++) {
        line[strcspn(line, " ")] = '\0';
        assert_true(strcmp(last, line) < 0);
        snprintf(last, sizeof last, "%s", line);
    }
    /* 9 metrics x 3 pools x 4, 2 x 4 oversize, 6 counters, 1 setting. */
    assert_int_equal(lines, 108 + 8 + 6 + 1);
    lab_unref(a);
    lab_close(l);
}

/* ---- snapshots ---------------------------------------------------------------- */

static char *snapshot(lab *l)
{
    size_t length = lab_snapshot_json(l, NULL, 0);
    char *text = malloc(length + 1);

    assert_non_null(text);
    assert_int_equal(lab_snapshot_json(l, text, length + 1), length);
    assert_int_equal(strlen(text), length);
    return text;
}

static void snapshot_of_nothing_has_no_segments(void **state)
{
    lab *l = open_lab("sim:1GiB,backing=none");
    char *text = snapshot(l);

    (void)state;
    assert_has(text, "{\"segments\":[],");
    assert_has(text, "\"device_traces\":[[]]");
    free(text);
    lab_close(l);
}

static void snapshot_has_every_segment_and_block(void **state)
{
    lab *l = open_lab("sim:1GiB,backing=none");
    lab_tensor *a = zeros(l, LAB_DEVICE, 3);
    lab_tensor *b = zeros(l, LAB_DEVICE, 5 << 18);
    char *text;

    (void)state;
    lab_unref(b);
    text = snapshot(l);
    assert_int_equal(count(text, "\"segment_type\":\"small\""), 1);
    assert_int_equal(count(text, "\"segment_type\":\"large\""), 1);
    assert_has(text, "\"total_size\":2097152,\"allocated_size\":512,"
                     "\"active_size\":512,\"requested_size\":12,"
                     "\"stream\":0");
    assert_has(text, "\"size\":512,\"requested_size\":12,\"state\":"
                     "\"active_allocated\",\"frames\":[]}");
    assert_has(text, "\"size\":2096640,\"requested_size\":0,\"state\":"
                     "\"inactive\"");
    assert_has(text, "\"total_size\":20971520,\"allocated_size\":0");
    assert_has(text, "\"segment_pool_id\":[0,0],\"is_expandable\":false");
    assert_int_equal(count(text, "[,"), 0);
    assert_int_equal(count(text, "{"), count(text, "}"));
    assert_int_equal(count(text, "["), count(text, "]"));
    free(text);
    lab_unref(a);
    lab_close(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(panel_shows_the_three_figures_and_their_changes),
        cmocka_unit_test(panel_without_before_shows_no_change),
        cmocka_unit_test(panel_bars_end_where_they_should),
        cmocka_unit_test(panel_keeps_to_its_width),
        cmocka_unit_test(panel_begins_each_line_of_a_statement),
        cmocka_unit_test(panel_too_long_for_the_buffer_is_cut_and_counted),
        cmocka_unit_test(statistics_have_pytorchs_names_in_order),
        cmocka_unit_test(snapshot_of_nothing_has_no_segments),
        cmocka_unit_test(snapshot_has_every_segment_and_block),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* fuzz_report.c - any bytes as a snapshot: if readable, it is reported,
 * compared with itself and converted to a page, however absurd it is. */
#include "fuzz.h"
#include "report/report.h"
#include "view/view.h"
#include "support/read_file.h"

enum { INPUT_MAX = 1 << 20 };

/* The only permitted error for a readable snapshot is that it has more devices
 * than any machine. */
static void require(bool ok, const struct tool_error *error)
{
    if (ok || strncmp(error->text, "more than", 9) == 0)
        return;
    fprintf(stderr, "%s\n", error->text);
    abort();
}

static void look_at(const struct snapshot *s, FILE *out)
{
    static const char *const names[2] = {"one", "other"};
    const struct snapshot *const runs[2] = {s, s};
    const struct view_run views[2] = {{"one", s}, {"other", s}};
    struct report_options opt = {.paths = true};
    struct tool_error error = {.text = ""};
    bool same = true;

    require(report_write_text(out, "one", s, &opt, &error), &error);
    opt.ascii = true;
    opt.top = 3;
    require(report_write_json(out, "one", s, &opt, &error), &error);
    require(report_write_diff(out, names, runs, false, &opt, &same, &error),
            &error);
    REQUIRE(same);
    require(report_write_diff(out, names, runs, true, &opt, &same, &error),
            &error);
    require(view_write(out, "title", views, 2, NULL, &error), &error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct snapshot_read_options limit = {.max_input_bytes = INPUT_MAX};
    struct tool_error error = {.text = ""};
    struct snapshot *s = NULL;
    char name[FUZZ_NAME_MAX];
    int fd = fuzz_file(data, size, name);

    if (snapshot_read(name, &limit, &s, &error)) {
        FILE *out = fopen("/dev/null", "we");

        REQUIRE(out != NULL);
        look_at(s, out);
        fclose(out);
    } else {
        REQUIRE(error.text[0] != '\0');
    }
    snapshot_free(s);
    close(fd);
    return 0;
}

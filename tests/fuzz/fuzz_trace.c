/* fuzz_trace.c - any bytes as a trace, plain or compressed: read, or refused
 * with a message.  A trace that was read is written and read back as the
 * same. */
#include "fuzz.h"
#include "trace/trace.h"
#include "support/read_file.h"

static void require_same(const struct trace *x, const struct trace *y)
{
    REQUIRE(x->op_count == y->op_count);
    REQUIRE(x->id_count == y->id_count);
    REQUIRE(x->counted_ops == y->counted_ops);
    for (size_t i = 0; i < x->op_count; i++) {
        const struct trace_op *p = &x->ops[i];
        const struct trace_op *q = &y->ops[i];

        REQUIRE(p->kind == q->kind && p->id == q->id);
        REQUIRE(p->stream == q->stream);
        if (p->kind == TRACE_MARK)
            REQUIRE(strcmp(trace_label(x, p), trace_label(y, q)) == 0);
        else
            REQUIRE(p->bytes == q->bytes);
    }
}

static void write_and_read_back(const struct trace *t)
{
    struct tool_error error = {.text = ""};
    struct trace again;
    char *text = NULL;
    size_t length = 0;
    char name[FUZZ_NAME_MAX];
    FILE *out = open_memstream(&text, &length);
    int fd;

    REQUIRE(out != NULL);
    REQUIRE(trace_write(t, out));
    REQUIRE(fclose(out) == 0);
    fd = fuzz_file(text, length, name);
    if (!trace_read(name, &again, &error)) {
        fprintf(stderr, "%s\n", error.text);
        abort();
    }
    require_same(t, &again);
    trace_free(&again);
    close(fd);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tool_error error = {.text = ""};
    struct trace t;
    uint64_t peak;
    char name[FUZZ_NAME_MAX];
    int fd = fuzz_file(data, size, name);

    if (trace_read(name, &t, &error)) {
        REQUIRE(trace_peak_requested(&t, &peak));
        write_and_read_back(&t);
        trace_free(&t);
    } else {
        REQUIRE(strncmp(error.text, name, strlen(name)) == 0);
        REQUIRE(strlen(error.text) > strlen(name) + 2);
    }
    close(fd);
    return 0;
}

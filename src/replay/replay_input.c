/* replay_input.c - tells traces, snapshots and files given by mistake from each
 * other, by their first bytes. */
#include <ctype.h>
#include <string.h>

#include "replay/replay.h"
#include "trace/ends_with.h"
#include "trace/trace_source.h"

struct foreign {
    const char *magic;
    size_t length;
    const char *words;
};

#define MAGIC(text) text, sizeof(text) - 1

static const struct foreign known[] = {
    {MAGIC("\x1f\x8b"),
     "compressed with gzip; expected it unpacked, or compressed with zstd"},
    {MAGIC("BZh"),
     "compressed with bzip2; expected it unpacked, or compressed with zstd"},
    {MAGIC("\xfd"
           "7zXZ"),
     "compressed with xz; expected it unpacked, or compressed with zstd"},
    {MAGIC("PK\x03\x04"),
     "a zip archive, as torch.save() writes; expected what "
     "torch.cuda.memory._dump_snapshot() wrote"},
    /* The magic number of its files before they were zip archives. */
    {MAGIC("\x80\x02\x8a\x0al\xfc\x9c\x46\xf9"),
     "a file of torch.save(); expected what "
     "torch.cuda.memory._dump_snapshot() wrote"},
    {MAGIC("SQLite format 3"),
     "a database of SQLite, as profilers export; expected a memory snapshot or "
     "a trace"},
    {MAGIC("\x89HDF"), "an HDF5 file; expected a memory snapshot or a trace"},
    {MAGIC("\x7f"
           "ELF"),
     "a program; expected a memory snapshot or a trace"},
    {MAGIC("<!DOCTYPE"),
     "a web page; expected a memory snapshot or a trace (of PyTorch's viewer, "
     "the file that was dropped into it)"},
    {MAGIC("<html"), "a web page; expected a memory snapshot or a trace"},
};

/* What the file is, and what to do.  NULL: not recognised. */
static const char *find_foreign(const unsigned char *first, size_t count)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (count >= known[i].length &&
            memcmp(first, known[i].magic, known[i].length) == 0)
            return known[i].words;
    }
    /* The length of the header, then the header. */
    if (count > 9 && memcmp(first + 3, "\0\0\0\0\0{", 6) == 0)
        return "a file of safetensors; expected a memory snapshot or a trace";
    return NULL;
}

/* Whether it begins like a pickle of protocol 2 or later, an older pickle, or
 * JSON after blanks; no line of a trace begins like this. */
static bool begins_snapshot(const unsigned char *first, size_t count)
{
    size_t at = 0;

    while (at < count && isspace(first[at]))
        at++;
    return at < count &&
           (first[at] == 0x80 || first[at] == '{' || first[at] == '}' ||
            first[at] == '(' || first[at] == ']' || first[at] == '[');
}

/* Whether it is some other text, in a file whose name is not that of a
 * trace. */
static bool is_other_text(const char *path, const unsigned char *first,
                          size_t count)
{
    size_t length = 0;

    if (strcmp(path, "-") == 0 || ends_with(path, ".trace") ||
        ends_with(path, ".trace.zst"))
        return false;
    while (length < count && first[length] != '\n') {
        if (first[length] < 0x20 && !isspace(first[length]))
            return false;
        length++;
    }
    return length > 1 && strchr("afrcem#", first[0]) == NULL &&
           !isspace(first[0]);
}

static bool check_foreign(const char *path, const unsigned char *first,
                          size_t count, struct tool_error *error)
{
    const char *words = find_foreign(first, count);
    int shown = (int)(count < 40 ? count : 40);

    if (words != NULL)
        return tool_fail(error, "%s: this is %s", path, words);
    if (!is_other_text(path, first, count))
        return true;
    for (int i = 0; i < shown; i++) {
        if (first[i] < 0x20 || first[i] > 0x7e)
            shown = i;
    }
    return tool_fail(error,
                     "%s: this is text that begins with '%.*s'; expected a "
                     "memory snapshot (pickle or JSON) or lines of a trace, as "
                     "'a 0 512'",
                     path, shown, (const char *)first);
}

bool replay_input_open(const char *path, struct replay_input *out,
                       struct tool_error *error)
{
    const unsigned char *first;
    size_t count;

    *out = (struct replay_input){.path = path};
    if (!trace_source_open(path, &out->source, error))
        return false;
    if (!trace_source_peek(out->source, &first, &count, error)) {
        trace_source_close(out->source);
        return false;
    }
    out->is_snapshot = ends_with(path, ".pickle") || ends_with(path, ".json") ||
                       begins_snapshot(first, count);
    if (begins_snapshot(first, count) && find_foreign(first, count) == NULL)
        return true;
    if (check_foreign(path, first, count, error))
        return true;
    trace_source_close(out->source);
    return false;
}

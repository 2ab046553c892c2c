/* replay_foreign.c - recognises files that are not traces or snapshots, by
 * their first bytes. */
#include "replay/replay_foreign.h"

#include <string.h>

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

const char *replay_foreign(const unsigned char *first, size_t count)
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

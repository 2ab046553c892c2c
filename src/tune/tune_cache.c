/* tune_cache.c - stores cells from one run to the next. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <larder/file.h>

#include "tune/tune_cell.h"

/* Six numbers and a few words. */
enum { CELL_TEXT_MAX = 256 };

static uint64_t tune_cache_mix(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *p = bytes;

    for (size_t i = 0; i < count; i++)
        hash = (hash ^ p[i]) * UINT64_C(1099511628211);
    return hash;
}

/* Another build may place blocks differently. */
static uint64_t mix_program(uint64_t hash)
{
    struct stat st;

    if (stat("/proc/self/exe", &st) != 0)
        return hash;
    hash = tune_cache_mix(hash, &st.st_size, sizeof st.st_size);
    hash = tune_cache_mix(hash, &st.st_mtim, sizeof st.st_mtim);
    return tune_cache_mix(hash, &st.st_ino, sizeof st.st_ino);
}

static bool cell_path(const char *folder, const struct tune_question *q,
                      char out[PATH_MAX])
{
    uint64_t hash = UINT64_C(14695981039346656037);
    int policy = (int)q->policy;
    int n;

    hash = tune_cache_mix(hash, q->conf, strlen(q->conf) + 1);
    hash = tune_cache_mix(hash, &policy, sizeof policy);
    hash = tune_cache_mix(hash, &q->capacity, sizeof q->capacity);
    hash = tune_cache_mix(hash, &q->context_bytes, sizeof q->context_bytes);
    hash = mix_program(hash);
    n = snprintf(out, PATH_MAX, "%s/%016" PRIx64 "%016" PRIx64 "-%016" PRIx64,
                 folder, q->input->content[0], q->input->content[1], hash);
    return n > 0 && n < PATH_MAX;
}

bool tune_cell_read(const char *folder, const struct tune_question *q,
                    struct tune_cell *out)
{
    char path[PATH_MAX];
    int fits = 0;
    int end = 0;
    FILE *f;

    if (folder == NULL || !cell_path(folder, q, path))
        return false;
    f = fopen(path, "re");
    if (f == NULL)
        return false;
    /* The last word shows that the file is complete. */
    if (fscanf(f,
               "cell 1 %d %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
               " %" SCNu64 " end%n",
               &fits, &out->peak_allocated_bytes, &out->peak_reserved_bytes,
               &out->min_capacity_bytes, &out->driver_calls,
               &out->driver_time_ns, &end) != 6)
        end = 0;
    fclose(f);
    out->fits = fits != 0;
    return end > 0;
}

void tune_cell_write(const char *folder, const struct tune_question *q,
                     const struct tune_cell *cell)
{
    char path[PATH_MAX];
    char text[CELL_TEXT_MAX];
    larder_file *f;
    int n;

    if (folder == NULL || !cell_path(folder, q, path))
        return;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return;
    n = snprintf(text, sizeof text,
                 "cell 1 %d %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
                 " %" PRIu64 " end\n",
                 cell->fits, cell->peak_allocated_bytes,
                 cell->peak_reserved_bytes, cell->min_capacity_bytes,
                 cell->driver_calls, cell->driver_time_ns);
    /* A cell that cannot be stored is measured again next time. */
    if (larder_file_create(path, &f) == LARDER_OK)
        (void)larder_file_close(f, larder_file_write(f, text, (size_t)n) ==
                                       LARDER_OK);
}

/* snapshot_rig.h - snapshots that were written, and a folder for their files.
 * Header only, for cmocka programs. */
#pragma once

#include "support/history_rig.h"

#include <dirent.h>
#include <unistd.h>

struct folder {
    char path[64];
    char file[512]; /* the last of folder_file() */
};

static inline struct folder folder_make(void)
{
    struct folder f = {.path = "/tmp/larder-snapshot-XXXXXX"};

    assert_non_null(mkdtemp(f.path));
    return f;
}

static inline const char *folder_file(struct folder *f, const char *name)
{
    snprintf(f->file, sizeof f->file, "%s/%s", f->path, name);
    return f->file;
}

static inline void folder_remove(struct folder *f)
{
    DIR *dir = opendir(f->path);
    const struct dirent *e;

    assert_non_null(dir);
    while ((e = readdir(dir)) != NULL) {
        if (e->d_name[0] != '.')
            assert_int_equal(unlink(folder_file(f, e->d_name)), 0);
    }
    closedir(dir);
    assert_int_equal(rmdir(f->path), 0);
}

static inline void assert_has(const struct bytes *b, const char *words)
{
    if (strstr(b->at, words) != NULL)
        return;
    print_error("'%s' is not in\n%s\n", words, b->at);
    fail();
}

/* file_api.c - the file writer as public functions. */
#include <stdio.h>

#include <larder/file.h>

#include "base/fail.h"
#include "base/host.h"
#include "base/newfile.h"

struct larder_file {
    struct newfile file;
    char path[NEWFILE_PATH_MAX]; /* as given by the caller */
};

static larder_result file_api_refused(const larder_file *f)
{
    return larder__fail(LARDER_ERR_SYSTEM, "%s: cannot be written: %s", f->path,
                        larder__newfile_words(&f->file));
}

larder_result larder_file_create(const char *path, larder_file **out)
{
    larder_file *f;

    if (path == NULL || out == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    f = larder__host_alloc(1, sizeof *f);
    if (f == NULL)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    snprintf(f->path, sizeof f->path, "%s", path);
    if (!larder__newfile_open(&f->file, path)) {
        larder_result r = file_api_refused(f);

        (void)larder__newfile_close(&f->file, false);
        larder__host_free(f);
        return r;
    }
    *out = f;
    return LARDER_OK;
}

larder_result larder_file_write(larder_file *f, const void *bytes, size_t count)
{
    if (f == NULL || (bytes == NULL && count != 0))
        return larder__fail_plain(LARDER_ERR_INVALID);
    return larder__newfile_write(&f->file, bytes, count) ? LARDER_OK
                                                         : file_api_refused(f);
}

int larder_file_descriptor(const larder_file *f)
{
    return f == NULL ? -1 : f->file.fd;
}

larder_result larder_file_close(larder_file *f, int keep)
{
    larder_result r = LARDER_OK;

    if (f == NULL)
        return LARDER_OK;
    if (!larder__newfile_close(&f->file, keep != 0) && keep)
        r = file_api_refused(f);
    larder__host_free(f);
    return r;
}

/* app_page.c - the page that analyses snapshots in a browser. */
#include "app_page.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "own_folder.h"

#define PAGE "app.html"

/* In a build folder, and in an installation. */
static FILE *app_page_open(void)
{
    static const char *const places[] = {".", "../share/larder", NULL};
    char folder[PATH_MAX];
    char path[PATH_MAX + sizeof "/" PAGE];

    if (!cli_find_near(places, PAGE, folder))
        return NULL;
    snprintf(path, sizeof path, "%s/" PAGE, folder);
    return fopen(path, "rb");
}

static bool copy_all(FILE *from, FILE *to)
{
    char bytes[1 << 14];
    size_t count;

    while ((count = fread(bytes, 1, sizeof bytes, from)) > 0) {
        if (fwrite(bytes, 1, count, to) != count)
            return false;
    }
    return !ferror(from) && fflush(to) == 0;
}

bool app_page_write(FILE *out, struct tool_error *error)
{
    FILE *page = app_page_open();
    bool ok;

    if (page == NULL)
        return tool_fail(error, "this build lacks the browser page: expected "
                                "app.html, which `make app` builds");
    ok = copy_all(page, out) ||
         tool_fail(error, "writing the page: %s", strerror(errno));
    fclose(page);
    return ok;
}

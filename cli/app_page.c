/* app_page.c - the page that analyses snapshots in a browser. */
#include "app_page.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "own_folder.h"

/* In a build folder, and in an installation. */
static FILE *app_page_open(void)
{
    static const char *const places[] = {"app.html",
                                         "../share/larder/app.html"};
    char folder[PATH_MAX];
    FILE *page = NULL;

    if (!cli_own_folder(folder))
        return NULL;
    for (size_t i = 0; page == NULL && i < sizeof places / sizeof places[0];
         i++) {
        char path[PATH_MAX + sizeof "/../share/larder/app.html"];

        snprintf(path, sizeof path, "%s/%s", folder, places[i]);
        page = fopen(path, "rb");
    }
    return page;
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

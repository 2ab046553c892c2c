/* input_list.c - inputs as given: files, and folders of files. */
#include "input_list.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "complain.h"
#include "same_file.h"
#include "trace/array_room.h"
#include "trace/ends_with.h"
#include "trace/tool_error.h"

static const char *const endings[] = {".trace",      ".trace.zst", ".pickle",
                                      ".pickle.zst", ".json",      ".json.zst"};

static bool is_input(const char *name)
{
    bool is = false;

    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        is = is || ends_with(name, endings[i]);
    return is && name[0] != '.';
}

/* Takes ownership of the path, which is malloc'd. */
static bool push(struct input_list *list, char *path, struct tool_error *error)
{
    if (path == NULL ||
        !ARRAY_ROOM(list->paths, list->capacity, list->count + 1)) {
        free(path);
        return tool_fail(error, "out of host memory");
    }
    list->paths[list->count++] = path;
    return true;
}

static char *joined(const char *folder, const char *name)
{
    size_t room = strlen(folder) + strlen(name) + 2;
    char *path = malloc(room);

    if (path != NULL)
        snprintf(path, room, "%s/%s", folder, name);
    return path;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool add_folder(struct input_list *out, const char *folder,
                       struct tool_error *error)
{
    size_t first = out->count;
    DIR *d = opendir(folder);
    struct dirent *entry;
    bool ok = true;

    if (d == NULL)
        return tool_fail(error, "%s: %s", folder, strerror(errno));
    while (ok && (entry = readdir(d)) != NULL) {
        if (is_input(entry->d_name))
            ok = push(out, joined(folder, entry->d_name), error);
    }
    closedir(d);
    if (!ok)
        return false;
    if (out->count == first)
        return tool_fail(error,
                         "%s: a folder without traces or snapshots; expected "
                         "names that end in .pickle, .json or .trace, with or "
                         "without .zst",
                         folder);
    qsort(out->paths + first, out->count - first, sizeof *out->paths,
          compare_paths);
    return true;
}

static bool input_list_add(struct input_list *out, const char *path,
                           bool expands, struct tool_error *error)
{
    struct stat st;

    if (expands && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return add_folder(out, path, error);
    return push(out, strdup(path), error);
}

static bool take(const struct cli_args *a, struct input_list *out, bool expands)
{
    struct tool_error error;

    return input_list_add(out, a->value, expands, &error) ||
           cli_complain(a->command->name, "%s", error.text);
}

bool input_list_take(const struct cli_args *a, void *out)
{
    return take(a, out, true);
}

bool input_list_take_file(const struct cli_args *a, void *out)
{
    return take(a, out, false);
}

void input_list_free(struct input_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->paths[i]);
    free(list->paths);
    *list = (struct input_list){0};
}

bool input_list_check(const struct input_list *list,
                      const struct cli_command *command)
{
    size_t dashes = 0;

    for (size_t i = 0; i < list->count; i++)
        dashes += strcmp(list->paths[i], "-") == 0;
    if (dashes > 1)
        cli_bad_usage(command,
                      "'-' is given %zu times, but the standard input can be "
                      "read only once",
                      dashes);
    return dashes <= 1;
}

bool input_list_spares(const struct input_list *list,
                       const struct cli_command *command, const char *output)
{
    for (size_t i = 0; i < list->count; i++) {
        if (!same_file(output, list->paths[i]))
            continue;
        cli_bad_usage(command, "'%s' is an input and cannot be written",
                      output);
        return false;
    }
    return true;
}

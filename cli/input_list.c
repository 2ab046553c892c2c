/* input_list.c - inputs as given: files, and folders of files. */
#include "input_list.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "trace/array_room.h"
#include "trace/ends_with.h"
#include "trace/tool_error.h"

static const char *const endings[] = {".trace",      ".trace.zst", ".pickle",
                                      ".pickle.zst", ".json",      ".json.zst"};

static int is_input(const struct dirent *entry)
{
    const char *name = entry->d_name;
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

/* In the order of bytes. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static bool add_folder(struct input_list *out, const char *folder,
                       struct tool_error *error)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, is_input, by_name);
    bool ok = true;

    if (count < 0)
        return tool_fail(error, "%s: %s", folder, strerror(errno));
    for (int i = 0; i < count; i++) {
        ok = ok && push(out, joined(folder, entries[i]->d_name), error);
        free(entries[i]);
    }
    free(entries);
    if (count == 0)
        return tool_fail(error,
                         "%s: a folder without traces or snapshots; expected "
                         "names that end in .pickle, .json or .trace, with or "
                         "without .zst",
                         folder);
    return ok;
}

static bool input_list_add(struct input_list *out, const char *path,
                           bool expands, struct tool_error *error)
{
    struct stat st;

    if (expands && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return add_folder(out, path, error);
    return push(out, strdup(path), error);
}

static bool take(struct cli_args *a, struct input_list *out, bool expands)
{
    struct tool_error error;

    return input_list_add(out, a->value, expands, &error) ||
           cli_complain(a->command->name, "%s", error.text);
}

bool input_list_take(struct cli_args *a, void *out)
{
    return take(a, out, true);
}

bool input_list_take_file(struct cli_args *a, void *out)
{
    return take(a, out, false);
}

bool input_list_check(const struct input_list *list,
                      const struct cli_command *command)
{
    size_t dashes = 0;

    for (size_t i = 0; i < list->count; i++)
        dashes += strcmp(list->paths[i], "-") == 0;
    return dashes <= 1 ||
           cli_wrong(command,
                     "'-' is given %zu times, but the standard input can be "
                     "read only once",
                     dashes);
}

bool input_list_spares(const struct input_list *list,
                       const struct cli_command *command, const char *output)
{
    for (size_t i = 0; i < list->count; i++) {
        if (same_file(output, list->paths[i]))
            return cli_wrong(command, "'%s' is an input and cannot be written",
                             output);
    }
    return true;
}

bool same_file(const char *a, const char *b)
{
    struct stat of_a;
    struct stat of_b;

    return strcmp(a, "-") != 0 && strcmp(b, "-") != 0 && stat(a, &of_a) == 0 &&
           stat(b, &of_b) == 0 && S_ISREG(of_a.st_mode) &&
           of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

/* open_browser.c - see open_browser.h. */
#include "open_browser.h"

#include <fcntl.h>
#include <spawn.h>
#include <stddef.h>
#include <unistd.h>

#include "environment.h"

extern char **environ;

/* Silence the browser's own output. */
static bool start(const char *command, const char *path)
{
    char *arguments[] = {(char *)command, (char *)path, NULL};
    posix_spawn_file_actions_t quiet;
    pid_t child;
    bool ok;

    if (posix_spawn_file_actions_init(&quiet) != 0)
        return false;
    ok = posix_spawn_file_actions_addopen(&quiet, STDIN_FILENO, "/dev/null",
                                          O_RDONLY, 0) == 0 &&
         posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null",
                                          O_WRONLY, 0) == 0 &&
         posix_spawn_file_actions_adddup2(&quiet, STDOUT_FILENO,
                                          STDERR_FILENO) == 0 &&
         posix_spawnp(&child, command, &quiet, NULL, arguments, environ) == 0;
    posix_spawn_file_actions_destroy(&quiet);
    return ok;
}

bool open_browser(const char *path)
{
    static const char *const commands[] = {"xdg-open", "open",
                                           "sensible-browser"};
    const char *own = environment_said("BROWSER");
    size_t i;

    if (own != NULL)
        return start(own, path);
    for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (start(commands[i], path))
            return true;
    }
    return false;
}

/* doctor_versions.c - the versions of the library, the kernel, Python and
 * PyTorch. */
#include "doctor.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <larder/larder.h>

#include "python_program.h"

extern char **environ;

/* From the package's metadata: importing PyTorch takes seconds, and may fail
 * for other reasons. */
static const char question[] = "import sys\n"
                               "print('%d.%d.%d' % sys.version_info[:3])\n"
                               "try:\n"
                               "    from importlib.metadata import version\n"
                               "    print(version('torch'))\n"
                               "except Exception:\n"
                               "    pass\n";

/* Start Python with the question; its answer can be read from *out. */
static bool ask(pid_t *child, int *out)
{
    char *words[] = {(char *)cli_python_name(), (char *)"-c", (char *)question,
                     NULL};
    posix_spawn_file_actions_t actions;
    int ends[2];
    bool ok;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    if (posix_spawn_file_actions_init(&actions) != 0) {
        close(ends[0]);
        close(ends[1]);
        return false;
    }
    ok = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO) ==
             0 &&
         posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
                                          O_WRONLY, 0) == 0 &&
         posix_spawnp(child, words[0], &actions, NULL, words, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (!ok)
        close(ends[0]);
    *out = ends[0];
    return ok;
}

/* The versions of Python and PyTorch; "": not installed. */
static void ask_python(char *python, size_t python_room, char *pytorch,
                       size_t pytorch_room)
{
    pid_t child;
    int fd;
    FILE *in;

    python[0] = pytorch[0] = '\0';
    if (!ask(&child, &fd))
        return;
    in = fdopen(fd, "r");
    if (in == NULL) {
        close(fd);
    } else {
        if (fgets(python, (int)python_room, in) == NULL)
            python[0] = '\0';
        else if (fgets(pytorch, (int)pytorch_room, in) == NULL)
            pytorch[0] = '\0';
        fclose(in);
    }
    waitpid(child, NULL, 0);
    python[strcspn(python, "\n")] = '\0';
    pytorch[strcspn(pytorch, "\n")] = '\0';
}

void doctor_versions(struct doctor *d)
{
    struct utsname kernel;
    char python[32];

    d->part = "versions";
    doctor_say(d, DOCTOR_FINE, "larder", "%s", larder_version());
    if (uname(&kernel) == 0)
        doctor_say(d, DOCTOR_FINE, "kernel", "%s %s on %s", kernel.sysname,
                   kernel.release, kernel.machine);
    ask_python(python, sizeof python, d->pytorch, sizeof d->pytorch);
    if (python[0] == '\0') {
        doctor_say(d, DOCTOR_NOTE, "Python", "%s cannot be started",
                   cli_python_name());
        doctor_advise(d, "larder run and listings need it: install python3, or "
                         "set LARDER_PYTHON");
        return;
    }
    doctor_say(d, DOCTOR_FINE, "Python", "%s (%s)", python, cli_python_name());
    if (d->pytorch[0] != '\0') {
        doctor_say(d, DOCTOR_FINE, "PyTorch", "%s", d->pytorch);
        return;
    }
    doctor_say(d, DOCTOR_NOTE, "PyTorch", "not installed for %s",
               cli_python_name());
    doctor_advise(d, "only larder run needs it; LARDER_PYTHON selects another "
                     "Python");
}

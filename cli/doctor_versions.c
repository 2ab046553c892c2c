/* doctor_versions.c - the versions of the library, the kernel, Python and
 * PyTorch. */
#include "doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include <larder/larder.h>

#include "python_program.h"

/* PyTorch's version is from the package's metadata: importing it takes seconds, and
 * may fail for other reasons. */
static const char question[] = "exec \"$LARDER_PYTHON\" -c '\n"
                               "import sys\n"
                               "print(\"%d.%d.%d\" % sys.version_info[:3])\n"
                               "try:\n"
                               "    from importlib.metadata import version\n"
                               "    print(version(\"torch\"))\n"
                               "except Exception:\n"
                               "    pass\n"
                               "' 2>/dev/null";

static void read_line(FILE *in, char *out, size_t room)
{
    if (fgets(out, (int)room, in) == NULL)
        out[0] = '\0';
    out[strcspn(out, "\n")] = '\0';
}

/* The versions of Python and PyTorch; "": not installed. */
static void ask_python(char *python, size_t python_room, char *pytorch,
                       size_t pytorch_room)
{
    FILE *in;

    python[0] = pytorch[0] = '\0';
    setenv("LARDER_PYTHON", cli_python_name(), 1);
    in = popen(question, "re");
    if (in == NULL)
        return;
    read_line(in, python, python_room);
    read_line(in, pytorch, pytorch_room);
    pclose(in);
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

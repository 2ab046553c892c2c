"""Which of the installed files go into a wheel, and where.

    share/larder/python/*       site-packages
    bin, lib, share/larder      larder/_prefix, in site-packages: nothing
                                outside belongs to us but the three below
    a script for each of bin/*  the environment's bin
    man/man1, man5              the environment's share/man
    what README begins with     the environment's share/doc/larder/examples

What is needed to compile and link (headers, static libraries, pkg-config) is
left out.  Nothing here names a library: whatever is installed is carried.
"""

import os

from larder_backend.package_metadata import NAME, source_folder

PREFIX = NAME + "/_prefix"
PACKAGES = "share/larder/python/"
MAN_SECTIONS = ("man1", "man5")
EXAMPLES = ("oom.pickle", "train.py")


def _files_below(folder):
    """Paths of all files, including links, relative to the folder."""
    for where, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            path = os.path.join(where, name)
            yield os.path.relpath(path, folder).replace(os.sep, "/")


def _library_names(folder, paths):
    """The name of each library to include: the one it is loaded by.  Wheels
    cannot contain links, and the loader would treat two copies as two
    libraries."""
    names = {}
    for path in paths:
        if ".so" in os.path.basename(path):
            real = os.path.realpath(os.path.join(folder, path))
            names.setdefault(real, []).append(path)
    for real, group in sorted(names.items()):
        numbered = [path for path in group if ".so." in path]
        yield min(numbered or group, key=len), real


def _place_of_library(path):
    """The path in the wheel of lib/x86_64-linux-gnu/… or lib/…: always below
    lib, because the command searches ../lib."""
    parts = path.split("/")[1:]
    if len(parts) > 1 and parts[0].endswith(("-gnu", "-musl")):
        parts = parts[1:]
    return "/".join([PREFIX, "lib"] + parts)


def _script():
    path = os.path.join(os.path.dirname(__file__), "command_script.py")
    with open(path, encoding="utf-8") as script:
        return script.read().encode()


def _add_other(wheel, folder, path):
    full = os.path.join(folder, path)
    if path.startswith(PACKAGES):
        wheel.add_file(path[len(PACKAGES) :], full)
    elif path.startswith("bin/"):
        wheel.add_file(f"{PREFIX}/{path}", full)
        wheel.add_script(os.path.basename(path), _script())
    elif path.startswith("share/larder/"):
        wheel.add_file(f"{PREFIX}/{path}", full)
    elif path.startswith("share/man/") and path.split("/")[2] in MAN_SECTIONS:
        wheel.add_data(path, full)
    elif path in [f"share/doc/{NAME}/examples/{name}" for name in EXAMPLES]:
        wheel.add_data(path, full)


def add_all(wheel, folder):
    """Add all files of the installation that are needed at run time."""
    paths = list(_files_below(folder))
    libraries = [p for p in paths if p.startswith("lib")]
    found = list(_library_names(folder, libraries))
    if not any(path.endswith("/liblarder_lab.so.0") for path, _ in found):
        raise SystemExit(
            "larder: cmake installed no liblarder_lab.so.0; "
            "is LARDER_TOOLS off, or an absolute CMAKE_INSTALL_LIBDIR set?"
        )
    for path, real in found:
        wheel.add_file(_place_of_library(path), real)
    for path in paths:
        if not path.startswith("lib"):
            _add_other(wheel, folder, path)


def add_links(wheel):
    """Add links to the source tree, for an editable package."""
    folder = os.path.join(source_folder(), "python")
    wheel.add_text(f"_{NAME}_editable.pth", folder + "\n")
    wheel.add_script(NAME, _script())

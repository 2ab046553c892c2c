"""Bundles shared libraries, so that an installation runs on other systems, and
derives the platform tag from the rest.

A manylinux tag (PEP 600) promises that only the C library of the given
version, and what comes with it, is needed.
"""

import os
import re
import shutil
import subprocess
import sysconfig

# Of the C library, whichever file they are in.
_SYSTEM = re.compile(
    r"^(ld-linux.*|lib(c|m|dl|rt|pthread|util)|linux-(vdso|gate))\.so"
)
_RESOLVED = re.compile(r"^\s*(\S+) => (/.+) \(0x[0-9a-f]+\)$", re.MULTILINE)
_MISSING = re.compile(r"^\s*(\S+) => not found$", re.MULTILINE)
_VERSION = re.compile(rb"GLIBC_(\d+)\.(\d+)")

# Bundled libraries lie in lib, beside bin.  RPATH and not RUNPATH: it holds
# for what those libraries need in turn.
CMAKE_ARGS = (
    "-DCMAKE_INSTALL_RPATH=$ORIGIN/../lib",
    "-DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags",
)


def _binaries(folder):
    for where, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            path = os.path.join(where, name)
            if os.path.islink(path):
                continue
            with open(path, "rb") as file:
                if file.read(4) == b"\x7fELF":
                    yield path


def _needed(path, folder):
    """Names and files of linked libraries that are neither in `folder` nor
    part of the system."""
    listed = subprocess.run(
        ["ldd", path], capture_output=True, text=True
    ).stdout
    missing = _MISSING.findall(listed)
    if missing:
        raise SystemExit(f"larder: {path} needs {missing[0]}: not found")
    inside = os.path.realpath(folder) + os.sep
    for name, file in _RESOLVED.findall(listed):
        real = os.path.realpath(file)
        if not _SYSTEM.match(name) and not real.startswith(inside):
            yield name, real


def _copyright(file):
    """Debian's copyright file of the package that a library belongs to.  Its
    licence requires that it be included."""
    for path in (file, file.replace("/usr/lib/", "/lib/", 1)):
        found = subprocess.run(
            ["dpkg", "-S", path], capture_output=True, text=True
        ).stdout
        package = found.split(":")[0]
        note = f"/usr/share/doc/{package}/copyright"
        if package and os.path.exists(note):
            return package, note
    raise SystemExit(
        f"larder: {file} would be bundled, but the licence that has to go "
        "with it was not found (dpkg -S)"
    )


def bundle(folder):
    """Copy the libraries that the installation needs into `folder`."""
    notes = os.path.join(folder, "share", "larder", "licences")
    libraries = {}
    for path in list(_binaries(folder)):
        libraries.update(_needed(path, folder))
    for name, file in sorted(libraries.items()):
        package, note = _copyright(file)
        os.makedirs(notes, exist_ok=True)
        shutil.copyfile(note, os.path.join(notes, package))
        shutil.copy(file, os.path.join(folder, "lib", name))


def platform_tag(folder):
    """The platform tag, such as manylinux_2_34_x86_64, from the newest C
    library version that any file in `folder` requires."""
    newest = (2, 17)
    for path in _binaries(folder):
        with open(path, "rb") as file:
            found = _VERSION.findall(file.read())
        newest = max([newest] + [(int(a), int(b)) for a, b in found])
    machine = sysconfig.get_platform().split("-", 1)[1].replace("-", "_")
    return f"manylinux_{newest[0]}_{newest[1]}_{machine}"

"""Making an installation run on other systems than the one it was built on:
libraries that those may lack go along, and what is left names a platform.

A manylinux tag (PEP 600) promises that nothing but the C library of that
version, and what comes with it, has to be there."""

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
    """Names and files of what it is linked with that is not in `folder` and
    not the system's."""
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
    """Debian's note about the package that a library is of: its licence asks
    to go along."""
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
    """Put what the installation in `folder` needs into it."""
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
    """manylinux_2_34_x86_64 and the like: after the newest version of the C
    library that anything in `folder` asks for."""
    newest = (2, 17)
    for path in _binaries(folder):
        with open(path, "rb") as file:
            found = _VERSION.findall(file.read())
        newest = max([newest] + [(int(a), int(b)) for a, b in found])
    machine = sysconfig.get_platform().split("-", 1)[1].replace("-", "_")
    return f"manylinux_{newest[0]}_{newest[1]}_{machine}"

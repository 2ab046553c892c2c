"""Source archives: the repository's files, and PKG-INFO."""

import gzip
import io
import os
import subprocess
import tarfile

from larder_backend.package_metadata import NAME, metadata, version


def _tracked(source):
    """The files tracked by git, or None if this is no clone or git is missing."""
    try:
        top = subprocess.run(
            ["git", "-C", source, "rev-parse", "--show-toplevel"],
            capture_output=True,
            check=True,
        ).stdout.rstrip(b"\n")
        if os.path.realpath(os.fsdecode(top)) != source:
            return None
        listed = subprocess.run(
            ["git", "-C", source, "ls-files", "-z"],
            capture_output=True,
            check=True,
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return [os.fsdecode(name) for name in listed.split(b"\0") if name]


def _is_made(folder, name):
    """Whether a file in an unpacked source archive was created by a build."""
    at_top = folder == "."
    return name == "__pycache__" or (
        at_top and (name in ("build", "dist") or name.startswith("build-"))
    )


def _all(source):
    for where, folders, names in os.walk(source):
        inside = os.path.relpath(where, source)
        folders[:] = [f for f in folders if not _is_made(inside, f)]
        for name in names:
            yield os.path.normpath(os.path.join(inside, name))


def _files(source):
    tracked = _tracked(source)
    # A set: git lists a file that is being merged once for each side.
    names = set(_all(source) if tracked is None else tracked)
    return sorted(
        name
        for name in names
        if name != "PKG-INFO" and os.path.isfile(os.path.join(source, name))
    )


def _add(archive, name, data, executable=False):
    info = tarfile.TarInfo(f"{NAME}-{version()}/{name}")
    info.size = len(data)
    info.mode = 0o755 if executable else 0o644
    archive.addfile(info, io.BytesIO(data))


def write(folder, source):
    """Create the archive in `folder` and return its name.  The same sources
    give identical archives."""
    name = f"{NAME}-{version()}.tar.gz"
    path = os.path.join(folder, name)
    with open(path, "wb") as out, gzip.GzipFile(
        "", "wb", fileobj=out, mtime=0
    ) as packed, tarfile.open(
        fileobj=packed, mode="w", format=tarfile.PAX_FORMAT
    ) as archive:
        _add(archive, "PKG-INFO", metadata().encode())
        for inside in _files(source):
            full = os.path.join(source, inside)
            with open(full, "rb") as file:
                _add(archive, inside, file.read(), os.access(full, os.X_OK))
    return name

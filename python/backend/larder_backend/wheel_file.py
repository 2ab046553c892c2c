"""Writes wheels: archives with a list of their files."""

import base64
import hashlib
import os
import sysconfig
import zipfile

from larder_backend.package_metadata import (
    ENTRY_POINTS,
    NAME,
    metadata,
    source_folder,
    version,
)

# No file has a date of its own: the same sources make the same wheel.
DATE = (1980, 1, 1, 0, 0, 0)

EXECUTABLE, PLAIN = 0o100755, 0o100644


def _tag(platform=None):
    """The wheel's tag: any Python 3, one platform.  None: this machine's
    platform."""
    platform = platform or sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"py3-none-{platform}"


def _info_folder():
    return f"{NAME}-{version()}.dist-info"


def _licence():
    with open(os.path.join(source_folder(), "LICENSE"), "rb") as file:
        return file.read()


def _info(platform=None):
    """The files of the .dist-info folder, except RECORD."""
    wheel = (
        "Wheel-Version: 1.0\n"
        "Generator: larder_backend\n"
        "Root-Is-Purelib: false\n"
        f"Tag: {_tag(platform)}\n"
    )
    return {
        "LICENSE": _licence(),
        "METADATA": metadata().encode(),
        "WHEEL": wheel.encode(),
        "entry_points.txt": ENTRY_POINTS.encode(),
    }


def write_info(folder):
    """Write the .dist-info folder, for tools that ask for metadata without
    building a wheel."""
    made = os.path.join(folder, _info_folder())
    os.mkdir(made)
    for name, data in _info().items():
        with open(os.path.join(made, name), "wb") as file:
            file.write(data)
    return _info_folder()


class WheelFile:
    """A context manager that writes a wheel into a folder.  The file appears
    only if it is complete."""

    def __init__(self, folder, platform=None):
        self._platform = platform
        self.name = f"{NAME}-{version()}-{_tag(platform)}.whl"
        self._path = os.path.join(folder, self.name)
        self._records = []

    def __enter__(self):
        self._zip = zipfile.ZipFile(
            self._path + ".part", "w", zipfile.ZIP_DEFLATED
        )
        return self

    def __exit__(self, kind, error, traceback):
        if kind is None:
            self._finish()
        self._zip.close()
        if kind is None:
            os.replace(self._path + ".part", self._path)
        else:
            os.unlink(self._path + ".part")

    def _add(self, name, data, mode=PLAIN):
        info = zipfile.ZipInfo(name, DATE)
        info.external_attr = mode << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        self._zip.writestr(info, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
        self._records.append(
            f"{name},sha256={digest.decode().rstrip('=')},{len(data)}"
        )

    def _finish(self):
        for name, data in _info(self._platform).items():
            self._add(f"{_info_folder()}/{name}", data)
        record = f"{_info_folder()}/RECORD"
        info = zipfile.ZipInfo(record, DATE)
        info.external_attr = PLAIN << 16
        self._zip.writestr(info, "\n".join(self._records + [record + ",,\n"]))

    def add_file(self, name, path):
        """Add a file to site-packages."""
        with open(path, "rb") as file:
            mode = EXECUTABLE if os.access(path, os.X_OK) else PLAIN
            self._add(name, file.read(), mode)

    def add_text(self, name, text):
        self._add(name, text.encode())

    def add_data(self, name, path):
        """Add a file to the environment's prefix."""
        self.add_file(f"{NAME}-{version()}.data/data/{name}", path)

    def add_script(self, name, data):
        """Add a script to the environment's bin folder.  The installer sets
        its interpreter."""
        self._add(f"{NAME}-{version()}.data/scripts/{name}", data, EXECUTABLE)

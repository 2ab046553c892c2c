"""The package's metadata."""

import os
import re

NAME = "larder"
SUMMARY = "A caching memory allocator for GPUs"
OLDEST_PYTHON = "3.9"
# pytest, where there is one, finds its plugin by this.
ENTRY_POINTS = """[pytest11]
larder = larder.pytest_plugin
"""


def source_folder():
    """The root of the repository or of an unpacked source archive."""
    path = os.path.realpath(__file__)
    for _ in range(4):
        path = os.path.dirname(path)
    return path


def version():
    """The version, read from the header that defines it."""
    path = os.path.join(source_folder(), "include", "larder", "larder.h")
    with open(path, encoding="utf-8") as header:
        numbers = re.findall(
            r"^#define LARDER_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)",
            header.read(),
            re.MULTILINE,
        )
    if len(numbers) != 3:
        raise SystemExit(f"{path}: expected three LARDER_VERSION_ numbers")
    return ".".join(numbers)


def metadata():
    """The contents of METADATA and PKG-INFO."""
    with open(
        os.path.join(source_folder(), "README.md"), encoding="utf-8"
    ) as readme:
        description = readme.read()
    return "\n".join(
        (
            "Metadata-Version: 2.1",
            f"Name: {NAME}",
            f"Version: {version()}",
            f"Summary: {SUMMARY}",
            "License: MIT",
            f"Requires-Python: >={OLDEST_PYTHON}",
            "Classifier: License :: OSI Approved :: MIT License",
            "Classifier: Operating System :: POSIX :: Linux",
            "Classifier: Programming Language :: C",
            "Classifier: Programming Language :: Python :: 3",
            "Description-Content-Type: text/markdown",
            "",
            description,
        )
    )

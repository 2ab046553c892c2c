"""Locates Larder's libraries."""

import os
import sysconfig

VARIABLE = "LARDER_LIBRARY_DIR"


def _folders():
    """Candidate folders for a library, relative to this package: inside it
    (pip), the build tree that contains it, and the library folders of install
    prefixes."""
    package = os.path.dirname(os.path.abspath(__file__))
    yield os.path.join(package, "_prefix", "lib")
    yield os.path.join(os.path.dirname(os.path.dirname(package)), "build")
    multiarch = sysconfig.get_config_var("MULTIARCH")
    folder = package
    for _ in range(6):
        folder = os.path.dirname(folder)
        if multiarch:
            yield os.path.join(folder, "lib", multiarch)
        yield os.path.join(folder, "lib")
        yield os.path.join(folder, "lib64")


def candidates(names):
    """Paths to try, best first.  A folder named by the environment is the only
    candidate, so that no other version is loaded by accident."""
    asked = os.environ.get(VARIABLE)
    if asked:
        return [os.path.join(asked, name) for name in names]
    found = [
        path
        for folder in _folders()
        for path in (os.path.join(folder, name) for name in names)
        if os.path.exists(path)
    ]
    return found + list(names)

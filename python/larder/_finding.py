"""Where Larder's libraries are."""

import os
import sysconfig

VARIABLE = "LARDER_LIBRARY_DIR"


def _folders():
    """Where a library may be, relative to this package: in it, where pip
    installed both; a build tree around it, and the library folders of the
    prefixes it may be installed below."""
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
    """Paths to try, the best first.  A folder that was asked for by name is
    the only one: another library than the one meant would be a surprise."""
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

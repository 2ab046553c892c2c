#!python
"""Starts the command of this name that the Python package larder carries."""

import os
import sys
from importlib.util import find_spec


def places(package, name):
    """Candidate paths of the command: in the package, or in the build tree of
    an editable one."""
    source = os.path.dirname(os.path.dirname(package))
    yield os.path.join(package, "_prefix", "bin", name)
    yield os.path.join(source, "build", name)


def main():
    name = os.path.basename(sys.argv[0])
    # Found, not imported: that would load the library to no end.
    found = find_spec("larder")
    if found is None or found.origin is None:
        sys.exit(f"{name}: the Python package larder is not there any more")
    package = os.path.dirname(found.origin)
    for path in places(package, name):
        if os.access(path, os.X_OK):
            # Listings are run by the Python that has the package.
            os.environ.setdefault("LARDER_PYTHON", sys.executable)
            os.execv(path, sys.argv)
    sys.exit(f"{name}: the package in {package} does not carry it")


main()

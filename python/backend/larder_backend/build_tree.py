"""Builds with cmake and stages an installation."""

import os
import shlex
import shutil
import subprocess

from larder_backend import bundled_libraries
from larder_backend.package_metadata import source_folder

KEYS = ("build-dir", "cmake-args", "portable")


def settings_of(config_settings):
    """The settings, checked.  A repeated key arrives as a list; the last value
    counts."""
    settings = {}
    for key, value in (config_settings or {}).items():
        if key not in KEYS:
            raise SystemExit(
                f"larder: no config setting '{key}'; there are "
                + ", ".join(KEYS)
            )
        settings[key] = value[-1] if isinstance(value, list) else value
    if settings.get("portable", "no") not in ("yes", "no"):
        raise SystemExit(
            f"larder: portable: '{settings['portable']}' is neither yes nor no"
        )
    if is_portable(settings) and "build-dir" in settings:
        raise SystemExit(
            "larder: portable: not of a build-dir, which was linked for this "
            "system"
        )
    return settings


def is_portable(settings):
    return settings.get("portable") == "yes"


def _run(*words):
    # An installation is made for what it is told, whatever the environment
    # says of where it will be packed.
    environment = {k: v for k, v in os.environ.items() if k != "DESTDIR"}
    print("+", shlex.join(words), flush=True)
    done = subprocess.run(words, env=environment)
    if done.returncode != 0:
        raise SystemExit(
            f"larder: {words[0]} {words[1]} failed; "
            "tools/setup.sh names what the build needs"
        )


def _build(folder, more):
    _run(
        "cmake",
        "-S",
        source_folder(),
        "-B",
        folder,
        "-DLARDER_TESTS=OFF",
        "-DCMAKE_INSTALL_LIBDIR=lib",
        *more,
    )
    jobs = len(os.sched_getaffinity(0))
    _run("cmake", "--build", folder, "--parallel", str(jobs))


def stage(settings, work):
    """Install into a folder below `work` and return it."""
    if shutil.which("cmake") is None:
        raise SystemExit(
            "larder: cmake is missing; tools/setup.sh names what the build "
            "needs"
        )
    built = settings.get("build-dir")
    if built is None:
        built = os.path.join(work, "build")
        more = shlex.split(settings.get("cmake-args", ""))
        if is_portable(settings):
            more += bundled_libraries.CMAKE_ARGS
        _build(built, more)
    elif not os.path.exists(os.path.join(built, "CMakeCache.txt")):
        raise SystemExit(
            f"larder: build-dir: '{built}' is no folder that cmake built in"
        )
    staged = os.path.join(work, "staged")
    _run("cmake", "--install", built, "--prefix", staged, "--strip")
    if is_portable(settings):
        bundled_libraries.bundle(staged)
    return staged


def require_made():
    """Check that build/ was built, as an editable package runs from it."""
    for name in ("larder", "liblarder_lab.so"):
        path = os.path.join(source_folder(), "build", name)
        if not os.path.exists(path):
            raise SystemExit(
                f"larder: {path} is missing; an editable installation uses "
                "what `make` built: run it first"
            )

"""What pip calls to make the Python package (PEP 517, PEP 660).

A wheel is what `cmake --install` puts in place, laid out for Python; a source
archive is the repository.  Only the standard library is used: pip has nothing
to fetch, and works without a network.

Settings, given as ``pip install --config-settings KEY=VALUE .``:

    build-dir   a folder that was built already: nothing is built again
    cmake-args  more words for cmake, when it configures
    portable    yes: for other systems too, with the libraries they may lack
"""

import tempfile

from larder_backend import build_tree, bundled_libraries, carried_files
from larder_backend import package_metadata
from larder_backend import source_archive
from larder_backend.wheel_file import WheelFile, write_info

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    build_tree.settings_of(config_settings)
    return write_info(metadata_directory)


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_wheel(
    wheel_directory, config_settings=None, metadata_directory=None
):
    settings = build_tree.settings_of(config_settings)
    with tempfile.TemporaryDirectory(prefix="larder-pip-") as work:
        staged = build_tree.stage(settings, work)
        platform = (
            bundled_libraries.platform_tag(staged)
            if build_tree.is_portable(settings)
            else None
        )
        with WheelFile(wheel_directory, platform) as wheel:
            carried_files.add_all(wheel, staged)
    return wheel.name


def build_editable(
    wheel_directory, config_settings=None, metadata_directory=None
):
    """An editable wheel: the package in the source tree, with what `make`
    built in build/."""
    build_tree.settings_of(config_settings)
    build_tree.require_made()
    with WheelFile(wheel_directory) as wheel:
        carried_files.add_links(wheel)
    return wheel.name


def build_sdist(sdist_directory, config_settings=None):
    return source_archive.write(
        sdist_directory, package_metadata.source_folder()
    )

"""Snapshots wherever they are, as files that the command reads."""

import os
import pickle
import shutil
import tempfile
import weakref

from larder._command import Error
from larder._files import NewFile


def _fsspec(url):
    try:
        import fsspec
    except ImportError:
        raise Error(f"{url}: reading this needs fsspec: pip install fsspec")
    return fsspec


def urls_of(url):
    """The files that a URL with `*` in it stands for, as URLs; anything else is
    itself."""
    if "://" not in url or "*" not in url:
        return [url]
    filesystem, path = _fsspec(url).core.url_to_fs(url)
    found = sorted(filesystem.glob(path))
    if not found:
        raise Error(f"{url}: there is no such file")
    return [filesystem.unstrip_protocol(one) for one in found]


def _files_at(url):
    fsspec = _fsspec(url)
    found = fsspec.open_files(url, "rb")
    if not found:
        raise Error(f"{url}: there is no such file")
    return found


class Sources:
    """Paths of all sources, in order.  Sources that are not local files are in a
    temporary folder, which lives as long as this object."""

    def __init__(self, sources):
        self.paths = []
        self._folder = None
        for source in sources:
            self._add(source)

    def shown(self, text):
        """The text with the sources' names as the caller gave them."""
        if self._folder is None:
            return text
        return text.replace(self._folder + os.sep, "")

    def _add(self, source):
        if isinstance(source, str) and "://" in source:
            for file in _files_at(source):
                self._keep_file(file)
        elif isinstance(source, (str, os.PathLike)):
            # Never mistaken for an option, nor for the standard input.
            path = os.fspath(source)
            self.paths.append(f".{os.sep}{path}" if path[:1] == "-" else path)
        elif isinstance(source, (bytes, bytearray, memoryview)):
            self._keep("snapshot", lambda out: out.write(source))
        elif isinstance(source, dict):
            self._keep_dict(source)
        elif hasattr(source, "read") or hasattr(source, "__enter__"):
            self._keep_file(source)
        else:
            raise TypeError(
                "expected a path, a URL, bytes, an open file, or the dict of "
                f"torch.cuda.memory._snapshot(), not {type(source).__name__}"
            )

    def _keep(self, name, write):
        if self._folder is None:
            self._folder = tempfile.mkdtemp(prefix="larder-")
            weakref.finalize(self, shutil.rmtree, self._folder, True)
        path = os.path.join(self._folder, name)
        if path in self.paths:
            path = os.path.join(self._folder, f"{len(self.paths)}-{name}")
        with NewFile(path, "wb") as out:
            write(out)
        self.paths.append(path)

    def _keep_dict(self, snapshot):
        if "segments" not in snapshot:
            raise Error(
                "a dict without 'segments'; expected the one of "
                "torch.cuda.memory._snapshot()"
            )
        self._keep(
            "snapshot", lambda out: pickle.dump(snapshot, out, protocol=4)
        )

    def _keep_file(self, file):
        if not hasattr(file, "read"):  # fsspec's: opened by `with`
            with file as opened:
                return self._keep_file(opened)
        named = getattr(file, "path", None) or getattr(file, "name", None)
        name = os.path.basename(named) if isinstance(named, str) else ""
        self._keep(
            name or "snapshot", lambda out: shutil.copyfileobj(file, out)
        )

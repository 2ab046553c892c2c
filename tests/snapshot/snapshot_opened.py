#!/usr/bin/env python3
"""snapshot_opened.py ORIGINALS OURS - for each file of the first folder, what
we wrote of it in the second (NAME.ours, NAME.ours.json) holds the same; the
pickle uses only the opcodes that PyTorch's MemoryViz.js knows; and PyTorch's
_memory_viz.py, where it is installed, opens it."""
import os
import pickletools
import subprocess
import sys

from snapshot_read import listed, load

KNOWN = set('''APPENDS BINGET BININT BININT1 BININT2 EMPTY_DICT EMPTY_LIST FRAME
LONG1 LONG_BINGET MARK MEMOIZE PROTO SETITEMS SHORT_BINUNICODE STOP TUPLE TUPLE1
TUPLE2 TUPLE3 APPEND NEWTRUE NEWFALSE BINPUT LONG_BINPUT BINUNICODE EMPTY_TUPLE
NONE BINFLOAT LIST DICT SETITEM'''.split())
VIEW = '''import runpy, sys
sys.argv = ['viewer'] + sys.argv[2:]
runpy.run_path(%r, run_name='__main__')'''


FIND = '''import importlib.util, os
spec = importlib.util.find_spec('torch')
print(os.path.join(spec.submodule_search_locations[0], 'cuda',
                   '_memory_viz.py'))'''


def opcodes(path):
    with open(path, 'rb') as f:
        return {op.name for op, _, _ in pickletools.genops(f.read())}


def viewer():
    """A Python that has torch, and where its viewer is."""
    # Another python3 may come first in PATH than the one Debian's torch is of.
    for python in (sys.executable, '/usr/bin/python3'):
        done = subprocess.run([python, '-c', FIND], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=False)
        path = done.stdout.decode().strip()
        if done.returncode == 0 and os.path.exists(path):
            return python, path
    return None


def view(python, path, base, verb):
    said = ''
    for ending in ('.ours', '.segments'):
        done = subprocess.run(
            [python, '-c', VIEW % path, '-', verb, base + ending],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
            timeout=60)
        if done.returncode == 0:
            return
        said += done.stdout.decode()[-1000:]
    sys.exit('%s %s: %s' % (verb, base, said))


def main():
    originals, ours = sys.argv[1:]
    found = viewer()
    for name in sorted(os.listdir(originals)):
        wanted = listed(load(os.path.join(originals, name)))
        base = os.path.join(ours, name)
        for ending in ('.ours', '.ours.json'):
            if listed(load(base + ending)) != wanted:
                sys.exit('%s%s is not the same' % (base, ending))
        if not opcodes(base + '.ours') <= KNOWN:
            sys.exit('%s: opcodes %s' % (
                base, opcodes(base + '.ours') - KNOWN))
        if listed(load(base + '.segments')) != wanted['segments']:
            sys.exit('%s.segments is not the same' % base)
        if found:
            # Of 1.13, which knows the list of segments alone, or newer.
            view(*found, base, 'stats')
    print('viewed by PyTorch' if found else 'no PyTorch to view with')


main()

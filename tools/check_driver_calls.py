#!/usr/bin/env python3
"""check_driver_calls.py SOURCE [INCLUDE] - each call of the CUDA driver that a
toolkit's headers declare is hooked by the preload library or, with a reason, in
its list of harmless ones, and hooks have the releases and the parameters of the
headers; and so is what the toolkit's runtime looks up.  Prints what is wrong, and exits with 1 if anything is; with 77 where
no headers are installed."""

import glob
import os
import re
import subprocess
import sys

HEADERS = ("cuda.h", "cudaProfiler.h", "cudaGL.h", "cudaEGL.h", "cudaVDPAU.h")
# What the headers of graphics want to see declared.
STUBS = (
    "#include <cuda.h>\n"
    "#define __gl_h_\n#define __egl_h_\n#define __eglext_h_\n"
    "#define VDPAU_VDPAU_H\n#define VDPAU_X11_H\n"
)
# Each shows other variants: those of today, per thread, and of old.
WAYS = (
    (),
    ("-DCUDA_API_PER_THREAD_DEFAULT_STREAM",),
    ("-D__CUDA_API_VERSION_INTERNAL",),
)
# In no header: moving ends when one is called.
UNDOCUMENTED = {"cuSubgridCreate", "cuSubgridWorkerGridCreate", "cuSubgridWorksetCreate"}
MAPS = "PRELOAD_HOOK_MAP(X)\nPRELOAD_WORK_MAP(X)\nPRELOAD_SHARE_MAP(X)\n"


def preprocess(text, folders, flags=()):
    command = [os.environ.get("CC", "cc"), "-E", "-P", "-x", "c", "-"]
    command += ["-I" + folder for folder in folders] + list(flags)
    # What is missing of other libraries' headers does not matter.
    return subprocess.run(
        command, input=text, capture_output=True, text=True, check=False
    ).stdout


def find_headers():
    folders = sorted(glob.glob("/usr/local/cuda*/include"), reverse=True)
    folders += ["/usr/local/include", "/usr/include", "/opt/cuda/include"]
    for folder in folders:
        if os.path.exists(os.path.join(folder, "cuda.h")):
            return folder
    return None


def count_of(parameters):
    depth = 0
    count = 1
    for c in parameters:
        depth += (c in "([") - (c in ")]")
        count += c == "," and depth == 0
    return 0 if parameters.strip() in ("", "void") else count


def declared(folder):
    """{symbol: number of parameters}"""
    found = {}
    for header in HEADERS:
        if not os.path.exists(os.path.join(folder, header)):
            continue
        for way in WAYS:
            text = preprocess(STUBS + f"#include <{header}>\n", [folder], way)
            for m in re.finditer(r"\bCUresult\s+(cu[A-Z]\w*)\s*\(([^;{]*)\)\s*;", text):
                found.setdefault(m.group(1), count_of(m.group(2)))
    return found


def releases(folder):
    """{name for cuGetProcAddress(): the releases of its variants}"""
    found = {}
    for path in glob.glob(os.path.join(folder, "cuda*Typedefs.h")):
        with open(path, encoding="utf-8") as f:
            for name, since in re.findall(r"\bPFN_(cu\w+?)_v(\d+)", f.read()):
                found.setdefault(name, set()).add(int(since))
    return found


def hooked(source):
    """{symbol: (name, release, number of parameters)}"""
    text = preprocess(
        '#include "driver_calls.h"\n'
        "#define X(symbol, name, since, pt, types, ...) @@ symbol name since types @@\n"
        + MAPS,
        [os.path.join(source, f) for f in ("adapters/preload", "src", "include")],
    )
    found = {}
    for m in re.finditer(
        r'@@ (\w+)\s+((?:"\w*"\s*)+)(\d+)\s+\(([^@]*)\)\s*@@', text
    ):
        name = "".join(re.findall(r'"(\w*)"', m.group(2)))
        found[m.group(1)] = (name, int(m.group(3)), count_of(m.group(4)))
    return found


def harmless(source):
    with open(os.path.join(source, "adapters/preload/harmless.c"), encoding="utf-8") as f:
        text = f.read()
    text = text[text.index("harmless[] = {") : text.index("};")]
    return re.findall(r'"(\w+)"', text)


def looked_up(folder):
    """Names of calls in the runtime's library, which looks them up."""
    found = set()
    for lib in ("../lib", "../lib64"):
        for path in glob.glob(os.path.join(folder, lib, "libcudart.so.*")):
            with open(path, "rb") as f:
                words = re.findall(rb"\0(cu[A-Z]\w+)(?=\0)", f.read())
            found |= {word.decode() for word in words}
    return found


def problems(source, folder):
    calls = declared(folder)
    hooks = hooked(source)
    listed = harmless(source)
    known = releases(folder)
    if len(calls) < 400 or len(hooks) < 100:
        yield f"only {len(calls)} calls and {len(hooks)} hooks were found"
    for symbol in sorted(set(calls) - set(hooks) - set(listed)):
        yield f"{symbol}: neither hooked nor in harmless.c"
    names = set(hooks) | {name for name, _, _ in hooks.values()} | set(listed)
    for name in sorted(looked_up(folder) - names - UNDOCUMENTED):
        yield f"{name}: looked up by the runtime, and not known"
    for symbol in sorted(set(listed) & set(hooks)):
        yield f"{symbol}: hooked, and in harmless.c"
    for symbol in sorted(s for s in set(listed) if listed.count(s) > 1):
        yield f"{symbol}: twice in harmless.c"
    with open(os.path.join(folder, "cuda.h"), encoding="utf-8") as f:
        newest = int(re.search(r"#define CUDA_VERSION (\d+)", f.read()).group(1))
    for symbol, (name, since, count) in sorted(hooks.items()):
        if symbol in calls and count != calls[symbol]:
            yield f"{symbol}: hooked with {count} parameters, has {calls[symbol]}"
        if since <= newest and name in known and since not in known[name]:
            yield f"{symbol}: {name} has no variant of release {since}"


def main():
    folder = sys.argv[2] if len(sys.argv) > 2 else find_headers()
    if folder is None:
        print("the headers of a CUDA toolkit are not installed: skipped")
        return 77
    wrong = list(problems(sys.argv[1], folder))
    for line in wrong:
        print(f"adapters/preload: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

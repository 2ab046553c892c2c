#!/usr/bin/env python3
"""make_standins.py HEADERS LIBRARIES OUT [ADDITION...] - writes the lists of names in
adapters/standins/, for developers, after a new toolkit release.

HEADERS and LIBRARIES are folders of the toolkit.  A line has the name of a public
function and what it does with its arguments, which are counted from 1: 3:handle
writes a new handle, 3:free destroys one, 3:8 writes eight zero bytes; 2:keep stores a
stream in the handle that is the first argument, and 2:kept returns it; 2:version
writes the library's version, 2:property the part of it that the first argument
selects; "text" marks a function that returns a string.  Names already in OUT are
kept.  ADDITION is a library of a program: the names that it needs and no list
has are added.
"""

import pathlib
import re
import subprocess
import sys

# Library, what its functions' names begin with, headers.
FAMILIES = {
    "cublas": (r"cublas(?!Lt)", ("cublas_v2.h", "cublasXt.h")),
    "cublasLt": (r"cublasLt", ("cublasLt.h",)),
    "cudnn": (r"cudnn", ("cudnn.h",)),
    "cufft": (r"cufft", ("cufftXt.h",)),
    "curand": (r"curand", ("curand.h",)),
    "cusolver": (
        r"cusolver",
        ("cusolverDn.h", "cusolverSp.h", "cusolverRf.h"),
    ),
    "cusparse": (r"cusparse(?!Lt)", ("cusparse.h",)),
    "nvrtc": (r"nvrtc", ("nvrtc.h",)),
    "nccl": (r"nccl", ("nccl.h",)),
    "cupti": (r"cupti", ("cupti.h",)),
    "nvJitLink": (r"nvJitLink", ("nvJitLink.h",)),
    # No header at hand: what programs want of them.
    "cusparseLt": (r"cusparseLt", ()),
    "cufile": (r"cuFile", ()),
    "nvshmem_host": (r"nvshmem", ()),
}

# Arguments that a stand-in is declared with (standin.h).
MOST = 16

HANDLE_TYPE = re.compile(r"typedef\s+(?:struct\s+)?\w+\s*\*\s*(\w+)\s*;")
ENUM_TYPE = re.compile(r"typedef\s+enum\s*\w*\s*\{[^}]*\}\s*(\w+)\s*;")
CALL = re.compile(r"\b([\w]+(?:\s+\w+)*\s*\**)\s*\b(\w+)\s*\(([^;{}()]*)\)\s*;")
ASKS = re.compile(r"Get|[Bb]uffer[Ss]ize|Size|Version|Query")
MAKES = re.compile(r"Create|Init|Alloc|create|Plan|Get|Subscribe|Split|Dup")


def preprocessed(headers, names):
    text = "".join(f"#include <{name}>\n" for name in names)
    made = subprocess.run(
        ["cc", "-E", "-P", "-I", headers, "-"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return re.sub(r"__attribute__\s*\(\([^)]*\)+\)+", "", made)


def arguments_of(text):
    """The integer and pointer arguments; others are passed in separate
    registers."""
    parts = [part.strip() for part in text.split(",")]
    return [
        part
        for part in parts
        if part and not re.match(r"(const\s+)?(float|double)\s+\w*$", part)
    ]


def written(name, arguments, handles, enums):
    found = []
    first = re.match(r"(\w+)\s+\w+$", arguments[0]) if arguments else None
    if "Destroy" in name and first and first[1] in handles:
        return ["1:free"]
    if first and first[1] in handles and re.search(r"[SG]etStream(_v2)?$", name):
        return ["2:keep" if "Set" in name else "2:kept"]
    if re.search(r"(fft|rand|solver|sparse)GetVersion$", name):
        return [f"{len(arguments)}:version"]
    if re.search(r"(blas|blasLt|fft|rand|solver|sparse)GetProperty$", name):
        return ["2:property"]
    for number, argument in enumerate(arguments[:MOST], 1):
        match = re.match(r"(?:struct\s+)?(\w+)\s*\*\s*\w*$", argument)
        if match is None:
            continue
        kind = match[1]
        if kind in handles and MAKES.search(name):
            found.append(f"{number}:handle")
        elif kind == "size_t" and ASKS.search(name):
            found.append(f"{number}:8")
        elif (kind == "int" or kind in enums) and ASKS.search(name):
            found.append(f"{number}:4")
    return found


def prototypes(headers, names):
    text = preprocessed(headers, names)
    handles = set(HANDLE_TYPE.findall(text))
    enums = set(ENUM_TYPE.findall(text))
    found = {}
    for returned, name, arguments in CALL.findall(text):
        if re.search(r"char\s*\*$", returned):
            found[name] = ["text"]
        else:
            found[name] = written(
                name, arguments_of(arguments), handles, enums
            )
    return found


def names_in(library, *options):
    lines = subprocess.run(
        ["nm", "-D", *options, library],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    return {line.split()[-1].partition("@")[0] for line in lines if line.strip()}


def shown_by(libraries, library):
    files = sorted(pathlib.Path(libraries).glob(f"lib{library}.so*"))
    return names_in(files[0], "--defined-only") if files else set()


def main():
    headers, libraries, out, *additions = sys.argv[1:]
    wanted = set().union(
        *(names_in(file, "--undefined-only") for file in additions)
    )
    for library, (begin, files) in FAMILIES.items():
        path = pathlib.Path(out) / f"{library}.list"
        known = {}
        if path.exists():
            for line in path.read_text().splitlines():
                name, *rest = line.split()
                if name != "#":
                    known[name] = rest
        calls = prototypes(headers, files) if files else {}
        for name in sorted(shown_by(libraries, library) | wanted):
            if re.match(begin, name):
                known.setdefault(name, calls.get(name, []))
        path.write_text(
            "# Made by tools/make_standins.py from public headers.\n"
            + "".join(
                " ".join([name, *known[name]]) + "\n" for name in sorted(known)
            )
        )


if __name__ == "__main__":
    main()

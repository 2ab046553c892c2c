#!/usr/bin/env python3
"""make_abi.py RELEASE INCLUDE - the library's binary interface as a test.

Prints a C source that compiles against the headers below INCLUDE, and links with
the library, only as long as programs built for RELEASE still run with it:
  - every function is there with the same parameters and result;
  - every value of an enumeration is the same;
  - every field of a structure is where it was and as large, and a structure
    that begins with `size` has become no smaller, any other is as large.
So the test needs nothing but a compiler, and what is wrong the compiler says.

It is run once at a release, for those after it:

    tools/make_abi.py 0.2.0 include >tests/abi/test_abi_0_2_0.c
"""

import glob
import os
import re
import subprocess
import sys
import tempfile

HEAD = """/* test_%(name)s.c - programs built for Larder %(release)s run with this one: its
 * functions, values and structures are here, as they were then.
 *
 * Made by tools/make_abi.py: what does not compile here breaks such programs.
 * Only until that version is released may it be made anew. */
#include <stddef.h>
#include <stdio.h>

%(includes)s

#define SAME(condition) _Static_assert(condition, #condition)
#define AT(type, field, offset, bytes)                                         \\
    SAME(offsetof(type, field) == (offset));                                   \\
    SAME(sizeof(((type *)NULL)->field) == (bytes))
"""

TAIL = """
typedef void function(void);

/* Volatile, so that each is asked of the linker. */
static function *const volatile functions[] = {
%s
};

int main(void)
{
    size_t count = sizeof functions / sizeof functions[0];

    for (size_t i = 0; i < count; i++) {
        if (functions[i] == NULL)
            return 1;
    }
    printf("%%zu functions\\n", count);
    return 0;
}
"""


def preprocessed(include):
    """The declarations of the headers, and the includes that provide them."""
    headers = sorted(glob.glob(os.path.join(include, "larder", "*.h")))
    lines = ["#include <larder/%s>" % os.path.basename(h) for h in headers]
    text = subprocess.run(["cc", "-E", "-I" + include, "-"],
                          input="\n".join(lines) + "\n", encoding="utf-8",
                          stdout=subprocess.PIPE, check=True).stdout
    ours = False
    kept = []
    for line in text.split("\n"):
        if line.startswith("# "):
            ours = os.path.join(include, "larder/") in line
        elif ours:
            kept.append(line)
    attribute = r"__attribute__\(\((?:[^()]|\([^()]*\))*\)\)"
    return re.sub(attribute, "", " ".join(kept)), lines


def declarations(text):
    """The text split at semicolons outside of braces."""
    depth = begin = 0
    for i, c in enumerate(text):
        depth += (c == "{") - (c == "}")
        if c == ";" and depth == 0:
            yield " ".join(text[begin:i].split())
            begin = i + 1


def fields(body):
    for declaration in declarations(body):
        pointer = re.search(r"\(\s*\*\s*(\w+)\s*\)\s*\(", declaration)
        if pointer:
            yield pointer.group(1)
            continue
        for name in declaration.split(","):
            yield re.search(r"(\w+)\s*(?:\[.*\])?$", name).group(1)


class Interface:
    def __init__(self, text):
        self.functions, self.types, self.values, self.structs = [], [], [], []
        for d in declarations(text):
            body = re.match(r"(?:typedef )?(enum|struct) ?\w* ?\{(.*)\} ?(\w*)$",
                            d)
            function = re.match(r"[^()=]*?(\w+)\s*\(", d)
            if body and body.group(1) == "enum":
                self.values += re.findall(r"(\w+)\s*(?:=[^,]*)?(?:,|$)",
                                          body.group(2).strip())
            elif body:
                self.structs.append((body.group(3), list(fields(body.group(2)))))
            elif d.startswith("typedef"):
                self.types.append(d + ";")
            elif function and "{" not in d:
                self.functions.append((function.group(1), d + ";"))
            elif "{" not in d or "static inline" not in d:
                sys.exit("make_abi: this is not understood: " + d)


def measure(interface, include, includes):
    """Values and structure layouts, measured with the compiler, as lines of
    checks."""
    lines = ["#include <stddef.h>", "#include <stdio.h>", *includes,
             "int main(void) {"]
    for v in interface.values:
        lines.append('printf("SAME(%s == %%d);\\n", (int)%s);' % (v, v))
    for name, of in interface.structs:
        sign = ">=" if of[0] == "size" else "=="
        lines.append('printf("\\nSAME(sizeof(%s) %s %%zu);\\n", sizeof(%s));' %
                     (name, sign, name))
        for f in of:
            lines.append('printf("AT(%s, %s, %%zu, %%zu);\\n", '
                         'offsetof(%s, %s), sizeof(((%s *)0)->%s));' %
                         (name, f, name, f, name, f))
    lines.append("return 0; }")
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "measure")
        subprocess.run(["cc", "-I" + include, "-x", "c", "-", "-o", program],
                       input="\n".join(lines), encoding="utf-8", check=True)
        return subprocess.run([program], stdout=subprocess.PIPE,
                              check=True).stdout.decode()


def main():
    if len(sys.argv) != 3:
        sys.stderr.write("make_abi: expected RELEASE INCLUDE\n")
        return 2
    release, include = sys.argv[1:]
    text, includes = preprocessed(include)
    interface = Interface(text)
    parts = [HEAD % {"release": release, "includes": "\n".join(includes),
                     "name": "abi_" + release.replace(".", "_")},
             "/* ---- types and functions ---- */\n",
             "\n".join(interface.types + [d for _, d in interface.functions]),
             "\n/* ---- values and structures ---- */\n",
             measure(interface, include, includes),
             TAIL % "\n".join("    (function *)%s," % name
                              for name, _ in interface.functions)]
    laid_out = subprocess.run(["clang-format", "--assume-filename=tests/abi.c"],
                              input="\n".join(parts), encoding="utf-8",
                              stdout=subprocess.PIPE, check=True).stdout
    sys.stdout.write(laid_out)
    return 0


if __name__ == "__main__":
    sys.exit(main())

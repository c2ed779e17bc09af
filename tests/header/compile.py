#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tilewright.h and tilewright_layout.h must compile alone, twice, and before and after cuda.h, in
every C and C++ standard that users have, with all warnings as errors. Usage: compile.py COMPILER
c|c++ [FOLDER_OF_CUDA_H]"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CAPI = HERE.parent.parent / "capi"
sys.path.insert(0, str(CAPI / "package"))
import headers
STANDARDS = {"c": ["c99", "c11", "c17", "c2x", "gnu99"],
             "c++": ["c++98", "c++11", "c++14", "c++17", "c++20"]}
GCC = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-Wconversion", "-Wsign-conversion", "-Wshadow",
       "-Wundef", "-Wcast-align", "-Wcast-qual", "-Wredundant-decls", "-Wpadded"]
GCC_C = ["-Wstrict-prototypes", "-Wmissing-prototypes", "-Wold-style-definition"]
# All warnings except those about other standards and about the headers' own Doxygen commands.
CLANG = ["-Weverything", "-Werror", "-Wno-c++98-compat", "-Wno-c++98-compat-pedantic",
         "-Wno-unknown-warning-option", "-Wno-unsafe-buffer-usage", "-Wno-pre-c2x-compat",
         "-Wno-declaration-after-statement", "-Wno-poison-system-directories", "-Wno-documentation-unknown-command",
         "-Wno-zero-as-null-pointer-constant"]


INCLUDES = {"tw": '"tilewright.h"', "layout": '"tilewright_layout.h"', "cuda": "<cuda.h>"}


def source(order):
    """The test program with these includes."""
    text = "".join(f"#include {INCLUDES[name]}\n" for name in order)
    if "cuda" in order:
        text += (HERE / "with_cuda.inc").read_text()
    return text + (HERE / "uses.inc").read_text()


def compiles(compiler, language, standard, order, flags, folder=CAPI):
    done = subprocess.run([compiler, "-x", language, f"-std={standard}", *flags, "-I", str(folder),
                           "-fsyntax-only", "-"], input=source(order), capture_output=True, text=True)
    return done.returncode == 0, done.stderr


# Faults that a header could have: a text in it, its replacement, and where the fault must be
# detected (language, standard, includes).
ALONE, TWICE, CUDA, LAYOUT = ["tw"], ["tw", "tw"], ["cuda", "tw"], ["layout"]
INCLUDED = "#include <stdint.h>\n"
FAULTS = [
    ("a missing include", INCLUDED, "", [("c", "c99", ALONE), ("c++", "c++98", ALONE)]),
    ("no guard", "#ifndef TILEWRIGHT_H\n#define TILEWRIGHT_H\n", "#if 1\n",
     [("c", "c99", TWICE), ("c", "c2x", TWICE), ("c++", "c++20", TWICE)]),
    ("no guard of the layouts", "#ifndef TILEWRIGHT_LAYOUT_H\n#define TILEWRIGHT_LAYOUT_H\n", "#if 1\n",
     [("c", "c99", LAYOUT), ("c++", "c++20", LAYOUT)]),
    ("layouts without what they need", '#include "tilewright.h"\n', "",
     [("c", "c99", LAYOUT), ("c++", "c++98", LAYOUT)]),
    ("no layouts", '#include "tilewright_layout.h"\n', "", [("c", "c99", ALONE), ("c++", "c++98", ALONE)]),
    ("NVIDIA's stream by another type", INCLUDED, INCLUDED + "typedef void *CUstream;\n",
     [("c", "c99", CUDA), ("c++", "c++17", CUDA)]),
    ("a hole in a struct", INCLUDED, INCLUDED + "struct tw_hole { int8_t a; int32_t b; };\n"
     "typedef char tw_laid_out[sizeof(struct tw_hole)];\n",
     [("c", "gnu99", ALONE), ("c++", "c++11", ALONE)]),
    ("a word of C11", INCLUDED, INCLUDED + "extern _Alignas(8) int tw_a;\n", [("c", "c99", ALONE)]),
    ("a word of C++11", INCLUDED, INCLUDED + "enum class tw_kind { a };\n",
     [("c", "c17", ALONE), ("c++", "c++98", ALONE)]),
    ("a keyword of C++ as a name", INCLUDED, INCLUDED + "int tw_f(int class);\n",
     [("c++", "c++14", ALONE)]),
    ("a function without a prototype", INCLUDED, INCLUDED + "int tw_f();\n", [("c", "c11", ALONE)]),
    ("an undefined macro", INCLUDED, INCLUDED + "#if TW_NOBODY_DEFINES_THIS\n#endif\n",
     [("c", "c99", ALONE), ("c++", "c++20", ALONE)])]


def planted(compiler, language, flags, with_cuda):
    """Tests this check: the compiler must detect each fault in a copy of the headers."""
    texts, count = {path.name: path.read_text() for path in headers.paths(CAPI / "tilewright.h")}, 0
    with tempfile.TemporaryDirectory() as name:
        for fault, before, after, places in FAULTS:
            assert sum(before in text for text in texts.values()) == 1, before
            for file, text in texts.items():
                (pathlib.Path(name) / file).write_text(text.replace(before, after, 1))
            for where, standard, order in places:
                if where == language and (with_cuda or "cuda" not in order):
                    count += 1
                    assert not compiles(compiler, language, standard, order, flags, name)[0], \
                        f"{fault} is not seen by {compiler} -std={standard}"
    assert count >= 5, "no fault was planted"


def deprecation(compiler, language):
    """TW_DEPRECATED must warn about a use, and must not if TW_NO_DEPRECATED is defined."""
    use = ('#include "tilewright.h"\nTW_API int tw_old(void) TW_DEPRECATED("use tw_new() instead");\n'
           "int use(void);\nint use(void) { return tw_old(); }\n")
    for define, warned in (([], True), (["-DTW_NO_DEPRECATED"], False)):
        done = subprocess.run([compiler, "-x", language, "-Wall", *define, "-I", str(CAPI), "-fsyntax-only", "-"],
                              input=use, capture_output=True, text=True)
        if done.returncode or ("use tw_new() instead" in done.stderr) != warned:
            sys.exit(f"TW_DEPRECATED with {define} says: {done.stderr}")


def main():
    compiler, language = sys.argv[1:3]
    cuda = sys.argv[3] if len(sys.argv) > 3 else None
    if not shutil.which(compiler):
        print(f"skipped: there is no {compiler}")
        sys.exit(77)
    if "clang" in subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout:
        flags = CLANG
    else:
        # Padding is an error: bindings of other languages would have to guess it.
        flags = GCC + (GCC_C if language == "c" else [])
    orders = [["tw"], ["tw", "tw"], ["layout"], ["layout", "tw", "layout"]]
    if cuda:
        flags = [*flags, "-isystem", cuda]
        orders += [["tw", "cuda"], ["cuda", "tw"]]

    deprecation(compiler, language)
    planted(compiler, language, flags, cuda is not None)
    failures = count = 0
    for standard in STANDARDS[language]:
        for order in orders:
            # cuda.h itself is not valid C++98.
            if "cuda" in order and standard == "c++98":
                continue
            good, report = compiles(compiler, language, standard, order, flags)
            count += 1
            if not good:
                failures += 1
                print(f"{compiler} -std={standard}, includes {order}:\n{report}")
    print(f"{count} compilations, {failures} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

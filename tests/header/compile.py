#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tilewright.h compiles alone, twice, before and after cuda.h, as every C and C++ that its users
have, with every warning an error. Usage: compile.py COMPILER c|c++ [FOLDER_OF_CUDA_H]"""
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
CAPI = HERE.parent.parent / "capi"
STANDARDS = {"c": ["c99", "c11", "c17", "c2x", "gnu99"],
             "c++": ["c++98", "c++11", "c++14", "c++17", "c++20"]}
GCC = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-Wconversion", "-Wsign-conversion", "-Wshadow",
       "-Wundef", "-Wcast-align", "-Wcast-qual", "-Wredundant-decls", "-Wpadded"]
GCC_C = ["-Wstrict-prototypes", "-Wmissing-prototypes", "-Wold-style-definition"]
# Everything, but what is about other standards, and our own Doxygen commands.
CLANG = ["-Weverything", "-Werror", "-Wno-c++98-compat", "-Wno-c++98-compat-pedantic",
         "-Wno-unknown-warning-option", "-Wno-unsafe-buffer-usage", "-Wno-pre-c2x-compat",
         "-Wno-declaration-after-statement", "-Wno-poison-system-directories", "-Wno-documentation-unknown-command",
         "-Wno-zero-as-null-pointer-constant"]


def source(order):
    """The test program after these includes."""
    lines = [f'#include {"<cuda.h>" if name == "cuda" else chr(34) + "tilewright.h" + chr(34)}'
             for name in order]
    text = "\n".join(lines) + "\n"
    if "cuda" in order:
        text += (HERE / "with_cuda.inc").read_text()
    return text + (HERE / "uses.inc").read_text()


def compiles(compiler, language, standard, order, flags, extra=""):
    done = subprocess.run([compiler, "-x", language, f"-std={standard}", *flags, "-I", str(CAPI),
                           "-fsyntax-only", "-"], input=source(order) + extra, capture_output=True,
                          text=True)
    return done.returncode == 0, done.stderr


def main():
    compiler, language = sys.argv[1:3]
    cuda = sys.argv[3] if len(sys.argv) > 3 else None
    if not shutil.which(compiler):
        print(f"skipped: there is no {compiler}")
        sys.exit(77)
    if "clang" in subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout:
        flags = CLANG
    else:
        # Padding would be a hole that other languages' bindings must guess.
        flags = GCC + (GCC_C if language == "c" else [])
    orders = [["tw"], ["tw", "tw"]]
    if cuda:
        flags = [*flags, "-isystem", cuda]
        orders += [["tw", "cuda"], ["cuda", "tw"]]

    # The check can fail: a sign conversion and a missing prototype are seen.
    planted, _ = compiles(compiler, language, STANDARDS[language][1], ["tw"], flags,
                          "\nint f(long long x);\nint f(long long x) { return x; }\n")
    assert not planted, "a planted warning passed"

    failures = count = 0
    for standard in STANDARDS[language]:
        for order in orders:
            # cuda.h itself is no C++98.
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

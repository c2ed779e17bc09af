#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the tables for the build: a target's flags and fatbinary option, and the families."""
import pathlib
import re
import sys

BASE = pathlib.Path(__file__).resolve().parent.parent / "base"
ROW = re.compile(r"^TW_ARCH\((\w+), (\w+), (\w+), ([\w |]+)\)")
FAMILY = re.compile(r"^TW_FAMILY\((\w+), \d+, (\d+)\)")
FEATURE = re.compile(r"^TW_FEATURE\((\w+),")


def archs():
    rows = {}
    for line in (BASE / "archs.inc").read_text().splitlines():
        match = ROW.match(line)
        if match:
            name, kind, sm, features = match.groups()
            rows[name] = (kind, sm, [f.strip() for f in features.split("|")])
    return rows


def features():
    lines = (BASE / "features.inc").read_text().splitlines()
    return [m.group(1) for m in map(FEATURE.match, lines) if m]


def main():
    if sys.argv[1] == "families":
        lines = (BASE.parent / "kernels" / "families.inc").read_text().splitlines()
        print(" ".join(":".join(m.groups()) for m in map(FAMILY.match, lines) if m))
        return
    question, name = sys.argv[1:]
    kind, sm, has = archs()[name]
    if question == "flags":
        code = name if kind == "elf" else f"compute_{sm}"
        flags = ["-gencode", f"arch=compute_{sm},code={code}", "-cubin" if kind == "elf" else "-ptx"]
        # emit.cuh drops the rows whose feature is 0 here.
        flags += [f"-DTW_HAS_{f}={int(f in has)}" for f in features()]
        print(" ".join(flags))
    elif question == "image3":
        print(f"--image3=kind={kind},sm={sm},file=")
    else:
        sys.exit(f"archs.py: unknown question {question}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads src/base/archs.inc for the build: compiler flags and fatbinary options of a target."""
import pathlib
import re
import sys

BASE = pathlib.Path(__file__).resolve().parent.parent / "base"
ROW = re.compile(r"^TW_ARCH\((\w+), (\w+), (\w+), ([\w |]+)\)")
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

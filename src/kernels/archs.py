#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads archs.inc, features.inc and families.inc for the build.

    archs.py families        prints the families
    archs.py fingerprint     prints a hash of all sources of device code
    archs.py flags TARGET    prints nvcc's flags for a target of archs.inc
    archs.py image3 TARGET   prints fatbinary's option for a target, without the file"""
import hashlib
import pathlib
import re
import sys

BASE = pathlib.Path(__file__).resolve().parent.parent / "base"
ROW = re.compile(r"^TW_ARCH\((\w+), (\w+), (\w+), ([\w |]+)\)")
FAMILY = re.compile(r"^TW_FAMILY\((\w+), \d+\)")
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


def families():
    lines = (BASE.parent / "kernels" / "families.inc").read_text().splitlines()
    return [m.group(1) for m in map(FAMILY.match, lines) if m]


def fingerprint():
    """A hash of the names and contents of all files that device code can include."""
    root = BASE.parent.parent
    sources = sorted(path.relative_to(root).as_posix() for folder, kinds in
                     (("src/kernels", (".cu", ".cuh", ".h", ".inc")), ("src/base", (".inc",)), ("include", (".cuh",)))
                     for path in (root / folder).rglob("*") if path.suffix in kinds)
    total = hashlib.sha256()
    for name in sources:
        total.update(f"{name} {hashlib.sha256((root / name).read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()


def main():
    if sys.argv[1] == "fingerprint":
        print(fingerprint())
        return
    if sys.argv[1] == "families":
        print(" ".join(families()))
        return
    question, name = sys.argv[1:]
    kind, sm, has = archs()[name]
    if question == "flags":
        code = name if kind == "elf" else f"compute_{sm}"
        flags = ["-gencode", f"arch=compute_{sm},code={code}", "-cubin" if kind == "elf" else "-ptx"]
        # emit.cuh drops kernels that need a feature which is 0 here.
        flags += [f"-DTW_HAS_{f}={int(f in has)}" for f in features()]
        print(" ".join(flags))
    elif question == "image3":
        print(f"--image3=kind={kind},sm={sm},file=")
    else:
        sys.exit(f"archs.py: unknown question {question}")


if __name__ == "__main__":
    main()

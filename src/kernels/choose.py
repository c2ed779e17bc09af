#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Selects kernels by their names, for a build with -Dkernels.

    choose.py                                        lists the names of all kernels
    choose.py PATTERNS                               lists the names that the patterns match
    choose.py PATTERNS --out DIR --archs A,B -- CXX  for the build: writes tables of the matching kernels

PATTERNS are shell patterns, separated by commas. DIR receives names.txt and tables that have only the
chosen entries; nvcc finds them before the complete tables. The build reads the output: the number of
chosen kernels, the tables it depends on, and a line for each part that has a chosen kernel, with the
architectures to compile it for. PTX is always among those: its version tells which drivers load the
image."""
import argparse
import fnmatch
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import archs as arch_tables
import units


def chosen(parts, patterns, features):
    """The names that match a pattern. Each pattern must match a kernel whose feature is in one of the
    sets `features`; if `features` is empty, any kernel will do."""
    matched = set()
    for pattern in patterns:
        names = {entry.symbol: entry.feature for part in parts for entry in part.entries
                 if fnmatch.fnmatchcase(entry.symbol, pattern)}
        if not names:
            sys.exit(f'kernels: no kernel matches the pattern "{pattern}"; python3 src/kernels/choose.py lists all names')
        if features and not any(feature in has for feature in names.values() for has in features):
            sys.exit(f'kernels: the kernels that match "{pattern}" need {" or ".join(sorted(set(names.values())))}, '
                     "but no architecture in gpu_archs has it")
        matched |= set(names)
    return matched


def write(path, text):
    """Writes a file if its text changes: a written table rebuilds its images."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def prepare(parts, patterns, out, names):
    known = arch_tables.archs()
    kinds = {name: known[name][0] for name in names}
    features = {name: set(known[name][2]) for name in names}
    wanted = chosen(parts, patterns, features.values())
    print(f"chosen {len(wanted)} of {sum(len(part.entries) for part in parts)}")
    print(units.tables_line())
    texts = {part.table: "" for part in parts}
    for part in parts:
        found = [entry for entry in part.entries if entry.symbol in wanted]
        texts[part.table] += "".join(entry.text + "\n" for entry in found)
        needed = {entry.feature for entry in found}
        having = [name for name in names if needed & features[name]]
        ptx = [name for name in names if kinds[name] == "ptx" and name not in having]
        if having:
            print(units.line(part), *having, *ptx)
    for table, text in texts.items():
        write(out / "kernels" / table.relative_to(units.KERNELS), text)
    write(out / "names.txt", "".join(entry.symbol + "\n" for part in parts for entry in part.entries
                                     if entry.symbol in wanted))


def main():
    cut = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="?", default="*")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--archs", default="")
    options = parser.parse_args(sys.argv[1:cut])
    parts = units.parts(compiler=sys.argv[cut + 1:] or units.COMPILER)
    patterns = [part.strip() for part in options.patterns.split(",")]
    if options.out:
        prepare(parts, patterns, options.out, options.archs.split(","))
        return
    wanted = chosen(parts, patterns, [])
    for part in parts:
        for entry in part.entries:
            if entry.symbol in wanted:
                print(entry.symbol)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Chooses the kernels of a build by their names, for -Dkernels.

    choose.py                                        lists every kernel's name
    choose.py PATTERNS                               lists those that the patterns match
    choose.py PATTERNS --out DIR --archs A,B -- CXX  for the build: writes the tables of those kernels

PATTERNS are shell patterns with commas between them. DIR then holds kernels/<family>/kernels.inc with
the chosen rows alone, which device code finds before the whole table, and names.txt. The build reads
how many kernels were chosen of how many, and what to compile: a line for each shard, with the
architectures that have a chosen row. PTX comes along always: it says whose nvcc made the image, which
decides what driver loads it."""
import argparse
import fnmatch
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import archs as arch_tables

KERNELS = pathlib.Path(__file__).resolve().parent
DEFINED = re.compile(r"^#define (TW_\w+)", re.MULTILINE)
USED = re.compile(r"\b(TW_\w+)\(")
# A host row has the shard -1, or none, and is no kernel of device code.
ROW = re.compile(r"@(TW_\w+\((\w+), ?(\d+), ?(\w+)[^()]*\))")


class Row:
    def __init__(self, match):
        self.text, self.feature, shard, self.symbol = match.groups()
        self.shard = int(shard)


def rows(table, compiler=("c++",)):
    """Rows of device code in a table. It may make many of one by macros of its own, so the
    preprocessor expands them."""
    text = table.read_text()
    macros = sorted(set(USED.findall(text)) - set(DEFINED.findall(text)))
    done = subprocess.run([*compiler, "-E", "-P", "-x", "c++", "-"], capture_output=True, text=True, check=True,
                          input="".join(f"#define {name}(...) @{name}(__VA_ARGS__)\n" for name in macros) + text)
    return [Row(match) for match in ROW.finditer(done.stdout)]


def all_rows(compiler=("c++",)):
    return {family: rows(KERNELS / family / "kernels.inc", compiler) for family, _ in arch_tables.families()}


def chosen(table, patterns, features):
    """The rows of `table`, a dict of families, that a pattern matches. Each pattern must match a row
    that one of these sets of features has; with no sets, any row."""
    matched = set()
    for pattern in patterns:
        names = {row.symbol: row.feature for family in table.values() for row in family
                 if fnmatch.fnmatchcase(row.symbol, pattern)}
        if not names:
            sys.exit(f'kernels: the pattern "{pattern}" matches no kernel: python3 src/kernels/choose.py lists the names')
        if features and not any(feature in has for feature in names.values() for has in features):
            sys.exit(f'kernels: what the pattern "{pattern}" matches needs {" or ".join(sorted(set(names.values())))}, '
                     "which no architecture in gpu_archs has")
        matched |= set(names)
    return {family: [row for row in found if row.symbol in matched] for family, found in table.items()}


def write(path, text):
    """Only what is new: every image is rebuilt for a table that was written again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def prepare(table, patterns, out, names):
    known = arch_tables.archs()
    kinds = {name: known[name][0] for name in names}
    features = {name: set(known[name][2]) for name in names}
    some = chosen(table, patterns, features.values())
    symbols = []
    print(f"{sum(map(len, some.values()))} of {sum(map(len, table.values()))}")
    for family, found in some.items():
        write(out / "kernels" / family / "kernels.inc", "".join(row.text + "\n" for row in found))
        symbols += [row.symbol for row in found]
        for shard in sorted({row.shard for row in found}):
            needed = {row.feature for row in found if row.shard == shard}
            having = [name for name in names if needed & features[name]]
            ptx = [name for name in names if kinds[name] == "ptx" and name not in having]
            if having:
                print(f"{family}_{shard}", *having, *ptx)
    write(out / "names.txt", "".join(symbol + "\n" for symbol in symbols))


def main():
    cut = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="?", default="*")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--archs", default="")
    options = parser.parse_args(sys.argv[1:cut])
    table = all_rows(sys.argv[cut + 1:] or ["c++"])
    patterns = [part.strip() for part in options.patterns.split(",")]
    if options.out:
        prepare(table, patterns, options.out, options.archs.split(","))
        return
    for found in chosen(table, patterns, []).values():
        for row in found:
            print(row.symbol)


if __name__ == "__main__":
    main()

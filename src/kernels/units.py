#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds the translation units of device code, their parts, and the kernel entries of each part.

    units.py [-- CXX]    for the build: prints the tables that it depends on, then each part and its source

A translation unit is a .cu file below a family's folder. A kernel entry names the part that compiles
it, <unit>_<number>: gemm_basic_0 is a part of gemm_basic.cu. The entries of a unit are in the table of
the same name beside it (gemm_basic.inc), which the family's kernels.inc includes, or in kernels.inc
itself. A part's image, a .fatbin file with its name, holds its code for all architectures."""
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import archs

KERNELS = pathlib.Path(__file__).resolve().parent
COMPILER = ("c++",)
DEFINED = re.compile(r"^#define (TW_\w+)", re.MULTILINE)
USED = re.compile(r"\b(TW_\w+)\(")
INCLUDED = re.compile(r'#include "kernels/([^"]+)"')
# Matches in the preprocessed tables: a mark of joined(), or an entry's text, feature, part and symbol.
# Host bodies have no part, so they do not match.
SEEN = re.compile(r"@@(\d+)|@(TW_\w+\((\w+), ?(\w+_\d+), ?(\w+)[^()]*\))")


class Entry:
    """A kernel entry after the expansion of its table's macros."""

    def __init__(self, table, text, feature, part, symbol):
        self.table, self.text, self.feature, self.part, self.symbol = table, text, feature, part, symbol


class Part:
    """One run of nvcc: `source` with the entries of `table` that name this part."""

    def __init__(self, name, family, source, table):
        self.name, self.family, self.source, self.table = name, family, source, table
        self.entries = []


def joined(table, kernels, tables):
    """The text of a table, with the tables that it includes inserted once each. A line @@<number> tells
    which of `tables` the lines after it come from."""
    if table in tables:
        return ""
    mark = f"@@{len(tables)}\n"
    tables.append(table)
    text = mark
    for line in table.read_text().splitlines():
        match = INCLUDED.match(line)
        text += joined(kernels / match.group(1), kernels, tables) + mark if match else line + "\n"
    return text


def entries(family, kernels=KERNELS, compiler=COMPILER):
    """The kernel entries of a family. The preprocessor expands the tables, because a table may use its
    own macros to make many entries of one line."""
    tables = []
    text = joined(kernels / family / "kernels.inc", kernels, tables)
    macros = sorted(set(USED.findall(text)) - set(DEFINED.findall(text)))
    done = subprocess.run([*compiler, "-E", "-P", "-x", "c++", "-"], capture_output=True, text=True, check=True,
                          input="".join(f"#define {name}(...) @{name}(__VA_ARGS__)\n" for name in macros) + text)
    table, found = None, []
    for match in SEEN.finditer(done.stdout):
        if match.group(1):
            table = tables[int(match.group(1))]
        else:
            found.append(Entry(table, *match.groups()[1:]))
    return found


def parts(kernels=KERNELS, compiler=COMPILER, families=None):
    """All parts, family by family, units in the order of their first entries."""
    all_parts = []
    for family in families or archs.families():
        folder = kernels / family
        sources, found = {}, {}
        for source in sorted(folder.rglob("*.cu")):
            if source.stem in sources:
                sys.exit(f"{source}: {sources[source.stem]} has the same name")
            sources[source.stem] = source
        for entry in entries(family, kernels, compiler):
            unit, _, number = entry.part.rpartition("_")
            if unit not in sources:
                sys.exit(f"{entry.table}: kernel entry {entry.symbol} names the part {entry.part}, but there is no {unit}.cu below {folder}")
            own = sources[unit].with_suffix(".inc")
            table = own if own.exists() else folder / "kernels.inc"
            if entry.table != table:
                sys.exit(f"{entry.table}: kernel entry {entry.symbol} names the part {entry.part}, so it belongs in {table}")
            numbered = found.setdefault(unit, {})
            numbered.setdefault(int(number), Part(entry.part, family, sources[unit], table)).entries.append(entry)
        for unit in sorted(set(sources) - set(found)):
            sys.exit(f"{sources[unit]}: neither {folder / 'kernels.inc'} nor a table that it includes has a kernel entry of this unit")
        all_parts += [part for numbered in found.values() for _, part in sorted(numbered.items())]
    return all_parts


def tables(kernels=KERNELS):
    """All tables of kernel entries."""
    return [path for family in archs.families() for path in sorted((kernels / family).rglob("*.inc"))]


def line(part):
    """A part in the format that the build reads."""
    return f"{part.name} {part.source.relative_to(KERNELS)}"


def tables_line():
    return " ".join(["tables", *(str(path.relative_to(KERNELS)) for path in tables())])


def main():
    compiler = sys.argv[2:] if sys.argv[1:2] == ["--"] else COMPILER
    print(tables_line())
    for part in parts(compiler=compiler):
        print(line(part))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""For -Dsymbol_prefix: writes the header of a library whose functions have a prefix (archive.py renames
the functions themselves): prefix.py PREFIX SYMBOLS HEADER FOLDER

    FOLDER/tilewright.h      the header, which includes symbol_prefix.h; beside it the others, as they are
    FOLDER/symbol_prefix.h   a macro for each function, and one for the inline namespace of the C++
                             headers: sources stay as they are

Two copies of the library, of two versions even, can then be in one program."""
import pathlib
import re
import sys

import headers

prefix, symbols, header, folder = sys.argv[1], *map(pathlib.Path, sys.argv[2:])
if not re.fullmatch(r"[A-Za-z_]\w*", prefix):
    sys.exit(f"symbol_prefix '{prefix}' cannot begin a name in C")
names = symbols.read_text().split()
folder.mkdir(parents=True, exist_ok=True)
sources = headers.paths(header)
for made in (*(source.name for source in sources), "symbol_prefix.h"):
    (folder / made).unlink(missing_ok=True)  # it may be a link to the header itself
mark = "#define TILEWRIGHT_H\n"
for source in sources:
    (folder / source.name).write_text(source.read_text().replace(
        mark, mark + '#include "symbol_prefix.h"\n', 1))
(folder / "symbol_prefix.h").write_text(
    f"/* Made by prefix.py. */\n#define TILEWRIGHT_NAMESPACE {prefix}v0\n" +
    "".join(f"#define {n} {prefix}{n}\n" for n in names))

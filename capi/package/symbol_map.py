#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the shared library's version script from symbols.txt: the same names as the archive's."""
import pathlib
import sys

source, out = map(pathlib.Path, sys.argv[1:])
names = "".join(f"    {name};\n" for name in source.read_text().split())
out.write_text(f"{{\n  global:\n{names}  local:\n    *;\n}};\n")

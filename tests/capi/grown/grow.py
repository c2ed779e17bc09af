#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Copies the C API's sources and headers and appends 64 bytes to every public struct in the copy, as a later
version may: grow.py OUTPUT-FOLDER STRUCTS FILES..."""
import pathlib
import re
import sys

folder, structs, *files = map(pathlib.Path, sys.argv[1:])
names = re.findall(r"^TW_STRUCT\((\w+),", structs.read_text(), re.MULTILINE)
grown = []


def longer(match):
    grown.append(match.group(1))
    return "  unsigned char grown[64];\n" + match.group(0)


folder.mkdir(parents=True, exist_ok=True)
for file in files:
    text = file.read_text()
    if file.suffix == ".h":
        text = re.sub(r"^\} (tw_\w+);$", longer, text, flags=re.MULTILINE)
    # All copies lie in one folder.
    text = re.sub(r'#include "capi/(?:\w+/)*(\w+\.\w+)"', r'#include "\1"', text)
    (folder / file.name).write_text(text)
if sorted(grown) != sorted(names):
    sys.exit(f"structs of the headers: {sorted(grown)}; of {structs.name}: {sorted(names)}")

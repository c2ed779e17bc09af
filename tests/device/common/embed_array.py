#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""embed_array.py NAME IMAGE HEADER: writes a C++ header with the image's bytes as the array NAME."""
import pathlib
import sys

name, image, header = sys.argv[1:]
data = pathlib.Path(image).read_bytes()
lines = [", ".join(map(str, data[at : at + 24])) for at in range(0, len(data), 24)]
pathlib.Path(header).write_text(
    "// Made by embed_array.py.\n#pragma once\n"
    f"alignas(64) inline constexpr unsigned char {name}[] = {{\n" + ",\n".join(lines) + "};\n"
)

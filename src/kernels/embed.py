#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the assembler file that embeds fatbins in .rodata, hidden and 64-byte aligned.

The file carries each image's hash: .incbin is invisible to dependency scanners, and without the
hash a changed image would leave the assembler file, hence the old bytes, in place.
"""
import hashlib
import pathlib
import sys

out, *images = sys.argv[1:]
lines = ["/* Made by embed.py. */", "    .section .rodata.tilewright_kernels, \"a\", %progbits"]
for image in images:
    path = pathlib.Path(image).resolve()
    data = path.read_bytes()
    symbol = "tw_image_" + path.stem
    lines += [
        f"/* {path.name}: sha256 {hashlib.sha256(data).hexdigest()}, {len(data)} bytes */",
        "    .balign 64",
        f"    .global {symbol}, {symbol}_end",
        f"    .hidden {symbol}, {symbol}_end",
        f"{symbol}:",
        f"    .incbin \"{path}\"",
        f"{symbol}_end:",
    ]
lines += ["    .byte 0", "    .section .note.GNU-stack, \"\", %progbits"]
pathlib.Path(out).write_text("\n".join(lines) + "\n")

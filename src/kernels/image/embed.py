#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the assembler file that embeds fatbins in .rodata, hidden and 64-byte aligned.

The file carries each image's hash: .incbin is invisible to dependency scanners, and without the
hash a changed image would leave the assembler file, hence the old bytes, in place.
"""
import hashlib
import pathlib
import sys



def image_lines(path, symbol):
    data = path.read_bytes()
    return [
        f"/* {path.name}: sha256 {hashlib.sha256(data).hexdigest()}, {len(data)} bytes */",
        "    .balign 64",
        f"{symbol}:",
        f'    .incbin "{path}"',
        f"{symbol}_end:",
        f'{symbol}_name: .asciz "{path.stem}"',
    ]


def main():
    out, *images = sys.argv[1:]
    paths = [pathlib.Path(image).resolve() for image in images]
    symbols = [f".Ltw_image_{path.stem}" for path in paths]
    lines = ["/* Made by embed.py. */", '    .section .rodata.tilewright_kernels, "a", %progbits']
    for path, symbol in zip(paths, symbols):
        lines += image_lines(path, symbol)
    # Pointers need relocations in position-independent code, hence not .rodata.
    lines += [
        '    .section .data.rel.ro.local.tilewright_kernels, "aw", %progbits',
        "    .balign 8",
        "    .global tw_kernel_image_table",
        "    .hidden tw_kernel_image_table",
        "tw_kernel_image_table:",
    ]
    lines += [f"    .quad {s}_name, {s}, {s}_end" for s in symbols]
    lines += ["    .quad 0, 0, 0", '    .section .note.GNU-stack, "", %progbits']
    pathlib.Path(out).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

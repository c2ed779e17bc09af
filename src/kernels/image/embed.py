#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the assembler file that embeds fatbins in .rodata, hidden and 64-byte aligned.

The file contains each image's hash, because dependency scanners do not see .incbin: without the hash
a changed image would leave the file unchanged, and the old bytes in the library. --chosen gives the
names of the kernels in a build with -Dkernels, which the library uses to report the missing ones.
"""
import argparse
import hashlib
import pathlib


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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("images", nargs="+", type=pathlib.Path)
    parser.add_argument("--chosen", type=pathlib.Path)
    options = parser.parse_args()
    paths = [image.resolve() for image in options.images]
    chosen = options.chosen.read_text().split() if options.chosen else []
    symbols = [f".Ltw_image_{path.stem}" for path in paths]
    lines = ["/* Made by embed.py. */", '    .section .rodata.tilewright_kernels, "a", %progbits']
    for path, symbol in zip(paths, symbols):
        lines += image_lines(path, symbol)
    lines += [f'.Ltw_chosen_{name}: .asciz "{name}"' for name in chosen]
    # Pointers need relocations in position-independent code, so they cannot be in .rodata.
    lines += [
        '    .section .data.rel.ro.local.tilewright_kernels, "aw", %progbits',
        "    .balign 8",
        "    .global tw_kernel_image_table",
        "    .hidden tw_kernel_image_table",
        "tw_kernel_image_table:",
    ]
    lines += [f"    .quad {s}_name, {s}, {s}_end" for s in symbols]
    lines += [
        "    .quad 0, 0, 0",
        "    .global tw_kernel_chosen_table",
        "    .hidden tw_kernel_chosen_table",
        "tw_kernel_chosen_table:",
    ]
    lines += [f"    .quad .Ltw_chosen_{name}" for name in chosen]
    lines += ["    .quad 0", '    .section .note.GNU-stack, "", %progbits']
    options.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

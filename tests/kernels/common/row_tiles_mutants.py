#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants faults, one at a time, in the headers that kernels over row tiles share with their host
bodies. Asserts that the host check fails for each fault and passes without one.

usage: row_tiles_mutants.py COMPILER SOURCE_ROOT
"""
import pathlib
import subprocess
import sys
import tempfile

TILES = pathlib.Path("kernels/common/row_tiles.h")
RAGGED = pathlib.Path("kernels/ragged/ragged.h")
COPIES = pathlib.Path("kernels/copies/copies.h")
# For each fault: its effect on a kernel, the header, the text, and its replacement.
FAULTS = [
    ("the last group is whole", TILES, "left < cut.tile_rows ? static_cast<u32>(left) : cut.tile_rows",
     "cut.tile_rows"),
    ("the last part is as long as the others", TILES, "part + 1 == cut.parts ? cut.last_bytes",
     "part == cut.parts ? cut.last_bytes"),
    ("groups are not as long as they are", TILES, "const u64 row = group * cut.tile_rows;",
     "const u64 row = group;"),
    ("many tiles stay in their first operand", TILES, "number - operand * cut.operand_tiles", "number"),
    ("few tiles stay in their first operand", TILES, "small - o * cut.operand_divider.divisor", "small"),
    ("many tiles lose their part", TILES, "rest - group * cut.parts", "rest - group"),
    ("moved rows begin at the tile's first", TILES, "out.src = tile_src(tile, tile.begin);",
     "out.src = tile.src;"),
    ("as many rows as the tile has are moved", TILES, "out.rows = tile.end - tile.begin;",
     "out.rows = tile.rows;"),
    ("rows that touch on one side are one", TILES,
     "tile.src_pitch == tile.bytes && tile.dst_pitch == tile.bytes", "tile.dst_pitch == tile.bytes"),
    ("bulk copies of any length", TILES, "tile.src | tile.dst | tile.bytes", "tile.src | tile.dst"),
    ("bulk copies to any address", TILES, "tile.src | tile.dst | tile.bytes", "tile.src | tile.bytes"),
    ("bulk copies at any pitch", TILES, "(tile.src_pitch | tile.dst_pitch) & 15", "tile.src_pitch & 15"),
    ("pieces behind the last row", TILES, "if (row >= tile.rows) return {0, 0, 0, 0};", ""),
    ("pieces of the wrong row", TILES, "number - row * pieces_per_row", "number - row"),
    ("other rows begin at the tile's first", TILES, "out.src = out.dst = tile_dst(tile, first);",
     "out.src = out.dst = tile.dst;"),
    ("offsets that decrease make a sequence", RAGGED, "begin <= end && ", ""),
    ("negative offsets make one", RAGGED, "begin >= 0 && ", ""),
    ("sequences run past the packed rows", RAGGED, " && end <= tokens", ""),
    ("sequences end before the packed rows do", RAGGED, "end <= tokens", "end < tokens"),
    ("a window before the sequence moves rows", RAGGED, "row < 0 ? -row : 0", "0"),
    ("a window behind the sequence moves rows", RAGGED, "inside < rows ? inside < 0 ? 0 : inside : rows",
     "rows"),
    ("a sequence is one row too long", RAGGED, "sequence.rows - row;", "sequence.rows - row + 1;"),
    ("the next sequence's offsets", RAGGED, "offset(at.operand), offset(at.operand + 1)",
     "offset(at.operand + 1), offset(at.operand + 1)"),
    ("the window's first row is forgotten", RAGGED, "args.first_row + static_cast<i64>(at.row)",
     "static_cast<i64>(at.row)"),
    ("the sides change places", RAGGED, "tile.src = unpad ? padded : packed;",
     "tile.src = unpad ? packed : padded;"),
    ("the pitches change places", RAGGED, "tile.dst_pitch = unpad ? args.packed_pitch",
     "tile.dst_pitch = unpad ? args.padded_pitch"),
    ("parts all begin at the row's first byte", RAGGED,
     "at.row * static_cast<u64>(args.padded_pitch) + at.offset",
     "at.row * static_cast<u64>(args.padded_pitch)"),
    ("a null source is read", COPIES, "src != 0 && ", ""),
    ("a null destination is written", COPIES, "dst != 0 && ", ""),
    ("a broken promise is taken", COPIES, " && (dst & args.dst_mask) == 0", ""),
    ("pairs that are left out are moved", COPIES, "good ? at.rows : 0", "at.rows"),
    ("few pairs are all the first", COPIES, "divide(static_cast<u32>(at.operand), args.outer_divider)",
     "divide(0, args.outer_divider)"),
    ("many pairs are each a slice", COPIES, ": at.operand / args.outer", ": at.operand"),
    ("slices are not told apart", COPIES, "rest - next * args.extent[d]", "next"),
    ("sources do not go backwards", COPIES, "static_cast<u64>(args.src_offset) + ", ""),
    ("lists change places", COPIES, "address(args.dst_list, pair)", "address(args.src_list, pair)"),
    ("loads reach beside the source", COPIES, "src + static_cast<u64>(args.src_low)", "src"),
]


def passes(compiler, root, first):
    """Whether the check passes with the headers of folder `first` in place of the tree's own."""
    program = first / "check"
    built = subprocess.run([compiler, "-std=c++20", "-O1", "-I", str(first), "-I", str(root / "include"), "-I", str(root / "src"),
                            str(root / "tests/kernels/common/row_tiles_check.cpp"), "-o", str(program)],
                           capture_output=True, text=True)
    if built.returncode:
        sys.exit("does not compile:\n" + built.stderr)
    return subprocess.run([program], capture_output=True).returncode == 0


def main():
    compiler, root = sys.argv[1], pathlib.Path(sys.argv[2])
    texts = {header: (root / "src" / header).read_text() for header in (TILES, RAGGED, COPIES)}
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        first = pathlib.Path(folder)
        for header, text in texts.items():
            (first / header).parent.mkdir(parents=True, exist_ok=True)
            (first / header).write_text(text)
        if not passes(compiler, root, first):
            sys.exit("the test fails without a fault")
        for what, header, good, bad in FAULTS:
            if good not in texts[header]:
                sys.exit(f"{header} has no longer: {good}")
            (first / header).write_text(texts[header].replace(good, bad, 1))
            found = not passes(compiler, root, first)
            (first / header).write_text(texts[header])
            survivors += not found
            print(("found   " if found else "MISSED  ") + what)
    print(f"{len(FAULTS)} faults planted, {survivors} missed")
    return survivors != 0


if __name__ == "__main__":
    sys.exit(main())

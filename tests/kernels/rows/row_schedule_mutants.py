#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants faults, one at a time, in the header that row kernels share with their host bodies.
Asserts that the host check fails for each fault and passes without one.

usage: row_schedule_mutants.py COMPILER SOURCE_ROOT
"""
import pathlib
import subprocess
import sys
import tempfile

HEADER = pathlib.Path("kernels/rows/row_schedule.h")
# For each fault: its effect on a kernel, the text, and its replacement.
FAULTS = [
    ("negative indices name rows", "index >= 0 && index < rows", "index < rows"),
    ("the row behind the table is one", "index >= 0 && index < rows", "index >= 0 && index <= rows"),
    ("64-bit indices are narrowed first", "index >= 0 && index < rows ? index",
     "static_cast<i32>(index) >= 0 && static_cast<i32>(index) < rows ? static_cast<i32>(index)"),
    ("a count beyond the maximum is taken", "wanted > maximum ? maximum : wanted", "wanted"),
    ("a negative count is taken", "wanted < 0 ? 0 :", ""),
    ("pieces behind the last are moved", "if (number >= total) return {0, 0, 0, 0};", ""),
    ("the last part is as long as the others", "part + 1 == args.parts ? args.last_bytes",
     "part == args.parts ? args.last_bytes"),
    ("parts and members change places", "const u32 member = rest - part * args.group;",
     "const u32 member = part % args.group;"),
    ("a scatter's negative row faults", "row < 0 && scatter ? args.table_rows : row", "row"),
    ("a gather reads behind the table", "row < 0 && scatter ? args.table_rows : row",
     "row < 0 ? args.table_rows : row"),
    ("rows behind the last are read", "slot < stage.rows ? table_row(stage.first + slot) : -1",
     "table_row(stage.first + slot)"),
    ("the last stage is dropped", "count) + args.stage_pieces - 1) / args.stage_pieces",
     "count)) / args.stage_pieces"),
    ("the last stage is whole", "left < args.stage_pieces ? static_cast<u32>(left) : "
     "args.stage_pieces", "args.stage_pieces"),
    ("the last group is dropped", "(stage.rows + kFourRows - 1) / kFourRows",
     "stage.rows / kFourRows"),
    ("notes of groups reach into the next stage", "kFourNoteBytes = sizeof(FourIndices)",
     "kFourNoteBytes = 8 * sizeof(FourIndices)"),
]


def passes(compiler, root, first):
    """Whether the check passes with the headers of folder `first` in place of the tree's own."""
    program = first / "check"
    built = subprocess.run([compiler, "-std=c++20", "-O1", "-I", str(first), "-I", str(root / "include"), "-I", str(root / "src"),
                            str(root / "tests/kernels/rows/row_schedule_check.cpp"), "-o", str(program)],
                           capture_output=True, text=True)
    if built.returncode:
        sys.exit("does not compile:\n" + built.stderr)
    return subprocess.run([program], capture_output=True).returncode == 0


def main():
    compiler, root = sys.argv[1], pathlib.Path(sys.argv[2])
    text = (root / "src" / HEADER).read_text()
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        first = pathlib.Path(folder)
        (first / HEADER).parent.mkdir(parents=True)
        (first / HEADER).write_text(text)
        if not passes(compiler, root, first):
            sys.exit("the test fails without a fault")
        for what, good, bad in FAULTS:
            if good not in text:
                sys.exit(f"{HEADER} has no longer: {good}")
            (first / HEADER).write_text(text.replace(good, bad, 1))
            found = not passes(compiler, root, first)
            survivors += not found
            print(("found   " if found else "MISSED  ") + what)
    print(f"{len(FAULTS)} faults planted, {survivors} missed")
    return survivors != 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests moves_draw.py: a seed always draws the same cases, sizes keep their bounds, every form occurs."""
import sys

sys.dont_write_bytecode = True
import moves_draw


def faults():
    cases = moves_draw.draw(1, 200)
    if cases != moves_draw.draw(1, 200):
        yield "a seed draws different cases"
    if cases == moves_draw.draw(2, 200):
        yield "two seeds draw the same cases"
    for case in cases:
        most = 1.3e9 if isinstance(case, moves_draw.Copy) else 0.6e9
        if not 63e6 <= case.moved <= most:
            yield f"{case.name} moves {case.moved} bytes"
    copies, rows = cases[:200], cases[200:]
    for form, found in (("a copy of each type", {c.type for c in copies} == set(moves_draw.TYPES)),
                        ("a permuted copy", any(list(c.order) != sorted(c.order) for c in copies)),
                        ("a padded copy", any(c.padding for c in copies)),
                        ("a copy off 16 bytes", any(c.offsets != (0, 0) for c in copies)),
                        ("both row operations", {r.operation for r in rows} == {"gather", "scatter"}),
                        ("rows of whole 16 bytes and others",
                         {r.columns * moves_draw.TYPES[r.type] % 16 == 0 for r in rows} == {True, False})):
        if not found:
            yield f"200 cases lack {form}"


found = list(faults())
print("\n".join(found) or "0 faults")
sys.exit(bool(found))

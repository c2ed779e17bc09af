#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests grouped_draw.py: a seed always draws the same shapes, rows add up, every class occurs."""
import sys

sys.dont_write_bytecode = True
import grouped_draw


def faults():
    shapes = grouped_draw.draw(1, 200)
    again = grouped_draw.draw(1, 200)
    if [(s.name, s.rows, s.n, s.k) for s in shapes] != [(s.name, s.rows, s.n, s.k) for s in again]:
        yield "a seed draws different shapes"
    if [s.name for s in shapes] == [s.name for s in grouped_draw.draw(2, 200)]:
        yield "two seeds draw the same shapes"
    for shape in shapes:
        model, tokens = shape.name.split(" T=")
        if shape.total != int(tokens.split()[0]) * grouped_draw.MODELS[model][1]:
            yield f"{shape.name} has {shape.total} rows"
    if len({s.size_class for s in shapes}) != 4:
        yield f"200 shapes are of classes {sorted({s.size_class for s in shapes})}"
    for routing in grouped_draw.ROUTINGS:
        if not any(f" {routing} " in s.name for s in shapes):
            yield f"no shape is routed {routing}"


found = list(faults())
print("\n".join(found) or "0 faults")
sys.exit(bool(found))

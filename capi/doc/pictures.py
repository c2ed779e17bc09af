#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of the documentation into capi/doc/pictures.

    TILEWRIGHT_LIBRARY=build/capi/libtilewright.so python3 capi/doc/pictures.py

The library itself draws layouts, boxes and swizzles; the pipeline and the layers are drawn here.
"""
import ctypes
import html
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "examples" / "python"))
import tilewright as tw

BANKS, INDEX = 1, 2
CHUNK_BITS = 128  # the 16 bytes that a swizzle moves as one


def layout(text):
    made = ctypes.c_void_p()
    tw.check(tw.lib.tw_layout_parse(text.encode(), ctypes.byref(made)))
    return made


def drawn(function, *arguments):
    """What a drawing function writes: asked for its length first, then for the text."""
    length = ctypes.c_size_t()
    function(*arguments, None, ctypes.c_size_t(0), ctypes.byref(length))
    text = ctypes.create_string_buffer(length.value)
    tw.check(function(*arguments, text, length, ctypes.byref(length)))
    return text.value.decode()


def draw_layout(text, paint, element_bits=32):
    return drawn(tw.lib.tw_layout_draw, layout(text), ctypes.c_int32(paint), ctypes.c_int32(element_bits))


def draw_threads(tv, tile):
    shape = ctypes.c_void_p()
    tw.check(tw.lib.tw_tuple_parse(tile.encode(), ctypes.byref(shape)))
    return drawn(tw.lib.tw_layout_draw_tv, layout(tv), shape)


def draw_boxes(tensor, box, boxes):
    extents = (ctypes.c_int64 * len(box))(*box)
    return drawn(tw.lib.tw_layout_draw_boxes, layout(tensor), extents, layout(boxes))


class Svg:
    """A drawing of rectangles, texts and arrows."""
    FILLS = {"load": "#cfe3f7", "multiply": "#cdeadb", "store": "#f6ddc4", "plain": "#f2f2f2", "none": "none"}

    def __init__(self, width, height):
        self.parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
                      f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
                      f'<rect width="{width}" height="{height}" fill="white"/>',
                      '<defs><marker id="a" markerWidth="8" markerHeight="8" refX="7" refY="3" orient="auto">'
                      '<path d="M0,0 L7,3 L0,6 z" fill="#444"/></marker></defs>']

    def box(self, x, y, width, height, text="", fill="plain"):
        self.parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="3" fill="{self.FILLS[fill]}" '
                          'stroke="#444"/>')
        lines = text.split("\n")
        for i, line in enumerate(lines):
            self.text(x + width / 2, y + height / 2 + 4 + 15 * (i - (len(lines) - 1) / 2), line, "middle")

    def text(self, x, y, text, anchor="start", size=12):
        self.parts.append(f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-size="{size}">{html.escape(text)}</text>')

    def arrow(self, x1, y1, x2, y2):
        self.parts.append(f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#444" marker-end="url(#a)"/>')

    def done(self):
        return "\n".join(self.parts) + "\n</svg>\n"


def pipeline():
    """Four stages over time: the producer warp fills them, a consumer warpgroup multiplies."""
    svg, left, step, row = Svg(800, 290), 80, 80, 40
    for stage in range(4):
        svg.text(10, 60 + row * stage, f"stage {stage}")
    svg.text(10, 25, "time")
    svg.arrow(left, 21, 780, 21)
    for block in range(7):
        y = 40 + row * (block % 4)
        loaded = left + step * block if block < 4 else left + step * (block - 4 + 2.6)
        width = step * 0.9 if block >= 4 else step * 1.25 - 8 * block
        if block < 4:
            loaded = left + 18 * block
        used = left + step * (1.55 + block)
        svg.box(loaded, y, width, 28, f"load {block}", "load")
        svg.box(used, y, step * 0.9, 28, f"multiply {block}", "multiply")
    svg.text(10, 225, "The producer warp sends TMA loads of the next k block into every free stage and states the bytes to the stage's")
    svg.text(10, 243, "full barrier. A consumer warpgroup waits for the full barrier, multiplies with wgmma, and arrives at the empty")
    svg.text(10, 261, "barrier, for which the producer waits before it loads into the stage again.")
    return svg.done()


def layers():
    """The layers of src, and how a call travels through them."""
    svg = Svg(960, 490)
    x, width = 20, 390
    rows = [("capi: checks handles and sizes, converts, catches, returns", 36),
            ("ops: description → problem → candidates → plan", 36),
            ("runtime: devices, streams, memory, launches", 36)]
    y = 40
    svg.text(x, 25, "Layers (each uses only those below)", size=14)
    for text, height in rows:
        svg.box(x, y, width, height, text)
        y += height + 14
    svg.box(x, y, 188, 52, "runtime/cuda\ndriver by dlopen")
    svg.box(x + 202, y, 188, 52, "runtime/host\nworker threads")
    y += 66
    svg.box(x, y, 188, 52, "kernels: entries,\nmachine code", "multiply")
    svg.box(x + 202, y, 188, 52, "kernels: host bodies,\nTMA model", "multiply")
    y += 66
    svg.box(x, y, width, 36, "tensor_map: fields, rules, 128 bytes")
    svg.box(x, y + 50, width, 36, "layout: shape:stride algebra")
    svg.box(x, y + 100, width, 30, "base: status, types, arithmetic, log")
    x = 450
    svg.text(x, 25, "How a GEMM call travels", size=14)
    steps = [("tw_gemm_plan", "capi converts the description"),
             ("gemm_problem.cpp", "refuses what cannot work; names the argument"),
             ("gemm_rank.cpp", "orders candidates by tuning entries and cost model"),
             ("gemm_kernel.cpp", "makes tensor maps, loads the kernels; the plan keeps them"),
             ("tw_gemm_run", "finds the kernel for this m, puts addresses into its arguments"),
             ("Stream::launch", "cuda: one launch by the driver; host: the host body on a worker")]
    y = 40
    for i, (name, what) in enumerate(steps):
        svg.box(x, y, 130, 40, name, "load" if name.startswith("tw_") else "plain")
        svg.text(x + 140, y + 24, what, size=11)
        if i + 1 < len(steps):
            svg.arrow(x + 65, y + 40, x + 65, y + 62)
        y += 62
    return svg.done()


PICTURES = {
    "layout_row_major": lambda: draw_layout("(4,8):(8,1)", INDEX),
    "layout_column_major": lambda: draw_layout("(4,8):(1,4)", INDEX),
    "layout_blocked": lambda: draw_layout("((2,2),(4,2)):((4,16),(1,8))", INDEX),
    "threads_and_values": lambda: draw_threads("((4,8),(2,2)):((32,1),(16,8))", "(16,8)"),
    "banks_swizzled": lambda: draw_layout("Sw<3,0,3> o 0 o (8,8):(8,1)", BANKS, CHUNK_BITS),
    "boxes_and_bounds": lambda: draw_boxes("(10,14):(14,1)", (4, 4), "(3,4):(4@0,4@1)"),
    "pipeline": pipeline,
    "layers": layers,
}


def main():
    (HERE / "pictures").mkdir(exist_ok=True)
    for name, make in PICTURES.items():
        (HERE / "pictures" / f"{name}.svg").write_text(make())


if __name__ == "__main__":
    main()

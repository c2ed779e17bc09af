#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report.py: makes the pages and the picture of this folder from its JSON files.

Each GPU and date gets one page, GPU_DATE.md, with a table for each file. overview.svg compares the newest
measurements with their peers. Without arguments the script rewrites all of them (the picture needs
matplotlib). --check fails if a page, or the data from which the picture was drawn, is out of date.
"""
import argparse
import collections
import hashlib
import json
import math
import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
# Headings of columns whose key is not clear by itself.
HEADINGS = {
    "gb_per_s": "GB/s", "of_contiguous": "of a contiguous copy", "of_limit": "of the limit", "us": "us",
    "driver_ratio": "driver's time / ours", "torch_ratio": "torch's time / ours",
    "triton_ratio": "Triton's time / ours", "driver_loop_ratio": "driver's loop / ours",
    "cublaslt_us": "cuBLASLt us", "ratio": "peer's time / ours",
}
TITLES = {
    "copies": "Copies", "small_copies": "Copies under 1 MB", "elementwise": "Conversions, sums, reductions",
    "drawn_moves": "Copies, gathers and scatters, drawn cases", "moves": "Many copies, ragged copies", "prefetch": "Prefetches", "rows": "Gather and scatter",
    "row_sums": "Scatter with addition", "rows_more": "Gather and scatter, other cases",
    "gemm": "GEMM, drawn shapes", "gemm_batch": "GEMM, batches", "gemm_chain": "GEMM, chains",
    "drawn_options": "GEMM with epilogues and in batches, drawn shapes",
    "gemm_step": "A decode step", "gemm_epilogue": "GEMM, epilogues", "grouped": "Grouped GEMM, drawn shapes",
    "grouped_inside": "Gather and scatter inside the product", "moe": "A layer of a mixture of experts",
    "scaled": "8-bit GEMM, drawn shapes", "quantize": "Quantisation", "route": "Routing",
    "host_cost": "Cost to the host",
}


def read(folder):
    """All files, in a folder for each GPU, as (path, contents), with rows as dictionaries."""
    found = []
    for path in sorted(folder.glob("*/*.json")):
        data = json.loads(path.read_text())
        if data["rows"] and isinstance(data["rows"][0], list):
            data["rows"] = [dict(zip(data["columns"], row)) for row in data["rows"]]
        found.append((str(path.relative_to(folder)), data))
    return found


def heading(key):
    for end, text in HEADINGS.items():
        if key == end:
            return text
        if key.endswith("_" + end):
            return key[:-len(end) - 1].replace("_", " ") + ", " + text
    return key.replace("_", " ")


def text(value):
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def table(headings, rows):
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    return lines + ["| " + " | ".join(map(text, row)) + " |" for row in rows]


def limit_us(row):
    """The lower bound of a 16-bit product's time, as in bench_gemm: bytes at 4.3 TB/s, operations at 800 TFLOP/s."""
    m, n, k = row["m"], row["n"], row["k"]
    size = 4 if row["out"] == "f32" else 2
    return max((2 * k * (m + n) + size * m * n) / 4.3e6, 2 * m * n * k / 800e6)


def gemm_class(row):
    name = {"odd-d": "odd sizes, m <= 256", "odd-p": "odd sizes, m > 256", "decode": "decode, m <= 256",
            "prefill": "prefill, m > 256"}.get(row["class"], row["class"])
    if name == "random":
        name += ", under 2 us at the limit" if limit_us(row) < 2 else ", longer"
    name += f", {row['dtype']}" + (" to f32" if row["out"] == "f32" else "")
    return name + (", programmatic" if row["mode"] != "cold" else "")


def scaled_class(row):
    form = {"block": "1x128 by 128x128 scales", "tensor": "tensor scales", "fast": "fast accumulation"}[row["form"]]
    return form + ", " + row["class"].replace("m <= 256", "m 65 to 256")


# Rows of a group in the mean, and bytes of weights that a run touches.
GROUPED = {"128 to 1,024 rows": "128 to 1,024 rows a group", "more rows": "over 1,024 rows a group",
           "few rows, 100 MB": "under 128 rows a group, 100 MB and more", "few rows, less": "under 128 rows a group, less than 100 MB"}


OPTIONS = {"epi-d": "epilogues, decode", "epi-p": "epilogues, prefill", "oth-d": "other epilogues, decode",
           "oth-p": "other epilogues, prefill", "bat-d": "batches, decode", "bat-p": "batches, prefill"}


# For each kind of drawn shapes: the class of a row, and the peer's time over ours.
DRAWN = {
    "gemm": (gemm_class, lambda row: row["cublaslt_us"] / row["us"]),
    "grouped": (lambda row: GROUPED[row["class"]], lambda row: row["ratio"]),
    "scaled": (scaled_class, lambda row: row["ratio"]),
    "drawn_moves": (lambda row: row["operation"], lambda row: row["torch_ratio"]),
    "drawn_options": (lambda row: f"{OPTIONS[row['class']]}, against {row['peer']}", lambda row: row["peer_us"] / row["us"]),
    "moe": (lambda row: row["model"], lambda row: row["ratio"]),
}


def ratios(data):
    """The ratios of each class of a file of drawn shapes."""
    group, ratio = DRAWN[data["kind"]]
    classes = collections.OrderedDict()
    for row in data["rows"]:
        if ratio(row):
            classes.setdefault(group(row), []).append(ratio(row))
    if data["kind"] == "scaled":  # Few rows first.
        form = lambda name: name.rsplit(", ", 1)
        order = ["m <= 64", "m 65 to 256", "m > 256"]
        forms = list(dict.fromkeys(form(name)[0] for name in classes))
        return {name: classes[name] for name in
                sorted(classes, key=lambda name: (forms.index(form(name)[0]), order.index(form(name)[1])))}
    return classes


def section(name, data):
    # Several files of a kind and a date were measured with different sources.
    sources = f" (sources {data['sources']})" if "sources" in data else ""
    lines = [f"## {TITLES[data['kind']]}{sources}", "", f"[{name.split('/')[-1]}]({name}), `{data['command']}`. {data['method']}", ""]
    if data["kind"] in DRAWN:
        rows = [(group, len(r), f"{statistics.geometric_mean(r):.3f}", f"{min(r):.3f}")
                for group, r in ratios(data).items()]
        return lines + table(["class", "shapes", "geometric mean", "least"], rows) + [""]
    keys = data["columns"]
    return lines + table([heading(key) for key in keys], [[row[key] for key in keys] for row in data["rows"]]) + [""]


def pages(folder):
    """Maps each page's name to its text."""
    grouped = collections.OrderedDict()
    for name, data in read(folder):
        grouped.setdefault((data["gpu"], data["date"]), []).append((name, data))
    made = {}
    for (gpu, date), files in grouped.items():
        lines = [f"<!-- SPDX-License-Identifier: Apache-2.0 -->", f"# {gpu}, {date}", "",
                 f"Driver {files[0][1]['driver']}. `report.py` makes this page from the JSON files. A ratio",
                 "above 1 means that the library is faster than its peer.", ""]
        for name, data in sorted(files, key=lambda file: (list(TITLES).index(file[1]["kind"]), file[0])):
            lines += section(name, data)
        made[f"{gpu.split()[1].lower()}_{date}.md"] = "\n".join(lines).rstrip() + "\n"
    return made


def picture_data(folder):
    """The data of overview.svg, all of one GPU: that of the newest drawn moves. For moves our and torch's fraction of a
    contiguous copy's speed; for products the ratios of each class."""
    moves = [data for _, data in read(folder) if data["kind"] == "drawn_moves"][-1]
    files = [data for _, data in read(folder) if data["gpu"] == moves["gpu"]]
    newest = {data["kind"]: data for data in files}
    shares = collections.OrderedDict()
    for row in sorted(moves["rows"], key=lambda row: row["operation"]):
        ours = row["of_contiguous"]
        shares.setdefault(row["operation"], []).append((ours, ours / row["torch_ratio"]))
    gemm, scaled = {}, {}
    for data in files:  # Of one class the later file counts.
        if data["kind"] == "gemm" and data["date"] == newest["gemm"]["date"]:
            gemm.update(ratios(data))
        if data["kind"] == "scaled":
            scaled.update(ratios(data))
    peers = (("GEMM against cuBLASLt", gemm),
             ("grouped against the faster of torch and DeepGEMM", ratios(newest["grouped"])),
             ("fp8 against DeepGEMM (block) and cuBLASLt", scaled),
             ("whole layer against vLLM", ratios(newest["moe"])))
    products = [(peer, name, values) for peer, classes in peers for name, values in classes.items()]
    dates = sorted({newest[kind]["date"] for kind in ("drawn_moves", "gemm", "grouped", "scaled", "moe")})
    return {"gpu": moves["gpu"], "driver": moves["driver"], "dates": dates, "moves": shares, "products": products}


def digest(data):
    return hashlib.sha256(json.dumps(data).encode()).hexdigest()[:16]


def draw(data, path):
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "tilewright", "font.size": 8, "svg.fonttype": "none",
                                "font.family": "sans-serif", "axes.spines.top": False, "axes.spines.right": False})
    from matplotlib import pyplot
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 7.2), gridspec_kw={"width_ratios": [0.8, 1.05]})
    ours, theirs = "#0b7a5b", "#b0b4ba"

    ticks, labels, place = [], [], 0
    for operation, shares in data["moves"].items():
        for side, (name, color) in enumerate((("tilewright", ours), ("torch", theirs))):
            values = [pair[side] for pair in shares]
            left.scatter(values, [place] * len(values), color=color, s=12, alpha=0.5, linewidths=0)
            left.scatter([statistics.geometric_mean(values)], [place], color=color, s=60, marker="|", linewidths=2.6)
            ticks.append(place)
            labels.append(f"{operation}, {name} ({len(values)})")
            place -= 1
        place -= 0.5
    left.axvline(1, color="#888888", linewidth=0.8, linestyle=":")
    left.set_xscale("log")
    left.set_xticks([0.02, 0.05, 0.1, 0.2, 0.5, 1], ["0.02", "0.05", "0.1", "0.2", "0.5", "1"])
    left.minorticks_off()
    left.set_yticks(ticks, labels)
    left.set_ylim(4 * place, 2)  # rows as far apart as on the right
    left.set_xlabel("share of the speed of a contiguous copy of as many bytes; dots: cases, bars: geometric means")
    left.set_title("Copies, gathers and scatters, chosen at random (how many)", loc="left")

    place, ticks, labels, before = 0, [], [], None
    for peer, name, values in data["products"]:
        if peer != before:
            place -= 0.4
            right.text(0.36, place, peer, fontweight="bold", va="center", fontsize=8)
            before, place = peer, place - 1
        right.scatter(values, [place] * len(values), color=ours, s=9, alpha=0.35, linewidths=0)
        right.scatter([statistics.geometric_mean(values)], [place], color=ours, s=34, marker="|", linewidths=2.2)
        ticks.append(place)
        labels.append(f"{name} ({len(values)})")
        place -= 1
    right.axvline(1, color="#888888", linewidth=0.8, linestyle=":")
    right.set_xscale("log")
    right.set_xlim(0.34, 6.5)
    right.set_xticks([0.5, 0.7, 1, 1.5, 2, 3, 5], ["0.5", "0.7", "1", "1.5", "2", "3", "5"])
    right.minorticks_off()
    right.set_yticks(ticks, labels)
    right.set_ylim(place + 0.3, 0.2)
    right.set_xlabel("peer's time / ours; dots: shapes, bars: geometric means")
    right.set_title("Products of random shapes, whole layers (how many)", loc="left")
    figure.text(0.995, 0.004, f"{data['gpu']}, driver {data['driver']}, {' and '.join(data['dates'])}", ha="right", fontsize=7)
    figure.tight_layout(rect=(0, 0.012, 1, 1))
    figure.savefig(path, metadata={"Date": None, "Creator": "report.py", "Description": f"data {digest(data)}"})


def stale(folder):
    """A message for each page, and for the picture, that does not match the folder's JSON files."""
    for name, page in pages(folder).items():
        path = folder / name
        if not path.exists() or path.read_text() != page:
            yield f"{name}: the measurements have changed, run {pathlib.Path(__file__).name}"
    picture = folder / "overview.svg"
    if not picture.exists() or f"data {digest(picture_data(folder))}" not in picture.read_text():
        yield f"{picture.name}: the measurements have changed, run {pathlib.Path(__file__).name}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        sys.exit("\n".join(stale(HERE)) or 0)
    for name, page in pages(HERE).items():
        (HERE / name).write_text(page)
    draw(picture_data(HERE), HERE / "overview.svg")


if __name__ == "__main__":
    main()

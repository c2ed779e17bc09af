#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that every wait and every proxy fence of the gemm kernels is needed.

    gemm_mutants.py build NVCC OUT [--delays] [--needed | --unchanged]   one image a mutant, in OUT (no GPU needed)
    gemm_mutants.py run OUT PROGRAM             PROGRAM is gemm_mutant_runner; needs a GPU
    gemm_mutants.py list                        what build would remove, and the rows

`build` copies the kernels, removes one statement from the copy and compiles a few rows of each
schedule; image 0 is unchanged. `run` lets the runner multiply with each image: the unchanged one
must be right, every other one wrong, or hang. Statements marked "also" are tried and reported, and
nothing fails if one of them is not missed.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIRST = "gemm/gemm_wgmma.cuh"  # and what it includes of gemm/ and parts/
# What must be missed, and what is tried beside it.
NEEDED = ["mbarrier_wait", "fence_async_shared"]
ALSO = ["store_wait_read", "store_wait", "cluster_wait", "named_barrier", "mbarrier_init_fence"]
SECONDS = 10  # of a mutant's run; then it hangs


def statements(text, names):
    """(begin, end) of each call of a function of ptx:: that stands as a statement."""
    for match in re.finditer(r"\bptx::(%s)\b" % "|".join(names), text) if names else ():
        yield match.start(), text.index(";", match.end()) + 1


def sources(kernels):
    """Paths in the kernels' folder of the files that hold the kernel, each once."""
    found, to_read = [], [FIRST]
    while to_read:
        file = to_read.pop(0)
        found.append(file)
        for name in re.findall(r'#include "kernels/((?:gemm|parts)/\w+\.cuh)"', (kernels / file).read_text()):
            if name not in found + to_read:
                to_read.append(name)
    return found


def table_rows(kernels):
    """Argument lists of the wgmma rows, as the preprocessor sees them."""
    source = "#define TW_GEMM(...) ROW __VA_ARGS__ END\n#define TW_GEMM_PLAIN(...)\n#define TW_GEMM_HOST(...)\n"
    source += f'#include "{kernels / "gemm" / "kernels.inc"}"\n'
    out = subprocess.run(["g++", "-E", "-P", "-x", "c++", "-"], input=source, text=True, check=True,
                         capture_output=True).stdout
    return [[a.strip() for a in row.split(",")] for row in re.findall(r"ROW (.*?) END", out, re.DOTALL)]


def few_rows(rows):
    """bf16, A row- and B column-major: of each schedule the first row with a cluster and without."""
    chosen = {}
    for row in rows:
        if row[3:7] != ["BF16", "BF16", "ROW", "COLUMN"]:
            continue
        schedule, clustered = row[-1], row[-3:-1] != ["1", "1"]
        chosen.setdefault((schedule, clustered), row)
    return list(chosen.values())


def write_table(kernels, rows):
    lines = [f"TW_GEMM({', '.join([row[0], '0', *row[2:]])})" for row in rows]
    (kernels / "gemm" / "kernels.inc").write_text("\n".join(lines) + "\n")


def find_mutants(kernels, kinds):
    mutants = [{"kind": "none", "file": "", "line": 0, "text": ""}]
    for kind, names in kinds:
        for file in sources(kernels):
            text = (kernels / file).read_text()
            for begin, end in statements(text, names):
                mutants.append({"kind": kind, "file": file, "line": text.count("\n", 0, begin) + 1,
                                "text": " ".join(text[begin:end].split()), "span": [begin, end]})
    return mutants


def show(_):
    """Fails where there is nothing to remove or nothing to show it with: the names have changed."""
    kernels = ROOT / "src" / "kernels"
    mutants = find_mutants(kernels, [("needed", NEEDED), ("also", ALSO)])[1:]
    rows = few_rows(table_rows(kernels))
    for mutant in mutants:
        print(f"{mutant['kind']:6} {mutant['file']}:{mutant['line']}: {mutant['text']}")
    print(*(row[2] for row in rows))
    texts = " ".join(m["text"] for m in mutants if m["kind"] == "needed")
    sys.exit(0 if rows and all(name in texts for name in NEEDED) else 1)


def build(options):
    out = pathlib.Path(options.out).resolve()
    out.mkdir(parents=True, exist_ok=True)
    original = ROOT / "src" / "kernels"
    rows = few_rows(table_rows(original))
    kinds = [] if options.unchanged else [("needed", NEEDED), ("also", [] if options.needed else ALSO)]
    mutants = find_mutants(original, kinds)
    for number, mutant in enumerate(mutants):
        compile_mutant(options, out, original, rows, number, mutant)
    (out / "mutants.json").write_text(json.dumps({"rows": [row[2] for row in rows], "mutants": mutants}, indent=1))
    print(f"{len(mutants) - 1} mutants of {len(rows)} rows in {out}")


def compile_mutant(options, out, original, rows, number, mutant):
    with tempfile.TemporaryDirectory() as folder:
        compile_copy(options, out, original, rows, number, mutant, pathlib.Path(folder))


def compile_copy(options, out, original, rows, number, mutant, copy):
    shutil.copytree(original, copy / "kernels")
    write_table(copy / "kernels", rows)
    if mutant["file"]:
        begin, end = mutant.pop("span")
        path = copy / "kernels" / mutant["file"]
        text = path.read_text()
        path.write_text(text[:begin] + "(void)0;" + text[end:])
    mutant["image"] = f"mutant_{number}.cubin"
    command = [options.nvcc, "-std=c++20", "-O3", "--expt-relaxed-constexpr", "-I", str(copy), "-cubin",
               "-gencode", "arch=compute_90a,code=sm_90a", "-DTW_SHARD=0"]
    command += [f"-DTW_HAS_{name}={int(name in ('tma', 'mma', 'wgmma'))}" for name in features()]
    command += ["-DTW_DELAYS"] if options.delays else []
    subprocess.run([*command, str(copy / "kernels" / "gemm" / "gemm.cu"), "-o", str(out / mutant["image"])],
                   check=True)


def features():
    text = (ROOT / "src" / "base" / "features.inc").read_text()
    return re.findall(r"^TW_FEATURE\((\w+),", text, re.MULTILINE)


def run(options):
    out = pathlib.Path(options.out)
    listed = json.loads((out / "mutants.json").read_text())
    unnoticed = 0
    for number, mutant in enumerate(listed["mutants"]):
        try:
            done = subprocess.run([options.program], capture_output=True, text=True, timeout=SECONDS, env={
                **os.environ, "TW_TEST_DEVICE": "cuda", "TW_MUTANT_IMAGE": str(out / mutant["image"]),
                "TW_MUTANT_ROWS": ",".join(listed["rows"])})
            wrong = re.search("WRONG: (.*)", done.stdout)
            fault = re.search(r"logged: (.*)", done.stdout)
            result = "wrong" if wrong else {0: "right", 1: "faults"}.get(done.returncode, f"exit {done.returncode}")
            detail = (wrong or fault).group(1)[:100] if wrong or fault else ""
            if done.returncode == 77:
                sys.exit("there is no GPU")
        except subprocess.TimeoutExpired:
            result, detail = "hangs", ""
        fine = (result == "right") == (mutant["kind"] == "none")
        if not fine and mutant["kind"] != "also":
            unnoticed += 1
        where = f"{mutant['file']}:{mutant['line']}" if mutant["file"] else "unchanged"
        print(f"{number:3} {mutant['kind']:6} {result:8} {where:28} {mutant['text'][:60]:60} {detail}", flush=True)
    print(f"{unnoticed} of the needed ones are not missed")
    sys.exit(1 if unnoticed else 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    parts = commands.add_parser("build")
    parts.add_argument("nvcc")
    parts.add_argument("out")
    parts.add_argument("--delays", action="store_true")
    parts.add_argument("--unchanged", action="store_true", help="image 0 alone: with --delays, rows that wait at random")
    parts.add_argument("--needed", action="store_true", help="those alone that must be missed")
    parts = commands.add_parser("run")
    parts.add_argument("out")
    parts.add_argument("program")
    commands.add_parser("list")
    options = parser.parse_args()
    {"build": build, "run": run, "list": show}[options.command](options)


if __name__ == "__main__":
    main()

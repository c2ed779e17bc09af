#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mutation test of the kernels on a GPU: shows that tests notice the removal of each wait and proxy fence.

    kernel_mutants.py build NVCC OUT [options]    compiles the mutants into OUT (needs no GPU)
    kernel_mutants.py run OUT TESTS [options]     TESTS is BUILD/tests/device; needs a GPU
    kernel_mutants.py list                        lists the statements to remove, and the kernels of gemm

`build` removes one statement from a copy of the kernels and compiles it: for gemm a few kernels of each
schedule, for other families the image that has the statement. It drops mutants whose machine code is
unchanged. `run` runs a test with the kernels of each image: it must pass with the unchanged image of a
subject, and fail or hang with a mutant. Mutants marked "also" are reported, but may pass.

    --subjects A,B    only these subjects
    --delays          kernels that wait for random times around barriers
    --unchanged       remove nothing: with --delays, run each kernel a thousand times with random waits
    --needed          only mutants that must be noticed
    --files REGEX     only statements in these files
    --jobs N          compilations, or tests, at once
    --seconds N       time limit of a test, after which it counts as hanging
"""
import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
KERNELS = ROOT / "src" / "kernels"
HEADERS = ROOT / "include"  # the public header, whose functions the kernels call as ptx::name
sys.path.insert(0, str(KERNELS))
sys.dont_write_bytecode = True
import units

PARTS = {part.name: part for part in units.parts()}
# Functions whose removal must be noticed, and others to try. The two calls of a cluster's barrier are
# removed together, because one without the other is invalid.
NEEDED = ["mbarrier_wait", "fence_async_shared"]
ALSO = ["store_wait_read", "store_wait", "cluster_wait", "named_barrier", "fence_mbarrier_init",
        "async_copy_wait", "sync_block", "sync_warp", "tensormap_acquire", "fence_gpu"]
CLUSTER_BARRIER = r"cluster_arrive(?:_relaxed)?\(\);\s*ptx::cluster_wait"
# The barrier of a warpgroup around its staging memory, which is not a function of ptx::.
STAGED = "stream_sync_group"
# For kernels without any of NEEDED.
BY_THREADS = ["async_copy_commit", "async_copy_wait", "sync_block", CLUSTER_BARRIER]


@dataclasses.dataclass
class Subject:
    """Kernels that are compiled together, and the test that runs them."""
    name: str
    part: str
    root: str     # statements are removed from this file and what it includes of the family, common/ and rows/
    program: str  # in tests/device, without _device_test
    cases: str    # test case pattern of the program
    but: str = ""  # pattern of included files without code in the image
    needed: list = dataclasses.field(default_factory=lambda: NEEDED)
    also: list = dataclasses.field(default_factory=lambda: ALSO)
    front: str = ""  # part of the preceding copy kernel, which plans take from the image too
    kernels: str = ""  # the program runs only kernels whose name has this text (TW_KERNELS)

    @property
    def family(self):
        return PARTS[self.part].family

    @property
    def by_rows(self):
        """Whether the program runs the kernels of chosen entries of gemm's table."""
        return self.program == "kernel_mutant_gemm"

    @property
    def relatives(self):
        """All parts that the program can run."""
        narrow = "narrow|scaled" if self.family == "gemm" else ""
        return [name for name, part in PARTS.items() if part.family == self.family and re.search(narrow, name)]


# The narrow GEMM kernels: the source of those with wgmma, what it includes without code in their images, and
# the cases that use their stages and slabs most.
NARROW = "gemm/wgmma/narrow/gemm_stream_narrow.cuh"
NARROW_BUT = "split|stored|turns|lines|basic|full_begin"
SCALED_CASES = "*taken again*,*every width*,*scales of its own*,*long sums*"

SUBJECTS = [
    Subject("gemm", "gemm_basic_0", "gemm/wgmma/gemm_basic.cuh", "kernel_mutant_gemm", "gemm:*"),
    Subject("gemm_full", "gemm_full_0", "gemm/wgmma/gemm_full.cuh", "kernel_mutant_gemm", "gemm full:*"),
    Subject("gemm_batch", "gemm_batch_0", "gemm/wgmma/gemm_batch.cuh", "kernel_mutant_gemm", "gemm full:*",
            "split|stored|produce"),
    Subject("gemm_stream", "gemm_stream_0", "gemm/wgmma/gemm_stream.cuh", "kernel_mutant_gemm", "gemm:*",
            "full|split|stored|turns|lines"),
    Subject("gemm_fullstream", "gemm_stream_4", "gemm/wgmma/gemm_stream.cuh", "kernel_mutant_gemm", "gemm full:*",
            "split|stored|turns|lines|basic|full_begin"),
    Subject("gemm_plain_split", "gemm_plain_split_0", "gemm/mma/gemm_plain_split.cuh", "kernel_mutant_gemm", "gemm:*",
            needed=BY_THREADS, also=[]),
    Subject("gemm_plain_short", "gemm_plain_short_0", "gemm/mma/gemm_plain_short.cuh", "kernel_mutant_gemm", "gemm:*",
            needed=["sync_block"], also=[]),
    # The staging copy, from which nothing is removed, and the GEMM kernels' waits for it.
    Subject("gemm_realign", "gemm_basic_0", "gemm/wgmma/gemm_basic.cuh", "kernel_mutant_gemm", "gemm realigned:*",
            "basic|config|epilogue|split|types|convert|divide", needed=["grid_dependency_wait"], also=[],
            front="gemm_realign_0"),
    # The split-K kernels for narrow types, with sums of each 128 of k.
    Subject("gemm_split_narrow", "gemm_split_narrow_0", "gemm/wgmma/narrow/gemm_split_narrow.cuh",
            "mutant_gemm_scaled", SCALED_CASES + ",*few rows*", "stream_|full_begin|turns", kernels="scaledsplit"),
    # Of the stream-K kernels for narrow types: sums of each 128 of k with swap-AB, sums of all k in the tensor
    # cores, and rows that the TMA stores.
    Subject("gemm_narrow", "gemm_stream_narrow_0", NARROW, "mutant_gemm_scaled", SCALED_CASES, NARROW_BUT,
            kernels="f8e4m3_f8e4m3_any_rc_128x160"),
    Subject("gemm_narrow_fast", "gemm_stream_narrow_2", NARROW, "mutant_gemm_scaled", SCALED_CASES, NARROW_BUT,
            kernels="f8e4m3_f8e4m3_any_rc_128x256"),
    Subject("gemm_narrow_rows", "gemm_stream_narrow_6", NARROW, "mutant_gemm_scaled", SCALED_CASES, NARROW_BUT,
            kernels="f8e4m3_f8e4m3_any_rc_128x192"),
    Subject("gemm_scaled_mma", "gemm_scaled_mma_0", "gemm/mma/gemm_scaled_mma.cuh", "mutant_gemm_scaled", SCALED_CASES,
            "epilogue|split|full_|convert|types", needed=["sync_block"], also=["grid_dependency_wait_and_launch"],
            kernels="plainscaled"),
    Subject("copy_rings", "copy_0", "copy/copy.cu", "repeat", "copy:*", "permute|transpose|interleave"),
    Subject("copy_turns", "copy_1", "copy/copy.cu", "repeat", "copy:*", "rows|boxes|pieces|ring|inter"),
    Subject("copy_planes", "copy_2", "copy/copy_interleave.cuh", "repeat", "copy:*"),
    Subject("gather", "gather_0", "gather/gather.cu", "repeat_rows", "gather:*", "row_four"),
    Subject("scatter", "scatter_0", "scatter/scatter.cu", "repeat_rows", "scatter:*",
            "row_four|order|sorted|segment"),
    Subject("scatter_order", "scatter_1", "scatter/scatter.cu", "repeat_rows", "scatter:*",
            "row_|ring|bulk"),
    Subject("ragged", "ragged_0", "ragged/ragged.cu", "repeat_moves", "ragged:*"),
    Subject("route", "route_0", "route/route.cu", "repeat_moves", "route:*", needed=[CLUSTER_BARRIER],
            also=["sync_block", "sync_warp", "grid_dependency_wait_and_launch"]),
    Subject("quantize", "quantize_0", "quantize/quantize.cu", "repeat_moves", "quantize:*", needed=["sync_block"],
            also=["grid_dependency_wait_and_launch"]),
    # The fence after cp.async is only tried, see NOT_MISSED.
    Subject("grouped", "grouped_wgmma_0", "grouped/grouped_wgmma.cuh", "mutant_grouped_wgmma", "grouped wgmma: *",
            needed=["mbarrier_wait"], also=["fence_async_shared", *ALSO, STAGED, "grid_dependency_wait"]),
    Subject("grouped_rows", "grouped_wgmma_3", "grouped/grouped_wgmma.cuh", "mutant_grouped_wgmma", "grouped wgmma: *",
            needed=["mbarrier_wait"], also=["fence_async_shared", *ALSO, STAGED, "grid_dependency_wait"],
            kernels="grouped_bf16_f32_rr"),
    Subject("grouped_narrow", "grouped_wgmma_10", "grouped/grouped_scaled_wgmma.cuh", "mutant_grouped_wgmma",
            "grouped wgmma: *8 bits*,*taken again*", "ranges", needed=["mbarrier_wait"],
            also=["fence_async_shared", *ALSO, STAGED, "grid_dependency_wait"], kernels="grouped_f8e4m3_bf16_rc"),
    Subject("grouped_ranges", "grouped_wgmma_8", "grouped/grouped_ranges_wgmma.cuh", "mutant_grouped_wgmma",
            "grouped wgmma: *", "pieces|produce|lines|tiles|table|work|write", needed=["mbarrier_wait"],
            also=["fence_async_shared", *ALSO, "grid_dependency_wait"]),
    Subject("grouped_mma", "grouped_mma_0", "grouped/grouped_mma.cuh", "mutant_grouped_tiles", "grouped tiles: *",
            "table|write", needed=["sync_block"], also=["grid_dependency_wait_and_launch"]),
    Subject("grouped_mma_ranges", "grouped_mma_1", "grouped/grouped_ranges.cuh", "mutant_grouped_tiles",
            "grouped tiles: *", "mma|table|write", needed=["sync_block"], also=["grid_dependency_wait_and_launch"]),
    Subject("grouped_scaled", "grouped_scaled_0", "grouped/grouped_scaled.cuh", "mutant_grouped_scaled",
            "grouped scaled: *products*,*many rows*,*long sums*", "table|write", needed=["sync_block"],
            also=["grid_dependency_wait_and_launch"], kernels="_mma_32x128x32"),
    # A block must not exit while others of the cluster read its shared memory, so both barriers are needed.
    Subject("grouped_steps", "grouped_steps_0", "grouped/grouped_combine.cuh", "mutant_grouped_tiles",
            "grouped tiles: *", "write", needed=[CLUSTER_BARRIER], also=["sync_block", "grid_dependency_wait_and_launch"]),
    Subject("copies", "copies_0", "copies/copies.cu", "repeat_moves", "copies:*"),
    Subject("prefetch", "prefetch_0", "prefetch/prefetch.cu", "repeat_moves", "prefetch:*"),
]
# Statements without which this chip still gives right results. The memory model requires a fence between
# cp.async and the TMA, but the bytes are in shared memory when the barrier completes.
NOT_MISSED = [("rows/row_staged.cuh", r"fence_async_shared")]
# Waits that only throttle loads for speed: the loads after them wait for their own stage.
THROTTLES = ["oldest.empty_barrier(oldest.stage)"]
# Schedules of a gemm subject, each compiled once with a cluster and once without. Other subjects compile
# all kernels of their part.
SCHEDULES = {"gemm": ["coop", "ping", "split", "swap", "swapsplit", "half"],
             "gemm_full": ["full", "fullping", "fullsplit", "fullswapsplit"],
             "gemm_stream": ["stream"], "gemm_fullstream": ["fullstream"],
             "gemm_batch": ["batch", "batchping"],
             "gemm_realign": ["coop", "swapsplit"]}
# Macros of gemm's kernel table for kernels of a single product.
PRODUCTS = ["TW_GEMM", "TW_GEMM_MMA"]


def statements(text, names):
    """Yields (begin, end) of each statement that calls one of these ptx:: functions or STAGED."""
    calls = [name if name == STAGED else "ptx::" + name for name in names]
    for match in re.finditer(r"\b(%s)\b" % "|".join(calls), text) if names else ():
        yield match.start(), text.index(";", match.end()) + 1


def sources(subject):
    """Returns the subject's source files, relative to the kernels' folder."""
    found, to_read = [], [subject.root]
    while to_read:
        file = to_read.pop(0)
        found.append(file)
        pattern = r'#include "kernels/((?:%s|common|rows)/(?!emit)[\w/]+\.cuh)"' % subject.family
        for name in re.findall(pattern, (KERNELS / file).read_text()):
            if name not in found + to_read:
                to_read.append(name)
    return [f for f in found if not (subject.but and re.search(subject.but, pathlib.Path(f).stem))]


def table_rows():
    """Returns the GEMM kernel entries: the macro's name, then its arguments."""
    rows = [re.split(r"[(),]+ *", entry.text)[:-1] for entry in units.entries("gemm")]
    return [row for row in rows if row[0] in PRODUCTS]


def few_rows(subject, types):
    """Chooses kernel entries with A row-major and B column-major: of each schedule the first with a cluster and the
    first without, and likewise of those with two loader threads."""
    chosen, wanted = {}, SCHEDULES.get(subject.name)
    for row in table_rows():
        if row[4:6] not in types:
            continue
        if wanted is None:
            if row[2] == subject.part:
                chosen[tuple(row)] = row
        elif row[0] == "TW_GEMM" and row[6:8] == ["ROW", "COLUMN"] and row[-1] in wanted:
            two = row[8] == "64" and 64 <= int(row[9]) <= 96 and row[-1] in ("coop", "split")  # kLoaders
            chosen.setdefault((*row[4:6], row[-1], row[-3:-1] != ["1", "1"], two), row)
    return list(chosen.values())


def write_table(kernels, subject, rows):
    """Writes the kernel entries as the table of the subject's part."""
    lines = [f"{row[0]}({', '.join([row[1], subject.part, *row[3:]])})" for row in rows]
    (kernels / PARTS[subject.part].table.relative_to(KERNELS)).write_text("\n".join(lines) + "\n")


def removals(subject, kinds, files):
    """Yields the removable statements of a subject's sources."""
    for kind in kinds:
        names = subject.needed if kind == "needed" else subject.also
        for file in filter(re.compile(files).search, sources(subject)):
            text = (KERNELS / file).read_text()
            for begin, end in statements(text, names):
                if any(throttle in text[begin:end] for throttle in THROTTLES):
                    continue
                line = text[text.rindex("\n", 0, begin) + 1:end]
                not_missed = any(file == where and re.search(what, line) for where, what in NOT_MISSED)
                if not_missed and "also" not in kinds:
                    continue
                yield {"kind": "also" if not_missed else kind, "file": file, "line": text.count("\n", 0, begin) + 1,
                       "text": " ".join(text[begin:end].split()), "span": [begin, end]}


def find_mutants(options):
    kinds = [] if options.unchanged else ["needed"] if options.needed else ["needed", "also"]
    mutants, whole = [], set()
    for subject in SUBJECTS:
        if options.subjects and subject.name not in options.subjects.split(","):
            continue
        parts, groups = [subject.part, *filter(None, [subject.front])], [[]]
        if options.unchanged and not subject.by_rows:  # all parts of the family, once for each of its tests
            if (subject.family, subject.program) in whole:
                continue
            whole.add((subject.family, subject.program))
            parts = subject.relatives
        if subject.by_rows:
            types = [["BF16", "BF16"]] + ([["BF16", "F32"], ["F16", "F16"]] if options.unchanged else [])
            rows = few_rows(subject, types)
            # Many unchanged kernels are slow to compile, so each has an image of its own.
            groups = [[row] for row in rows] if options.unchanged else [rows]
        for rows in groups:
            unchanged = {"kind": "none", "file": "", "line": 0, "text": ""}
            for removal in [unchanged, *removals(subject, kinds, options.files)]:
                mutants.append({"number": len(mutants), "subject": subject.name, **removal, "parts": parts,
                                "table": rows, "rows": [row[3] for row in rows],
                                "kernels": "" if options.unchanged else subject.kernels})
    return mutants


def show(options):
    """Lists the mutants. Fails if a subject has no mutant or no kernel, which means that names have changed."""
    options.unchanged, options.needed, options.files = False, False, ""
    mutants = find_mutants(options)
    for mutant in mutants:
        if mutant["kind"] == "none":
            print(mutant["subject"], *mutant["rows"])
        else:
            print(f"  {mutant['kind']:6} {mutant['file']}:{mutant['line']}: {mutant['text']}")
    wrong = 0
    for subject in SUBJECTS:
        own = [m for m in mutants if m["subject"] == subject.name]
        texts = " ".join(m["text"] for m in own if m["kind"] == "needed")
        wrong += len(own) < 2 or (subject.by_rows and not own[0]["rows"])
        # A family need not have all of NEEDED, but all of its own list.
        wrong += subject.needed is not NEEDED and not all(re.search(name, texts) for name in subject.needed)
    texts = " ".join(m["text"] for m in mutants if m["kind"] == "needed")
    sys.exit(1 if wrong or not all(name in texts for name in NEEDED) else 0)


def folder_of(out, mutant):
    return out / str(mutant["number"])


def image_of(out, mutant):
    subject = next(s for s in SUBJECTS if s.name == mutant["subject"])
    return folder_of(out, mutant) / f"{subject.part}.cubin"


def compile_mutant(options, out, mutant):
    subject = next(s for s in SUBJECTS if s.name == mutant["subject"])
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder)
        shutil.copytree(KERNELS, copy / "kernels")
        if mutant["table"]:
            write_table(copy / "kernels", subject, mutant["table"])
        if mutant["file"]:
            begin, end = mutant["span"]
            path = copy / "kernels" / mutant["file"]
            text = path.read_text()
            path.write_text(text[:begin] + "(void)0;" + text[end:])
        folder_of(out, mutant).mkdir(parents=True, exist_ok=True)
        command = [options.nvcc, "-std=c++20", "-O3", "--expt-relaxed-constexpr", "-I", folder, "-I", str(HEADERS), "-cubin",
                   "-gencode", "arch=compute_90a,code=sm_90a"]
        command += [f"-DTW_HAS_{name}={int(name in ('tma', 'mma', 'wgmma'))}" for name in features()]
        command += ["-DTW_DELAYS"] if options.delays else []
        # With relative paths in the copy's folder, paths in the machine code are the same for all mutants.
        for name in mutant["parts"]:
            source = pathlib.Path("kernels") / PARTS[name].source.relative_to(KERNELS)
            image = folder_of(out, mutant) / f"{name}.cubin"
            subprocess.run([*command, f"-DTW_PART_{name}", str(source), "-o", str(image)], check=True, cwd=folder)


def features():
    text = (ROOT / "src" / "base" / "features.inc").read_text()
    return re.findall(r"^TW_FEATURE\((\w+),", text, re.MULTILINE)


def build(options):
    out = pathlib.Path(options.out).resolve()
    out.mkdir(parents=True, exist_ok=True)
    mutants = find_mutants(options)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda m: compile_mutant(options, out, m), mutants))
    kept, same = [], {}
    for mutant in mutants:
        code = image_of(out, mutant).read_bytes()
        if mutant["kind"] == "none":
            same[mutant["subject"]] = code
        elif code == same[mutant["subject"]]:
            shutil.rmtree(folder_of(out, mutant))
            continue
        kept.append({k: v for k, v in mutant.items() if k not in ("span", "table", "parts")})
    (out / "mutants.json").write_text(json.dumps(kept, indent=1))
    changed = sum(m["kind"] != "none" for m in kept)
    print(f"{changed} mutants and {len(kept) - changed} unchanged images in {out}")


def run_mutant(options, out, mutant):
    """Runs the test with a mutant. Returns the result (right, wrong, faults, hangs) and a detail."""
    subject = next(s for s in SUBJECTS if s.name == mutant["subject"])
    environment = {**os.environ, "TW_TEST_DEVICE": "cuda"}
    if subject.by_rows:
        environment.update(TW_MUTANT_IMAGE=str(image_of(out, mutant)), TW_MUTANT_ROWS=",".join(mutant["rows"]))
    if subject.front or not subject.by_rows:
        environment["TW_KERNEL_IMAGES"] = str(folder_of(out, mutant))
    if mutant["kernels"]:
        environment["TW_KERNELS"] = mutant["kernels"]
    program = pathlib.Path(options.tests) / (subject.program + ("" if subject.by_rows else "_device_test"))
    try:
        done = subprocess.run([program, "-aa=1", f"-tc={subject.cases}"], capture_output=True, text=True,
                              timeout=options.seconds, env=environment)
    except subprocess.TimeoutExpired:
        return "hangs", ""
    if done.returncode == 77:
        sys.exit("there is no GPU")
    if done.returncode == 0:
        return "right", " ".join(re.findall(r"MESSAGE: (.*)", done.stdout))
    seen = re.search(r"WRONG: (.*)", done.stdout) or re.search(r"(?:ERROR: .*\n.*\n)\s*logged: (.*)", done.stdout)
    fault = re.search(r"(.*(?:illegal|misaligned|unspecified|trap|launch).*)", done.stdout)
    return ("faults" if fault else "wrong"), (fault or seen).group(1).strip()[:110] if fault or seen else ""


def run(options):
    out = pathlib.Path(options.out)
    listed = json.loads((out / "mutants.json").read_text())
    listed = [m for m in listed if not options.subjects or m["subject"] in options.subjects.split(",")]
    listed = [m for m in listed if not options.needed or m["kind"] != "also"]
    # Mutants that must be noticed come first.
    listed.sort(key=lambda m: ["none", "needed", "also"].index(m["kind"]))
    unnoticed, unmissed = 0, 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        running = {pool.submit(run_mutant, options, out, mutant): mutant for mutant in listed}
        for done in concurrent.futures.as_completed(running):
            mutant, (result, detail) = running[done], done.result()
            missed = (result == "right") == (mutant["kind"] == "none")
            unnoticed += not missed and mutant["kind"] != "also"
            unmissed += not missed and mutant["kind"] == "also"
            where = f"{mutant['file']}:{mutant['line']}" if mutant["file"] else "unchanged"
            text = mutant["text"][:60] or " ".join(mutant["rows"])[:60]
            print(f"{mutant['number']:3} {mutant['subject']:13} {mutant['kind']:6} {result:7} {where:30} "
                  f"{text:60} {detail}", flush=True)
    print(f"{len(listed)} images; {unnoticed} have the wrong result, {unmissed} optional mutants were not noticed")
    sys.exit(1 if unnoticed else 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    parts = commands.add_parser("build")
    parts.add_argument("nvcc")
    parts.add_argument("out")
    parts.add_argument("--delays", action="store_true")
    parts.add_argument("--unchanged", action="store_true")
    parts.add_argument("--needed", action="store_true")
    parts.add_argument("--files", default="")
    parts.add_argument("--jobs", type=int, default=os.cpu_count())
    parts = commands.add_parser("run")
    parts.add_argument("out")
    parts.add_argument("tests")
    parts.add_argument("--needed", action="store_true")
    parts.add_argument("--jobs", type=int, default=4)
    parts.add_argument("--seconds", type=int, default=60)
    commands.add_parser("list")
    for command in commands.choices.values():
        command.add_argument("--subjects", default="")
    options = parser.parse_args()
    {"build": build, "run": run, "list": show}[options.command](options)


if __name__ == "__main__":
    main()

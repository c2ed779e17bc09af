#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records what kernels change in memory on a GPU and on the PTX machine, and compares them (device/recorded_device.hpp).

    outcomes.py bundle BUILD FILE.tar.xz     packs the test programs for a GPU machine without a build: unpack it there and
                                             run record.py, which writes results.tar.xz
    outcomes.py run BUILD FOLDER [--seed N]  records on the PTX machine
    outcomes.py pack GPU MACHINE... --to FILE
                                             packs folders of records into tests/golden/ptx_machine/outcomes.txt: launches
                                             whose outcome is the GPU's and the same in all of the machine's orders of events

pack exits with 1 if the machine has another outcome than the GPU. Kernels newer than the GPU's record have no outcome."""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "src" / "kernels"))
import units
from cases import machine_tests

# Kernels that cannot be compared with a GPU: name to reason.
KNOWN = {
    "grouped_link_tma": "its lists are in the order of atomic exchanges",
}
MOST = 24  # launches kept per kernel


def bundle(build, path):
    names, lines = set(), []
    with tempfile.TemporaryDirectory() as folder, tarfile.open(path, "w:xz", preset=9) as out:
        for name, program, arguments in machine_tests(build):
            program = pathlib.Path(program)
            if name != "tensor_cores_on_ptx_machine":
                lines.append((name, program.name, arguments))
            if program.name in names:
                continue
            names.add(program.name)
            small = pathlib.Path(folder) / program.name
            subprocess.run(["strip", "-o", small, program], check=True)
            out.add(small, program.name)
        listed = pathlib.Path(folder) / "tests.json"
        listed.write_text(json.dumps(lines))
        out.add(listed, listed.name)
        out.add(ROOT / "tests" / "ptx_machine" / "record.py", "record.py")


def run(build, folder, seed, short):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, program, arguments in machine_tests(build, not short):
        if name == "tensor_cores_on_ptx_machine":
            continue
        path = folder / f"{name}.txt"
        path.unlink(missing_ok=True)
        told = {**os.environ, "TW_TEST_DEVICE": "ptx", "TW_PTX_SEED": str(seed), "TW_PTX_LATE": str(seed % 2), "TW_RECORD_OUTCOMES": str(path)}
        done = subprocess.run([program, *arguments], env=told, capture_output=True, text=True, check=False)
        print(f"{name}: status {done.returncode}, {path.stat().st_size if path.exists() else 0} bytes", flush=True)


class Launch:
    """A line of a record, as device/recorded_device.cpp writes it."""

    def __init__(self, line, test):
        self.kernel, self.shape, self.flag, self.key, self.inputs, self.outcome, *self.pages = line.split()
        self.test = test

    def blocks(self):
        return {page.split(":")[0] for page in self.pages}

    def without(self, block):
        return tuple(page for page in self.pages if page.split(":")[0] != block)


def records(folder):
    """Reads all records of a folder: (kernel, key) to launches."""
    found = collections.defaultdict(list)
    for path in sorted(pathlib.Path(folder).glob("*.txt")):
        for line in path.read_text().splitlines():
            launch = Launch(line, path.stem)
            found[launch.kernel, launch.key].append(launch)
    return found


def mix(value, word):
    """The same hash as in device/recorded_device.cpp."""
    value = (value ^ word) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF
    return value ^ value >> 29


def partial_outcome(pages):
    value = 0
    for page in pages:
        block, number, change = page.split(":")
        value = mix(mix(mix(value, int(block)), int(number)), int(change, 16))
    return f"{value >> 32:08x}"


class ByOutcome:
    """Finds a GPU's launch by its outcome when no key matches. Inputs may differ only in a workspace's old content or in
    lists in the order of atomic operations. If all written pages are equal, or all outside one block (the workspace), the
    inputs are taken to be equal."""

    def __init__(self, gpu):
        self.seen = collections.defaultdict(set)
        for record in gpu:
            for (kernel, _), launches in record.items():
                for launch in launches:
                    self.seen[kernel, launch.shape.split("/")[0]].add(tuple(launch.pages))
                    for block in launch.blocks():
                        self.seen[kernel, launch.shape.split("/")[0], block].add(launch.without(block))

    def find(self, launch):
        """Returns '' if all pages match, the block that does not match, or None."""
        place = launch.kernel, launch.shape.split("/")[0]
        if tuple(launch.pages) in self.seen[place]:
            return ""
        for block in sorted(launch.blocks(), key=int, reverse=True):
            rest = launch.without(block)
            if rest and rest in self.seen[(*place, block)]:
                return block
        return None


def pack(gpu_folders, machine_folders, to):
    gpu = [records(folder) for folder in gpu_folders]
    machine = [records(folder) for folder in machine_folders]
    by_outcome = ByOutcome(gpu)
    keys, why = collections.defaultdict(dict), collections.defaultdict(collections.Counter)
    differ = collections.defaultdict(list)
    for (kernel, key), launches in machine[0].items():
        here = [launch for record in machine for launch in record.get((kernel, key), [])]
        there = [launch for record in gpu for launch in record.get((kernel, key), [])]
        flags = {launch.flag for launch in here}
        # "approximate" excuses a difference, but the launch may still be equal: the function may be part of an exact
        # division, or in a branch whose result is not used.
        excuse = "approximate functions" if "approximate" in flags else "unordered sums" if "unordered" in flags else ""
        fixed = len({launch.outcome for launch in here}) == 1 and all((kernel, key) in record for record in machine)
        if len({launch.outcome for launch in there}) > 1:
            why[kernel]["the GPU's outcome varies"] += 1
        elif not there:
            block = by_outcome.find(launches[0])
            why[kernel]["no such launch on the GPU" if block is None else "equal outcome, different memory before"] += 1
            if block is not None and fixed:
                text = launches[0].outcome[:8] if block == "" else f"{partial_outcome(launches[0].without(block))}:{block}"
                keys[kernel][key] = (text, {launch.test for launch in launches})
        elif there[0].outcome != launches[0].outcome:
            why[kernel]["depends on the order of events" if not fixed else excuse or "another outcome"] += 1
            if not excuse and fixed:
                differ[kernel].append((launches[0], there[0]))
        elif not fixed:
            why[kernel]["equal, but depends on the order of events"] += 1
        else:
            why[kernel]["equal"] += 1
            keys[kernel][key] = (there[0].outcome[:8], {launch.test for launch in launches})
    return report(keys, why, differ, to)


def report(keys, why, differ, to):
    bad = False
    for kernel, found in sorted(differ.items()):
        bad |= kernel not in KNOWN
        print(f"{kernel}: {len(found)} launches have another outcome than on the GPU")
        for here, there in found[:2] if kernel not in KNOWN else []:
            pages = set(here.pages) ^ set(there.pages)
            print(f"  {here.key} {here.shape}: {len(pages)} pages of {len(here.pages)} and {len(there.pages)}: {sorted(pages)[:6]}")
    parts = {entry.symbol for part in units.parts() for entry in part.entries if entry.feature in {"tma", "mma", "wgmma"}}
    equal = {kernel for kernel, found in why.items() if any(reason.startswith("equal") for reason in found)}
    for kernel in sorted(parts - equal):
        # Kernels that are newer than the record have no launches there.
        print(f"no outcome of {kernel}: {dict(why[kernel]) or 'it does not run'}{', ' + KNOWN[kernel] if kernel in KNOWN else ''}")
    print(f"{len(parts & equal)} of {len(parts)} kernels have an outcome of the GPU's; launches: "
          f"{dict(sum(why.values(), collections.Counter()))}")
    only = collections.Counter()
    for kernel in equal:
        reasons = [reason for reason in why[kernel] if not reason.startswith("equal")]
        only.update(reasons or ["all"])
    print(f"of these kernels: {dict(only)}")
    lines, kept = collections.defaultdict(lambda: collections.defaultdict(list)), 0
    for kernel, found in sorted(keys.items()):
        for key, (text, tests) in sorted(found.items())[:MOST]:
            kept += 1
            for test in tests:
                lines[test][kernel].append(f"{key}:{text}")
    out = ["# What launches change in memory on an H200 (tests/ptx_machine/outcomes.py): test, then kernel, key:outcome or",
           "# key:outcome:block that does not count."]
    for test in sorted(lines):
        out.append(f"test {test}")
        out.extend(" ".join([kernel, *found]) for kernel, found in sorted(lines[test].items()))
    pathlib.Path(to).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(to).write_text("\n".join(out) + "\n")
    print(f"{kept} launches of {len(keys)} kernels are kept")
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("bundle")
    verb.add_argument("build")
    verb.add_argument("path")
    verb = verbs.add_parser("run")
    verb.add_argument("build")
    verb.add_argument("folder")
    verb.add_argument("--seed", type=int, default=0)
    verb.add_argument("--short", action="store_true")
    verb = verbs.add_parser("pack")
    verb.add_argument("gpu", help="out of results.tar.xz, which has the folders first and second")
    verb.add_argument("machine", nargs="+")
    verb.add_argument("--to", default=str(ROOT / "tests" / "golden" / "ptx_machine" / "outcomes.txt"))
    options = parser.parse_args()
    if options.verb == "bundle":
        bundle(options.build, options.path)
    elif options.verb == "run":
        run(options.build, options.folder, options.seed, options.short)
    else:
        folders = [path for path in (pathlib.Path(options.gpu) / turn for turn in ("first", "second")) if path.is_dir()]
        sys.exit(1 if pack(folders or [options.gpu], options.machine, options.to) else 0)


if __name__ == "__main__":
    main()

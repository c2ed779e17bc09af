#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What kernels change in memory, on a GPU and on the PTX machine (device/recorded_device.hpp).

    outcomes.py bundle BUILD FILE.tar.xz     programs to record with on a machine that builds nothing: unpack it there and
                                             run record.py, which writes results.tar.xz
    outcomes.py run BUILD FOLDER [--seed N]  records on the PTX machine
    outcomes.py pack GPU MACHINE... --to FILE
                                             folders of records into tests/golden/ptx_machine/outcomes.txt: launches whose
                                             outcome is the same in all of the machine's orders of events, and is to be a GPU's

The exit status of pack is 1 where the machine has another outcome than a GPU, or a kernel has no outcome and no reason
why not."""
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

# Kernels of which no launch can be held against a GPU's, and why.
KNOWN = {}
MOST = 24  # launches of a kernel that are kept


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
    """A line of a record."""

    def __init__(self, line):
        self.kernel, self.shape, self.flag, self.key, self.inputs, self.outcome, *self.pages = line.split()


def records(folder):
    """(kernel, key) -> launches, of all records of a folder."""
    found = collections.defaultdict(list)
    for path in sorted(pathlib.Path(folder).glob("*.txt")):
        for line in path.read_text().splitlines():
            launch = Launch(line)
            found[launch.kernel, launch.key].append(launch)
    return found


def pack(gpu_folders, machine_folders, to):
    gpu = [records(folder) for folder in gpu_folders]
    machine = [records(folder) for folder in machine_folders]
    chosen, why = collections.defaultdict(dict), collections.defaultdict(collections.Counter)
    differ = collections.defaultdict(list)
    for (kernel, key), launches in machine[0].items():
        here = [launch for record in machine for launch in record.get((kernel, key), [])]
        there = [launch for record in gpu for launch in record.get((kernel, key), [])]
        flags = {launch.flag for launch in here}
        # Such functions may be part of an exact division, or of a branch whose result is not taken.
        excuse = "approximate functions" if "approximate" in flags else "unordered sums" if "unordered" in flags else ""
        if len({launch.outcome for launch in here}) > 1 or any((kernel, key) not in record for record in machine):
            why[kernel]["the order of events counts"] += 1
        elif not there:
            why[kernel]["no such launch on the GPU"] += 1
        elif len({launch.outcome for launch in there}) > 1:
            why[kernel]["the GPU's outcome varies"] += 1
        elif there[0].outcome != launches[0].outcome:
            why[kernel][excuse or "another outcome"] += 1
            if not excuse:
                differ[kernel].append((key, launches[0], there[0]))
        else:
            chosen[kernel][key] = there[0].outcome[:8]
    for kernel, found in sorted(differ.items()):
        print(f"{kernel}: {len(found)} launches have another outcome than on the GPU")
        for key, here, there in found[:2]:
            pages = set(here.pages) ^ set(there.pages)
            print(f"  {key} {here.shape}: {len(pages)} pages of {len(here.pages)} and {len(there.pages)}: {sorted(pages)[:6]}")
    has = {"tma", "mma", "wgmma"}
    wanted = {entry.symbol for part in units.parts() for entry in part.entries if entry.feature in has}
    bad = bool(differ)
    for kernel in sorted(wanted - set(chosen)):
        bad |= kernel not in KNOWN
        print(f"no outcome of {kernel}: {dict(why[kernel]) or 'it does not run'}{', ' + KNOWN[kernel] if kernel in KNOWN else ''}")
    text = ["# What launches change in memory on an H200 (tests/ptx_machine/outcomes.py): kernel, then key:outcome."]
    kept = 0
    for kernel in sorted(chosen):
        keys = sorted(chosen[kernel].items())[:MOST]
        kept += len(keys)
        text.append(" ".join([kernel, *(f"{key}:{outcome}" for key, outcome in keys)]))
    pathlib.Path(to).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(to).write_text("\n".join(text) + "\n")
    print(f"{len(chosen)} of {len(wanted)} kernels, {kept} launches")
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

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


def bundle(build, path):
    names, lines = set(), []
    with tempfile.TemporaryDirectory() as folder, tarfile.open(path, "w:xz", preset=6) as out:
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
    options = parser.parse_args()
    if options.verb == "bundle":
        bundle(options.build, options.path)
    elif options.verb == "run":
        run(options.build, options.folder, options.seed, options.short)


if __name__ == "__main__":
    main()

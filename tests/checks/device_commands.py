#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compile_commands.json must cover device code: an entry for every .cu and .cuh file, and clang 14 must read
each family's .cu file with its entry without errors and warnings."""
import concurrent.futures
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess

import common

# Other versions may know more of CUDA, or less of the toolkit.
VERSION = "14"


def generator():
    spec = importlib.util.spec_from_file_location("device_commands", common.ROOT / "src" / "kernels" / "device_commands.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def missing(entries, sources):
    for path in sorted(set(map(str, sources)) - {entry["file"] for entry in entries}):
        yield f"{path}: compile_commands.json has no entry"


def read(entry):
    done = subprocess.run(entry["arguments"], cwd=entry["directory"], capture_output=True, text=True)
    return [*re.findall(r".*(?:error|warning): .*", done.stderr), *([f"exit status {done.returncode}"] if done.returncode else [])]


def unread(entries):
    """The first message of clang for each entry."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for entry, said in zip(entries, pool.map(read, entries)):
            if said:
                yield f"{entry['file']}: {said[0]}"


def check(options):
    entries = json.loads((pathlib.Path(options.build) / "compile_commands.json").read_text())
    yield from missing(entries, generator().sources())
    yield from unread([entry for entry in entries if entry["file"].endswith(".cu")])


def planted(folder):
    if not shutil.which("clang++") or f"version {VERSION}." not in common.output("clang++", "--version"):
        common.skip(f"there is no clang++ {VERSION}")
    (folder / "a.cu").write_text("int a = b;\n")
    (folder / "b.cu").write_text("int b;\n")
    entries = [{"directory": str(folder), "file": str(folder / name),
                "arguments": ["clang++", "-xcuda", "-nocudainc", "-nocudalib", "--cuda-device-only", "--cuda-gpu-arch=sm_86",
                              "-Wno-unknown-cuda-version", "-fsyntax-only", str(folder / name)]} for name in ("a.cu", "b.cu")]
    common.expect(unread(entries), "a.cu: ")
    common.expect(missing(entries, [folder / "b.cu", folder / "c.cu"]), "c.cu: compile_commands.json has no entry")


if __name__ == "__main__":
    common.run(check, planted, "build")

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Adds commands for device code to BUILD/compile_commands.json, which Meson writes without them.

    device_commands.py BUILD CUDA

Meson runs this after each configuration. CUDA is the toolkit's folder. Every .cu and .cuh file gets a
clang command, because clangd and other clang tools do not understand those of nvcc. It has the features
of sm_90a, and compiles part 0 of a .cu file."""
import json
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import archs

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The newest architecture that clang 14 knows. It suffices: features are macros, and newer instructions
# are inline assembly.
CLANG_ARCH = "sm_86"
# Functions of the toolkit that clang 14 lacks.
MISSING = """// Made by device_commands.py.
#if defined(__clang__) && __clang_major__ < 15
#define __noinline__ __attribute__((noinline))
__device__ unsigned __reduce_add_sync(unsigned mask, unsigned value);
__device__ unsigned __reduce_min_sync(unsigned mask, unsigned value);
__device__ unsigned __reduce_max_sync(unsigned mask, unsigned value);
__device__ int __reduce_add_sync(unsigned mask, int value);
__device__ int __reduce_min_sync(unsigned mask, int value);
__device__ int __reduce_max_sync(unsigned mask, int value);
__device__ unsigned __reduce_and_sync(unsigned mask, unsigned value);
__device__ unsigned __reduce_or_sync(unsigned mask, unsigned value);
__device__ unsigned __reduce_xor_sync(unsigned mask, unsigned value);
#endif
"""
# Headers that clang includes and CUDA 13 no longer has: they are replaced by empty files.
TEXTURES = ("texture_fetch_functions.h", "texture_indirect_functions.h")


def sources():
    return sorted(path for folder in ("src/kernels", "include") for path in (ROOT / folder).rglob("*.cu*")
                  if path.suffix in (".cu", ".cuh"))


def entries(build, cuda):
    stubs = build / "device_commands"
    _, _, has = archs.archs()["sm_90a"]
    flags = ["clang++", "-xcuda", "-std=c++20", f"--cuda-path={cuda}", f"--cuda-gpu-arch={CLANG_ARCH}",
             "--cuda-device-only", "-fsyntax-only", "-D__CLANG_CUDA_TEXTURE_INTRINSICS_H__",
             "-isystem", str(stubs), "-include", str(stubs / "missing.h"), "-I", str(ROOT / "src"),
             "-I", str(ROOT / "include"), *(f"-DTW_HAS_{name}={int(name in has)}" for name in archs.features()),
             # Warnings about nvcc's extensions, and about #pragma once in a header that is the main file.
             "-Wno-unknown-cuda-version", "-Wno-unknown-attributes", "-Wno-cuda-compat", "-Wno-pragma-once-outside-header"]
    return [{"directory": str(build), "file": str(path), "arguments": [*flags, f"-DTW_PART_{path.stem}_0", str(path)]} for path in sources()]


def main():
    build, cuda = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    database = build / "compile_commands.json"
    if not database.exists():  # a backend other than ninja's
        return
    stubs = build / "device_commands"
    stubs.mkdir(exist_ok=True)
    (stubs / "missing.h").write_text(MISSING)
    for name in TEXTURES:
        (stubs / name).write_text("")
    known = [entry for entry in json.loads(database.read_text()) if not entry["file"].endswith((".cu", ".cuh"))]
    database.write_text(json.dumps(known + entries(build, cuda), indent=1) + "\n")


if __name__ == "__main__":
    main()

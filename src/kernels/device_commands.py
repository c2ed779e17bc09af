#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Adds device code to BUILD/compile_commands.json, which Meson writes without it.

    device_commands.py BUILD CUDA

Meson runs this behind each configuration. Every .cu and .cuh file gets a command of clang's for sm_90a's
features, a .cu file for its first part, which clangd and other tools of clang understand as nvcc's they do not. CUDA is the toolkit."""
import json
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import archs

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The newest that clang 14 knows: the features are macros, and newer instructions are texts to it.
CLANG_ARCH = "sm_86"
# What clang 14 lacks of the toolkit. CUDA 13 has no textures, whose headers clang's own still includes.
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
             # nvcc's own, and #pragma once of a header that is looked at by itself.
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

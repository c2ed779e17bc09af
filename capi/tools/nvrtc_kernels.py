#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles all kernels with NVRTC and ptxas instead of nvcc, into a folder for -Dprebuilt_kernels.

Machine code runs on every driver of the major version of CUDA that made it. nvcc 12.9 is no package of
Python's registry, but NVRTC and ptxas 12.9 are, and their kernels load on drivers of CUDA 12:

    python3 -m pip install 'nvidia-cuda-nvrtc-cu12==12.9.*' 'nvidia-cuda-nvcc-cu12==12.9.*'
    python3 capi/tools/nvrtc_kernels.py kernels12            # --jobs=N
    meson setup build -Dcuda=enabled -Dprebuilt_kernels=$PWD/kernels12

fatbinary comes from PATH, the package nvidia-cuda-nvcc or /usr/local/cuda; it may be of a later toolkit.
"""
import argparse
import concurrent.futures
import ctypes
import importlib.util
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SRC, PRELUDE = ROOT / "src", HERE / "nvrtc.cuh"


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


archs, compile_rules, units = (load(SRC / "kernels" / name) for name in ("archs.py", "compile.py", "units.py"))


def packaged(pattern):
    """A file of NVIDIA's packages in this Python; None where they are not installed."""
    for folder in sys.path:
        found = sorted(pathlib.Path(folder or ".").glob(f"nvidia/{pattern}"))
        if found:
            return found[0]
    return None


def compile_ptx(library, source, options):
    """NVRTC's PTX of a source, and what it says; raises RuntimeError with that where it fails."""
    program, size = ctypes.c_void_p(), ctypes.c_size_t()

    def text(size_of, get):
        size_of(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        get(program, buffer)
        return buffer.value

    library.nvrtcCreateProgram(ctypes.byref(program), source.read_bytes(), str(source).encode(), 0, None, None)
    arguments = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
    failed = library.nvrtcCompileProgram(program, len(options), arguments)
    if failed:
        raise RuntimeError(f"{source}: {text(library.nvrtcGetProgramLogSize, library.nvrtcGetProgramLog).decode()}")
    ptx = text(library.nvrtcGetPTXSize, library.nvrtcGetPTX)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return ptx


def compiled(options, part, source, name):
    """PTX or machine code of a part for a target: the file, and what ptxas says that costs speed."""
    kind, sm, has = archs.archs()[name]
    virtual = f"compute_{sm}"
    flags = [f"--gpu-architecture={virtual}", "-std=c++20", "-default-device", f"--pre-include={PRELUDE}", "-I", str(SRC),
             "-I", str(ROOT / "include"), f"-DTW_PART_{part}"]
    flags += [f"-DTW_HAS_{feature}={int(feature in has)}" for feature in archs.features()]
    ptx = options.out / f"{part}.{name}.ptx"
    ptx.write_bytes(compile_ptx(ctypes.CDLL(str(options.nvrtc)), source, flags))
    if kind == "ptx":
        return ptx, []
    cubin = ptx.with_suffix(".cubin")
    done = subprocess.run([options.ptxas, f"-arch={name}", "-O3", "-v", ptx, "-o", cubin], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{ptx.name}: {done.stderr}")
    ptx.unlink()
    return cubin, [f"{cubin.name}: {fault}" for fault in compile_rules.faults(done.stderr, False)]


def part_image(arguments):
    options, part, source = arguments
    made, faults = [], []
    for name in options.targets:
        file, said = compiled(options, part, source, name)
        made.append((name, file))
        faults += said
    fatbin = options.out / f"{part}.fatbin"
    rows = archs.archs()
    subprocess.run([options.fatbinary, f"--create={fatbin}", "-64", "--compress-all",
                    *[f"--image3=kind={rows[name][0]},sm={rows[name][1]},file={file}" for name, file in made]], check=True)
    for _, file in made:
        file.unlink()
    return fatbin.name, faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path, help="folder for the .fatbin files")
    parser.add_argument("--nvrtc", default=packaged("cuda_nvrtc/lib/libnvrtc.so.*"), help="NVRTC's shared library")
    parser.add_argument("--ptxas", default=packaged("cuda_nvcc/bin/ptxas"))
    parser.add_argument("--fatbinary", default=shutil.which("fatbinary") or packaged("cu13/bin/fatbinary") or
                        "/usr/local/cuda/bin/fatbinary")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--targets", nargs="+", default=list(archs.archs()), help="of src/base/archs.inc")
    parser.add_argument("--only", nargs="+", default=[], metavar="PART", help="gather_0 and the like; all by default")
    options = parser.parse_args()
    for name in ("nvrtc", "ptxas", "fatbinary"):
        if not getattr(options, name) or not pathlib.Path(getattr(options, name)).exists():
            parser.error(f"there is no {name}: install the packages named above, or give --{name}")
    options.out.mkdir(parents=True, exist_ok=True)
    parts = [(options, part.name, part.source) for part in units.parts() if not options.only or part.name in options.only]
    if not parts:
        parser.error(f"--only names no part: {' '.join(options.only)}")
    slow = []
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        for result in [pool.submit(part_image, part) for part in parts]:
            try:
                name, faults = result.result()
            except (RuntimeError, subprocess.CalledProcessError) as failure:
                pool.shutdown(cancel_futures=True)
                sys.exit(f"nvrtc_kernels: {failure}")
            print(name, flush=True)
            slow += faults
    print("".join(f"costs speed: {fault}\n" for fault in slow), end="")


if __name__ == "__main__":
    main()

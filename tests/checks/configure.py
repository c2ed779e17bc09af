#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the build takes and refuses: nvcc's versions, folders of prebuilt kernels, and what ptxas says
that is an error. Configures the library with a toolkit of empty files, so it needs no CUDA; the same
cases, held against the wrong answers, must fail."""
import importlib.util
import os
import pathlib
import subprocess
import tempfile

import common

KERNELS = common.ROOT / "src" / "kernels"

# Lines of ptxas 12.4 to 12.8 about gemm's kernels, and whether they are errors.
SAID = [
    ("ptxas info    : (C7515) Potential Performance Loss: wgmma.mma_async instructions are serialized due to "
     "non wgmma instructions defining accumulator registers of a wgmma between start and end of the "
     "pipeline stage in the function 'f'", True),
    ("ptxas info    : (C7514) Potential Performance Loss: wgmma.mma_async instructions are serialized due to "
     "non wgmma instructions reading accumulator registers of  a wgmma between start and end of the "
     "pipeline stage in the function 'f'", True),
    ("ptxas info    : Potential Performance Loss: wgmma.mma_async instructions are serialized due to "
     "ill formed pipeline stage in the function 'f'", True),
    ("ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored to maintain minimum register "
     "requirements.", True),
    ("ptxas info    : (C7519) said in other words", True),
    ("    1168 bytes stack frame, 2132 bytes spill stores, 2148 bytes spill loads", True),
    ("    8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads", True),
    ("    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads", False),
    ("ptxas info    : Used 168 registers, used 9 barriers", False),
    ("ptxas info    : Compiling entry function 'gemm_bf16_f32_rc_128x256_2x1_coop' for 'sm_90a'", False),
]


def reading(said):
    spec = importlib.util.spec_from_file_location("nvcc_wrapper", KERNELS / "compile.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for line, wrong in said:
        report = f"ptxas info    : Function properties for f\n{line}\n"
        if bool(module.faults(report, False)) != wrong:
            yield f"compile.py: {'no ' if wrong else 'an '}error: {line}"
        if "bytes stack frame" in line and module.faults(report, True):
            yield f"compile.py: an error where spills are allowed: {line}"


def toolkit(folder, version):
    """A folder with nvcc of a version, as far as configuring looks at it."""
    (folder / "bin").mkdir(parents=True)
    (folder / "include").mkdir()
    (folder / "include" / "cuda.h").touch()
    for name, says in (("nvcc", f"Cuda compilation tools, release {version}, V{version}.99"), ("fatbinary", "")):
        (folder / "bin" / name).write_text(f"#!/bin/sh\necho '{says}'\n")
        (folder / "bin" / name).chmod(0o755)
    return folder / "bin"


def shards():
    told = common.output("python3", "-B", KERNELS / "archs.py", "families").split()
    return [f"{family}_{i}" for family, count in (pair.split(":") for pair in told) for i in range(int(count))]


def prebuilt(folder, names):
    folder.mkdir()
    for name in names:
        (folder / f"{name}.fatbin").touch()
    return folder


def configured(meson, folder, path, options):
    """What Meson says: in what it refuses the last lines, in what it takes all."""
    with tempfile.TemporaryDirectory(dir=folder) as build:
        done = subprocess.run([*meson, "setup", build, common.ROOT, "-Dtests=false", "-Dexamples=false", *options],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env={**os.environ, "PATH": f"{path}:{os.environ['PATH']}"})
    said = done.stdout + done.stderr
    return f"refused: {said[said.rfind('ERROR:'):]}" if done.returncode else f"taken: {said}"


def cases(folder):
    """(toolkit, options, words of the answer)."""
    old, new = toolkit(folder / "old", "12.8"), toolkit(folder / "new", "12.9")
    names = shards()
    whole = prebuilt(folder / "whole", names)
    part = prebuilt(folder / "part", names[1:])
    empty = prebuilt(folder / "empty", [])
    from_root = os.path.relpath(whole, common.ROOT)
    return [
        (old, [], ["refused", "nvcc 12.8", "12.9 at least", "-Dcuda=disabled", "-Dprebuilt_kernels"]),
        (old, ["-Dcuda=disabled"], ["taken"]),
        (new, [], ["taken", "nvcc 12.9", "sm_90a sm_100f compute_90"]),
        (new, ["-Dgpu_archs=sm_90a"], ["taken", "sm_90a compute_90"]),
        (old, [f"-Dprebuilt_kernels={whole}"], ["taken", f"prebuilt, from {whole}\n", "as prebuilt\n"]),
        (old, [f"-Dprebuilt_kernels={from_root}"], ["taken", f"prebuilt, from {common.ROOT}"]),
        (old, [f"-Dprebuilt_kernels={part}"], ["refused", names[0], "12.9 at least"]),
        (new, [f"-Dprebuilt_kernels={part}"], ["taken", f"what it lacks ({names[0]}): nvcc 12.9"]),
        (new, [f"-Dprebuilt_kernels={empty}"], ["refused", "prebuilt_kernels", f"{empty} holds no kernels"]),
        (new, [f"-Dprebuilt_kernels={folder}/none"], ["refused", "prebuilt_kernels", f"no folder {folder}/none"]),
    ]


def answers(meson, folder, asked):
    for path, options, words in asked:
        said = configured(meson, folder, path, options)
        for word in words:
            if word not in said:
                yield f'{path.parent.name} {options}: "{word}" is not in: {said}'


def least():
    """The oldest nvcc, which README tells."""
    build = (KERNELS / "meson.build").read_text().split("nvcc_least = '")[1].split("'")[0]
    for path, words in (("README.md", f"| nvcc | {build};"), ("meson_options.txt", f"nvcc ({build} at least)")):
        if words not in (common.ROOT / path).read_text():
            yield f'{path} does not say "{words}", which is what src/kernels/meson.build asks for'


def check(options):
    meson = options.meson.split("\n")
    yield from reading(SAID)
    yield from least()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder).resolve()
        yield from answers(meson, folder, cases(folder))


def planted(folder):
    wrong = [(line, not error) for line, error in SAID]
    assert len([*reading(wrong)]) == len(SAID), "a line of ptxas's is not read"
    (folder / "meson").write_text("#!/bin/sh\necho 'meson.build:1:0: ERROR: another'\nexit 1\n")
    (folder / "meson").chmod(0o755)
    asked = [(folder / "x" / "bin", [], ["taken"]), (folder / "y" / "bin", [], ["refused", "this one"])]
    common.expect(answers([str(folder / "meson")], folder, asked), "x []", "this one")


if __name__ == "__main__":
    common.run(check, planted, "meson")

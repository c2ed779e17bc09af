#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the build accepts and refuses: versions of nvcc, folders of prebuilt kernels, kernels by name, ptxas
messages that are errors, the objcopy of a cross build, the option unity, and what is built with only a
compiler, Meson and Ninja. The toolkit consists of empty files, so that no CUDA is needed. The same cases with
wrong expectations must fail."""
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import common

KERNELS = common.ROOT / "src" / "kernels"

# Messages of ptxas 12.4 to 12.8 about gemm kernels, and whether each is an error.
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


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def toolkit(folder, version):
    """A folder with an nvcc of this version, as far as configuring examines it."""
    (folder / "include").mkdir(parents=True)
    for header in ("cuda.h", "cublasLt.h"):
        (folder / "include" / header).touch()
    script(folder / "bin" / "nvcc", f"echo Cuda compilation tools, release {version}, V{version}.99")
    return script(folder / "bin" / "fatbinary", "exit 0").parent


def parts():
    told = common.output("python3", "-B", KERNELS / "units.py").splitlines()
    return [line.split()[0] for line in told if not line.startswith("tables ")]


def prebuilt(folder, names):
    folder.mkdir()
    for name in names:
        (folder / f"{name}.fatbin").touch()
    return folder


def configured(meson, folder, environment, options):
    """Meson's answer: the error, or the summary, the objcopy, and the sorted images that nvcc would build."""
    with tempfile.TemporaryDirectory(dir=folder) as build:
        done = subprocess.run([*meson, "setup", build, common.ROOT, *options], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, env=environment)
        rules = pathlib.Path(build) / "build.ninja"
        written = rules.read_text() if rules.exists() else ""
        tools = re.findall(r"--objcopy \S+", written)
        images = sorted(re.findall(r"^build src/kernels/(\w+\.\w+)\.bin[: ]", written, re.MULTILINE))
    said = done.stdout + done.stderr
    return f"refused: {said[said.rfind('ERROR:'):]}" if done.returncode else \
        f"taken: {' '.join(tools)} images: {' '.join(images)};{said[said.rfind('Build targets'):]}"


def with_tools(path):
    """The environment in which a folder comes first in PATH."""
    return {**os.environ, "PATH": f"{path}:{os.environ['PATH']}"}


def cross(folder):
    """The objcopy of a cross build: the machine file's, else the compiler's; never one that cannot read the
    compiler's objects. Yields the same tuples as cases()."""
    stranger = script(folder / "path" / "objcopy", "echo unable to recognise the format; exit 1").parent
    own = script(folder / "own" / "objcopy", "exit 0")
    other = script(folder / "other" / "objcopy", "exit 0")
    machine = ("[host_machine]\nsystem = 'linux'\ncpu_family = 'aarch64'\ncpu = 'aarch64'\nendian = 'little'\n"
               "[binaries]\nc = 'cc'\nar = 'ar'\n")

    def options(name, told, more=""):
        compiler = script(folder / f"c++-{name}", "case $* in -print-prog-name=objcopy) "
                          f"echo {told} ;; *) exec c++ \"$@\" ;; esac")
        (folder / f"{name}.ini").write_text(f"{machine}cpp = '{compiler}'\n{more}")
        return [f"--cross-file={folder}/{name}.ini", "-Dcuda=disabled"]

    return [
        (stranger, options("named", "objcopy", f"objcopy = '{other}'\n"), ["taken", f"--objcopy {other} "]),
        (stranger, options("told", own), ["taken", f"--objcopy {own} "]),
        (stranger, options("both", own, f"objcopy = '{other}'\n"), ["taken", f"--objcopy {other} "]),
        (stranger, options("neither", "objcopy"), ["refused", "an objcopy for it in [binaries]"]),
    ]


def cases(folder):
    """(tools, options, words of the answer)."""
    old, new = toolkit(folder / "old", "12.8"), toolkit(folder / "new", "12.9")
    names = parts()
    whole = prebuilt(folder / "whole", names)
    part = prebuilt(folder / "part", names[1:])
    empty = prebuilt(folder / "empty", [])
    some = prebuilt(folder / "some", names)
    (some / "chosen").mkdir()
    (some / "chosen" / "names.txt").touch()
    from_root = os.path.relpath(whole, common.ROOT)
    return [
        (old, [], ["refused", "nvcc 12.8", "12.9 or later is needed", "-Dcuda=disabled", "-Dprebuilt_kernels"]),
        (old, ["-Dcuda=disabled"], ["taken"]),
        (new, [], ["taken", "nvcc 12.9", "sm_90a sm_100f compute_90"]),
        (new, ["-Dgpu_archs=sm_90a"], ["taken", "sm_90a compute_90"]),
        (old, [f"-Dprebuilt_kernels={whole}"], ["taken", f"prebuilt, from {whole}\n", "as prebuilt\n"]),
        (old, [f"-Dprebuilt_kernels={from_root}"], ["taken", f"prebuilt, from {common.ROOT}"]),
        (old, [f"-Dprebuilt_kernels={part}"], ["refused", names[0], "12.9 or later is needed"]),
        (new, [f"-Dprebuilt_kernels={part}"], ["taken", f"the missing parts ({names[0]}) by nvcc 12.9"]),
        (new, [f"-Dprebuilt_kernels={empty}"], ["refused", "prebuilt_kernels", f"{empty} has no kernels"]),
        (new, [f"-Dprebuilt_kernels={folder}/none"], ["refused", "prebuilt_kernels", f"no folder {folder}/none"]),
        (new, [f"-Dprebuilt_kernels={some}"], ["refused", "prebuilt_kernels", "from a build with -Dkernels"]),
        (new, ["-Dkernels=gemm_bf16_bf16_rc_128x256_2x1_coop,gather_f*"],
         ["taken", "nvcc 12.9; only 3 of ", " selected by -Dkernels=gemm_bf16_bf16_rc_128x256_2x1_coop,gather_f*",
          "images: gather_0.compute_90 gather_0.sm_100f gather_0.sm_90a gemm_basic_0.compute_90 gemm_basic_0.sm_90a;"]),
        (new, ["-Dkernels=gather_few_tma,no_such_*"], ["refused", 'no kernel matches the pattern "no_such_*"', "choose.py lists"]),
        (new, ["-Dkernels=gather_*", f"-Dprebuilt_kernels={whole}"], ["refused", "kernels and prebuilt_kernels cannot be combined"]),
        (new, ["-Dkernels=gather_*", "-Dcuda=disabled"], ["refused", "kernels=gather_* needs nvcc"]),
    ]


# Patterns, architectures, and words that choose.py prints for them.
CHOICES = [
    ("*", "sm_90a,sm_100f,compute_90", ["\ngather_0 gather/gather.cu sm_90a sm_100f compute_90\n", "\ngemm_batch_0 gemm/wgmma/gemm_batch.cu sm_90a compute_90\n"]),
    ("gather_four*", "sm_100f,compute_90", ["1 of", "\ngather_0 gather/gather.cu sm_100f compute_90\n"]),
    ("gather_four*", "sm_90a,compute_90", ['"gather_four*" need gather4, but no architecture in gpu_archs']),
    ("gather_f* , gather_few_tma", "sm_90a,compute_90", ["2 of", "\ngather_0 gather/gather.cu sm_90a compute_90\n"]),
    ("gather_*_host", "sm_90a", ['no kernel matches the pattern "gather_*_host"']),
    ("gather_few_tma,", "sm_90a", ['no kernel matches the pattern ""']),
]


def choosing(folder, choices):
    for patterns, archs, words in choices:
        done = subprocess.run([sys.executable, "-B", KERNELS / "choose.py", patterns, "--out", folder / "chosen",
                               "--archs", archs], capture_output=True, text=True)
        for word in words:
            if word not in done.stdout + done.stderr:
                yield f'choose.py {patterns}, {archs}: "{word}" is not in: {done.stdout}{done.stderr}'


def answers(meson, folder, asked):
    for path, options, words in asked:
        said = configured(meson, folder, with_tools(path), ["-Dtests=disabled", "-Dexamples=disabled", *options])
        for word in words:
            if word not in said:
                yield f'{path.parent.name} {options}: "{word}" is not in: {said}'


def least_tools(folder):
    """The environment of a machine with only a C and C++ compiler, Meson and Ninja: PATH has no other program,
    and the headers that the tests need do not compile."""
    tools = folder / "least"
    tools.mkdir()
    for name in ("sh", "cc", "c++", "as", "ld", "ar", "objcopy", "readelf", "rm", "ninja", "python3"):
        found = shutil.which(name)
        if name == "python3":
            script(tools / name, f'exec "{os.path.realpath(sys.executable)}" "$@"')
        elif found:
            (tools / name).symlink_to(found)
    for header in ("doctest/doctest.h", "nlohmann/json.hpp", "zlib.h"):
        hidden = folder / "hidden" / header
        hidden.parent.mkdir(parents=True, exist_ok=True)
        hidden.write_text("#error hidden from this build\n")
    return {**os.environ, "PATH": str(tools), "CPATH": str(folder / "hidden"), "CC": "cc", "CXX": "c++"}


def without_test_tools(meson, folder):
    """By default only the library is built; requesting what cannot be built is an error."""
    environment = least_tools(folder)
    for options, words in (
            ([], ["taken", "tests               : no: not found: doctest, nlohmann-json, zlib",
                  "examples            : no: the tests are not built"]),
            (["-Dtests=enabled"], ["refused", "not found: doctest, nlohmann-json, zlib", "-Dtests=disabled"]),
            (["-Dexamples=enabled"], ["refused", "bash"]),
            (["-Dbench=true"], ["refused", "bench=true needs the tests"])):
        said = configured(meson, folder, environment, ["-Dcuda=disabled", *options])
        for word in words:
            if word not in said:
                yield f'with the least tools, {options}: "{word}" is not in: {said}'


def joined(build):
    """Files that Meson generated from several sources."""
    for made in sorted(build.rglob("*-unity*.c*")):
        if made.read_text().count("#include") > 1:
            yield f"{made.relative_to(build)}: --unity joins sources: override_options: no_unity"


def unity(meson, folder):
    told = common.output(*meson, "setup", folder / "unity", common.ROOT, "--unity=on", "-Dtests=enabled",
                         "-Dexamples=disabled", "-Dbench=true", stdin=subprocess.DEVNULL, env=with_tools(folder / "new" / "bin"))
    if "Build targets" not in told or not list((folder / "unity").rglob("*-unity*.c*")):
        yield f"--unity=on did nothing: {told}"
    yield from joined(folder / "unity")


def least():
    """The oldest supported nvcc, which README and meson_options.txt must state."""
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
        yield from choosing(folder, CHOICES)
        yield from answers(meson, folder, cases(folder) + cross(folder))
        yield from without_test_tools(meson, folder)
        yield from unity(meson, folder)


def planted(folder):
    wrong = [(line, not error) for line, error in SAID]
    assert len([*reading(wrong)]) == len(SAID), "a line of ptxas's is not read"
    script(folder / "meson", "echo 'meson.build:1:0: ERROR: another'\nexit 1")
    common.expect(choosing(folder, [("gather_few_tma", "sm_90a", ["1 of", "sm_100f"])]), "sm_100f")
    asked = [(folder / "x" / "bin", [], ["taken"]), (folder / "y" / "bin", [], ["refused", "this one"])]
    (folder / "t.p").mkdir()
    (folder / "t.p" / "t-unity0.cpp").write_text("#include<a.cpp>\n")
    (folder / "t.p" / "t-unity1.cpp").write_text("#include<b.cpp>\n#include<c.cpp>\n")
    common.expect(joined(folder), "t-unity1.cpp")
    common.expect(answers([str(folder / "meson")], folder, asked), "x []", "this one")


if __name__ == "__main__":
    common.run(check, planted, "meson")

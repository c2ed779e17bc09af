#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a release archive: the sources as git tracks them and, in the folder prebuilt, the kernels of
this build, with which others build the CUDA device without nvcc.

The same sources and kernels give the same bytes: entries are sorted, and carry the time of the last
commit (or SOURCE_DATE_EPOCH) and no owner. `ninja -C build release` runs this.
"""
import argparse
import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile

NOTE = """# Prebuilt kernels

`meson setup build && ninja -C build` takes the kernels of this folder, so that neither nvcc nor any header
of CUDA is needed. To compile them with nvcc instead, remove the folder.

{needs}

`tilewright-info --kernels` of the built library lists every kernel. `sources.sha256` is the fingerprint of
the device code that they were compiled from: with other sources the configuration stops.
"""


def git(root, *arguments):
    done = subprocess.run(["git", "-C", root, "-c", "safe.directory=*", *arguments], capture_output=True)
    if done.returncode:
        sys.exit(f"release: the sources must be a git checkout: {done.stderr.decode().strip()}")
    return done.stdout


def version_text(version):
    return f"{version // 1000}.{version % 1000 // 10}"


def needs(info):
    """What the note says of drivers: a line for each target. And the toolkit's name for the archive."""
    targets = {}
    for family in json.loads(subprocess.run([info, "--json"], capture_output=True, check=True).stdout)["families"]:
        targets[family["target"]] = max(family["driver"], targets.get(family["target"], 0))
    lines = [f"- {'PTX' if name.startswith('compute') else 'machine code'} `{name}`: "
             f"a driver for CUDA {version_text(version)} or later" for name, version in sorted(targets.items())]
    toolkit = max(targets.values())
    return "\n".join(["They need an NVIDIA driver (`nvidia-smi` shows the CUDA version of one):", "", *lines]), \
        f"cuda{version_text(toolkit)}"


def entry(name, data, mode, time):
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.mtime = len(data), mode, time
    return member, io.BytesIO(data)


def contents(root, kernels, note, fingerprint):
    """name -> (bytes, mode)"""
    files = {}
    for name in git(root, "ls-files", "-z").decode().split("\0"):
        if name:
            path = root / name
            files[name] = path.read_bytes(), 0o755 if path.stat().st_mode & 0o100 else 0o644
    for kernel in kernels:
        files[f"prebuilt/{kernel.name}"] = kernel.read_bytes(), 0o644
    files["prebuilt/README.md"] = note.encode(), 0o644
    files["prebuilt/sources.sha256"] = f"{fingerprint}\n".encode(), 0o644
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, required=True, help="the sources")
    parser.add_argument("--version", required=True)
    parser.add_argument("--info", required=True, help="the program tilewright-info of this build")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder that the archive is written to")
    parser.add_argument("--allow-dirty", action="store_true", help="take changes that are not committed")
    parser.add_argument("kernels", nargs="+", type=pathlib.Path, help="the .fatbin files")
    options = parser.parse_args()
    if not options.allow_dirty and git(options.root, "status", "--porcelain").strip():
        sys.exit("release: there are changes that are not committed; commit them, or give --allow-dirty")
    time = int(os.environ.get("SOURCE_DATE_EPOCH") or git(options.root, "log", "-1", "--format=%ct"))
    fingerprint = subprocess.run([sys.executable, "-B", options.root / "src" / "kernels" / "archs.py", "fingerprint"],
                                 capture_output=True, text=True, check=True).stdout.strip()
    told, toolkit = needs(options.info)
    name = f"tilewright-{options.version}-{toolkit}"
    files = contents(options.root, options.kernels, NOTE.format(needs=told), fingerprint)
    options.out.mkdir(parents=True, exist_ok=True)
    made = options.out / f"{name}.tar.xz"
    with tarfile.open(made, "w:xz", format=tarfile.PAX_FORMAT, preset=6) as archive:
        for path, (data, mode) in sorted(files.items()):
            archive.addfile(*entry(f"{name}/{path}", data, mode, time))
    print(f"{made}: {made.stat().st_size} bytes, {len(options.kernels)} files of kernels\n{told}")


if __name__ == "__main__":
    main()
